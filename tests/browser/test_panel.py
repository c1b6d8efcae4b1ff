"""The panel: how far things are, in numbers that agree with one another and with what other views say."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, expect

from .conftest import Open, Serve, Visit

THIN = "\u202f"


def panel_of(visit: Visit) -> Locator:
    """Find the panel."""
    return visit.page.get_by_role("complementary", name="Progress")


def test_the_panel_follows_the_server(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3)
    ann = visit(served)
    ann.press("1")
    ann.saved()
    panel = panel_of(ann)
    expect(panel.locator(".numbers")).to_contain_text("Labels1")
    told = ann.page.evaluate("fetch('/api/panel').then(answer => answer.json())")
    history = [{"labels": n, "estimate": 0.4 / n, "low": 0.2 / n, "high": 0.6 / n} for n in range(1, 9)]
    audit = {"n": 200, "errors": 10, "estimate": 0.05, "low": 0.025, "high": 0.075, "labels": 8}
    trainer = {"doing": "training", "share": 0.5, "restarts": 2, "error": "The trainer ended with code 1."}
    served.tell(
        "panel",
        {
            **told,
            "history": history,
            "audit": audit,
            "trainer": trainer,
            "good_enough": "Upper bound 1.9 %.",
            "labels": 80,
        },
    )
    expect(panel.get_by_role("img")).to_have_attribute("aria-label", re.compile("to 5\u202f% at 8 labels.*target is 2"))
    expect(panel).to_contain_text("Good enough")
    expect(panel).to_contain_text("started again 2 times")
    expect(panel).to_contain_text("The trainer ended with code 1.")
    served.tell("trainer", {"doing": "infer pool", "share": 0.25})
    expect(panel.locator(".doing")).to_contain_text("Looking at all images")
    expect(panel.locator("progress")).to_have_attribute("value", "0.25")


def test_without_a_stream_the_panel_is_asked_for(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served, enter=False)
    ann.forgive("Failed to load resource")
    ann.page.route("**/api/live", lambda route: route.fulfill(status=502, body=""))
    served.enter(ann.page, "ann")
    served.plant("ann", 30, 0)
    expect(ann.page.locator(".numbers")).to_contain_text("Labels1")


def test_headline_and_chart_show_one_estimate_of_one_moment(serve: Serve, visit: Open) -> None:
    points = [{"labels": n, "estimate": share, "low": 0.2, "high": 0.9} for n, share in ((40, 0.9), (80, 0.75))]
    audit = {"n": 60, "errors": 18, "estimate": 0.3, "low": 0.2, "high": 0.43, "labels": 120}
    ann = visit(serve(iteration=3, more={"history": points, "audit": audit}))
    panel = panel_of(ann)
    expect(panel.locator(".estimate b")).to_have_text(f"30{THIN}%")
    expect(panel.get_by_role("img")).to_have_attribute("aria-label", re.compile(f"to 30{THIN}% at 120 labels, between"))
    expect(panel).to_contain_text("18 of 60 test questions wrong, model trained on 120 labels.")


def test_the_chart_stays_in_its_frame_when_labels_are_taken_away(serve: Serve, visit: Open) -> None:
    points = [{"labels": n, "estimate": 0.3, "low": 0.2, "high": 0.4} for n in (40, 200, 90)]
    audit: dict[str, Any] = {"n": 60, "errors": 18, **points[-1]}
    ann = visit(serve(iteration=3, more={"history": points, "audit": audit}))
    chart = panel_of(ann).get_by_role("img")
    frame = chart.bounding_box()
    assert frame is not None
    for part in chart.locator("polyline, polygon, circle").all():
        box = part.bounding_box()
        assert box is not None
        assert frame["x"] <= box["x"] <= box["x"] + box["width"] <= frame["x"] + frame["width"]


def test_flagged_labels_are_said_not_to_be_trained_on(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.press("f")
    flagged = panel_of(ann).locator(".numbers div", has_text="Flagged")
    expect(flagged).to_have_text("Flagged1")
    ann.press("1")
    expect(flagged).to_have_text("Flagged (1 of them labelled: not trained on until the flag is off)1")


def test_panel_guesses_and_export_count_the_same_guesses(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, count=200, doubt=0.5)
    ann = visit(served)
    ann.press("1", "2")
    ann.saved()
    row = panel_of(ann).locator(".numbers div", has_text=f"Guesses at least 95{THIN}% sure")
    sure = row.locator("dd").inner_text()
    assert 0 < int(sure) < 198
    expect(ann.page.locator("#tabs a", has_text="Guesses").locator(".number")).to_have_text(sure)
    ann.go("Guesses")
    expect(ann.page.locator(".tile").first).to_be_visible()
    tabs = ann.page.locator(".guesses .tabs .number").all_inner_texts()
    assert sum(map(int, tabs)) == int(sure)
    ann.go("Export")
    expect(ann.page.locator(".export .level")).to_contain_text(f"{sure} guesses")
    told = ann.page.evaluate("fetch('/api/panel').then(answer => answer.json())")
    served.plant("ann", 100, 0)  # by somebody else, meanwhile: the model was 100 % sure of it
    served.tell("panel", {**told, "pseudo": int(sure) - 1})
    expect(row.locator("dd")).to_have_text(str(int(sure) - 1))
    expect(ann.page.locator(".export .level")).to_contain_text(f"{int(sure) - 1} guesses")


def test_what_the_model_is_worth_and_how_far_it_is_to_the_target_is_said_in_words(serve: Serve, visit: Open) -> None:
    worth = {"verdict": "not useful yet", "why": "It may be no better.", "way": "168 test questions.", "commonest": 0.4}
    audit = {"n": 60, "errors": 18, "estimate": 0.3, "low": 0.2, "high": 0.43, "labels": 120}
    served = serve(iteration=3, more={"worth": worth, "audit": audit})
    ann = visit(served)
    panel = panel_of(ann)
    expect(panel.locator(".verdict")).to_have_text("Not useful yet")
    expect(panel).to_contain_text("It may be no better.")
    expect(panel).to_contain_text("168 test questions.")
    panel.get_by_role("button", name="Ask me test questions now").click()
    expect(ann.page.get_by_text("The next 20 questions are test questions.")).to_be_visible()
    told = ann.page.evaluate("fetch('/api/panel').then(answer => answer.json())")
    served.tell("panel", {**told, "audit": None, "worth": {**worth, "verdict": "unknown"}})
    expect(panel.locator(".verdict")).to_have_count(0)
    expect(panel).to_contain_text("168 test questions.")  # said before there is anything to measure


def test_the_models_mistakes_can_be_looked_at_and_corrected(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3, tested=((0.9, True), (0.9, False)), mistaken=((3, 0, 1), (7, 2, 0))))
    panel_of(ann).get_by_role("link", name="its mistakes").click()
    view = ann.page.locator(".view.model")
    expect(view).to_contain_text("From 30 test questions")
    rows = view.locator(".by-class tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("9 of 10")  # the worst first
    expect(view.locator(".matrix .wrong")).to_have_count(2)
    expect(view.locator(".mistakes li")).to_have_count(2)
    view.get_by_role("button", name="Look at shapes/img_0003.png").click()
    ann.page.keyboard.press("2")
    ann.saved()
    expect(view.locator(".mistakes li")).to_have_count(1)
    assert [(act["item"], act["class"], act["why"]) for act in ann.served.acts()] == [(3, 1, "browse")]


def test_another_target_is_chosen_with_what_it_takes_before_the_eyes(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, people=("ann", "bob"))
    ann, bob = visit(served), visit(served, "bob")
    expect(panel_of(bob)).to_contain_text(f"Target: an error below 2{THIN}%.")
    ann.page.get_by_role("button", name="Change the target").click()
    dialog = ann.page.get_by_role("dialog")
    expect(dialog.get_by_role("radio", name=f"Error below 2{THIN}%")).to_be_checked()
    expect(dialog).to_contain_text(f"Error below 2{THIN}% takes 228 test questions without a mistake")
    expect(dialog).to_contain_text("takes 458 test questions without a mistake, and there are not so many")
    ann.page.keyboard.press("ArrowDown")
    expect(dialog.get_by_role("radio", name=f"Error below 5{THIN}%")).to_be_checked()
    expect(panel_of(bob)).to_contain_text(f"below 2{THIN}%")  # nothing is chosen yet
    ann.page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    for one in (ann, bob):
        expect(panel_of(one)).to_contain_text(f"Target: an error below 5{THIN}%.")
    ann.press("?")
    expect(ann.page.get_by_role("dialog")).to_contain_text(f"below the target of this project, 5{THIN}%")


def test_a_target_that_cannot_be_chosen_says_why_and_the_dialog_stays(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3))
    ann.forgive("Failed to load resource")
    ann.page.route("**/api/target", lambda route: route.fulfill(status=503, json={"error": "The disk is full."}))
    ann.page.get_by_role("button", name="Change the target").click()
    ann.page.get_by_role("radio", name="No target").check()
    ann.page.get_by_role("button", name="Choose").click()
    expect(ann.page.get_by_role("dialog")).to_contain_text("Not changed: The disk is full.")
    expect(panel_of(ann)).to_contain_text(f"below 2{THIN}%")
