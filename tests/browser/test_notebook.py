"""The notebook's widget in a real browser. Its Python side is real, too; a few lines play anywidget's model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from deepbass.notebook.label_widget import LabelWidget
from deepbass.session import Session
from tests.notebook.sessions import HOSTILE, pictures, texts

SYNCED = ("question", "classes", "may_add", "may_undo", "progress", "note", "busy", "turn")
LOAD = """async ([script, state]) => {
  const heard = new Map();
  const model = {
    get: (name) => state[name],
    on: (name, then) => heard.set(name, then),
    off: (name) => heard.delete(name),
    send: async (message) => {
      state = await window.kernel(message);
      heard.get("change:turn")?.();
    },
  };
  document.addEventListener("keydown", ({ key }) => { window.shortcuts = (window.shortcuts ?? "") + key; });
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  window.leave = widget.render({ model, el: document.querySelector("#here") });
}"""
Shown = Callable[..., Page]


@pytest.fixture
def shown(browser: Browser) -> Iterator[Shown]:
    """Show a widget on a page, as a notebook does; at the end nothing may have gone wrong on it."""
    problems: list[str] = []
    context = browser.new_context()

    def show(widget: LabelWidget, colours: str = "light") -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text))

        def state() -> dict[str, Any]:
            return {name: getattr(widget, name) for name in SYNCED}

        def kernel(message: dict[str, Any]) -> dict[str, Any]:
            widget._handle_msg({"content": {"data": {"method": "custom", "content": message}}, "buffers": []})
            return state()

        page.expose_function("kernel", kernel)
        dark = "background: #111; color: #eee" if colours == "dark" else ""
        page.set_content(f"<style>{widget._css}</style><body style='{dark}'><div id='here'></div></body>")
        page.evaluate(LOAD, [str(widget._esm), state()])
        return page

    yield show
    context.close()
    assert problems == []


def row(page: Page) -> int:
    """Read which row is asked for."""
    return int(page.locator(".stage small").inner_text().removeprefix("row "))


def press(page: Page, key: str) -> None:
    """Press a key in the widget, and wait until it was heard."""
    page.locator(".deepbass-label").press(key)
    expect(page.locator(".deepbass-label")).to_have_attribute("aria-busy", "false")


def test_keys_label_skip_and_undo_and_the_notebook_does_not_hear_them(shown: Shown) -> None:
    session = pictures(classes=["dark", "7", "bright"])
    page = shown(session.widget(batch=20))
    assert page.locator(".classes kbd").all_inner_texts() == ["1", "7", "2"]  # as on the labelling page
    expect(page.locator(".stage img")).to_have_class("pixels")
    expect(page.get_by_role("textbox")).to_be_hidden()  # these classes, and no others
    first = row(page)
    press(page, "2")
    assert session.labels[first] == "bright"
    second = row(page)
    press(page, "Space")
    assert row(page) not in (first, second)
    press(page, "u")
    assert row(page) == second
    press(page, "Backspace")
    assert (row(page), session.labels[first]) == (first, None)
    page.get_by_role("button", name="dark").click()
    expect(page.locator(".progress")).to_contain_text("1\N{NO-BREAK SPACE}label just now")
    press(page, "7")  # the focus is not on the button any more
    assert [session.labels[each] for each in (first, second)] == ["dark", "7"]
    press(page, "9")  # no class has it
    assert page.evaluate("window.shortcuts") is None
    page.evaluate("window.leave()")


def test_neither_texts_nor_names_of_classes_are_markup(shown: Shown) -> None:
    session = texts()
    page = shown(session.widget())
    expect(page.locator(".stage pre")).to_contain_text(HOSTILE)
    field = page.get_by_role("textbox")
    field.press_sequentially(f"{HOSTILE} 1")  # digits in a field are no answers
    assert session.labels == [None] * 24
    field.press("Enter")
    expect(page.locator(".classes button")).to_contain_text(HOSTILE)
    assert session.classes == (f"{HOSTILE} 1",)
    press(page, "1")
    assert sum(label is not None for label in session.labels) == 2
    assert page.locator(".deepbass-label img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_errors_are_said_and_when_nothing_is_left_so_is_that(shown: Shown) -> None:
    session = Session([[0.0], [1.0]], classes=["low", HOSTILE])
    page = shown(session.widget())
    press(page, "1")
    press(page, "2")
    expect(page.locator(".stage")).to_be_empty()
    expect(page.get_by_role("button", name="low")).to_be_disabled()
    press(page, "1")  # nothing is asked
    assert sorted(map(str, session.labels)) == sorted([HOSTILE, "low"])
    press(page, "u")
    expect(page.get_by_role("button", name="low")).to_be_enabled()
