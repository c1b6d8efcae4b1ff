"""The paper our figures are drawn on: one style for all of them, and no state shared with the caller's plots."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from deepbass.report.words import SPACE

# Okabe and Ito's colours, told apart by colour-blind people; darkened where they also colour text on white
BLUE, RED, GREEN, GREY = "#0067a5", "#b8470b", "#00795a", "#595f69"
PURPLE = "#8f3a84"
INK, FAINT = "#1b1f27", "#e3e6ea"

WIDTH, HEIGHT = 4.7, 2.8  # inches: small, so that the text is still readable where a phone shows it smaller

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,  # a class may be called "$x"
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": FAINT,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "ytick.left": False,
    "lines.linewidth": 1.8,
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "svg.fonttype": "none",  # text stays text: small files, and letters that our font lacks come from the reader's
    "svg.hashsalt": "deepbass",  # ids by content, not by chance: the same run gives the same bytes
}


@contextmanager
def style() -> Iterator[None]:
    """Draw and save in our style; the caller's settings come back afterwards."""
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()  # a matplotlibrc of the user's is not to change what a report looks like
        mpl.rcParams.update(_STYLE)
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


@dataclass(frozen=True)
class Drawing:
    """A figure with the words that go with it."""

    name: str  # of the file
    figure: Figure
    alt: str  # what it shows, for those who cannot see it
    caption: str = ""  # how to read it

    def save(self, kind: str, dpi: int | None = None) -> bytes:
        """Write the figure as a file of some kind, without date or version; ``dpi`` sets how many pixels it has."""
        passing = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
        buffer = io.BytesIO()
        with style():
            self.figure.savefig(buffer, format=kind, dpi=dpi, metadata=passing.get(kind))
        return buffer.getvalue()


def blank(width: float = WIDTH, height: float = HEIGHT) -> Figure:
    """Make an empty figure whose layout leaves room for every label and none for nothing."""
    return Figure(figsize=(width, height), layout="compressed")


def percent_axis(axes: Axes, values: Sequence[float]) -> None:
    """Show shares in percent; a flat curve is not blown up to a mountain range."""
    low, high = min(values), max(values)
    span = max(high - low, 0.02)
    # the ground is for marks; a line at 100 % keeps its full width
    axes.set_ylim(max(0.0, low - 0.2 * span), min(1.0, high + 0.08 * span) + 0.02 * span)
    percent_ticks(axes)


def percent_ticks(axes: Axes) -> None:
    """Write the shares of an axis in percent."""
    axes.yaxis.set_major_formatter(lambda share, _: f"{round(100 * share, 6):g}{SPACE}%")
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def whole_numbers(axes: Axes, label: str) -> None:
    """Mark whole numbers only: there is no iteration 2.5."""
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter("{x:,.0f}")


def draw_band(
    axes: Axes,
    xs: Sequence[float] | range,
    ys: ArrayLike,
    colour: str,
    band: tuple[ArrayLike, ArrayLike] | None = None,
    **line: Any,
) -> None:
    """Draw a curve and how far it spreads to each side, if that is known."""
    if band is not None:
        axes.fill_between(xs, *band, color=colour, alpha=0.13, linewidth=0)
    axes.plot(xs, ys, color=colour, **{"linewidth": 1.5, **line})


def label_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]], line: float = 0.09, size: float = 10) -> None:
    """Write (x, y, text, colour) beside the ends of curves, at least ``line`` of the axis apart, below the title."""
    low, high = axes.get_ylim()
    gap = line * (high - low)
    places = spread([y for _, y, _, _ in ends], gap, high - gap / 2)
    for (x, _, text, colour), place in zip(ends, places, strict=True):
        axes.annotate(
            text,
            (x, place),
            xytext=(6, 0),
            textcoords="offset points",
            color=colour,
            weight="bold",
            size=size,
            va="center",
            annotation_clip=False,
        )


def spread(wanted: Sequence[float], gap: float, most: float = math.inf) -> list[float]:
    """Move places apart until each is ``gap`` from the next and none above ``most``, no farther than they must."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    groups: list[list[float]] = []  # of neighbours that touch: what each wants its group's middle to be
    for rank, i in enumerate(order):
        groups.append([wanted[i] - rank * gap])
        # with rank * gap taken off, places are far enough apart when they do not fall: a group that would is one with
        # its neighbour
        while len(groups) > 1 and _mean(groups[-2]) > _mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    flat = [min(_mean(group), most - (len(wanted) - 1) * gap) for group in groups for _ in group]
    places = [0.0] * len(wanted)
    for rank, i in enumerate(order):
        places[i] = flat[rank] + rank * gap
    return places


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
