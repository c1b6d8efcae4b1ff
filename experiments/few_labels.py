"""Small grey pictures with 20 labels, all of typical ones: with advice to the network, as by default, and without.

    python experiments/few_labels.py [NAME ...] [--seeds 2] [--table]     NAME: those of experiments/small_pictures.py

Pictures of the training part, 20,000 of MNIST and 5,000 of others, judged by 3,000 further ones; 20 iterations. Written
to results/few-labels.json: what is there already is not computed again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fill_in import fill_in
from small_runs import learned

RESULTS = Path(__file__).parent.parent / "results" / "few-labels.json"
NAMES = ["mnist", "letters", "digits, small, turned, anywhere"]
LABELS = 20
WAYS = ("none", "auto")


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from pictures without advice and with it."""
    return {way: learned(name, seed, LABELS, advice=way, initial=LABELS) for way in WAYS}


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds, in percent, and how often advice was heard."""
    lines = ["| pictures | plain | no advice | default | advice heard | runs |", "|---|---:|---:|---:|---:|---:|"]
    for name, runs in found.items():
        ones = list(runs.values())
        means = [f"{100 * np.mean([one['none']['plain'] for one in ones]):.1f}"]
        means += [f"{100 * np.mean([one[way]['accuracy'] for one in ones]):.1f}" for way in WAYS]
        heard = sum(not any("not used, as neighbours" in line for line in one["auto"]["worth"]) for one in ones)
        lines.append(f"| {name} | {' | '.join(means)} | {heard} | {len(ones)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, NAMES, 2, measured, table)
