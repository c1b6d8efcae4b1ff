"""What was taken for what, and whether the network is as sure as it is right."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from deepbass.core.quality import BINS, Quality
from deepbass.report.canvas import BLUE, FAINT, GREY, INK, RED, WIDTH, Drawing, blank, percent_ticks
from deepbass.report.facts import Facts
from deepbass.report.words import SPACE, counted, percent, shorten

MOST_CLASSES = 50  # of a matrix that can be read; of more, the page tells what is confused most
SMALL = 12  # classes up to which the matrix is as wide as the other figures
_FEW = 10  # predictions in a bin below which their accuracy says little
_SHADES = LinearSegmentedColormap.from_list("shades", ["white", "#a9cfe8", BLUE, "#003f68"])  # light to dark


def confusion_matrix(facts: Facts) -> Drawing | None:
    """Draw how often each class was taken for each; shade and number say it twice, so no colour need be told apart."""
    quality = facts.quality
    if quality is None or len(quality.confusion) > MOST_CLASSES:
        return None
    classes, wide = len(quality.confusion), len(quality.confusion) > SMALL
    names = [shorten(facts.class_name(class_), 14 if 5 < classes <= SMALL else 22) for class_ in range(classes)]
    room = 0.075 * max(map(len, names)) + 0.7  # inches for the names of the classes, on either side
    cell = min(0.25, 9.0 / classes) if wide else min(0.8, (WIDTH - room) / classes)
    width = room + cell * classes
    figure = blank(width if wide else WIDTH, width + 0.3)  # never so narrow that its title is cut
    axes = figure.subplots()
    axes.set_title("What was taken for what")
    occurring = quality.occurring[:, None].clip(min=1)
    axes.imshow(quality.confusion / occurring, cmap=_SHADES, vmin=0, vmax=1, aspect="equal")
    _name_both_sides(axes, names)
    for true, guessed, count in quality.as_dict()["confusion"]:
        dark = count / quality.occurring[true] > 0.58  # where white is as readable as black
        text = f"{count:,}" if count < 10_000 else f"{count / 1000:.0f}k"
        size = min(10.0, 72 * cell / (0.72 * max(len(text), 2)))
        axes.text(guessed, true, text, ha="center", va="center", size=size, color="white" if dark else INK)
    worst = [f"{names[t]} for {names[g]} {counted(count, 'time')}" for t, g, count in quality.confused()[:3]]
    said = f"most often {', '.join(worst)}" if worst else "nothing was confused"
    return Drawing(
        "confusion",
        figure,
        f"Table of true against predicted classes over {counted(quality.samples, 'validation sample')}: {said}.",
        "A row is what it is, a column what the network says; the numbers count validation samples, and the shade is "
        "their share of the row. All on the diagonal would be perfect.",
    )


def reliability(facts: Facts) -> Drawing | None:
    """Draw how often the network is right against how sure it says it is."""
    quality = facts.quality
    if quality is None or quality.ece is None:
        return None
    figure = blank(height=4.2)
    above, below = figure.subplots(2, sharex=True, gridspec_kw={"height_ratios": [3, 1]})
    above.set_title(f"Calibration: {percent(quality.ece)} error (ECE)")
    _draw_bins(above, quality)
    width = 1 / BINS
    shares = [one.size / quality.samples for one in quality.bins]
    below.bar([(place + 0.5) * width for place in range(BINS)], shares, width=0.86 * width, color=GREY)
    below.set_ylabel("predictions")
    below.set_xlabel("confidence: the probability it gives its own guess")
    percent_ticks(below)
    below.yaxis.get_major_locator().set_params(nbins=2)
    below.xaxis.set_major_formatter(lambda share, _: f"{round(100 * share):g}{SPACE}%")
    below.set_xlim(0, 1)
    filled = [one for one in quality.bins if one.size]
    said = ", ".join(f"{percent(one.accuracy, 0)} right where {percent(one.confidence, 0)} sure" for one in filled)
    more_sure = sum(one.size * (one.confidence - one.accuracy) for one in filled) / quality.samples
    tells = "surer than it is right" if more_sure > 0 else "right more often than it is sure"
    return Drawing(
        "reliability",
        figure,
        f"Points of accuracy by confidence: {said}.",
        f"On the line it is right as often as it says. All in all it is {tells}: {percent(abs(more_sure))} apart. "
        f"Hollow: fewer than {_FEW} predictions.",
    )


def _name_both_sides(axes: Axes, names: list[str]) -> None:
    places = range(len(names))
    size = 10 if len(names) <= SMALL else 8
    axes.set_yticks(places, names, color=INK, size=size)
    flat = max(map(len, names)) <= 3  # digits and the like need no turning
    axes.set_xticks(places, names, color=INK, size=size, rotation=0 if flat else 90)
    axes.tick_params(length=0)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)
    axes.set_xticks([place - 0.5 for place in range(len(names) + 1)], minor=True)
    axes.set_yticks([place - 0.5 for place in range(len(names) + 1)], minor=True)
    axes.grid(visible=True, which="minor", axis="both", color=FAINT, linewidth=0.8)
    axes.tick_params(which="minor", length=0)


def _draw_bins(axes: Axes, quality: Quality) -> None:
    axes.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
    filled = [one for one in quality.bins if one.size]
    for one in filled:  # how far it is off
        axes.plot([one.confidence] * 2, [one.confidence, one.accuracy], color=RED, linewidth=1.2)
    axes.plot([one.confidence for one in filled], [one.accuracy for one in filled], color=BLUE, linewidth=1.2)
    for one in filled:
        face = BLUE if one.size >= _FEW else "white"
        axes.plot(
            one.confidence, one.accuracy, "o", color=BLUE, markersize=6, markerfacecolor=face, clip_on=False, zorder=3
        )
    axes.set_ylabel("right")
    axes.set_ylim(0, 1.02)
    percent_ticks(axes)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
