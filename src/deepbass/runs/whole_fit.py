"""One fit in memory, from the labels that are given to the end of the loop: what the classifier does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import nn

from deepbass.core.callbacks import Callback, Callbacks
from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.labels import NO_IDS, UNKNOWN, Answers, Ids, Labels
from deepbass.core.loop import State, Step, run
from deepbass.core.own_parts import OwnParts
from deepbass.core.own_rules import method_with, own_start
from deepbass.core.randomness import generator
from deepbass.core.row_map import RowMap, StartRule
from deepbass.core.samples import Samples
from deepbass.core.typical import typical_of
from deepbass.data.given_labels import GivenLabels
from deepbass.learn.learner import LocalLearner
from deepbass.oracle import Answering, AnyOracle
from deepbass.oracle.nobody import Nobody
from deepbass.runs.besides_pixels import places_of
from deepbass.runs.in_memory import Seen, new_learner
from deepbass.runs.measure import Metrics, measure

NEVER = -1  # a sample was not trained on


@dataclass(frozen=True, eq=False)
class WholeFit:
    """What a fit ended with; all of it goes by id."""

    learner: LocalLearner
    state: State
    since: Ids  # the iteration from which on a sample is trained on; 0: its label was given
    asked: Ids


def fit_whole(
    seen: Seen,
    given: GivenLabels,
    config: Config,
    network: nn.Module | None,
    *,
    oracle: AnyOracle | None = None,
    own: OwnParts | None = None,
    callbacks: Sequence[Callback] | Callback | None = None,
) -> WholeFit:
    """Run the loop on samples and the labels that are given; where these are too few, an oracle is asked for more."""
    rows = seen.pool.row_map
    who = Nobody() if oracle is None else Answering(oracle, rows, given.names)
    labels, first = _begin(given, rows), NO_IDS
    history = _History(labels)
    places = places_of(seen.pool, config)
    if len(np.unique(labels.answer[labels.known])) < 2 and oracle is not None:
        first = _first(seen, places, labels, config, own.start if own else None)
        answers = who.ask(first)
        labels = labels.wanted(first).answered(answers)
        history.on_step(Step(State(labels, 0), asked=first, answers=answers))
    _check_enough(labels, given)
    learner = new_learner(config, seen, len(given.classes), network, own=own, places=places)
    learner.rehearse()
    measured: list[Metrics] = []
    method = method_with(config, own, rows=rows, samples=learner.places, history=measured)
    called = Callbacks(callbacks)
    called.on_start(config)

    def on_step(step: Step) -> None:
        history.on_step(step)
        nobody_knows = np.full(len(step.state.labels), UNKNOWN)
        measured.append(measure(step, nobody_knows, None, evidence=learner.evidence))
        called.on_step(step.state.iteration, measured[-1])

    state = run(learner, who, replace(method, stop=called.stop(method.stop)), State(labels), on_step)
    called.on_end(state.ended)
    return WholeFit(learner, state, history.since, np.array(history.asked, dtype=np.int64))


class _History:
    """Since which iteration every sample is trained on, and what was asked for."""

    def __init__(self, labels: Labels) -> None:
        self.since: Ids = np.where(labels.answer != UNKNOWN, 0, NEVER)
        self.asked: list[int] = []

    def on_step(self, step: Step) -> None:
        """Take up a finished iteration."""
        labels = step.state.labels
        used = (labels.answer != UNKNOWN) | (labels.guess != UNKNOWN)
        answered = np.isin(np.arange(len(used)), step.answers.ids)
        fresh = used & ((self.since == NEVER) | answered)
        self.since = np.where(used, np.where(fresh, step.state.iteration, self.since), NEVER)
        self.asked += step.asked.tolist()


def _begin(given: GivenLabels, rows: RowMap) -> Labels:
    there = np.isin(given.rows, rows.rows)  # what cannot be read cannot be learned from
    labels = Labels.none(len(rows.rows), max(1, len(given.classes)))
    return labels.answered(Answers(rows.ids(given.rows[there]), given.numbers[there]))


def _first(seen: Seen, places: Samples | None, labels: Labels, config: Config, start: StartRule | None) -> Ids:
    """Choose what to ask for while there is nothing to learn from."""
    rng = generator(config.seed, 0, "initial labels")
    askable = labels.askable
    left = config.ask_count if config.budget is None else config.budget - labels.spent
    count = min(max(left, 0), max(config.ask_count, 2 * labels.classes), len(askable))
    if start is not None and count:
        return seen.pool.row_map.start(own_start(start))(seen.pool, askable, count, rng)
    return typical_of(seen.pool if places is None else places, askable, count, rng)


def _check_enough(labels: Labels, given: GivenLabels) -> None:
    met = np.unique(labels.answer[labels.known])
    if len(met) >= 2:
        return
    what = f"of one class only ({given.names[met[0]]!r})" if len(met) else "not there"
    raise DataError(
        f"The labels that are known are {what}: at least two classes are needed to tell apart. -1, None, NaN and no "
        "text mark samples without a label; if one of them is a class of yours, rename it."
    )
