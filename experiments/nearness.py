"""Curves on tables: what a head on labels drawn at random sees of the columns, and how it predicts others.

    OMP_NUM_THREADS=1 python experiments/nearness.py [NAME ...] [--seeds 2] [--table]     NAME: a table of KEEL

No question is asked and nothing is learned from the pool: lines alone, nearness to landmarks by a Gaussian of the
distance, and by the sum of the differences in all columns, as the default has it (learn/landmarks.py); of lines and
nearness the head takes what kept-back labels speak for. The tables are read and parted as experiments/on_tables.py
does. Accuracy and balanced accuracy, written to results/nearness.json: what is there already is not computed again.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

import on_tables
from deepbass.core.randomness import generator
from deepbass.learn.heads import LinearHead, choose_strength, fit, weights_of
from fill_in import fill_in

RESULTS = Path(__file__).parent.parent / "results" / "nearness.json"
ABOVE = [name for name in on_tables.HELD + on_tables.LATER if name != "letter"]  # which takes longer than all others
NO_SAY = ["bands", "breast", "chess", "hayes-roth", "housevotes", "led7digit", "marketing", "monk-2", "movement_libras",
          "mushroom", "sonar", "splice", "wine", "haberman", "vehicle1", "abalone9-18", "winequality-red-4", "ecoli1",
          "glass0"]  # fmt: skip
GROUPS = {"tables above": ABOVE, "tables that had no say in it": NO_SAY}
WAYS = {"lines": "lines alone", "gaussian": "distance, Gaussian", "differences": "sum of differences"}
BUDGETS = (50, 100)


def gaussian(rows: torch.Tensor, landmarks: torch.Tensor) -> torch.Tensor:
    """Compute nearness by distance: exp(-1/2) at the median distance between landmarks."""
    apart = torch.pdist(torch.unique(landmarks, dim=0)).square()
    return torch.exp(-0.5 / apart.median() * torch.cdist(rows, landmarks).square())


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Learn from random labels of a table, and judge by two fifths of it."""
    X, y = on_tables.read(name)
    order = np.random.default_rng(seed).permutation(len(y))[: on_tables.MOST]
    pool, test = np.split(order, [len(order) * 3 // 5])
    drawn = pool[np.random.default_rng(77 + seed).permutation(len(pool))]
    found: dict[str, Any] = {}
    for budget in [budget for budget in BUDGETS if budget <= on_tables.OF_POOL * len(pool)]:
        known = drawn[:budget]
        found[str(budget)] = {
            way: on_tables.judged(predicted(way, X[pool], X[known], y[known], X[test], seed), y[test]) for way in WAYS
        }
    return found


def predicted(
    way: str, pool: np.ndarray, known: np.ndarray, answers: np.ndarray, others: np.ndarray, seed: int
) -> np.ndarray:
    """Fit a head in the view that kept-back labels speak for, and predict others."""
    classes, outputs = torch.from_numpy(answers.astype(np.int64)), int(answers.max()) + 1
    weights = torch.from_numpy(weights_of(answers, 0, 1))
    as_before = mock.patch("deepbass.learn.landmarks._near", gaussian)
    with torch.no_grad(), as_before if way == "gaussian" else nullcontext():
        head = LinearHead(pool.shape[1], outputs, by_column=True, curved=way != "lines")
        head.prepare(pool, seed)
        fits = []
        for view in head.views:
            head.look(view)
            inputs, shown = (_seen(head, rows) for rows in (known, others))
            penalty = choose_strength(inputs, classes, outputs, generator(seed, 0, "folds"))
            zero = torch.zeros(outputs, inputs.shape[1], dtype=torch.double), torch.zeros(outputs, dtype=torch.double)
            weight, bias = fit(inputs, classes, weights, penalty.strength, *zero)
            fits.append((penalty.loss, (shown @ weight.T + bias).argmax(1).numpy()))
    return min(fits, key=lambda each: each[0])[1]


def _seen(head: LinearHead, rows: np.ndarray) -> torch.Tensor:
    return head.prepared(torch.from_numpy(rows))[:, head.seen()].contiguous().double()


def table(found: dict[str, Any]) -> str:
    """Lay out the means over tables, and what differences add to a Gaussian with its standard error over tables."""
    columns = [*WAYS.values(), "gain by differences"]
    lines = [f"| tables | labels | {' | '.join(columns)} |", "|---|---:|" + "---:|" * len(columns)]
    for group, names in GROUPS.items():
        for budget in map(str, BUDGETS):
            means = [
                np.mean([[one[budget][way] for way in WAYS] for one in runs], 0)
                for name in names
                if (runs := [one for one in found.get(name, {}).values() if budget in one])
            ]
            if not means:
                continue
            cells = [f"{100 * a:.1f} / {100 * b:.1f}" for a, b in np.mean(means, 0)]
            gains = np.array([mean[2] - mean[1] for mean in means])
            both = zip(gains.mean(0), gains.std(0, ddof=1) / len(gains) ** 0.5, strict=True)
            cells.append(" / ".join(f"{100 * gain:+.1f} ± {100 * error:.1f}" for gain, error in both))
            lines.append(f"| {len(means)} {group} | {budget} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, [*NO_SAY, *ABOVE], 2, measured, table)
