"""Figure 3: validation accuracy over the iterations, by what is trained on and by what is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes

from deepbass.paper.mean_curves import MeanCurve, mean_curve
from deepbass.paper.summary import Summary
from deepbass.report.canvas import (
    BLUE,
    GREEN,
    PURPLE,
    RED,
    Drawing,
    blank,
    draw_band,
    label_ends,
    percent_ticks,
    whole_numbers,
)
from deepbass.report.words import percent

_WIDTH, _HEIGHT = 10.6, 3.9  # inches


@dataclass(frozen=True)
class CurveStyle:
    """What a row's curve is called and looks like."""

    name: str
    colour: str


_BEST = CurveStyle("all data, max. entropy", BLUE)
LEFT = {
    "all-data-max-entropy": _BEST,
    "all-data-above-average": CurveStyle("all data, above average", GREEN),
    "step-wise-max-entropy": CurveStyle("step-wise, max. entropy", RED),
    "step-wise-above-average": CurveStyle("step-wise, above average", PURPLE),
}
RIGHT = {
    "all-data-max-entropy": _BEST,
    "all-data-300": CurveStyle("300 labels, no questions", GREEN),
    "all-data-100": CurveStyle("100 labels, no questions", RED),
}
_PANELS = {"What is trained on, what is asked for": LEFT, "With questions and without": RIGHT}


def learning_curves(summary: Summary, tier: str) -> Drawing | None:
    """Draw both panels of a tier; rows without a run are left out and named."""
    curves = {row: mean_curve(summary.line(tier, "mnist", row)) for row in {**LEFT, **RIGHT}}
    drawn = {row: curve for row, curve in curves.items() if curve is not None}
    if not drawn:
        return None
    panels = {title: looks for title, looks in _PANELS.items() if any(row in drawn for row in looks)}
    figure = blank(_WIDTH * len(panels) / len(_PANELS), _HEIGHT)
    cut = []
    for axes, (title, looks) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        cut.append(_panel(axes, {row: look for row, look in looks.items() if row in drawn}, drawn))
        axes.set_title(title)
    ends = [f"{look.name} {drawn[row].ending}" for row, look in {**LEFT, **RIGHT}.items() if row in drawn]
    return Drawing(
        f"figure-3-{tier}",
        figure,
        f"Line charts of validation accuracy over the iterations. At the end: {'; '.join(ends)}.",
        _caption(tier, drawn, any(cut)),
    )


def _panel(axes: Axes, shown: Mapping[str, CurveStyle], drawn: Mapping[str, MeanCurve]) -> bool:
    """Draw one panel and tell whether the start of a curve lies below what is shown."""
    whole_numbers(axes, "iteration")
    percent_ticks(axes)
    for row, look in shown.items():
        curve = drawn[row]
        band = None if curve.sd is None else (curve.low, curve.high)
        draw_band(axes, range(len(curve.mean)), curve.mean, look.colour, band)
    low, high = limits([drawn[row] for row in shown])
    axes.set_ylim(low, high)
    axes.set_xlim(0, max(len(drawn[row].mean) for row in shown) - 1)
    ends = [
        (len(curve.mean) - 1, float(curve.mean[-1]), f"{look.name}\n{curve.ending}", look.colour)
        for curve, look in ((drawn[row], look) for row, look in shown.items())
    ]
    label_ends(axes, ends, line=0.115, size=9)
    return any(drawn[row].mean[0] < low for row in shown)


def limits(curves: list[MeanCurve]) -> tuple[float, float]:
    """Choose the range of an axis: what the curves do in their second half fills half of it."""
    low = min(float(curve.low[len(curve.low) // 2 :].min()) for curve in curves)
    high = max(float(curve.high[len(curve.high) // 2 :].max()) for curve in curves)
    span = max(high - low, 0.005)
    return max(0.0, low - span), min(1.0, high + 0.1 * span)


def _caption(tier: str, drawn: Mapping[str, MeanCurve], cut: bool) -> str:
    looks = {**LEFT, **RIGHT}
    runs = {drawn[row].runs for row in drawn}
    if len(runs) == 1:
        behind = f"Runs behind each curve: {runs.pop()}."
    else:
        behind = f"Runs behind the curves: {', '.join(f'{looks[row].name} {drawn[row].runs}' for row in drawn)}."
    parts = [
        f"Figure 3, {tier} tier. Lines: mean over runs; bands: one standard deviation to each side. {behind}",
        "Curves that start from 100 labels share their initial models, run by run. Each panel has a scale of its own.",
    ]
    if cut:
        starts = sorted(float(curve.mean[0]) for curve in drawn.values())
        parts.append(f"The start is cut off: the initial models have {_range(starts)}.")
    missing = [looks[row].name for row in looks if row not in drawn]
    return " ".join([*parts, *([f"Left out, without a finished run: {'; '.join(missing)}."] if missing else [])])


def _range(ordered: list[float]) -> str:
    return " to ".join(dict.fromkeys(percent(share) for share in (ordered[0], ordered[-1])))
