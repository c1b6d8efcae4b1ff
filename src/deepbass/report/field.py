"""The decision field of two-dimensional data, as in the paper's figures of the half moons."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from deepbass.report.canvas import INK, WIDTH, Drawing, blank
from deepbass.report.facts import Facts, Field
from deepbass.report.words import counted, shorten

TWO = ["#c8102e", "#1f5fbf"]  # the paper's red and blue
MANY = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b59f00", "#56b4e9", "#8c510a", "#7b3294", "#4d4d4d", "#01665e"]
NO_CLASS = "#9aa0a8"


def decision_field(facts: Facts) -> Drawing | None:
    """Draw a colour for each class, white where the network is uncertain; points it was told are crossed out."""
    field = facts.field
    if field is None:
        return None
    count = field.probs.shape[-1]
    legend_rows = (min(count, len(MANY)) + 3) // 2
    figure = blank(height=0.5 + 0.2 * legend_rows + WIDTH * steepness(field))
    axes = figure.subplots()
    paint(axes, field)
    axes.set_title("What the network says of every place")
    for class_ in range(min(count, len(MANY))):
        axes.plot([], [], "o", color=colours(count)[class_], markersize=5, label=shorten(facts.class_name(class_), 16))
    explain_marks(axes)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return Drawing(
        "field",
        figure,
        f"Map of the plane coloured by predicted class, with {counted(len(field.points), 'point')}, "
        f"{counted(len(field.known))} of them with a known label.",
        "Background: the predicted class, white where the network is uncertain. "
        "Points: the true class, crossed out where the network was told.",
    )


def paint(axes: Axes, field: Field, scale: float = 1.0) -> None:
    """Paint a field with its points; ``scale`` is the size of the marks."""
    count = field.probs.shape[-1]
    palette, extent = colours(count), _extent(field)
    axes.imshow(blend(field.probs, palette), origin="lower", extent=extent, interpolation="bilinear", aspect="equal")
    for class_ in (-1, *range(count)):
        x, y = field.points[field.truth == class_].T
        colour = NO_CLASS if class_ < 0 else palette[class_]
        axes.scatter(x, y, s=14 * scale, color=colour, edgecolor="white", linewidth=0.5 * scale)
    x, y = field.points[field.known].T
    axes.scatter(x, y, s=38 * scale, marker="x", color=INK, linewidth=1.4 * scale**0.5)
    x, y = field.points[field.initial].T
    axes.scatter(x, y, s=90 * scale, facecolor="none", edgecolor=INK, linewidth=1.2 * scale**0.5)
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def explain_marks(axes: Axes) -> None:
    """Add what crosses and circles mean to the legend."""
    axes.plot([], [], "x", color=INK, label="known")
    axes.plot([], [], "o", color=INK, markerfacecolor="none", markersize=8, label="known at the start")


def steepness(field: Field) -> float:
    """Tell how tall a field is for its width."""
    left, right, bottom, top = _extent(field)
    return (top - bottom) / (right - left)


def _extent(field: Field) -> tuple[float, float, float, float]:
    """Find the edges of the picture: half a step beyond the outermost places."""
    step_x, step_y = (float(line[1] - line[0]) / 2 for line in (field.xs, field.ys))
    return (field.xs[0] - step_x, field.xs[-1] + step_x, field.ys[0] - step_y, field.ys[-1] + step_y)


def blend(probs_Y_X_C: NDArray[np.float64], palette: list[str]) -> NDArray[np.float64]:
    """Fade each place from white, where all classes are equally likely, to the colour of the likeliest one."""
    count = probs_Y_X_C.shape[-1]
    certainty_Y_X = (probs_Y_X_C.max(-1) - 1 / count) / (1 - 1 / count)
    palette_C_3 = np.array([to_rgb(colour) for colour in palette])
    colour_Y_X_3 = palette_C_3[probs_Y_X_C.argmax(-1)]
    strength_Y_X_1 = 0.6 * np.clip(certainty_Y_X, 0, 1)[..., None]  # paler than the points on it
    blended: NDArray[np.float64] = 1 - strength_Y_X_1 * (1 - colour_Y_X_3)
    return blended


def colours(count: int) -> list[str]:
    """Choose a colour for each class."""
    return TWO if count == 2 else [MANY[class_ % len(MANY)] for class_ in range(count)]
