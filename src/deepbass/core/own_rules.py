"""The user's own start, acquisition, admission and stop rule: any callable, and what it returns is checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.acquire import Acquire, Acquisition
from deepbass.core.admit import Admission, Admit
from deepbass.core.belief import Belief
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import UNKNOWN, Ids, Labels
from deepbass.core.loop import Method, State, Stop
from deepbass.core.need import Need
from deepbass.core.own_parts import OwnParts, check_built_in, name_of_part, quote
from deepbass.core.row_map import RowMap, StartRule
from deepbass.core.samples import Samples
from deepbass.core.stop import History, StopRule, stopping

_RULES = ("acquire", "admit", "stop")


def method_with(
    config: Config,
    own: OwnParts | None = None,
    *,
    rows: RowMap | None = None,
    samples: Samples | None = None,
    history: History = (),
) -> Method:
    """Look the parts up by the names in the configuration, but for the caller's own.

    With a map, these speak of rows. Some of the named ones want to know the pool's samples; stop rules look at the
    ``history``, to which whoever measures adds.
    """
    own = own or OwnParts()
    check_built_in(config, _RULES, own)
    ours = {name: getattr(Config(), name) for name in _RULES if getattr(own, name) is not None}
    method = replace(Method.of(replace(config, **ours), samples), config=config)
    if own.acquire is not None:
        asks = own_acquire(own.acquire)
        method = replace(method, acquire=asks if rows is None else rows.acquire(asks))
    if own.admit is not None:
        lets_in = own_admit(own.admit)
        method = replace(method, admit=lets_in if rows is None else rows.admit(lets_in))
    stop = stopping(config, history, method.stop) if own.stop is None else own_stop(own.stop, method.stop, history)
    return replace(method, stop=stop)


def own_start(rule: StartRule) -> StartRule:
    """Make a callable the choice of the labels known, or asked for, at the start, out of those that can be had."""

    def choose(samples: Samples, there: Ids, count: int, rng: np.random.Generator) -> Ids:
        found = rule(samples, there, count, rng)
        ids = np.asarray(found)
        wrong = "which are none" if ids.size == 0 else _wrong_ids(ids, there, count, "is none of those to choose from")
        if wrong is not None:
            raise ConfigError(
                f"start = {name_of_part(rule)} returned {quote(found)}, {wrong}. Return distinct rows of those it is "
                f"given, at least one and at most `count` ({count}) of them."
            )
        return np.sort(ids.astype(np.int64))

    return choose


def own_acquire(rule: Acquire | Acquisition) -> Acquire:
    """Make an acquisition of a callable; one that does not say what it needs of a belief needs all of it."""

    def choose(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        found = rule(belief, askable, count, rng)
        ids = np.asarray(found)
        if ids.size == 0:
            return askable[:0]
        wrong = _wrong_ids(ids, askable, count)
        if wrong is not None:
            raise ConfigError(
                f"acquire = {name_of_part(rule)} returned {quote(found)}, {wrong}. Return distinct ids of `askable`, "
                f"at most `count` ({count}) of them."
            )
        return ids.astype(np.int64)

    if not isinstance(rule, Acquire):
        return Acquire(choose)
    return Acquire(choose, lambda askable, count: _checked_need("acquire", rule, rule.need(askable, count)))


def own_admit(rule: Admit | Admission) -> Admit:
    """Make an admission of a callable; one that does not say what it needs of a belief needs all of it."""

    def choose(belief: Belief, threshold: float, labels: Labels) -> Labels:
        found = rule(belief, threshold, labels)
        wrong = _wrong_labels(found, labels)
        if wrong is not None:
            raise ConfigError(
                f"admit = {name_of_part(rule)} returned {quote(found)}, {wrong}. Return "
                "`labels.guessed(ids, classes)`: it replaces the pseudo-labels and keeps the answers."
            )
        return found

    if not isinstance(rule, Admit):
        return Admit(choose)
    return Admit(choose, lambda threshold, labels: _checked_need("admit", rule, rule.need(threshold, labels)))


def own_stop(rule: StopRule, at_last: Stop, history: History) -> Stop:
    """Make a stop rule of a callable, which may end the run sooner than the rule that ends it ``at_last``."""

    def stop(state: State) -> str | None:
        ended: object = rule(history)
        if ended is None:
            return at_last(state)
        if not isinstance(ended, str):
            raise ConfigError(
                f"stop = {name_of_part(rule)} returned {quote(ended)}, which is neither None, to go on, nor a text "
                "that says why the run is over."
            )
        return ended

    return stop


def _wrong_ids(ids: NDArray[Any], allowed: Ids, count: int, why: str = "may not be asked for") -> str | None:
    """Say what is wrong with ids that were chosen; ``why`` others than those allowed are."""
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        return f"which is no list of sample ids but {ids.dtype} of shape {ids.shape}"
    if len(ids) > count:
        return f"which are {len(ids)} ids"
    values, times = np.unique(ids, return_counts=True)
    if (times > 1).any():
        return f"in which {values[times > 1][0]} is more than once"
    strange = ids[~np.isin(ids, allowed)]
    return f"in which {strange[0]} {why}" if len(strange) else None


def _wrong_labels(found: object, labels: Labels) -> str | None:
    """Say what is wrong with the labels after an admission."""
    if not isinstance(found, Labels):
        return f"which is no Labels but {type(found).__name__}"
    if found.classes != labels.classes or len(found) != len(labels) or found.guess.shape != labels.guess.shape:
        return "which are labels of another pool"
    if not (np.array_equal(found.answer, labels.answer) and np.array_equal(found.asked, labels.asked)):
        return "in which answers, or what was asked for, are changed"
    if ((found.guess < UNKNOWN) | (found.guess >= labels.classes)).any():
        return f"in which a guess is outside of the {labels.classes} classes"
    if (found.guess[labels.known] != UNKNOWN).any():
        return "in which there is a guess about a sample whose label is known"
    return None


def _checked_need(part: str, rule: object, found: object) -> Need:
    if not isinstance(found, Need):
        raise ConfigError(
            f"{part} = {name_of_part(rule)} needs {quote(found)}, which is no Need of deepbass.core.need."
        )
    return found
