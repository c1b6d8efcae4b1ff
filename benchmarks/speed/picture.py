"""Draw everybody's iteration as one bar, cut into its parts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from speed import numbers
from speed.plan import ENTRANTS
from speed.table import devices, parts

_PARTS = {"pool": "inference over the pool", "known": "inference over the known labels", "epoch": "training"}
_COLOURS = {"pool": "#3b6fb6", "known": "#7fb2e5", "epoch": "#e08f3c"}


def shown(speed: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """List the bars: a title and its parts, the slowest kind of code first."""
    others = [(ENTRANTS[name].title, found) for name in ("plain", "keras") if (found := parts(speed, name))]
    return [*others, *((title, found) for title, found, _ in devices(speed))]


def digest(speed: dict[str, Any]) -> str:
    """Sum up what the picture shows; it is written into the picture, so that a test can tell an old one."""
    return hashlib.sha256(json.dumps(shown(speed)).encode()).hexdigest()


def draw(speed: dict[str, Any], path: Path) -> None:
    """Draw the picture, as SVG or by the path's ending; on white, so that it can be read on any page."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    bars = shown(speed)
    with mpl.rc_context({"svg.hashsalt": "deepbass", "font.size": 11}):
        figure = Figure(figsize=(9, 1.3 + 0.52 * len(bars)), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        names = [title for title, _ in bars]
        left = [0.0] * len(bars)
        for part, label in _PARTS.items():
            widths = [found[part] for _, found in bars]
            axes.barh(names, widths, left=left, color=_COLOURS[part], label=label, height=0.66)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        for place, (_, found) in enumerate(bars):
            axes.annotate(
                numbers.seconds(found["iteration"]),
                (left[place], place),
                (6, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_xlim(0, 1.12 * max(left))  # room for the numbers
        axes.invert_yaxis()
        axes.set_xlabel("seconds for one iteration on MNIST; shorter is better")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="lower right", frameon=False)
        described = {"Date": None, "Description": digest(speed)} if path.suffix == ".svg" else {}
        figure.savefig(path, facecolor="white", metadata=described, dpi=110)
