"""Texts and rows on the page: read, labelled by one key, looked through; whatever they hold is shown, never run."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from deepbass.exchange.exports import export
from deepbass.label.project import Project, Settings
from tests.web.served import served

from .conftest import Open, Serve, Visit
from .looking import VIEWS, pale, unnamed

LONG = "\n\n".join(f"Paragraph {number}: " + "the export button does nothing, twice. " * 12 for number in range(30))
ARABIC = "الزر لا يعمل في الصفحة الأولى"
MARKUP = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\"> & <b>bold</b>"
TEXTS = [LONG, "Line one\nLine two\n\n    indented 👩‍👩‍👧 🎉", ARABIC, MARKUP, "short", "", "last one"]
COLUMNS = [["title", "Export is broken"], ["stars", 4.0], ["reply", None]]
CELLS = [["age", 42.0], ["city", "Köln"], ["income", None], ["rate", 0.1 + 0.2], ["note", "<i>kept</i> as it is"]]


def texts(**more: Any) -> dict[str, Any]:
    contents = [{"kind": "text", "text": text, "beside": COLUMNS, "characters": len(text)} for text in TEXTS]
    contents += [{"kind": "text", "text": "cut", "beside": [], "characters": 1_234_567}]
    return {"kind": "text", "title": "tickets", "classes": ["bug", "question", "praise"], "contents": contents, **more}


def rows(**more: Any) -> dict[str, Any]:
    contents = [{"kind": "row", "cells": [["id", float(at)], *CELLS], "columns": 6} for at in range(20)]
    return {"kind": "row", "title": "customers", "classes": ["stays", "leaves"], "contents": contents, **more}


def read(visit: Visit, text: str) -> None:
    """Wait until a text is the one in question."""
    expect(visit.page.locator(".ask .reader .text")).to_contain_text(text)


def scrolled(visit: Visit) -> float:
    return float(visit.page.evaluate("document.querySelector('.ask .reader .scroll').scrollTop"))


def test_one_key_labels_a_text_and_goes_on(serve: Serve, visit: Open) -> None:
    ann = visit(serve(**texts()))
    read(ann, "Paragraph 0")
    ann.page.keyboard.press("1")
    read(ann, "Line two")
    ann.page.keyboard.press("s")
    read(ann, ARABIC)
    ann.page.keyboard.press("u")
    read(ann, "Line two")
    ann.saved()
    assert [(act["kind"], act["item"]) for act in ann.served.acts()] == [("label", 0), ("skip", 1), ("undo", 1)]


def test_a_long_text_scrolls_by_keys_without_being_labelled(serve: Serve, visit: Open) -> None:
    ann = visit(serve(**texts()))
    read(ann, "Paragraph 0")
    expect(ann.page.locator(".reader.more-below")).to_have_count(1)
    places = [scrolled(ann)]
    for key in ("Space", "PageDown", "ArrowDown", "End", "Shift+Space", "Home"):
        ann.page.keyboard.press(key)
        places.append(scrolled(ann))
    start, space, page, line, end, back, home = places
    assert start == home == 0 < space < page < line < end
    assert back < end
    ann.page.keyboard.press("End")
    expect(ann.page.locator(".reader.more-below")).to_have_count(0)
    assert ann.served.acts() == []
    ann.page.keyboard.press("1")
    read(ann, "Line one")
    assert scrolled(ann) == 0
    # as wide as can be read well
    wide = ann.page.evaluate("document.querySelector('.ask .reader .text').getBoundingClientRect().width")
    size = ann.page.evaluate("parseFloat(getComputedStyle(document.querySelector('.ask .reader .text')).fontSize)")
    assert size >= 16 and 20 * size < wide < 45 * size


def test_words_can_be_selected_and_copied_while_keys_stay_keys(serve: Serve, visit: Open) -> None:
    ann = visit(serve(**texts()))
    read(ann, "Paragraph 0")
    ann.page.locator(".ask .reader .text").dblclick(position={"x": 30, "y": 10})
    assert ann.page.evaluate("getSelection().toString().trim()") == "Paragraph"
    ann.page.keyboard.press("Control+c")
    ann.page.keyboard.press("Shift+ArrowRight")
    assert ann.served.acts() == []
    assert ann.page.locator(".reader.larger").count() == 0  # a double click is for words here, not for size
    ann.page.keyboard.press("z")
    assert ann.page.locator(".reader.larger").count() == 1


def test_line_breaks_directions_and_markup_are_shown_as_they_are(serve: Serve, visit: Open) -> None:
    ann = visit(serve(**texts()))
    shown = ann.page.locator(".ask .reader .text")
    for key, text in zip(["1", "1", "1", "1"], TEXTS[:4], strict=True):
        expect(shown).to_have_text(text, use_inner_text=False)
        assert shown.text_content() == text
        ann.page.keyboard.press(key)
    expect(shown).to_have_text("short")
    assert ann.page.locator(".reader script, .reader img, .reader .text b").count() == 0
    assert "owned" not in ann.page.title()
    ann.page.keyboard.press("u")
    ann.page.keyboard.press("u")
    read(ann, ARABIC)
    assert ann.page.evaluate("document.querySelector('.ask .reader .text').matches(':dir(rtl)')")


def test_chosen_columns_stand_beside_the_text_and_above_it_on_a_phone(serve: Serve, visit: Open) -> None:
    ann = visit(serve(**texts()))
    read(ann, "Paragraph 0")
    for width, beside in ((1280, True), (400, False)):
        ann.page.set_viewport_size({"width": width, "height": 800})
        columns, text = (ann.page.locator(f".ask .reader {part}").bounding_box() for part in (".beside", ".text"))
        assert columns is not None
        assert text is not None
        if beside:
            assert columns["x"] >= text["x"] + text["width"]
        else:
            assert columns["y"] + columns["height"] <= text["y"]
        expect(ann.page.locator(".ask .beside")).to_contain_text("Export is broken")
        expect(ann.page.locator(".ask .beside .missing")).to_have_text("missing")
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= width


def test_nothing_too_much_and_what_fails_are_said(serve: Serve, visit: Open) -> None:
    ann = visit(serve(**texts(broken=frozenset({4}))))
    read(ann, "Paragraph 0")
    for text in ("Line one", ARABIC, "bold", "Cannot be shown"):
        ann.page.keyboard.press("2")
        expect(ann.page.locator(".ask .reader .page")).to_contain_text(text)
    expect(ann.page.locator(".ask .reader")).to_contain_text("Cannot be shown: row 3 is not UTF-8 text")
    ann.page.keyboard.press("2")
    expect(ann.page.locator(".ask .reader")).to_contain_text("There is no text here.")
    ann.page.keyboard.press("2")
    read(ann, "last one")
    ann.page.keyboard.press("2")
    expect(ann.page.locator(".ask .cut")).to_contain_text("the first 3 of 1\u202f234\u202f567 characters")


def test_a_row_is_a_small_table(serve: Serve, visit: Open) -> None:
    ann = visit(serve(**rows()))
    cells = ann.page.locator(".ask .cells tr")
    expect(cells).to_have_count(6)
    expect(cells.nth(1)).to_have_text("age42")
    expect(cells.nth(3).locator("td")).to_have_class("missing")
    expect(cells.nth(4).locator("td")).to_have_text("0.3")
    expect(cells.nth(5).locator("td")).to_have_text("<i>kept</i> as it is")
    assert ann.page.evaluate("getComputedStyle(document.querySelector('.cells .figure')).textAlign") == "right"
    ann.page.keyboard.press("2")
    expect(cells.nth(0)).to_have_text("id1")


@pytest.mark.parametrize("made", [texts, rows])
def test_lists_show_the_beginning_and_a_closer_look_shows_all(serve: Serve, visit: Open, made: Any) -> None:
    served = serve(**made(iteration=3, people=("ann", "bob")))
    served.plant("ann", 0, 0)
    served.plant("bob", 0, 1)
    ann = visit(served)
    kind, page = ann.page.evaluate("document.body.dataset.kind"), ann.page
    start, whole = ("Paragraph 0", "Paragraph 29") if kind == "text" else ("age 42", "kept")
    ann.go("Answers")
    expect(page.locator(".answers .excerpt")).to_contain_text(start)
    page.get_by_role("button", name="Change the answer").click()
    expect(page.locator(".look .reader")).to_contain_text(whole)
    page.keyboard.press("Escape")
    ann.go("Disagreements")
    expect(page.locator(".card .excerpt")).to_contain_text(start)
    expect(page.locator(".agreement")).to_contain_text(f"{kind.capitalize()}s both answered")
    page.get_by_role("button", name="Look closer").click()
    expect(page.locator(".look .reader")).to_contain_text(whole)
    page.keyboard.press("1")  # settles it, and nothing is left
    expect(page.locator(".look")).to_be_hidden()
    ann.go("Guesses")
    expect(page.locator(".tile .excerpt").first).not_to_be_empty()
    expect(page.locator(".guesses")).to_contain_text(f"on {kind}s without a label")
    ann.go("Export")
    expect(page.locator(".exports")).to_contain_text(f"One line per {kind}")
    assert page.get_by_role("link", name="Download: Text folder").count() == (kind == "text")
    page.keyboard.press("?")
    expect(page.locator(".help")).to_contain_text(f"the {kind} comes back later")
    said = str(page.evaluate("document.body.textContent")).lower()
    assert "image" not in said and "picture" not in said
    ann.saved()
    assert [act["kind"] for act in served.acts()][2:] == ["settle"]


def test_with_the_real_server_a_table_of_texts_is_labelled_and_exported(browser: Browser, tmp_path: Path) -> None:
    table = tmp_path / "tickets.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["title", "body"], *([f"T{row}", text] for row, text in enumerate(TEXTS) if text)])
    settings = Settings(audit=0.0, show=["title"], config={"text": "body"})
    project = Project.create(tmp_path / "project", str(table), ["bug", "question"], settings)
    said = {}
    with served(project) as here, browser.new_context() as context:
        page = context.new_page()
        page.goto(here.ready.url)
        for _ in range(6):
            expect(page.locator(".ask .beside")).to_contain_text("T")
            name = str(page.locator(".ask .caption").text_content())
            said[name] = page.locator(".ask .reader .text").text_content()
            before = len(said)
            page.keyboard.press("1")
            expect(page.locator(".panel .numbers")).to_contain_text(f"Labels{before}")
        expect(page.locator(".nothing")).to_contain_text("All texts are labelled.")
        assert "owned" not in page.title()
    export(project, "csv", tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["path"]: row["text"] for row in rows} == said
    assert sorted(said.values(), key=str) == sorted(filter(None, TEXTS))


@pytest.mark.parametrize("kind", ["text", "row"])
def test_whatever_data_holds_no_view_is_wider_than_a_phone_or_pale(serve: Serve, visit: Open, kind: str) -> None:
    long, evil = "x" * 400, "<script>document.title = 'owned'</script>"
    content: dict[str, Any] = {"kind": "row", "cells": [[long, long], [evil, evil], ["n", 1e300]], "columns": 900}
    if kind == "text":
        content = {"kind": "text", "text": f"{long} {evil}", "beside": [[long, long], ["n", None]], "characters": 9999}
    served = serve(kind=kind, contents=[content] * 12, people=("ann", "bo"), iteration=3)
    served.plant("ann", 0, 0)
    served.plant("bo", 0, 1)
    ann = visit(served, viewport={"width": 360, "height": 700}, color_scheme="dark")
    for view in VIEWS:
        ann.page.goto(f"{served.origin}/#{view}")
        ann.page.wait_for_timeout(300)
        assert (view, ann.page.evaluate("document.documentElement.scrollWidth")) <= (view, 360)
        assert unnamed(ann) == []
        assert pale(ann) == []
    assert "owned" not in ann.page.title()
