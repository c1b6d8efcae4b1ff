"""The user's own acquisition, admission and stop rule: any callable, and what it returns is checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.acquire import Acquire, Acquisition
from deepbass.core.admit import Admission, Admit
from deepbass.core.belief import Belief
from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import UNKNOWN, Ids, Labels
from deepbass.core.loop import Method, State, Stop
from deepbass.core.need import Need
from deepbass.core.row_map import RowMap
from deepbass.core.samples import Samples

_SHOWN = 100  # characters of a wrong result that an error quotes


def method_with(
    config: Config,
    *,
    acquire: Acquire | Acquisition | None = None,
    admit: Admit | Admission | None = None,
    stop: Stop | None = None,
    rows: RowMap | None = None,
    samples: Samples | None = None,
) -> Method:
    """Look the parts up by the names in the configuration, but for those that are given.

    With a map, the given ones speak of rows. Some of the named ones want to know the pool's samples.
    """
    given = {"acquire": acquire, "admit": admit, "stop": stop}
    for name, rule in given.items():
        if rule is None and getattr(config, name) == OWN:
            raise ConfigError(f"{name} = {OWN!r}: pass the rule itself, as in deepbass.run(..., {name}=...).")
    named = replace(config, **{name: getattr(Config(), name) for name, rule in given.items() if rule is not None})
    method = replace(Method.of(named, samples), config=config)
    if acquire is not None:
        asks = own_acquire(acquire)
        method = replace(method, acquire=asks if rows is None else rows.acquire(asks))
    if admit is not None:
        lets_in = own_admit(admit)
        method = replace(method, admit=lets_in if rows is None else rows.admit(lets_in))
    if stop is not None:
        ends = own_stop(stop, method.stop)
        method = replace(method, stop=ends if rows is None else rows.stop(ends))
    return method


def own_acquire(rule: Acquire | Acquisition) -> Acquire:
    """Make an acquisition of a callable; one that does not say what it needs of a belief needs all of it."""
    _check_callable("acquire", rule)

    def choose(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        found = rule(belief, askable, count, rng)
        ids = np.asarray(found)
        if ids.size == 0:
            return askable[:0]
        wrong = _wrong_ids(ids, askable, count)
        if wrong is not None:
            raise ConfigError(
                f"acquire = {_name(rule)} returned {_quote(found)}, {wrong}. Return distinct ids of `askable`, at most "
                f"`count` ({count}) of them."
            )
        return ids.astype(np.int64)

    if not isinstance(rule, Acquire):
        return Acquire(choose)
    return Acquire(choose, lambda askable, count: _checked_need("acquire", rule, rule.need(askable, count)))


def own_admit(rule: Admit | Admission) -> Admit:
    """Make an admission of a callable; one that does not say what it needs of a belief needs all of it."""
    _check_callable("admit", rule)

    def choose(belief: Belief, threshold: float, labels: Labels) -> Labels:
        found = rule(belief, threshold, labels)
        wrong = _wrong_labels(found, labels)
        if wrong is not None:
            raise ConfigError(
                f"admit = {_name(rule)} returned {_quote(found)}, {wrong}. Return `labels.guessed(ids, classes)`: it "
                "replaces the pseudo-labels and keeps the answers."
            )
        return found

    if not isinstance(rule, Admit):
        return Admit(choose)
    return Admit(choose, lambda threshold, labels: _checked_need("admit", rule, rule.need(threshold, labels)))


def own_stop(rule: Stop, at_last: Stop) -> Stop:
    """Make a stop rule of a callable, which may end the run sooner than the rule that ends it ``at_last``."""
    _check_callable("stop", rule)

    def stop(state: State) -> str | None:
        ended: object = rule(state)
        if ended is None:
            return at_last(state)
        if not isinstance(ended, str):
            raise ConfigError(
                f"stop = {_name(rule)} returned {_quote(ended)}, which is neither None, to go on, nor a text that says "
                "why the run is over."
            )
        return ended

    return stop


def _wrong_ids(ids: NDArray[Any], askable: Ids, count: int) -> str | None:
    """Say what is wrong with ids to ask for."""
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        return f"which is no list of sample ids but {ids.dtype} of shape {ids.shape}"
    if len(ids) > count:
        return f"which are {len(ids)} ids"
    values, times = np.unique(ids, return_counts=True)
    if (times > 1).any():
        return f"in which {values[times > 1][0]} is more than once"
    strange = ids[~np.isin(ids, askable)]
    return f"in which {strange[0]} may not be asked for" if len(strange) else None


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
        raise ConfigError(f"{part} = {_name(rule)} needs {_quote(found)}, which is no Need of deepbass.core.need.")
    return found


def _check_callable(part: str, rule: object) -> None:
    if not callable(rule):
        raise ConfigError(f"{part} = {_quote(rule)} is neither a name nor a function.")


def _name(rule: object) -> str:
    """Name a rule as its author does."""
    inner = rule.choose if isinstance(rule, Acquire | Admit) else rule
    return str(getattr(inner, "__name__", None) or type(inner).__name__)


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
