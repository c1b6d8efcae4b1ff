"""Inspectors' tools: light, contrast, inversion, zoom where the pointer is, and search by name."""

from __future__ import annotations

from playwright.sync_api import expect

from .conftest import Open, Serve

FILTER = "getComputedStyle(document.querySelector('.ask .stage img')).filter"


def test_light_and_contrast_change_what_is_seen_until_they_are_reset(serve: Serve, visit: Open) -> None:
    ann = visit(serve(photos=True))
    ann.image()
    assert ann.page.evaluate(FILTER) == "none"
    for key in ("b", "c", "i"):
        ann.page.keyboard.press(key)
    assert ann.page.evaluate(FILTER) == "invert(1) brightness(1.25) contrast(1.25)"
    expect(ann.page.locator(".ask .tones .changed")).to_have_text("changed")
    ann.press("1")  # it holds for the pictures that follow
    ann.image()
    assert "invert(1)" in ann.page.evaluate(FILTER)
    ann.page.keyboard.press("Shift+B")
    ann.page.keyboard.press("Shift+C")
    ann.page.keyboard.press("i")
    assert ann.page.evaluate(FILTER) == "none"
    ann.page.locator(".ask .tones summary").click()
    ann.page.get_by_role("button", name="Invert").click()
    assert ann.page.evaluate(FILTER) != "none"
    ann.page.get_by_role("button", name="As it was").click()
    assert ann.page.evaluate(FILTER) == "none"
    ann.saved()
    assert len(ann.served.acts()) == 1


def test_the_wheel_zooms_where_the_pointer_is(serve: Serve, visit: Open) -> None:
    ann = visit(serve(photos=True))
    ann.image()
    picture = ann.page.locator(".ask .stage img")
    before = picture.bounding_box()
    assert before is not None
    x, y = before["x"] + before["width"] * 0.25, before["y"] + before["height"] * 0.6
    ann.page.mouse.move(x, y)
    ann.page.mouse.wheel(0, -600)
    expect(ann.page.locator(".ask .stage.zoomed")).to_have_count(1)
    after = picture.bounding_box()
    assert after is not None
    assert after["width"] > 2 * before["width"]
    assert abs((x - after["x"]) / after["width"] - 0.25) < 0.02
    assert abs((y - after["y"]) / after["height"] - 0.6) < 0.02
    ann.page.mouse.wheel(0, 1200)
    expect(ann.page.locator(".ask .stage.zoomed")).to_have_count(0)
    assert picture.bounding_box() == before


def test_answers_are_found_by_name(serve: Serve, visit: Open) -> None:
    served = serve(names=["fields/barn.png", "fields/tree.png", "town/Barn door.png"])
    for item in range(3):
        served.plant("ann", item, 0)
    ann = visit(served)
    ann.go("Answers")
    lines = ann.page.locator(".answers li")
    expect(lines).to_have_count(3)
    ann.page.get_by_role("searchbox").fill("barn")
    expect(lines).to_have_count(2)
    ann.page.get_by_role("searchbox").fill("u")  # a key that undoes elsewhere is a letter here
    expect(ann.page.locator(".history .empty")).to_contain_text("No such answer is about a name with “u” in it")
    assert len(served.acts()) == 3
