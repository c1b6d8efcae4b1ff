"""The paper's three figures, drawn from the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from deepbass.bench.page_parts import counted_runs
from deepbass.bench.results import Results
from deepbass.paper.rows import TIERS
from deepbass.paper.summary import Summary, summarise
from deepbass.paper.toy_runs import easy, ill_posed, toy_runs
from deepbass.report.figures import check_formats, needs_matplotlib, save_all
from deepbass.report.words import percent, signed

if TYPE_CHECKING:
    from deepbass.report.canvas import Drawing

DOTS = 130  # of a PNG, an inch


def draw(summary: Summary) -> dict[str, Drawing]:
    """Draw every figure for which there are results, by name."""
    with needs_matplotlib():
        from deepbass.paper import draw_curves, draw_fields
        from deepbass.report import canvas
    runs = toy_runs(summary)
    first, second = easy(runs), ill_posed(runs)
    drawings: list[Drawing | None] = []
    with canvas.style():
        if first is not None:
            best = f"Of {counted_runs(len(runs))}, the one with the best initial model" if len(runs) > 1 else "One run"
            rule = f"{best}: seed {first.seed}, {percent(first.accuracy('initial'))}."
            drawings.append(draw_fields.four_fields("figure-1", first, rule))
        if second is not None:
            others = f"Of the other {counted_runs(len(runs) - 1)}, the one" if len(runs) > 2 else "The other run"
            what = "lost most" if second.gain < 0 else "gained least"
            rule = (
                f"{others} whose semi-supervised training {what} against its initial model: seed {second.seed}, "
                f"{signed(100 * second.gain)} points."
            )
            drawings.append(draw_fields.four_fields("figure-2", second, rule))
        drawings += [draw_curves.learning_curves(summary, tier) for tier in reversed(TIERS)]
    return {drawing.name: drawing for drawing in drawings if drawing is not None}


def write_figures(results: Path, folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write the figures of a results folder, a file for each figure and format, and list the files."""
    check_formats(formats)
    return save_all(draw(summarise(Results.open(results).records())), folder, formats)


def kind(name: str) -> str:
    """Choose the format of a figure on a page: a field has too many points for anything but pixels."""
    return "svg" if name.startswith("figure-3") else "png"
