"""How accurate can any classifier be on the paper's toy? Compare the known densities, as Bayes' rule says.

Writes results/toy-limit.json: the limit itself, and what it is on the validation points of each run's seed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.data import built_in
from deepbass.data.built_in import toy
from deepbass.data.source import Source

RESULTS = Path(__file__).parents[1] / "results" / "toy-limit.json"
SEEDS = range(50)
POINTS = 200_000  # of each class, for the limit itself

_CENTRES = ((1 / 3, -1 / 10), (-1 / 3, 1 / 10))
_SIDES = (1.0, -1.0)


def density(points_N_2: NDArray[np.float64], class_: int) -> NDArray[np.float64]:
    """Tell how dense a class is at some points, up to a factor that both classes share."""
    x, y = (points_N_2 - _CENTRES[class_]).T
    radius, angle = np.hypot(x, y), np.arctan2(_SIDES[class_] * y, x)
    total = np.zeros(len(points_N_2))
    for sign, turned in ((1.0, angle), (-1.0, angle + np.pi)):  # a negative radius, drawn once in 30,000, looks back
        for turn in range(-3, 4):  # angles far out come round again
            phi = (turned + 2 * np.pi * turn) / np.pi
            total += np.exp(-8.0 * (sign * radius - 1.0) ** 2 - 4.5 * (phi - 0.5) ** 2)
    dense: NDArray[np.float64] = total / radius
    return dense


def limit(points: ArrayLike, classes: ArrayLike) -> float:
    """Measure the accuracy of Bayes' rule on some points, in percent."""
    points_N_2 = np.asarray(points, dtype=np.float64)
    guesses = density(points_N_2, 1) > density(points_N_2, 0)
    return float(100 * (guesses == np.asarray(classes)).mean())


def _validation(source: Source) -> tuple[ArrayLike, ArrayLike]:
    assert source.validation is not None
    return np.asarray(source.validation.X), source.validation.y  # points, not raw samples


if __name__ == "__main__":
    by_seed = [round(limit(*_validation(toy(seed))), 2) for seed in SEEDS]
    built_in.POINTS = POINTS
    whole = round(limit(*_validation(toy(0))), 2)
    RESULTS.write_text(json.dumps({"limit": whole, "points": 2 * POINTS, "by_seed": by_seed}, indent=1) + "\n")
    print(f"limit {whole:.2f} %; on the validation points of seeds 0 to 9: {np.mean(by_seed[:10]):.2f} %")
