"""The widget's side in Python: what the page sends teaches the session, and what the page is told is true."""

from __future__ import annotations

import base64
import sys
from typing import Any

import pytest

from deepbass.core.errors import ConfigError, DataError
from deepbass.session import Session
from tests.notebook.sessions import HOSTILE, TEXTS, pictures, rows, texts


def send(widget: Any, kind: str, **more: object) -> None:
    """Let the page say something, about the question that it shows unless it says otherwise."""
    content = {"kind": kind, "row": widget.question.get("row"), **more}
    widget._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})


def test_a_label_is_taught_and_the_next_question_is_shown() -> None:
    session = texts(classes=["yes", "no"])
    widget = session.widget(batch=3)
    first, turn = widget.question["row"], widget.turn
    assert widget.question["text"] == TEXTS[first]
    send(widget, "label", **{"class": 1})
    assert session.labels[first] == "no"
    assert widget.question["row"] != first
    assert widget.turn > turn
    assert "1\N{NO-BREAK SPACE}label just now, 1 of 24 in all" in widget.progress


def test_it_asks_in_batches_and_the_model_chooses_what_comes_next() -> None:
    session = texts(classes=["yes", "no"])
    widget = session.widget(batch=2)
    for _ in range(6):
        send(widget, "label", **{"class": widget.question["row"] % 2})
    assert len(session.waiting) == 2
    assert session._step.curve.points[-1].labels == 6
    assert session.predict().tolist() == ["yes", "no"] * 12


def test_what_waits_is_shown_first_and_what_was_taught_elsewhere_is_not_shown() -> None:
    session = texts(classes=["yes", "no"])
    waiting = session.ask(3).tolist()
    widget = session.widget()
    assert widget.question["row"] == min(waiting)
    session.teach(sorted(waiting)[1], "yes")
    send(widget, "skip")
    assert widget.question["row"] == max(waiting)


def test_undo_takes_back_labels_and_skips_one_after_the_other() -> None:
    session = texts(classes=["yes", "no"])
    widget = session.widget()
    assert not widget.may_undo
    first = widget.question["row"]
    send(widget, "label", **{"class": 0})
    second = widget.question["row"]
    send(widget, "skip")
    send(widget, "undo")
    assert widget.question["row"] == second
    send(widget, "undo")
    assert (widget.question["row"], session.labels[first], widget.may_undo) == (first, None, False)
    send(widget, "undo")  # nothing is left to take back
    assert widget.question["row"] == first


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "label", "class": 0, "row": -5},
        {"kind": "label", "class": 2},
        {"kind": "label", "class": -1},
        {"kind": "label", "class": "0"},
        {"kind": "label"},
        {"kind": "new", "name": 3},
        {"kind": "<script>"},
    ],
)
def test_what_makes_no_sense_changes_nothing(message: dict[str, Any]) -> None:
    session = texts(classes=["yes", "no"])
    widget = session.widget()
    before = dict(widget.question)
    send(widget, message.pop("kind"), **message)
    assert (session.labels, widget.question) == ([None] * 24, before)


def test_a_new_class_is_taught_where_classes_may_be_added_and_else_it_is_said() -> None:
    session = texts()
    widget = session.widget()
    assert (widget.may_add, widget.classes) == (True, [])
    send(widget, "new", name=HOSTILE)
    assert session.classes == (HOSTILE,)
    assert widget.classes == [HOSTILE]
    closed = texts(classes=["yes", "no"]).widget()
    assert not closed.may_add
    send(closed, "new", name="maybe")
    assert "none of the classes" in closed.note
    send(closed, "label", **{"class": 0})
    assert closed.note == ""


def test_pictures_and_rows_are_shown_as_what_they_are() -> None:
    picture = pictures(classes=["dark", "bright"]).widget().question
    assert base64.b64decode(picture["picture"].removeprefix("data:image/png;base64,"))[1:4] == b"PNG"
    assert picture["text"] == ""
    assert rows(classes=["a", "b"]).widget().question["text"].startswith("size: ")


def test_when_every_row_was_asked_for_there_is_nothing_to_show() -> None:
    session = Session([[0.0], [1.0], [0.1], [1.1]], classes=["low", "high"])
    widget = session.widget(batch=9)
    for _ in range(4):
        send(widget, "label", **{"class": widget.question["row"] % 2})
    assert widget.question == {}
    send(widget, "undo")
    assert widget.question["row"] in range(4)


def test_what_is_missing_or_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    session = texts(classes=["yes", "no"])
    with pytest.raises(DataError, match="how many rows"):
        session.widget(batch=0)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "deepbass.notebook.label_widget", raising=False)
    with pytest.raises(ConfigError, match=r"pip install 'deepbass\[notebook\]'"):
        session.widget()
