"""When to stop: rules that look at the numbers of all iterations so far, and say why the run is over.

They look at nothing else, and the numbers are written down with every iteration, so a run that was killed and resumed
stops where it would have stopped. The labelling page tells people by the same rules that labels have stopped helping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from deepbass.core.belief import Floats
from deepbass.core.config import GAIN, Config
from deepbass.core.error_law import Estimate, scored, shown_below
from deepbass.core.labels import Classes
from deepbass.core.loop import State, Stop
from deepbass.core.quality import count_confusion

History = Sequence[Mapping[str, Any]]  # `deepbass.Metrics` of every iteration; the first is the initial model's
StopRule = Callable[[History], str | None]

SPAN = 50  # labels over which a standstill is judged
LEAST = 0.0025  # share of changed guesses below which labels have stopped helping, whatever the target
LEAST_GAIN = 0.0025  # of the error, by as many labels again as SPAN
_MOVING = 0.01  # share of guesses that 50 labels still move, while nothing is believed of a curve
_POINTS = 8  # of the curve that a gain is expected from, at least
_CAUTION = 2.0  # standard errors by which the gain may be larger than it looks


def disagreement(before_N: Classes, now_N: Classes) -> float:
    """Tell how far two sets of guesses about the same samples differ beyond chance: 1 - kappa (Cohen, 1960).

    It is never below the share of changed guesses, and far above it where a rare class is what changed.
    """
    changed = float((before_N != now_N).mean()) if len(now_N) else 0.0
    if changed == 0:
        return 0.0
    confusion = count_confusion(before_N, now_N, int(max(before_N.max(), now_N.max())) + 1).astype(np.float64)
    by_chance = float(confusion.sum(1) @ confusion.sum(0)) / len(now_N) ** 2
    return changed / (1 - by_chance) if by_chance < 1 else 1.0


def is_still(moved: float, labels: int, target: float | None = None) -> bool:
    """Tell whether labels have stopped helping: 50 or more moved guesses by less than 0.25 %, or a quarter of a target.

    Stabilising predictions (Bloodgood and Vijay-Shanker, 2009), but over a number of labels instead of rounds: how many
    of them a round has is anybody's choice.
    """
    return labels >= SPAN and moved < max((target or 0.0) / 4, LEAST)


def settled(target: float | None = None) -> StopRule:
    """Make the rule that stops when the latest labels have changed next to no guess.

    What changed from one iteration to the next is added up, which is no less than what changed between first and last.
    """

    def rule(history: History) -> str | None:
        moved, labels = _moved(history)
        if _unmet(history) or not is_still(moved, labels, target):
            return None
        return f"predictions have settled: the last {labels} labels changed at most {moved:.2%} of them"

    return rule


def gaining_little(least: float = LEAST_GAIN) -> StopRule:
    """Make the rule that stops when the next 50 labels are expected to lower the error by next to nothing.

    The error that the model expects of itself is taken to fall as a power of the number of labels; the curve is fitted
    to the later half of the labels, and the gain that counts is two standard errors above what it says. A model may
    misjudge itself, so while 50 labels move more than 1 % of the guesses nothing is believed of the curve.
    """

    def rule(history: History) -> str | None:
        moved, labels = _moved(history)
        if _unmet(history) or labels < SPAN or moved >= _MOVING:
            return None
        known = history[-1]["known"]
        points = [
            (math.log(before["known"]), math.log(max(now["expected_error"], 1e-6)))
            for before, now in pairwise(history)
            if now.get("expected_error") is not None and before["known"] >= known / 2
        ]
        if len(points) < _POINTS or points[-1][0] - points[0][0] < math.log(1.25):
            return None
        gain = _gain(np.array(points), known)
        if gain >= least:
            return None
        return f"little is left to gain: {SPAN} more labels are expected to lower the error by less than {least:.2%}"

    return rule


def below_target(target: float) -> StopRule:
    """Make the rule that stops when labels that were kept back show an error below a target."""

    def rule(history: History) -> str | None:
        found = _estimates(history)
        if _unmet(history) or not found or not shown_below(found, target):
            return None
        now = found[-1]
        return (
            f"the error is below the target of {target:.2%}: {now.errors} of {now.n} held-back labels were predicted "
            f"wrong, which is at most {now.high:.2%} with 95 % confidence"
        )

    return rule


STOP: dict[str, Callable[[float | None], StopRule]] = {
    # every entry takes the configured target, so that no caller has to know which rule needs it
    "settled": settled,
    GAIN: lambda target: gaining_little(),
    "target": lambda target: below_target(target or 0.0),
}


def stopping(config: Config, history: History, at_last: Stop) -> Stop:
    """Make the loop's stop rule of the one that is configured; it sees a history grow, and ``at_last`` ends the run."""
    if config.stop == "budget":
        return spent(config.budget, at_last)
    if config.stop not in STOP:
        return at_last
    rule = STOP[config.stop](config.target_error)

    def stop(state: State) -> str | None:
        return (rule(history) if history else None) or at_last(state)

    return stop


def spent(budget: int | None, at_last: Stop) -> Stop:
    """Make the rule that stops as soon as every label that may be asked for was."""

    def stop(state: State) -> str | None:
        labels = state.labels
        if state.iteration > 0 and ((budget is not None and labels.spent >= budget) or not len(labels.askable)):
            return f"all {labels.spent} labels were asked for"
        return at_last(state)

    return stop


def _moved(history: History) -> tuple[float, int]:
    """Add up how far guesses moved over the last iterations, until 50 labels came in these, and count the labels."""
    moved, labels = 0.0, 0
    for before, now in zip(reversed(history[:-1]), reversed(history), strict=False):
        if now.get("moved") is None or labels >= SPAN:
            break
        moved, labels = moved + now["moved"], labels + before["answered"]
    return moved, labels


def _unmet(history: History) -> bool:
    """Tell whether a class has no label yet: nothing is settled before."""
    return bool(history[-1].get("unmet"))


def _gain(points_N_2: Floats, known: int) -> float:
    """Expect how much the error falls with 50 more labels, at most."""
    x_N, y_N = points_N_2.T
    centre = x_N.mean()
    spread = float(((x_N - centre) ** 2).sum())
    slope = float(((x_N - centre) * (y_N - y_N.mean())).sum()) / spread
    left_N = y_N - y_N.mean() - slope * (x_N - centre)
    doubt = math.sqrt(float((left_N**2).sum()) / (len(x_N) - 2) / spread)
    error = math.exp(float(y_N.mean()) + slope * (math.log(known) - centre))
    return error * (1 - math.pow(1 + SPAN / known, slope - _CAUTION * doubt))


def _estimates(history: History) -> list[Estimate]:
    counted = [(one["held_back"], one["held_back_right"]) for one in history if one.get("held_back")]
    return [scored(round(n - right), n) for n, right in counted]
