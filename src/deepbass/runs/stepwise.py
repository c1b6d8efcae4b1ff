"""A learner that is taught step by step: labels come when they come, and it goes on from where it stands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepbass.core.acquire import ACQUIRE
from deepbass.core.belief import Belief, Floats
from deepbass.core.config import Config
from deepbass.core.labels import UNKNOWN, Answers, Ids, Labels
from deepbass.core.loop import UNTRAINED, Method, State, Step, after, run
from deepbass.core.own_parts import OwnParts
from deepbass.core.own_rules import method_with, own_start
from deepbass.core.randomness import generator, seed_for
from deepbass.core.typical import typical_of
from deepbass.learn.carry_over import carry_over
from deepbass.learn.head_learner import HeadLearner
from deepbass.learn.learner import LocalLearner
from deepbass.learn.own_network import Networks
from deepbass.oracle.nobody import Nobody
from deepbass.runs.in_memory import Seen, new_learner
from deepbass.runs.session_curve import SessionCurve

FEWEST = 2  # classes that must have been met


class Stepwise:
    """A pool, its labels and a learner, which is trained when something is wanted of it and labels have come."""

    def __init__(
        self, seen: Seen, config: Config, classes: int, networks: Networks, own: OwnParts | None = None
    ) -> None:
        self.seen, self.config, self.networks = seen, config, networks
        self.state = State(Labels.none(len(seen.pool), max(1, classes)))
        self.learner: LocalLearner | None = None
        self.stale = True  # whether labels have come that the learner has not seen
        self.curve = SessionCurve()
        self._own = own or OwnParts()
        self._belief: Belief | None = None
        self._parts: Method | None = None

    @property
    def labels(self) -> Labels:
        """What is known, guessed and asked, by id."""
        return self.state.labels

    @property
    def met(self) -> int:
        """How many classes have a label."""
        return len(np.unique(self.labels.answer[self.labels.known]))

    @property
    def can_learn(self) -> bool:
        """Whether there are labels of two classes, so that there is something to tell apart."""
        return self.met >= FEWEST

    def take_up(self, answers: Answers, classes: int) -> None:
        """Take up answers, maybe of classes that are new."""
        self.curve.hear(self.labels, answers)
        grown = self.labels.extended(len(self.labels), max(1, classes))
        self.state = replace(self.state, labels=grown.wanted(answers.ids).answered(answers))
        self.stale, self._belief = True, None

    def choose(self, count: int) -> Ids:
        """Choose samples to ask for, and remember that they were."""
        labels = self.labels
        count = min(count, len(labels.askable))
        rng = generator(self.config.seed, labels.spent, "ask")
        if not count:
            chosen = labels.askable
        elif self.can_learn:
            belief = self._believe()
            chosen = self._method().acquire.about(labels)(belief, labels.askable, count, rng)
            if self._own.acquire is None:  # the caller's own may want fewer; others do where the rest are copies
                rest = np.setdiff1d(labels.askable, chosen)
                chosen = np.concatenate([chosen, rng.permutation(rest)[: count - len(chosen)]])
        else:
            chosen = self._typical(count, rng)
        self.state = replace(self.state, labels=self.labels.wanted(chosen))
        self.curve.ask(chosen)
        return chosen

    def probabilities(self) -> Floats:
        """Predict class probabilities of the whole pool."""
        probs_N_C = self.trained().predict(self.seen.pool)
        self.curve.look(self.labels, probs_N_C)
        return probs_N_C

    def trained(self) -> LocalLearner:
        """Train, if labels have come since, from where the learner stands."""
        if self.learner is None or self.learner_classes != self.labels.classes:
            self._renew()
        learner = self.learner
        assert learner is not None
        if self.stale:
            # a head is solved, so one step is enough, in which it learns from the pool; a network gets as many as a run
            # makes between two askings, after its initial training
            solved, first = isinstance(learner, HeadLearner), self.state.iteration == UNTRAINED
            self._go_on(learner, 1 if solved else 0 if first else self.config.ask_every)
        return learner

    def train(self, iterations: int) -> None:
        """Train for some iterations more, whether or not labels have come."""
        self._go_on(self.trained(), iterations)

    def _go_on(self, learner: LocalLearner, iterations: int) -> None:
        stop = after(max(0, self.state.iteration) + iterations)
        method = replace(self._method(), acquire=ACQUIRE["none"](self.config.quantile), stop=stop)
        run(learner, Nobody(), method, self.state, self._on_step)
        self.stale, self._belief = False, None

    def grow(self, seen: Seen) -> None:
        """Go on with a pool that has more samples, the former ones first."""
        self.seen = seen
        self.state = replace(self.state, labels=self.labels.extended(len(seen.pool), self.labels.classes))
        self._belief, self._parts = None, None
        if self.learner is not None:
            state, classes = self.learner.state(), self.learner_classes
            self.restore(state, classes)

    def restore(self, state: bytes, classes: int) -> None:
        """Take up what a learner had packed, for so many classes."""
        self.learner, self.learner_classes = self._fresh(classes), classes
        self.learner.restore(state)

    def _renew(self) -> None:
        """Make a learner for the classes that there are by now; what the one before had learned goes with it."""
        classes, before = self.labels.classes, self.learner
        fresh = self._fresh(classes)
        fresh.rehearse()
        if before is not None:
            kept: list[int | None] = [class_ if class_ < self.learner_classes else None for class_ in range(classes)]
            carry_over(before.state(), self.learner_classes, kept, fresh, lambda: b"")  # never as many as before
        self.learner, self.learner_classes = fresh, classes

    def _fresh(self, classes: int) -> LocalLearner:
        return new_learner(self.config, self.seen, classes, self.networks.of(classes), own=self._own)

    def _method(self) -> Method:
        if self._parts is None:  # made once for a pool: some policies look at where all samples lie
            pool = self.seen.pool
            self._parts = method_with(self.config, self._own, rows=pool.row_map, samples=pool)
        return self._parts

    def _on_step(self, step: Step) -> None:
        self.state = step.state

    def _believe(self) -> Belief:
        learner = self.trained()
        if self._belief is None:
            seed = seed_for(self.config.seed, self.state.iteration, "infer pool")
            self._belief = learner.infer(None, passes=self.config.passes_pool, seed=seed)
            self.curve.look(self.labels, self._belief.mean_N_C)
        return self._belief

    def _typical(self, count: int, rng: np.random.Generator) -> Ids:
        """Choose what is common, as far from what was asked before as clusters are from one another."""
        labels, pool = self.labels, self.seen.pool
        if self._own.start is not None:
            return pool.row_map.start(own_start(self._own.start))(pool, labels.askable, count, rng)
        order = typical_of(pool, np.arange(len(pool)), min(labels.spent + count, len(pool)), rng)
        open_ = order[np.isin(order, labels.askable)][:count]
        rest = np.setdiff1d(labels.askable, open_)
        return np.concatenate([open_, rng.permutation(rest)[: count - len(open_)]])


def unknown_of(labels: Labels) -> Ids:
    """List samples that were asked for and have no answer yet."""
    return np.flatnonzero(labels.asked & (labels.answer == UNKNOWN))
