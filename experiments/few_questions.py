"""Small grey pictures with 20 labels: all of typical samples, or half of them of what is asked for then, as by default.

    python experiments/few_questions.py [NAME ...] [--seeds 2] [--table]      NAME: of experiments/small_pictures.py

Pictures of the training part, 20,000 of MNIST and 5,000 of others, judged by 3,000 further ones; 20 iterations. Written
to results/few-questions.json: what is there already is not computed again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fill_in import fill_in
from small_runs import learned

RESULTS = Path(__file__).parent.parent / "results" / "few-questions.json"
NAMES = ["letters", "mnist", "digits over photographs", "fashion-mnist", "digits, small, turned, anywhere"]
LABELS = 20
WAYS: dict[str, dict[str, Any]] = {"typical": {"initial": LABELS}, "default": {}}


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from labels of typical samples alone, and as the default chooses them."""
    return {way: learned(name, seed, LABELS, **settings) for way, settings in WAYS.items()}


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds, in percent."""
    lines = ["| pictures | all typical | half of them asked for | runs |", "|---|---:|---:|---:|"]
    for name, runs in found.items():
        means = [f"{100 * np.mean([run[way]['accuracy'] for run in runs.values()]):.1f}" for way in WAYS]
        lines.append(f"| {name} | {' | '.join(means)} | {len(runs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, NAMES, 2, measured, table)
