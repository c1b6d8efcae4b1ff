"""Algorithm 1 with a learner that only writes down what it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deepbass.core.belief import Belief, BeliefSum
from deepbass.core.config import Config
from deepbass.core.labels import NO_ANSWERS, Answers, Ids, Labels
from deepbass.core.loop import Method, State, Step, ask_again, run
from deepbass.core.need import EVERYTHING, Below, Need
from deepbass.core.randomness import generator, seed_for

SAMPLES, CLASSES = 40, 3


class Scribe:
    """A learner that believes at random, by seed, and remembers its orders."""

    def __init__(self) -> None:
        self.orders: list[tuple[str, Any]] = []
        self.needs: list[Need] = []  # of the pool

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        self.orders.append(("train", (labels, epochs, copies, seed)))

    def infer(self, ids: Ids | None, *, passes: int, seed: int, need: Need = EVERYTHING) -> Belief:
        self.orders.append(("pool" if ids is None else "known", (passes, seed)))
        if ids is None:
            self.needs.append(need)
        else:
            assert need.everything  # theta is a mean over all passes
        ids = np.arange(SAMPLES) if ids is None else ids
        total = BeliefSum(len(ids), CLASSES)
        total.add(slice(None), np.random.default_rng(seed).dirichlet(np.ones(CLASSES), size=len(ids)))
        return total.belief(ids)


class Prompt:
    """An oracle that answers all questions at once with class id mod 3."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def ask(self, ids: Ids) -> Answers:
        self.asked.append(ids.tolist())
        return Answers(ids, ids % CLASSES)


class Late(Prompt):
    """An oracle that answers the questions before these, and only every second one."""

    def ask(self, ids: Ids) -> Answers:
        super().ask(ids)
        due = np.array(self.asked[-2][::2] if len(self.asked) > 1 else [], dtype=np.int64)
        return Answers(due, due % CLASSES)


class Silent(Prompt):
    """An oracle that never answers."""

    def ask(self, ids: Ids) -> Answers:
        super().ask(ids)
        return NO_ANSWERS


def start() -> State:
    first = np.arange(6)
    return State(Labels.none(SAMPLES, CLASSES).answered(Answers(first, first % CLASSES)))


def go(oracle: Prompt, state: State | None = None, **settings: Any) -> tuple[State, list[Step], Scribe]:
    config = Config(**{"iterations": 12, "ask_every": 5, "ask_count": 4, "initial": 6, **settings})
    learner = Scribe()
    steps: list[Step] = []
    end = run(learner, oracle, Method.of(config), state or start(), steps.append)
    return end, steps, learner


def test_the_order_of_the_steps_is_the_papers() -> None:
    _, steps, learner = go(Prompt())
    assert [what for what, _ in learner.orders] == ["train"] + ["known", "pool", "train"] * 12
    (_, epochs, copies, _) = learner.orders[0][1]
    assert (epochs, copies) == (100, 20)
    assert all(order[1:3] == (1, 20) for what, order in learner.orders[1:] if what == "train")
    assert {order[0] for what, order in learner.orders if what == "pool"} == {10}
    assert {order[0] for what, order in learner.orders if what == "known"} == {100}
    assert [step.state.iteration for step in steps] == list(range(13))


def test_questions_are_put_in_the_first_iteration_and_every_so_many_after() -> None:
    _, steps, _ = go(Prompt())
    assert [step.state.iteration for step in steps if len(step.asked)] == [1, 6, 11]
    assert all(len(step.asked) in (0, 4) for step in steps)


def test_scores_are_needed_only_where_labels_are_asked_for() -> None:
    def asking(**settings: Any) -> list[int]:
        needs = go(Prompt(), **settings)[2].needs
        assert not any(need.everything for need in needs)
        return [iteration for iteration, need in enumerate(needs) if need.decisions]

    assert asking() == [0, 5, 10]
    assert asking(budget=6 + 4) == [0]  # spent after the first batch
    assert asking(acquire="random") == asking(acquire="none") == []
    assert asking(acquire="none", admit="step-wise") == list(range(12))  # the threshold's word


@pytest.mark.parametrize("acquire", ["above-average", "above-quantile"])
def test_a_bar_set_by_the_pool_needs_everything_only_where_labels_are_asked_for(acquire: str) -> None:
    needs = go(Prompt(), acquire=acquire)[2].needs
    assert [iteration for iteration, need in enumerate(needs) if need.everything] == [0, 5, 10]
    assert all(need.everything for need in go(Prompt(), early_exit=False)[2].needs)


def test_the_threshold_is_asked_about_those_who_are_neither_known_nor_in() -> None:
    _, steps, learner = go(Prompt(), admit="step-wise", acquire="none", iterations=3)
    assert len(steps[1].state.labels.members) > 0
    for step, need in zip(steps, learner.needs, strict=False):
        (below,) = need.decisions
        assert isinstance(below, Below)
        labels = step.state.labels
        assert set(below.ids) == set(range(SAMPLES)) - set(labels.known) - set(labels.members)
        assert below.threshold == steps[step.state.iteration + 1].threshold


