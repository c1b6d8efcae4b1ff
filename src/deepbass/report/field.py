"""The decision field of two-dimensional data, as in the paper's figures of the half moons."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

from deepbass.report.canvas import INK, WIDTH, Drawing, blank
from deepbass.report.facts import Facts
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
    colours = _colours(count)
    step_x, step_y = (float(line[1] - line[0]) / 2 for line in (field.xs, field.ys))
    extent = (field.xs[0] - step_x, field.xs[-1] + step_x, field.ys[0] - step_y, field.ys[-1] + step_y)
    legend_rows = (min(count, len(MANY)) + 3) // 2
    figure = blank(height=0.5 + 0.2 * legend_rows + WIDTH * (extent[3] - extent[2]) / (extent[1] - extent[0]))
    axes = figure.subplots()
    axes.imshow(_blend(field.probs, colours), origin="lower", extent=extent, interpolation="bilinear", aspect="equal")
    for class_ in (-1, *range(count)):
        x, y = field.points[field.truth == class_].T
        colour = NO_CLASS if class_ < 0 else colours[class_]
        axes.scatter(x, y, s=14, color=colour, edgecolor="white", linewidth=0.5)
    x, y = field.points[field.known].T
    axes.scatter(x, y, s=38, marker="x", color=INK, linewidth=1.4)
    x, y = field.points[field.initial].T
    axes.scatter(x, y, s=90, facecolor="none", edgecolor=INK, linewidth=1.2)
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_title("What the network says of every place")
    for class_ in range(min(count, len(MANY))):
        axes.plot([], [], "o", color=colours[class_], markersize=5, label=shorten(facts.class_name(class_), 16))
    axes.plot([], [], "x", color=INK, label="known")
    axes.plot([], [], "o", color=INK, markerfacecolor="none", markersize=8, label="known at the start")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return Drawing(
        "field",
        figure,
        f"Map of the plane coloured by predicted class, with {counted(len(field.points), 'point')}, "
        f"{counted(len(field.known))} of them with a known label.",
        "Background: the predicted class, white where the network is uncertain. "
        "Points: the true class, crossed out where the network was told.",
    )


def _blend(probs_Y_X_C: NDArray[np.float64], colours: list[str]) -> NDArray[np.float64]:
    """Fade each place from white, where all classes are equally likely, to the colour of the likeliest one."""
    count = probs_Y_X_C.shape[-1]
    certainty_Y_X = (probs_Y_X_C.max(-1) - 1 / count) / (1 - 1 / count)
    palette_C_3 = np.array([to_rgb(colour) for colour in colours])
    colour_Y_X_3 = palette_C_3[probs_Y_X_C.argmax(-1)]
    strength_Y_X_1 = 0.6 * np.clip(certainty_Y_X, 0, 1)[..., None]  # paler than the points on it
    blended: NDArray[np.float64] = 1 - strength_Y_X_1 * (1 - colour_Y_X_3)
    return blended


def _colours(count: int) -> list[str]:
    return TWO if count == 2 else [MANY[class_ % len(MANY)] for class_ in range(count)]
