"""The same network gives the same answers on every side; else there is nothing to compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepbass.core.belief import Floats
from speed.crew import Worker
from speed.plan import OURS, USERS
from speed.task import Task

_SURE = 5.0  # standard errors that two means may lie apart: by chance that never happens
_CONFIDENCE = 0.3  # divided by the root of the passes: how far mean confidences may differ; another dropout rate's do
_EXACT = 1e-3  # dropout off: rounding alone


def check(crew: dict[str, Worker], task: Task) -> dict[str, Any]:
    """Compare every side with deepbass, on a few samples: with dropout off, and in the mean over many passes."""
    found: dict[str, Any] = {"samples": task.checked, "passes": task.checked_passes, "sides": {}}
    for name, worker in crew.items():
        if name in (OURS, "roofline"):
            continue
        whats = ("cnn", *USERS) if name == "plain" else ("cnn",)
        for what in whats:
            found["sides"][f"{name}, {what}"] = _compare(crew[OURS], worker, what, task, exact=name != "baal")
    return found


def _compare(ours: Worker, theirs: Worker, what: str, task: Task, *, exact: bool) -> dict[str, float]:
    ids, passes = np.arange(task.checked), task.checked_passes
    facts = {}
    if exact:  # baal's dropout cannot be switched off
        off = np.abs(ours.answers(what, ids, 0) - theirs.answers(what, ids, 0)).max()
        facts["dropout_off"] = float(off)
        _agree(off <= _EXACT, theirs.name, what, f"probabilities differ by up to {off:.2g} with dropout off")
    a_N_C, b_N_C = ours.answers(what, ids, passes), theirs.answers(what, ids, passes)
    apart, confidence = standard_errors(a_N_C, b_N_C, passes), abs(float((a_N_C.max(1) - b_N_C.max(1)).mean()))
    _agree(apart <= _SURE, theirs.name, what, f"mean probabilities lie {apart:.1f} standard errors apart")
    _agree(confidence <= _CONFIDENCE / passes**0.5, theirs.name, what, f"mean confidences differ by {confidence:.3f}")
    return {**facts, "standard_errors": apart, "mean_confidence": confidence}


def standard_errors(a_N_C: Floats, b_N_C: Floats, passes: int) -> float:
    """Tell how many standard errors two means lie apart at most.

    A probability of mean m cannot vary by more than m (1 - m), whatever its distribution; that bound is used.
    """
    mean_N_C = (a_N_C + b_N_C) / 2
    variance_N_C = np.maximum(mean_N_C * (1 - mean_N_C), 1e-4) * 2 / passes
    return float((np.abs(a_N_C - b_N_C) / np.sqrt(variance_N_C)).max())


def _agree(same: bool | np.bool_, side: str, what: str, how: str) -> None:
    if not same:
        raise RuntimeError(
            f"{side} does not give deepbass's answers ({what}): {how}. Comparing times would mean nothing."
        )
