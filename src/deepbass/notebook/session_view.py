"""A session as a notebook shows it: where it stands, its curve, the last questions, and what it guesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from deepbass.core.belief import Floats
from deepbass.core.labels import UNKNOWN
from deepbass.notebook.draw_session_curve import draw_session_curve
from deepbass.notebook.faces import face_of
from deepbass.report.markup import tag
from deepbass.report.words import counted, percent
from deepbass.runs.stepwise import Stepwise, unknown_of

_SHOWN = 6  # questions, and guesses: the half that it is surest of, and the half that it is least sure of
_SIDE = 96  # pixels of a picture
_LETTERS = 160  # of a text
_CLASSES = 20  # in the table


def session_html(step: Stepwise, classes: Sequence[object]) -> str:
    """Show a session. Names and texts may say anything: whoever writes the tree escapes all of them."""
    probs_N_C = step.probabilities() if step.can_learn else None
    view = _View(step, [str(class_) for class_ in classes], probs_N_C)
    parts = [
        tag("style", files("deepbass.notebook").joinpath("session_view.css").read_text(encoding="utf-8")),
        tag("p", view.headline()),
        tag("div", view.by_class(), draw_session_curve(step.curve.points), class_="deepbass-columns"),
        view.questions(),
        view.guesses(),
    ]
    return ElementTree.tostring(tag("div", *parts, class_="deepbass-session"), encoding="unicode", method="html")


class _View:
    """The parts of what is shown."""

    def __init__(self, step: Stepwise, classes: list[str], probs_N_C: Floats | None) -> None:
        self._step, self._classes, self._probs_N_C = step, classes, probs_N_C
        self._labels, self._pool = step.labels, step.seen.pool

    def headline(self) -> str:
        """Count what there is."""
        labels, open_ = self._labels, len(unknown_of(self._labels))
        known = counted(len(labels.known), "label")
        said = f"{known} of {counted(self._pool.row_map.total, 'row')}, {counted(open_, 'question')} open."
        return said if self._probs_N_C is not None else f"{said} It learns once labels of two classes are known."

    def by_class(self) -> Element | None:
        """List the classes: labels, and the share that is predicted to be of each."""
        if not self._classes:
            return None
        known = np.bincount(self._labels.answer[self._labels.known], minlength=len(self._classes))
        shares = None
        if self._probs_N_C is not None:
            shares = np.bincount(self._probs_N_C.argmax(1), minlength=len(self._classes)) / len(self._probs_N_C)
        rows = [
            tag(
                "tr",
                tag("td", name, title=name),
                tag("td", counted(int(known[number]))),
                tag("td", "–" if shares is None else percent(float(shares[number]), 0)),
            )
            for number, name in enumerate(self._classes[:_CLASSES])
        ]
        if (more := len(self._classes) - _CLASSES) > 0:
            rows.append(tag("tr", tag("td", f"and {counted(more)} more", colspan="3")))
        heads = (tag("th", head) for head in ("class", "labels", "predicted"))
        return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))

    def questions(self) -> Element | None:
        """Show what was asked last, with the answers that have come."""
        asked = self._step.curve.asked[-_SHOWN:][::-1]
        return self._cards("Last questions", ((id_, self._said_of(id_), "") for id_ in asked))

    def guesses(self) -> Element | None:
        """Show some guesses: those that it is surest of, and those that it is least sure of."""
        open_ = np.flatnonzero(self._labels.answer == UNKNOWN)
        if self._probs_N_C is None or not len(open_):
            return None
        order = open_[np.argsort(-self._probs_N_C[open_].max(1), kind="stable")]
        chosen = order if len(order) <= _SHOWN else np.concatenate([order[: _SHOWN // 2], order[-_SHOWN // 2 :]])
        shown = ((id_, *self._guess_of(id_)) for id_ in chosen.tolist())
        return self._cards("Guesses, from the surest to the least sure", shown)

    def _said_of(self, id_: int) -> str:
        answer = int(self._labels.answer[id_])
        return "open" if answer == UNKNOWN else self._classes[answer]

    def _guess_of(self, id_: int) -> tuple[str, str]:
        """Tell a guess, and how sure it is."""
        assert self._probs_N_C is not None
        probs_C = self._probs_N_C[id_]
        return f"{self._classes[int(probs_C.argmax())]}?", f"{percent(float(probs_C.max()), 0)}, "

    def _cards(self, title: str, shown: Iterable[tuple[int, str, str]]) -> Element | None:
        cards = [self._card(*each) for each in shown]
        return tag("section", tag("b", title), tag("div", *cards, class_="deepbass-cards")) if cards else None

    def _card(self, id_: int, said: str, sure: str) -> Element:
        face = face_of(self._pool, id_, _SIDE, _LETTERS)
        row = f"row {self._pool.rows[id_]}"
        seen = tag("img", src=face.picture, alt=row) if face.picture else tag("span", face.text)
        return tag("figure", seen, tag("figcaption", tag("b", said, title=said), tag("small", sure + row)))
