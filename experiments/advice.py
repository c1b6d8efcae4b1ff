"""Small grey pictures: what is told of them without a label, and what the ways to learn from them come to.

    python experiments/advice.py [NAME ...] [--seeds 1] [--table]     NAME: those of experiments/small_pictures.py

4,000 pictures of the training part, judged by 2,000 others of it, 100 labels. Ways: *pixels*, the network on pixels
with its own guesses; *advised*, the same with advice; both in 20 iterations; *features*, a head
on what a network for photographs sees. Also: how many kinds that network sees in 256 of them, and what `auto` takes
them for.
Written to results/advice.json: what is there already is not computed again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import deepbass
from deepbass.data.raw_images import ArrayImages
from deepbass.features import choose
from deepbass.features.kinds import kinds_seen
from deepbass.features.picture_sizes import look_at
from fill_in import fill_in
from small_pictures import KINDS

RESULTS = Path(__file__).parent.parent / "results" / "advice.json"
POOL, JUDGED_BY, LABELS = 4_000, 2_000, 100
WAYS: dict[str, dict[str, Any]] = {
    "pixels": {"features": "pixels", "advice": "none", "iterations": 20},
    "advised": {"features": "pixels", "iterations": 20},
    "features": {"features": "imagenet"},
}


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Look at pictures, and learn from them in every way."""
    X, y = KINDS[name](POOL + JUDGED_BY, seed)
    pictures = ArrayImages(X)
    found: dict[str, Any] = {
        "kinds": round(kinds_seen(look_at(pictures, 256)), 2),
        "auto": choose(pictures, "auto").name,
    }
    for way, settings in WAYS.items():
        with tempfile.TemporaryDirectory() as place:
            result = deepbass.run(
                X[:POOL], y[:POOL], X_val=X[POOL:], y_val=y[POOL:], budget=LABELS, seed=seed, out=Path(place) / "run",
                **settings,
            )  # fmt: skip
        plain = result.history[-1]["plain_accuracy"]
        found[way] = {"accuracy": result.accuracy, "plain": plain, "worth": result.worth}
        print(name, seed, way, f"{result.accuracy:.4f} (plain learning from the same labels {plain:.4f})", flush=True)
    return found


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds, in percent; the way that auto takes is marked."""
    lines = [
        "| pictures | kinds | pixels, own guesses | pixels, advised | features | runs |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, runs in found.items():
        ones = list(runs.values())
        taken = "features" if all(one["auto"] != "pixels" for one in ones) else "advised"
        cells = []
        for way in WAYS:
            mean = f"{100 * np.mean([one[way]['accuracy'] for one in ones]):.1f}"
            cells.append(f"**{mean}**" if way == taken else mean)
        kinds = np.mean([one["kinds"] for one in ones])
        lines.append(f"| {name} | {kinds:.1f} | {' | '.join(cells)} | {len(ones)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, list(KINDS), 1, measured, table)
