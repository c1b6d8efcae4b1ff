"""All figures of a run, in the order in which they tell its story."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deepbass.core.errors import DeepBassError
from deepbass.report.facts import Facts, read_facts

if TYPE_CHECKING:
    from deepbass.report.canvas import Drawing

FORMATS = ("png", "svg", "pdf")


@contextmanager
def needs_matplotlib() -> Iterator[None]:
    """Import what draws: matplotlib is an extra, and slow to import, so only those who draw need it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise DeepBassError("Figures need matplotlib, which is missing: pip install 'deepbass[plot]'") from error


def draw(facts: Facts) -> dict[str, Drawing]:
    """Draw every figure for which the run has numbers, by name."""
    with needs_matplotlib():
        from deepbass.report import bars, canvas, confusion, curves, field, sheet
    with canvas.style():
        drawings = [
            curves.accuracy_by_iteration(facts),
            curves.accuracy_by_labels(facts),
            field.decision_field(facts),
            confusion.confusion_matrix(facts),
            confusion.reliability(facts),
            curves.pseudo_labels(facts),
            curves.entropies(facts),
            bars.class_balance(facts),
            bars.time_spent(facts),
            sheet.contact_sheet(facts),
        ]
    return {drawing.name: drawing for drawing in drawings if drawing is not None}


def write_figures(path: Path, folder: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write the figures of a run into a folder, a file for each figure and format, and list the files."""
    check_formats(formats)
    return save_all(draw(read_facts(path)), folder, formats)


def check_formats(formats: Sequence[str]) -> None:
    """Refuse a format that figures cannot be written in."""
    for kind in formats:
        if kind not in FORMATS:
            raise DeepBassError(f"Figures cannot be written as {kind!r}. Choose from: {', '.join(FORMATS)}.")


def save_all(drawings: Mapping[str, Drawing], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Save drawings into a folder, and list the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, drawing in drawings.items():
        for kind in formats:
            files.append(folder / f"{name}.{kind}")
            files[-1].write_bytes(drawing.save(kind))
    return files
