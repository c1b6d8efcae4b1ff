"""The numbers of an iteration. Accuracy against hidden labels is computed here, in simulations, and nowhere else."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from deepbass.core.guard import Evidence
from deepbass.core.labels import UNKNOWN, Classes, Ids, short_ids
from deepbass.core.loop import Step
from deepbass.core.quality import Quality, Shares
from deepbass.core.stop import disagreement


class Metrics(TypedDict):
    """The numbers of one iteration; None where there is nothing to measure, or no hidden label to compare with."""

    validation_accuracy: float | None
    balanced_accuracy: float | None  # mean recall over the classes of the validation part
    macro_f1: float | None  # mean F1 over these
    ece: float | None  # expected calibration error: how far confidence is from accuracy
    recall: Shares | None  # share of every class that was found; None for a class that the validation part lacks
    plain_accuracy: float | None  # on the validation part, of plain supervised learning from the same labels
    held_back: int | None  # known labels that were kept from guesses, to judge these by (core/guard.py)
    held_back_right: float | None  # how many of them were predicted right with guesses
    held_back_plain: float | None  # and without
    guess_weight: float | None  # that guesses were given for it, from 0 to 1
    commonest: float | None  # share of the commonest class in the validation part: what guessing it always would reach
    known: int  # labels known
    members: int  # pseudo-labels in use
    pseudo_accuracy: float | None  # share of these that are right
    guess_accuracy: float | None  # share of all guesses that are right, about samples whose label is not known
    entropy_known: float | None  # mean entropy of the known labels: theta
    entropy_pool: float | None  # mean entropy of the others
    expected_error: float | None  # mean doubt about the guesses: what the model expects to have wrong of the others
    moved: float | None  # how far the guesses are from those of the iteration before: 1 - kappa (core/stop.py)
    unmet: int  # classes without a known label
    passes: float | None  # dropout passes per sample of the pool
    asked: int  # labels asked for
    answered: int  # samples that were answered about


def measure(
    step: Step,
    truth: Classes,
    quality: Quality | None,
    *,
    plain: float | None = None,
    evidence: Evidence | None = None,
) -> Metrics:
    """Describe the state after an iteration; what cannot be known is None, as is all without a validation part."""
    labels, belief, before = step.state.labels, step.belief, step.guessed_before
    unknown, members = short_ids(labels.answer == UNKNOWN), short_ids(labels.guess != UNKNOWN)
    about_unknown = belief.about(unknown) if belief is not None else None
    return {
        "validation_accuracy": quality.accuracy if quality else None,
        "balanced_accuracy": quality.balanced_accuracy if quality else None,
        "macro_f1": quality.macro_f1 if quality else None,
        "ece": quality.ece if quality else None,
        "recall": quality.recall if quality else None,
        "plain_accuracy": plain,
        "held_back": evidence.labels if evidence else None,
        "held_back_right": evidence.right if evidence else None,
        "held_back_plain": evidence.plain if evidence else None,
        "guess_weight": evidence.weight if evidence else None,
        "commonest": quality.commonest if quality else None,
        "known": len(labels.known),
        "members": len(members),
        "pseudo_accuracy": _accuracy(members, labels.guess[members], truth),
        "guess_accuracy": _accuracy(unknown, about_unknown.guess, truth) if about_unknown else None,
        "entropy_known": step.threshold,
        # with early exit over the passes made, so settled samples count with fewer of them
        "entropy_pool": float(about_unknown.entropy.mean()) if about_unknown and len(unknown) else None,
        "expected_error": float(1 - about_unknown.confidence.mean()) if about_unknown and len(unknown) else None,
        "moved": None if belief is None or before is None else disagreement(before, belief.guess),
        "unmet": labels.classes - len(np.unique(labels.answer[labels.known])),
        "passes": float(belief.passes.mean()) if belief is not None else None,
        "asked": len(step.asked),
        "answered": len(np.unique(step.answers.ids)),
    }


def _accuracy(ids: Ids, guesses: Classes, truth: Classes) -> float | None:
    """Compare guesses with the hidden labels, over the samples that have one."""
    classes = truth[ids]
    there = classes != UNKNOWN
    return float((guesses[there] == classes[there]).mean()) if there.any() else None
