"""A session in a notebook: what is shown is true, and nothing that a name or a text says is markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from deepbass.core.labels import Answers, Labels
from deepbass.runs.session_curve import SessionCurve
from deepbass.session import Session
from tests.notebook.sessions import HOSTILE, TEXTS, pictures, rows, texts


class Parsed(HTMLParser):
    """The elements and texts of a page, as a browser has them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.kinds: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.kinds.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.said += data + "\n"


def asked_and_taught(session: Session, times: int = 3) -> Session:
    for _ in range(times):
        asked = session.ask(4)
        session.teach(asked, np.array(["fine", HOSTILE])[asked % 2])
    session.ask(2)
    return session


def test_a_session_begins_without_a_curve_and_says_what_is_missing() -> None:
    shown = Parsed(texts(classes=["yes", "no"])._repr_html_())
    assert "0\N{NO-BREAK SPACE}labels of 24\N{NO-BREAK SPACE}rows" in shown.said
    assert "once labels of two classes are known" in shown.said
    assert "–" in shown.said
    assert "svg" not in shown.kinds


@pytest.mark.parametrize(("make", "seen"), [(texts, "span"), (pictures, "img"), (rows, "span")])
def test_the_curve_the_last_questions_and_guesses_are_shown_and_nothing_is_markup(make: object, seen: str) -> None:
    assert callable(make)
    session = asked_and_taught(make())
    shown = Parsed(session._repr_html_())
    assert set(shown.kinds) <= {
        *("div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "section", "b", "small", "span"),
        *("figure", "figcaption", "img", "svg", "line", "text", "polyline", "circle"),
    }
    assert not [name for name, _ in shown.attributes if name.startswith("on")]
    assert all(str(value).startswith("data:image/") for name, value in shown.attributes if name == "src")
    assert HOSTILE in shown.said
    assert shown.kinds.count("polyline") == 2
    assert shown.kinds.count("figure") == 1 + 6 + 6
    assert shown.kinds.count(seen) >= 12
    assert f"row {session.waiting[0]}" in shown.said
    assert shown.said.count("\nopen\n") == 2
    assert len(re.findall(r"\n\d+\s%, row \d+\n", shown.said)) == 6


def test_a_point_has_what_was_sure_and_what_was_foreseen() -> None:
    curve, labels = SessionCurve(), Labels.none(4, 2)
    probs = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    curve.look(labels, probs)
    told = Answers(np.array([0, 1, 2]), np.array([0, 1, 1]))
    curve.hear(labels, told)
    labels = labels.answered(told)
    curve.look(labels, probs)
    assert [(point.labels, round(point.sure, 3)) for point in curve.points] == [(0, 0.7), (3, 0.5)]
    assert [point.foreseen for point in curve.points] == [None, pytest.approx(2 / 3)]
    curve.hear(labels, Answers(np.array([1]), np.array([-1])))  # taken back: it does not count any more
    labels = labels.answered(Answers(np.array([1]), np.array([-1])))
    assert curve.foreseen(labels) == 0.5


def test_a_session_that_is_opened_again_shows_the_same(tmp_path: Path) -> None:
    session = asked_and_taught(texts())
    shown = session._repr_html_()
    session.save(tmp_path / "kept")
    assert Session.open(tmp_path / "kept", TEXTS)._repr_html_() == shown


def test_texts_that_were_added_are_shown_too() -> None:
    session = asked_and_taught(texts())
    (row,) = session.append(["something new"])
    session.teach([row], ["fine"])
    session._step.curve.ask(np.array([row]))
    assert "something new" in session._repr_html_()
