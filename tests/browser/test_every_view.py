"""What holds in every view: names, sizes, contrast, and what is said when something is missing."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Open, Serve
from .looking import VIEWS, faces, pale, said, too_small, unnamed

EVIL = "<script>document.title = 'taken over'</script><img src=x onerror=alert(1)>"
SIZES = {"wide": (1280, 800), "small": (800, 600), "zoomed": (640, 400), "phone": (360, 740)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_breaks_and_nothing_is_nameless_in_any_view(serve: Serve, visit: Open, scheme: str) -> None:
    served = serve(
        classes=[EVIL, "dog"], names=[f"{EVIL}{item}" for item in range(30)], people=("ann", "bo"), iteration=3
    )
    served.plant("ann", 0, 0)
    served.plant("bo", 0, 1)
    ann = visit(served, color_scheme=scheme)
    ann.press("1", "f", "g")
    ann.page.evaluate("addEventListener('securitypolicyviolation', event => console.error(event.violatedDirective))")
    for view in VIEWS:
        ann.page.goto(f"{served.origin}/#{view}")
        ann.page.wait_for_timeout(400)
        assert unnamed(ann) == []
        assert pale(ann) == []
        assert "taken over" not in ann.page.title()
        expect(ann.page.locator("img[src=x], main script")).to_have_count(0)
    ann.page.goto(f"{served.origin}/#answers")
    expect(ann.page.locator(".answers .answer").nth(1)).to_have_text(EVIL)
    ann.page.get_by_role("button", name="Change").first.click()
    assert unnamed(ann) == []
    assert pale(ann) == []
    ann.page.keyboard.press("Escape")
    ann.page.keyboard.press("?")
    expect(ann.page.get_by_role("dialog", name="Help")).to_be_visible()
    assert pale(ann) == []
    ann.page.keyboard.press("?")
    expect(ann.page.get_by_role("dialog")).to_be_hidden()
    ann.go("Label")
    ann.page.keyboard.press("e")
    ann.page.get_by_role("button", name="Remove dog").click()
    assert unnamed(ann) == []
    assert pale(ann) == []


@pytest.mark.parametrize("size", SIZES)
def test_no_view_is_wider_than_the_screen(serve: Serve, visit: Open, size: str) -> None:
    width, height = SIZES[size]
    names = [f"a/very/long/path/{'x' * 80}/{item}.png" for item in range(60)]
    classes = ["Donaudampfschifffahrtsgesellschaftskapitän" * 2, *(f"kind {number}" for number in range(24))]
    served = serve(classes=classes, names=names, people=("ann", "bo"), iteration=3)
    served.plant("ann", 0, 0)
    served.plant("bo", 0, 1)
    ann = visit(
        served, viewport={"width": width, "height": height}, has_touch=size == "phone", is_mobile=size == "phone"
    )
    for view in VIEWS:
        ann.page.goto(f"{served.origin}/#{view}")
        ann.page.wait_for_timeout(300)
        if view == "guesses":
            faces(ann).first.click()
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert too_small(ann) == []


def test_the_question_and_its_buttons_fit_a_phone_without_scrolling(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, classes=["cat", "dog", "owl", "hedgehog"])
    ann = visit(served, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    ann.image()
    expect(ann.page.get_by_role("button", name="Full screen")).to_be_in_viewport(ratio=1)
    shown = ann.page.locator(".ask .stage img").bounding_box()
    assert shown is not None
    assert shown["width"] >= 200
    ann.page.get_by_role("button", name="hedgehog").tap()
    ann.saved()
    assert said(served) == [("label", 3, "rank")]


@pytest.mark.parametrize("name", ["owl", "Donaudampfschifffahrtsgesellschaftskapitän"])
def test_on_a_phone_the_own_answer_has_its_room_beside_the_models_guess(serve: Serve, visit: Open, name: str) -> None:
    served = serve(iteration=3, classes=["hedgehog or another small animal", "dog", name])
    ann = visit(served, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    before = ann.page.locator(".ask .stage").bounding_box()
    ann.press("3")
    expect(ann.page.locator(".echo .note")).to_have_text("the model\u2019s guess: hedgehog or another small animal")
    last = ann.page.locator(".echo .last")
    expect(last).to_have_text(name)
    cut = last.evaluate("node => node.scrollWidth > node.clientWidth")
    assert cut == (len(name) > 20)
    shown = last.bounding_box()
    assert shown is not None
    assert shown["width"] > (130 if cut else 20)
    expect(ann.page.get_by_role("button", name=f"Undo: {name}")).to_be_in_viewport(ratio=1)
    assert ann.page.locator(".ask .stage").bounding_box() == before  # what is said moves nothing below it


def test_small_pictures_are_shown_pixel_by_pixel(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.image()
    shown = ann.page.locator(".ask .stage img")
    box = shown.bounding_box()
    assert box is not None
    assert box["width"] % 28 == 0
    assert shown.evaluate("node => getComputedStyle(node).imageRendering") == "pixelated"


def test_a_picture_that_does_not_come_is_said_and_tried_again(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served, enter=False)
    ann.forgive("Failed to load resource")
    ann.page.route("**/image/0?**", lambda route: route.abort())
    served.enter(ann.page, "ann")
    expect(ann.page.locator(".ask .stage-note")).to_contain_text("could not be loaded")
    ann.page.unroute("**/image/0?**")
    ann.page.get_by_role("button", name="Try again").click()
    assert ann.image() == "shapes/img_0000.png"


def test_new_questions_and_trouble_are_announced(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.press("1")
    expect(ann.page.locator("[data-announcer]")).to_have_text("Image shapes/img_0001.png. 1 label given.")
    expect(ann.page.locator(".saved")).to_have_role("status")
