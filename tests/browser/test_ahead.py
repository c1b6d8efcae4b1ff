"""Questions taken along: they are loaded, one's own for hours, and answered without a server; nothing is lost."""

from __future__ import annotations

from collections import Counter

from playwright.sync_api import Locator, expect

from .conftest import Open, Serve, Visit


def part_of(visit: Visit) -> Locator:
    """Find the part of the panel that says what is at hand."""
    return visit.page.locator(".part", has_text="Without a connection")


def take_along(visit: Visit, count: int, hours: str = "four hours") -> None:
    """Take so many along, and wait until they are there."""
    part_of(visit).get_by_role("button", name="Take more along").click()
    dialog = visit.page.get_by_role("dialog")
    dialog.get_by_label("How many").fill(str(count))
    dialog.get_by_label("For how long").select_option(label=hours)
    dialog.get_by_role("button", name="Take along").click()
    expect(dialog).to_be_hidden()
    expect(part_of(visit)).to_contain_text(f"{count} images at hand")


def answers(visit: Visit, count: int) -> list[str]:
    """Answer so many, and tell what was seen."""
    seen = []
    for _ in range(count):
        seen.append(visit.image())
        visit.page.keyboard.press("1")
    return seen


def test_images_taken_along_are_answered_offline_and_every_answer_arrives_once(serve: Serve, visit: Open) -> None:
    served = serve(count=90, photos=True, people=("ann", "bob"))
    ann, bob = visit(served), visit(served, "bob")
    for one in (ann, bob):
        one.forgive("Failed to load resource")
        one.forgive("ERR_")
    take_along(ann, 30)
    expect(part_of(ann)).to_contain_text("They are yours until")
    ann.context.set_offline(True)
    seen = answers(ann, 12)
    ann.page.set_viewport_size({"width": 420, "height": 800})  # turned: another size would be asked for
    seen += answers(ann, 13)
    ann.page.set_viewport_size({"width": 1280, "height": 800})
    expect(ann.page.locator(".saved")).to_contain_text("Offline: 25 answers kept here")
    expect(part_of(ann)).to_contain_text("5 images at hand")
    others = answers(bob, 10)  # meanwhile
    bob.saved()
    assert not set(seen) & set(others)
    ann.context.set_offline(False)
    ann.saved()
    mine = [act for act in served.acts() if act["annotator"] == "ann"]
    assert len(mine) == len({act["item"] for act in mine}) == len(set(seen)) == 25
    assert max(Counter(act["uid"] for act in served.acts()).values()) == 1
    expect(part_of(ann)).to_contain_text("30 images at hand")  # filled up again


def test_what_is_not_needed_is_given_back_and_a_reload_keeps_what_was_taken(serve: Serve, visit: Open) -> None:
    served = serve(count=60)
    ann = visit(served)
    expect(part_of(ann)).to_contain_text("6 images at hand")
    take_along(ann, 20, "a day")
    ann.page.reload()
    expect(part_of(ann)).to_contain_text("20 images at hand")
    shown = ann.image()
    part_of(ann).get_by_role("button", name="Give the rest back").click()
    expect(part_of(ann)).to_contain_text("6 images at hand")
    expect(part_of(ann)).not_to_contain_text("They are yours until")
    assert ann.image() == shown
    ann.press("1")
    ann.saved()


def test_a_project_may_hold_more_from_the_start_and_texts_as_well(serve: Serve, visit: Open) -> None:
    texts = [{"kind": "text", "text": f"Text {n}", "beside": [], "characters": 6} for n in range(20)]
    ann = visit(serve(kind="text", contents=texts, ahead=12))
    ann.forgive("Failed to load resource")
    ann.forgive("ERR_")
    expect(part_of(ann)).to_contain_text("12 texts at hand")
    ann.context.set_offline(True)
    for number in range(12):
        expect(ann.page.locator(".ask .reader")).to_contain_text(f"Text {number}")
        ann.page.keyboard.press("1")
    expect(ann.page.locator(".nothing")).to_contain_text("No more texts in hand")
    expect(ann.page.locator(".saved")).to_contain_text("Offline: 12 answers kept here")
    ann.context.set_offline(False)
    ann.saved()


def test_too_many_are_refused_in_words(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    part_of(ann).get_by_role("button", name="Take more along").click()
    ann.page.get_by_label("How many").fill("201")
    ann.page.locator("dialog[open] form").evaluate("form => { form.noValidate = true; }")
    ann.page.get_by_role("button", name="Take along").click()
    expect(ann.page.get_by_role("dialog")).to_contain_text("Choose from 2 to 200.")
