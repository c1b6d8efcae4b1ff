"""What the page says to people who do not know machine learning, or press a key that does nothing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import Open, Serve
from .fake_server import STATIC

JARGON = re.compile(r"\b(admit|acquire|entropy|iteration|pseudo|as in deepbass run)", re.IGNORECASE)


def test_help_explains_the_words_of_the_page(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.page.get_by_role("button", name="Help").click()
    dialog = ann.page.get_by_role("dialog", name="Help")
    for word in ("The model", "A guess", "Test questions", "Estimated error", "Good enough", "Not this class", "Flag"):
        expect(dialog.get_by_role("term").filter(has_text=word).first).to_be_visible()
    expect(dialog).to_contain_text("below the target of this project, 2\u202f%")


def test_no_view_speaks_the_language_of_machine_learning(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3, people=("ann", "bo"), tested=((0.9, True), (0.99, False))))
    for view in ("label", "guesses", "answers", "disagreements", "export"):
        ann.page.goto(f"{ann.served.origin}/#{view}")
        ann.page.wait_for_timeout(200)
        assert JARGON.findall(ann.page.locator("body").inner_text()) == []
    ann.page.keyboard.press("?")
    assert JARGON.findall(ann.page.get_by_role("dialog").inner_text()) == []


def test_refusing_a_guess_has_one_name(serve: Serve, visit: Open) -> None:
    said = [text for path in STATIC.glob("*.js") for text in re.findall(r'"[^"\n]*"|`[^`]*`', path.read_text("utf-8"))]
    assert [text for text in said if re.search(r"\bveto\b", text, re.IGNORECASE) and text != '"veto"'] == []
    ann = visit(serve(iteration=3))
    ann.go("Guesses")
    expect(ann.page.get_by_role("button", name="Not this class").first).to_be_visible()


@pytest.mark.parametrize("key", ["x", "7", "Enter", "Shift+Q"])
def test_a_key_that_does_nothing_says_so(serve: Serve, visit: Open, key: str) -> None:
    served = serve()
    ann = visit(served)
    ann.press(key)
    name = key.removeprefix("Shift+").upper()
    expect(ann.page.locator(".hint")).to_have_text(f"{name} does nothing here. ? shows the keys.")
    ann.page.keyboard.press("?")
    ann.page.keyboard.press("y")  # also above a dialog
    expect(ann.page.get_by_role("dialog").locator(".hint")).to_have_text("Y does nothing here. ? shows the keys.")
    assert served.acts() == []


def test_keys_that_work_or_are_the_browsers_are_not_remarked_on(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3))
    for key in ("Shift", "Control", "Alt", "Control+k", "Alt+x", "Tab", "ArrowDown", "PageDown", "Escape", "F2", "1"):
        ann.press(key)
    expect(ann.page.locator(".hint")).to_have_count(0)
    ann.page.get_by_role("button", name="Add a class").click()
    ann.page.get_by_label("Name of the new class").press("x")
    expect(ann.page.locator(".hint")).to_have_count(0)


def test_a_key_for_chosen_guesses_says_that_none_is_chosen(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3)
    ann = visit(served)
    ann.go("Guesses")
    expect(ann.page.locator(".tile").first).to_be_visible()
    ann.page.keyboard.press("c")
    expect(ann.page.locator(".hint")).to_have_text("Choose images first.")
    assert served.acts() == []
