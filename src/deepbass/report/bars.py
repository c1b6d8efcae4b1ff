"""How much of what: labels by class, time by part."""

from __future__ import annotations

from matplotlib.axes import Axes

from deepbass.report.canvas import BLUE, GREY, INK, RED, Drawing, blank, whole_numbers
from deepbass.report.facts import Facts, number
from deepbass.report.words import counted, duration, percent, shorten

MOST_CLASSES = 30  # more do not fit on a slide; the page has a table of all


def class_balance(facts: Facts) -> Drawing | None:
    """Draw how many labels of each class were known at the start and how many were asked for."""
    initial, asked = facts.class_counts()
    every = sorted({*initial, *asked, *range(len(facts.classes))})
    if not initial and not asked:
        return None
    shown = every
    if len(every) > MOST_CLASSES:
        shown = sorted(every, key=lambda c: (-asked[c], -initial[c], c))[:MOST_CLASSES]
    names = [shorten(facts.class_name(class_)) for class_ in shown]
    starts, added = [initial[class_] for class_ in shown], [asked[class_] for class_ in shown]
    figure = blank(height=1.1 + 0.23 * max(len(shown), 4))
    axes = figure.subplots()
    axes.barh(range(len(shown)), starts, color=BLUE, height=0.72, label="known at the start")
    if asked:
        axes.barh(range(len(shown)), added, left=starts, color=RED, height=0.72, label="asked for")
    _rows(axes, names, [counted(a + b) for a, b in zip(starts, added, strict=True)], starts, added)
    whole_numbers(axes, "labels")
    few = f", the {len(shown)} most asked for" if len(shown) < len(every) else ""
    figure.legend(
        title=f"Labels by class{few}",
        title_fontproperties={"weight": "bold", "size": 11},
        alignment="left",
        loc="outside upper left",
        ncols=2,
        labelcolor="linecolor",
        handlelength=1,
        handletextpad=0.5,
        frameon=False,
    )
    totals = ", ".join(f"{name} {a} and {b}" for name, a, b in zip(names, starts, added, strict=True))
    return Drawing(
        "classes",
        figure,
        f"Bar chart of labels by class, known at the start and asked for: {totals}.",
        "What is asked for need not be balanced over the classes." if asked else "",
    )


def time_spent(facts: Facts) -> Drawing | None:
    """Draw where the time went, by part and over the iterations."""
    parts = facts.seconds()
    total = sum(parts.values())
    if not total:
        return None
    later = [iteration for iteration in facts.iterations if iteration.number > 0]  # 0 trains for many epochs
    each = [sum(number(value) or 0.0 for value in iteration.seconds.values()) for iteration in later]
    panels = 2 if len(each) > 1 else 1
    height = 0.8 + 0.3 * max(len(parts), 3)
    figure = blank(height=height + (1.6 if panels == 2 else 0))
    ratios = [height, 1.6][:panels]
    axes = figure.subplots(panels, squeeze=False, gridspec_kw={"height_ratios": ratios})[:, 0]
    axes[0].set_title(f"Time: {duration(total)} in all")
    axes[0].barh(range(len(parts)), list(parts.values()), color=GREY, height=0.66)
    ends = [f"{duration(seconds)} · {_share(seconds / total)}" for seconds in parts.values()]
    _rows(axes[0], [shorten(part) for part in parts], ends, list(parts.values()))
    axes[0].xaxis.set_visible(False)
    axes[0].spines.bottom.set_visible(False)
    if panels == 2:
        axes[1].set_title("Seconds per iteration")
        axes[1].plot([iteration.number for iteration in later], each, color=GREY)
        axes[1].set_ylim(0, 1.15 * max(each) or 1.0)
        whole_numbers(axes[1], "iteration")
    said = ", ".join(f"{part} {duration(seconds)}" for part, seconds in parts.items())
    mean = f" On average {duration(sum(each) / len(each))} per iteration." if each else ""
    return Drawing(
        "time", figure, f"Bar chart of {duration(total)} in all: {said}.", f"The initial training included.{mean}"
    )


def _share(share: float) -> str:
    return percent(share, 0) if share >= 0.01 else f"under {percent(0.01, 0)}"


def _rows(axes: Axes, names: list[str], ends: list[str], *stacked: list[int] | list[float]) -> None:
    """Name the bars of a horizontal chart on the left and say their values at their ends."""
    lengths = [sum(bar) for bar in zip(*stacked, strict=True)]
    axes.set_yticks(range(len(names)), names, color=INK)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, 1.02 * max(lengths) or 1)
    axes.grid(visible=False)
    axes.spines.left.set_visible(False)
    for row, (length, text) in enumerate(zip(lengths, ends, strict=True)):
        axes.annotate(
            text, (length, row), xytext=(4, 0), textcoords="offset points", va="center", color=GREY, fontsize=9
        )
