"""Algorithm 1 of the paper: active expectation maximisation with pseudo-labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from deepbass.core.acquire import Acquire
from deepbass.core.admit import Admit, admission
from deepbass.core.belief import Belief
from deepbass.core.by_budget import acquisition
from deepbass.core.config import GAIN, Config
from deepbass.core.labels import NO_ANSWERS, NO_IDS, Answers, Classes, Ids, Labels, short_ids
from deepbass.core.need import EVERYTHING, GUESSES, Need, every_pass
from deepbass.core.own_parts import check_built_in
from deepbass.core.randomness import generator, seed_for
from deepbass.core.samples import Samples

UNTRAINED = -1  # the iteration before the initial training; 0 is the initial model


class Learner(Protocol):
    """A network and the pool it learns from, wherever they live: here, or on other machines."""

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        """Train on the known labels, ``copies`` times each, and on the guesses once."""

    def infer(self, ids: Ids | None, *, passes: int, seed: int, need: Need = EVERYTHING) -> Belief:
        """Make ``passes`` dropout passes over some samples, or over the whole pool for None.

        A sample of which no pass left could change what is needed may be spared them.
        """


class Oracle(Protocol):
    """Whoever knows the truth. It has one verb and may answer late, partly, or never."""

    def ask(self, ids: Ids) -> Answers:
        """Put questions (maybe none) and return what has arrived, also to earlier questions."""


@dataclass(frozen=True)
class State:
    """Where a run stands between two iterations. With the learner's weights it is all a resume needs."""

    labels: Labels
    iteration: int = UNTRAINED  # how many are finished
    ended: str | None = None  # why the run is over
    guesses: Classes | None = field(default=None, compare=False)  # what the pool was last taken for, one per sample


@dataclass(frozen=True)
class Step:
    """What happened in one iteration, for those who record and draw it."""

    state: State
    belief: Belief | None = None
    threshold: float | None = None
    asked: Ids = field(default_factory=lambda: NO_IDS)
    answers: Answers = NO_ANSWERS
    guessed_before: Classes | None = None  # what the pool was taken for in the iteration before


Stop = Callable[[State], str | None]
Mark = Callable[[Labels, Ids], Labels]
OnStep = Callable[[Step], None]


def after(iterations: int) -> Stop:
    """Make the rule that stops after a number of iterations."""
    return lambda state: f"{iterations} iterations done" if state.iteration >= iterations else None


def ask_again(labels: Labels, ids: Ids) -> Labels:
    """Mark nothing: what is asked for now may be asked for again, as where people answer from a ranked queue."""
    return labels


@dataclass(frozen=True)
class Method:
    """The parts of the algorithm that can be swapped, each a value."""

    config: Config
    admit: Admit
    acquire: Acquire
    stop: Stop
    mark: Mark = Labels.wanted  # remembers what was asked for
    shown: Need = GUESSES  # what whoever is told of a step reads of its belief

    @classmethod
    def of(cls, config: Config, samples: Samples | None = None) -> Method:
        """Look the parts up by the names in the configuration; some want to know the pool."""
        check_built_in(config, ("acquire", "admit", "stop"))
        return cls(
            config,
            admit=admission(config.admit, config.confidence),
            acquire=acquisition(config, samples),
            stop=after(config.iterations),
        )

    def need(self, labels: Labels, threshold: float, count: int) -> Need:
        """Tell what the belief about the pool will be used for: to admit, and to ask for ``count`` labels."""
        asking = self.acquire.need(short_ids(labels.may_be_asked), count) if count else GUESSES
        need = self.admit.need(threshold, labels) & asking & self.shown
        if not self.config.early_exit or self.config.stop == GAIN:  # that rule looks at every confidence
            return every_pass(*need.reads)
        return need


def _wanted_now(state: State, config: Config) -> int:
    """Count how many labels to ask for in this iteration: none, a batch, or what the budget has left of one."""
    if state.iteration % config.ask_every != 0:
        return 0
    left = config.ask_count if config.budget is None else config.budget - state.labels.spent
    return max(0, min(config.ask_count, left))


def run(learner: Learner, oracle: Oracle, method: Method, state: State, on_step: OnStep) -> State:
    """Run Algorithm 1 from any state to its end; ``on_step`` sees every finished iteration."""
    config = method.config

    def seed(purpose: str) -> int:
        return seed_for(config.seed, state.iteration, purpose)

    # lines 1-2: (D, L) := (X, G); train on what is known
    if state.iteration == UNTRAINED:
        learner.train(state.labels, epochs=config.initial_epochs, copies=config.copies, seed=seed("initial training"))
        state = replace(state, iteration=0)
        on_step(Step(state))

    while (ended := method.stop(state)) is None:
        # line 6: the known labels set the bar for "close enough"
        known = learner.infer(state.labels.known, passes=config.passes_known, seed=seed("infer known"))
        threshold = float(known.entropy.mean())

        # lines 4-5, the E-step: Monte-Carlo dropout over X and X', as far as it decides what follows
        count = _wanted_now(state, config)
        belief = learner.infer(
            None,
            passes=config.passes_pool,
            seed=seed("infer pool"),
            need=method.need(state.labels, threshold, count),  # which lists ids: it is not kept
        )

        # lines 6-7: what is close enough joins D
        labels = method.admit(belief, threshold, state.labels)

        # lines 8-10, the active part: ask about what is far from any class; an answer beats a guess
        wanted = NO_IDS
        if count:
            rng = generator(config.seed, state.iteration, "acquire")
            wanted = method.acquire.about(labels)(belief, labels.askable, count, rng)
        answers = oracle.ask(wanted)
        labels = method.mark(labels, wanted).answered(answers)

        # line 11, the M-step: one epoch on answers, copied twenty times, and guesses
        learner.train(labels, epochs=config.epochs, copies=config.copies, seed=seed("train"))

        before = state.guesses
        state = replace(state, labels=labels, iteration=state.iteration + 1, guesses=belief.guess)
        on_step(Step(state, belief, threshold, wanted, answers, before))

    return replace(state, ended=ended)
