"""How good the model is by the audit, and whether labels still help, in words: core/error_law.py and core/stop.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbass.core.error_law import WRONG, Estimate, scored, shown_below
from deepbass.core.stop import SPAN, disagreement, is_still
from deepbass.label.ranking import Ranking


@dataclass(frozen=True)
class Standstill:
    """Labels no longer change what the model guesses."""

    labels: int  # given since the guesses that are compared with
    changed: int  # guesses that became others
    guesses: int  # that could be compared
    evidence: str  # for people

    @property
    def share(self) -> float:
        """Tell the share of changed guesses: the error cannot have changed by more."""
        return self.changed / self.guesses


def error_estimate(predicted: NDArray[np.int16], audit_labels: Mapping[int, int]) -> Estimate | None:
    """Compare the model's predictions (-1: none), one per item, with what people said about audit items.

    A class that the model does not know yet counts as an error: it cannot be right about it.
    """
    there = [(item, class_) for item, class_ in audit_labels.items() if 0 <= item < len(predicted)]
    pairs = np.array(there, dtype=np.int64).reshape(-1, 2)
    guesses = predicted[pairs[:, 0]]
    made = guesses >= 0
    n = int(made.sum())
    return scored(int((guesses != pairs[:, 1])[made].sum()), n) if n else None


def good_enough(estimates: Sequence[Estimate], target: float | None, kind: str = "image") -> str | None:
    """Say why the model is good enough, or None.

    ``estimates`` are all that were made so far, the newest last: one per committed step, or more.
    """
    if target is None or not estimates or not shown_below(estimates, target):
        return None
    now = estimates[-1]
    wrong = f"{now.errors:,} of {now.n:,} audit {kind}s"
    return (
        f"Good enough: the model is wrong about {wrong}, which were drawn at random and never trained on. "
        f"Its error is {_percent(now.estimate)}, at most {_percent(now.high)} with 95 % confidence, and the target is "
        f"{_percent(target)}. However often one looks, this is said in error in at most {_percent(WRONG)} of projects."
    )


def standstill(ranking: Ranking, target: float | None) -> Standstill | None:
    """Tell whether the last 50 labels or more changed next to no guess, by the rule that runs stop by."""
    before = [k for k, labels in enumerate(ranking.snapshot_labels) if labels <= ranking.known - SPAN]
    if not before:
        return None
    then, now = ranking.snapshots[before[-1]], ranking.guess
    both = (then >= 0) & (now >= 0)
    labels, guesses = ranking.known - int(ranking.snapshot_labels[before[-1]]), int(both.sum())
    changed = int((then != now)[both].sum())
    if not guesses or not is_still(disagreement(then[both], now[both]), labels, target):
        return None
    share = _percent(changed / guesses)
    evidence = (
        f"Labels have stopped helping: the last {labels:,} changed {changed:,} of {guesses:,} guesses ({share}), "
        "so they cannot have changed the error by more than that."
    )
    return Standstill(labels, changed, guesses, evidence)


def _percent(share: float) -> str:
    """Write a share as people do, to a hundredth of a per cent."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"
