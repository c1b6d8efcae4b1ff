"""The pictures that were asked for, as one picture for a slide."""

from __future__ import annotations

import numpy as np

from deepbass.report.canvas import GREY, INK, Drawing, blank
from deepbass.report.facts import Facts
from deepbass.report.png import Picture, shrink
from deepbass.report.words import counted, shorten

COLUMNS, ROWS = 10, 5
SIDE = 64  # pixels of the longer side


def contact_sheet(facts: Facts) -> Drawing | None:
    """Draw the first pictures that were asked for, in order, each with its answer."""
    pictured = [(q, shrink(q.picture, SIDE)) for q in facts.questions if q.picture is not None][: COLUMNS * ROWS]
    if not pictured:
        return None
    rows = -(-len(pictured) // COLUMNS)
    height, width = (max(picture.shape[side] for _, picture in pictured) for side in (0, 1))
    tall, wide = 1.45 * height, 1.15 * width  # with room for the words below and the gap beside
    figure = blank(9.0, 0.6 + 0.85 * rows * tall / wide)
    axes = figure.subplots()
    axes.set_title("The samples that were asked for, in order")
    for index, (question, picture) in enumerate(pictured):
        x, y = (index % COLUMNS) * wide, (index // COLUMNS) * tall
        axes.imshow(_colour(picture), extent=(x, x + picture.shape[1], y + picture.shape[0], y))
        answer = "waiting" if question.answer is None else shorten(facts.class_name(question.answer), 11)
        middle, below = x + picture.shape[1] / 2, y + picture.shape[0]
        axes.text(middle, below, f"{answer}", ha="center", va="top", fontsize=9, color=INK, weight="bold")
        axes.text(x, y, f"{question.order}", ha="left", va="bottom", fontsize=7, color=GREY)
    axes.set_xlim(0, COLUMNS * wide)
    axes.set_ylim(rows * tall, -0.15 * tall)
    axes.set_axis_off()
    return Drawing("questions", figure, f"{counted(len(pictured), 'picture')} that were asked for, with the answers.")


def _colour(picture: Picture) -> Picture:
    """Show grey pictures as grey, not in matplotlib's colours."""
    return picture if picture.ndim == 3 else np.repeat(picture[..., None], 3, axis=2)
