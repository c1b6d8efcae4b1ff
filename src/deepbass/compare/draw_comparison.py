"""The curves of a comparison: what labels buy, and what minutes buy, by method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from deepbass.compare.methods import METHODS, OURS
from deepbass.compare.plan import EVERY_LABEL
from deepbass.compare.standing import ACCURACY, BALANCED, MEASURES, Outcome
from deepbass.report.canvas import (
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    RED,
    Drawing,
    blank,
    draw_band,
    label_ends,
    percent_axis,
    style,
)
from deepbass.report.words import percent

_WIDTH, _HEIGHT = 7.6, 4.6  # inches
_OLIVE, _SKY, _ROSE, _BROWN = "#6b6b00", "#2a7f9e", "#b0305c", "#7a4a1c"

_SIGNS = {"s": "■", "v": "▼", "^": "▲", "D": "◆", "P": "✚", "x": "✕", "*": "★", "o": "●", "": "–"}

# colour, dashes and mark of each method; ours stands out, and marks tell them apart where colours do not
_LOOKS: dict[str, tuple[str, str, str]] = {
    "logistic-regression": (RED, "-", "s"),
    "svm": (_OLIVE, "--", "v"),
    "self-training": (_ROSE, "--", "^"),
    "label-spreading": (_BROWN, "--", "D"),
    "supervised": (GREEN, "-", "P"),
    "random-questions": (_SKY, "--", "x"),
    "paper": (PURPLE, "--", "*"),
    OURS: (BLUE, "-", "o"),
    "all-labels": (GREY, "--", ""),
}


@dataclass(frozen=True)
class MethodLine:
    """The points of a method in a figure."""

    method: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    errors: tuple[float, ...] | None  # to each side; None: one run has none

    @property
    def band(self) -> tuple[list[float], list[float]] | None:
        """The edges of the band around it."""
        if self.errors is None:
            return None
        both = list(zip(self.ys, self.errors, strict=True))
        return [y - error for y, error in both], [y + error for y, error in both]


def draw_comparison(outcome: Outcome) -> dict[str, Drawing]:
    """Draw all figures for which there are results, by name."""
    with style():
        drawings = [_by_labels(outcome, ACCURACY), _by_labels(outcome, BALANCED), _by_minutes(outcome)]
    return {drawing.name: drawing for drawing in drawings if drawing is not None}


def _by_labels(outcome: Outcome, measure: str) -> Drawing | None:
    lines = _lines(outcome, measure, lambda method, tier: float(tier))
    if not lines:
        return None
    words = MEASURES[measure]
    ceiling = outcome.spread("all-labels", EVERY_LABEL, measure)
    figure = blank(_WIDTH, _HEIGHT)
    axes = figure.subplots()
    axes.set_title(f"{words[0].upper()}{words[1:]} by number of labels")
    _draw(axes, lines, [] if ceiling is None else [ceiling.mean])
    every = sorted({*outcome.plan.labels, *(int(x) for line in lines for x in line.xs)})
    axes.set_xticks(_apart(every), [f"{tick:,}" for tick in _apart(every)])
    axes.set_xlabel("labels, every one counted (logarithmic)")
    ends = {line.method: line.ys[-1] for line in lines}
    if ceiling is not None:
        axes.axhline(ceiling.mean, color=_LOOKS["all-labels"][0], linestyle="--", linewidth=1.2)
        ends["all-labels"] = ceiling.mean
    _name(axes, max(x for line in lines for x in line.xs), ends)
    said = "; ".join(f"{line.method} {percent(line.ys[0])} to {percent(line.ys[-1])}" for line in lines)
    more = f"Always guessing the commonest class would be right for {percent(outcome.plan.commonest)}."
    if measure == BALANCED:
        more = "A rare class counts as much as a common one."
    return Drawing(
        f"{measure.replace('_', '-')}-by-labels",
        figure,
        f"Line chart of {words} against the number of labels. {said}.",
        f"Lines: mean over runs; bands: one standard error to each side. {more}",
    )


def _by_minutes(outcome: Outcome) -> Drawing | None:
    def minutes(method: str, tier: str) -> float | None:
        took = outcome.seconds(method, tier)
        return None if took is None else max(took.mean, 0.01) / 60

    lines = _lines(outcome, ACCURACY, minutes)
    if not lines:
        return None
    figure = blank(_WIDTH, _HEIGHT)
    axes = figure.subplots()
    axes.set_title("Accuracy by minutes of computing")
    _draw(axes, lines, [])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("minutes (logarithmic)")
    _name(axes, max(x for line in lines for x in line.xs), {line.method: line.ys[-1] for line in lines})
    said = "; ".join(f"{line.method} {percent(line.ys[-1])} in {line.xs[-1]:.2g} minutes" for line in lines)
    return Drawing(
        "accuracy-by-minutes",
        figure,
        f"Line chart of accuracy against minutes. {said}.",
        "A point is a number of labels, more of them from left to right or upwards; minutes are those of one training "
        "with all that it takes to choose, without the data's loading.",
    )


def _lines(outcome: Outcome, measure: str, place: Callable[[str, str], float | None]) -> list[MethodLine]:
    lines = []
    for method in METHODS:
        if method not in outcome.plan.methods or method not in _LOOKS or METHODS[method].every_label:
            continue
        points = []
        for tier in outcome.plan.tiers(method):
            spread, x = outcome.spread(method, tier, measure), place(method, tier)
            if spread is not None and x is not None:
                points.append((x, spread))
        if points:
            errors = tuple(spread.error for _, spread in points)
            known = tuple(error for error in errors if error is not None)
            lines.append(
                MethodLine(
                    method,
                    tuple(x for x, _ in points),
                    tuple(spread.mean for _, spread in points),
                    known if len(known) == len(points) else None,
                )
            )
    return lines


def _draw(axes: Axes, lines: Sequence[MethodLine], others: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    for line in lines:
        colour, dashes, mark = _LOOKS[line.method]
        thick = 2.4 if line.method == OURS else 1.4
        draw_band(
            axes, line.xs, line.ys, colour, line.band, linestyle=dashes, marker=mark, markersize=5, linewidth=thick
        )
    percent_axis(axes, [*(y for line in lines for y in line.ys), *others])


def _name(axes: Axes, right: float, ends: Mapping[str, float]) -> None:
    """Write the methods' names, with their marks, beside the right edge, at the height where their lines end."""
    looks = {method: _LOOKS[method] for method in ends}
    named = [(right, y, f"{_SIGNS[looks[method][2]]} {method}", looks[method][0]) for method, y in ends.items()]
    label_ends(axes, named, line=0.062, size=9)


def _apart(ticks: Sequence[int]) -> list[int]:
    """Leave out ticks that would stand on their neighbours."""
    kept: list[int] = []
    for tick in ticks:
        if not kept or tick >= 1.45 * kept[-1]:
            kept.append(tick)
    return kept
