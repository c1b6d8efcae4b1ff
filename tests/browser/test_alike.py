"""Others like one, notes, and earlier answers by class, person and day."""

from __future__ import annotations

import re
from datetime import date, timedelta

from playwright.sync_api import Locator, expect

from .conftest import Open, Serve, Visit

CHOSEN = ".alike .tile.chosen"


def rows(visit: Visit) -> Locator:
    """Find the lines of the list of answers."""
    return visit.page.locator(".answers li")


def test_others_like_the_last_are_shown_some_left_out_labelled_at_once_and_undone_at_once(
    serve: Serve, visit: Open
) -> None:
    served = serve(iteration=3, count=60, people=("ann", "bob"))
    served.plant("bob", 3, 1)
    ann = visit(served)
    ann.press("2")
    expect(ann.page.locator(".bar", has_text="Others like this")).to_be_visible()
    ann.page.keyboard.press("a")
    expect(ann.page.locator(CHOSEN)).to_have_count(24)
    assert 3 not in [int(str(tile.get_attribute("data-item"))) for tile in ann.page.locator(CHOSEN).all()]
    assert len(served.acts()) == 2  # nothing is done by looking
    left_out = ann.page.locator(".alike .tile").nth(5)
    left_out.locator(".face").click()
    ann.page.locator(".alike .tile .face").first.focus()
    ann.page.keyboard.press("ArrowRight")
    ann.page.keyboard.press("Space")
    expect(ann.page.locator(CHOSEN)).to_have_count(22)
    ann.page.locator(".alike button", has_text="Label 22 as dog").click()
    expect(ann.page.locator(".alike")).not_to_be_visible()
    ann.saved()
    given = served.acts()[2:]
    assert {(act["kind"], act["class"], act["why"]) for act in given} == {("label", 1, "alike")}
    assert len({act["uid"].rpartition(".")[0] for act in given}) == 1
    ann.page.reload()  # the server knows what belongs together
    ann.image()
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".echo")).to_contain_text("Taken back: 22 answers")
    ann.saved()
    assert {act["undoes"] for act in served.acts()[24:]} == {act["uid"] for act in given}


def test_a_note_is_written_seen_changed_and_taken_back(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3)
    ann = visit(served)
    name = ann.image()
    ann.page.keyboard.press("n")
    ann.page.keyboard.type("1 scratch, ask <b>Bob</b>")
    ann.page.keyboard.press("Enter")
    expect(ann.page.locator(".echo")).to_contain_text("note: “1 scratch, ask <b>Bob</b>”")
    assert ann.image() == name  # a note is no answer
    ann.press("1")
    ann.saved()
    assert [(act["kind"], act.get("note")) for act in served.acts()] == [
        ("note", "1 scratch, ask <b>Bob</b>"),
        ("label", None),
    ]
    ann.go("Answers")
    expect(rows(ann)).to_have_count(1)
    expect(rows(ann).locator(".noted")).to_have_text("Note: 1 scratch, ask <b>Bob</b>")
    rows(ann).get_by_text("Change").click()
    expect(ann.page.locator(".look .noted")).to_have_text("Note: 1 scratch, ask <b>Bob</b>")
    ann.page.keyboard.press("n")
    expect(ann.page.locator(".note-dialog input")).to_have_value("1 scratch, ask <b>Bob</b>")
    ann.page.keyboard.press("Control+a")
    ann.page.keyboard.type("fine")
    ann.page.keyboard.press("Enter")
    expect(ann.page.locator(".look .noted")).to_have_text("Note: fine")
    ann.page.keyboard.press("u")
    expect(rows(ann).locator(".noted")).to_have_text("Note: 1 scratch, ask <b>Bob</b>")


def test_answers_are_filtered_by_class_person_and_day_and_the_address_keeps_it(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, people=("ann", "bob"))
    for person, item, class_ in (("ann", 1, 0), ("ann", 2, 1), ("bob", 3, 1)):
        served.plant(person, item, class_)
    ann = visit(served)
    ann.go("Answers")
    expect(rows(ann)).to_have_count(2)
    ann.page.get_by_label("Class", exact=True).select_option("dog")
    expect(rows(ann)).to_have_count(1)
    ann.page.get_by_label("Everyone").click()
    expect(rows(ann)).to_have_count(2)
    ann.page.get_by_label("Person").select_option("bob")
    expect(rows(ann)).to_have_count(1)
    ann.page.get_by_label("From").fill((date.today() + timedelta(days=2)).isoformat())
    expect(rows(ann)).to_have_count(0)
    ann.page.go_back()
    expect(rows(ann)).to_have_count(1)
    ann.page.reload()
    expect(rows(ann)).to_have_count(1)
    expect(ann.page.get_by_label("Person")).to_have_value("bob")
    expect(ann.page).to_have_url(re.compile(r"#answers/all//class=1&by=bob$"))
    ann.page.get_by_role("searchbox").fill("0009")
    expect(ann.page.locator(".empty", has_text="0009")).to_be_visible()
    expect(ann.page).to_have_url(re.compile(r"name=0009$"))
