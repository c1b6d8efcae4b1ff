"""The samples that were asked for, in order, each with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from deepbass.report.facts import AskedSample, Facts
from deepbass.report.markup import data_uri, tag
from deepbass.report.png import encode_png, shrink
from deepbass.report.words import counted

SIDE = 64  # pixels of a thumbnail's longer side
AT_ONCE = 120  # thumbnails in sight; the others unfold
MOST = 1000  # thumbnails on the page, so that its size stays bounded


def questions(facts: Facts) -> Element | None:
    """Show all questions, as pictures where there are any and by name otherwise."""
    if not facts.questions:
        return None
    shown = facts.questions[:MOST]
    kind = "pictures" if any(question.picture is not None for question in shown) else "names"
    first, rest = shown[:AT_ONCE], shown[AT_ONCE:]
    answered = len(facts.questions) - facts.waiting
    note = f"{counted(len(facts.questions), 'question')}, {counted(answered)} answered."
    if len(facts.questions) > len(shown):
        note += f" The first {counted(len(shown))} are shown."
    return tag(
        "section",
        tag("h2", "What it asked for"),
        tag("p", note, class_="note"),
        _grid(facts, first, kind),
        tag("details", tag("summary", f"The next {counted(len(rest))}"), _grid(facts, rest, kind)) if rest else None,
    )


def _grid(facts: Facts, shown: Sequence[AskedSample], kind: str) -> Element:
    return tag("ol", *(_item(facts, question) for question in shown), class_=f"asked {kind}", role="list")


def _item(facts: Facts, question: AskedSample) -> Element:
    waiting = question.answer is None
    answer = "waiting" if question.answer is None else facts.class_name(question.answer)
    return tag(
        "li",
        _face(question),
        tag("div", tag("b", answer, title=answer), " ", tag("small", f"#{counted(question.order)}"), class_="answer"),
        tag("small", f"iteration {question.iteration}"),
        class_="waiting" if waiting else "",
    )


def _face(question: AskedSample) -> Element:
    if question.picture is None:
        return tag("span", question.name, class_="name", title=question.name)
    picture = encode_png(shrink(question.picture, SIDE))
    return tag("img", src=data_uri("image/png", picture), alt=question.name, title=question.name, loading="lazy")
