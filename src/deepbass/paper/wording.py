"""Rows and numbers as a table says them."""

from __future__ import annotations

from deepbass.paper.rows import Reported, Row
from deepbass.paper.summary import Line

NONE = "–"
_TITLES = {"toy": "toy", "mnist": "MNIST", "no-mc": "MNIST, no MC dropout", "augmentation": "MNIST, augmentation"}


def experiment(name: str) -> str:
    """Name an experiment."""
    return _TITLES.get(name, name)


def data_in_d(row: Row) -> str:
    """Say what is trained on, the paper's D."""
    admitted = "labels only" if row.admitted == "none" else row.admitted
    if row.full.get("passes_pool") == 0:
        return f"{admitted}, no MC dropout"
    return f"{admitted}, augmented" if row.full.get("rotate") else admitted


def labels(line: Line) -> str:
    """Say how many labels are known, from the start to the end where more are asked for."""
    start = line.row.cell(line.tier, 0).settings["initial"]
    if start < line.row.full["initial"]:  # a smaller pool has no more
        return f"{start:,} (whole pool)"
    return line.row.labels if line.row.policy == NONE else f"{start:,} → {line.row.labels}"


def describe(line: Line) -> str:
    """Name a row by what was done, as in "all data, max. entropy, 100 → 300 labels"."""
    policy = [] if line.row.policy == NONE else [line.row.policy]
    return ", ".join([data_in_d(line.row), *policy, f"{labels(line)} labels"])


def reported(paper: Reported) -> str:
    """Write what the paper reports, with its spread where it gives one."""
    spread = "" if paper.sd is None else f" ({paper.sd:.2f})"
    return f"about {paper.accuracy:g}" if paper.about else f"{paper.accuracy:.2f}{spread}"
