"""Small grey pictures with few labels: neighbours as a network that taught itself sees them, and by their pixels.

    python experiments/neighbours.py [NAME ...] [--seeds 2] [--table]    NAME: "letters, 20 labels" (small_pictures.py)

Pictures of the training part, 20,000 of MNIST and 5,000 of others, judged by 3,000 further ones; 20 labels are all of
typical ones; 20 iterations, and all else as by default. Written to results/neighbours.json: what is there already is
not computed again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fill_in import fill_in
from small_pictures import KINDS
from small_runs import learned

RESULTS = Path(__file__).parent.parent / "results" / "neighbours.json"
FEW = 20  # labels, all of typical pictures
NAMES = [f"{kind}, {labels} labels" for labels in (FEW, 100) for kind in KINDS]
WAYS = ("pixels", "self-taught")


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from pictures with the neighbours of either kind."""
    kind, labels = name.removesuffix(" labels").rsplit(", ", 1)
    first = {"initial": FEW} if int(labels) == FEW else {}
    return {way: learned(kind, seed, int(labels), neighbours=way, **first) for way in WAYS}


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds, in percent."""
    lines = ["| pictures | plain | by pixels | by what it taught itself | runs |", "|---|---:|---:|---:|---:|"]
    for name, runs in found.items():
        ones = list(runs.values())
        means = [f"{100 * np.mean([one['self-taught']['plain'] for one in ones]):.1f}"]
        means += [f"{100 * np.mean([one[way]['accuracy'] for one in ones]):.1f}" for way in WAYS]
        lines.append(f"| {name} | {' | '.join(means)} | {len(ones)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, NAMES, 2, measured, table)