def test_a_sample_just_answered_is_trained_on_as_ground_truth_in_the_same_iteration() -> None:
    _, steps, learner = go(Prompt(), iterations=1)
    trained = learner.orders[-1][1][0]
    assert set(steps[-1].asked) <= set(trained.known)
    assert not set(trained.known) & set(trained.members)


def test_the_threshold_is_the_mean_entropy_of_the_known_labels() -> None:
    _, steps, learner = go(Prompt(), iterations=1, admit="step-wise")
    known, belief = learner.infer(np.arange(6), passes=100, seed=seed_for(0, 0, "infer known")), steps[-1].belief
    assert steps[-1].threshold == known.entropy.mean()
    assert belief is not None
    below = set(np.flatnonzero(belief.entropy < known.entropy.mean())) - set(steps[-1].state.labels.known)
    assert set(steps[-1].state.labels.members) == below


@pytest.mark.parametrize("oracle", [Late, Silent])
def test_the_loop_goes_on_with_a_late_partial_or_silent_oracle(oracle: type[Prompt]) -> None:
    asked = oracle()
    end, _, _ = go(asked)
    assert end.iteration == 12
    questions = [id_ for ids in asked.asked for id_ in ids]
    assert len(questions) == len(set(questions)) == 12  # nothing is asked twice while it waits
    assert len(end.labels.known) == (6 if oracle is Silent else 6 + 2 * 3)
    assert len(asked.asked) == 12  # also in iterations without questions: late answers are fetched


def test_what_is_ranked_anew_in_every_iteration_stays_askable_until_it_is_answered() -> None:
    config = Config(iterations=6, ask_every=1, ask_count=SAMPLES, initial=6)
    oracle, steps = Silent(), list[Step]()
    run(Scribe(), oracle, replace(Method.of(config), mark=ask_again), start(), steps.append)
    assert all(sorted(ids) == list(range(6, SAMPLES)) for ids in oracle.asked)
    assert not any(step.state.labels.asked.any() for step in steps)


def test_a_pool_that_runs_out_is_trained_on_without_asking() -> None:
    oracle = Prompt()
    end, steps, _ = go(oracle, ask_count=15, ask_every=1)
    assert [len(step.asked) for step in steps[1:]] == [15, 15, 4] + [0] * 9
    assert len(end.labels.unknown) == 0
    assert end.iteration == 12


@pytest.mark.parametrize("oracle", [Prompt, Late, Silent])
def test_no_more_is_asked_than_the_budget_allows(oracle: type[Prompt]) -> None:
    asked = oracle()
    _, steps, _ = go(asked, ask_every=2, budget=6 + 9)
    assert [len(step.asked) for step in steps if len(step.asked)] == [4, 4, 1]
    assert sum(map(len, asked.asked)) == 9
    assert not any(len(step.asked) for step in go(Prompt(), budget=6)[1])  # spent before it began


def test_an_answer_taken_back_returns_the_sample_to_the_pool() -> None:
    class Fickle(Prompt):
        def ask(self, ids: Ids) -> Answers:
            first = len(self.asked) == 0
            super().ask(ids)
            return Answers(ids, ids % CLASSES) if first else Answers(np.array(self.asked[0][:1]), np.array([-1]))

    oracle = Fickle()
    end, _, _ = go(oracle, ask_every=20)
    assert end.labels.answer[oracle.asked[0][0]] == -1
    assert oracle.asked[0][0] in end.labels.members


@pytest.mark.parametrize("stop", range(13))
def test_stop_and_resume_equals_not_stopping(stop: int) -> None:
    whole, steps, _ = go(Prompt(), admit="step-wise", acquire="above-average", seed=4)
    first_part = go(Prompt(), admit="step-wise", acquire="above-average", seed=4, iterations=stop)[0]
    resumed, rest, _ = go(Prompt(), replace(first_part, ended=None), admit="step-wise", acquire="above-average", seed=4)
    assert resumed.labels == whole.labels
    assert [step.asked.tolist() for step in rest] == [step.asked.tolist() for step in steps[stop + 1 :]]


def test_the_reason_for_the_end_is_said() -> None:
    assert go(Prompt())[0].ended == "12 iterations done"


def test_no_iterations_leave_the_initial_model() -> None:
    end, steps, learner = go(Prompt(), iterations=0)
    assert [what for what, _ in learner.orders] == ["train"]
    assert (end.iteration, len(steps)) == (0, 1)


def test_names_and_neighbouring_seeds_give_unrelated_draws() -> None:
    seeds = {seed_for(seed, iteration, name) for seed in range(20) for iteration in range(20) for name in ("a", "b")}
    assert len(seeds) == 800
    draws = [generator(seed, 0, "x").random(1000) for seed in range(2)]
    assert abs(np.asarray(np.corrcoef(draws))[0, 1]) < 0.1
