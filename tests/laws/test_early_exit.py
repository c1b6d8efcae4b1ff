"""Early exit changes nothing: pseudo-labels, who joins D and who is asked for are those of all passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepbass
from deepbass.core.acquire import ACQUIRE, Acquire, top
from deepbass.core.admit import ADMIT
from deepbass.core.belief import Belief, BeliefSum, Floats, Partial, entropy
from deepbass.core.config import Config
from deepbass.core.labels import Answers, Classes, Labels
from deepbass.core.loop import Method
from deepbass.core.need import EVERYTHING, GUESSES, SLACK, Below, Highest, Need
from deepbass.core.score import CLOSENESS, DISSENT, DOUBT, ENTROPY, INFORMATION, Score
from tests.learn.replay import Replay
from tests.runs.small_runs import SMALL, everything

SCORES = {
    "max-entropy": ENTROPY,
    "bald": INFORMATION,
    "variation-ratios": DISSENT,
    "least-confidence": DOUBT,
    "margin": CLOSENESS,
}
ROUNDING = 1e-9

# how the passes over one sample may look: by generator, number of passes, classes
Kind = Callable[[np.random.Generator, int, int], Floats]


def _votes(classes_T: Classes, classes: int) -> Floats:
    """Be certain of one class in each pass."""
    probs_T_C: Floats = np.eye(classes)[classes_T]
    return probs_T_C


def _unsure(rng: np.random.Generator, passes: int, classes: int) -> Floats:
    return rng.dirichlet(np.ones(classes), size=passes)


def _confident(rng: np.random.Generator, passes: int, classes: int) -> Floats:
    peak_C = np.eye(classes)[rng.integers(classes)]
    probs_T_C: Floats = 0.97 * peak_C + 0.03 * _unsure(rng, passes, classes)
    return probs_T_C


def _certain(rng: np.random.Generator, passes: int, classes: int) -> Floats:
    return _votes(np.full(passes, rng.integers(classes)), classes)


def _torn(rng: np.random.Generator, passes: int, classes: int) -> Floats:
    """Vote with certainty, now for one of two classes, now for the other: sums tie exactly."""
    return _votes(rng.choice(rng.permutation(classes)[:2], size=passes), classes)


def _coarse(rng: np.random.Generator, passes: int, classes: int) -> Floats:
    """Give quarters: sums, entropies and leads of samples tie exactly, and leads equal what is left."""
    return rng.multinomial(4, rng.dirichlet(np.full(classes, 0.5)), size=passes) / 4


def _fickle(rng: np.random.Generator, passes: int, classes: int) -> Floats:
    """Change the mind for good, somewhere on the way."""
    turn = rng.integers(0, passes + 1)
    before, after = rng.integers(classes, size=2)
    return _votes(np.where(np.arange(passes) < turn, before, after), classes)


KINDS: tuple[Kind, ...] = (_unsure, _confident, _certain, _torn, _coarse, _fickle)


@st.composite
def tensors(draw: st.DrawFn, most: int = 12, single: bool = False) -> Floats:
    """Draw the passes of some samples of all kinds: T x N x C; if wanted, now and then as rough as a network's."""
    passes = draw(st.sampled_from([1, 2, 3, 4, 10, 11]))
    classes = draw(st.sampled_from([2, 3, 10]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=most))
    copies = draw(st.integers(1, 3))  # of each sample: equal scores, settled by id
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    samples = [kind(rng, passes, classes) for kind in kinds for _ in range(copies)]
    if copies == 3:
        samples[1::3] = samples[::3]
    probs = np.stack(samples, axis=1)
    return probs.astype(np.float32).astype(np.float64) if single and draw(st.booleans()) else probs


def believed(probs_T_N_C: Floats) -> Belief:
    return Replay(probs_T_N_C).infer(np.arange(probs_T_N_C.shape[1]), EVERYTHING)


def part(probs_T_N_C: Floats, done: int) -> Partial:
    """Add up the first passes of all."""
    passes, samples, classes = probs_T_N_C.shape
    total = BeliefSum(samples, classes)
    for probs_N_C in probs_T_N_C[:done]:
        total.add(slice(None), probs_N_C)
    return total.partial(np.arange(samples), np.arange(samples), passes)


def completed(probs_T_N_C: Floats, done: int, rest_N_C: Floats) -> Belief:
    """Believe what the first passes say, and let all others be the same."""
    left = len(probs_T_N_C) - done
    return believed(np.concatenate([probs_T_N_C[:done], np.repeat(rest_N_C[None], left, axis=0)]))


def poured(sums_C: Floats, mass: float) -> Floats:
    """Find the flattest way to add a mass, slowly: bisect the level of the water."""
    low, high = 0.0, float(sums_C.max()) + mass
    for _ in range(200):
        level = (low + high) / 2
        low, high = (level, high) if np.maximum(level - sums_C, 0).sum() < mass else (low, level)
    return np.maximum(low - sums_C, 0)


@given(tensors(), st.data())
def test_a_score_ends_up_between_its_bounds_whatever_the_passes_left_say(probs: Floats, data: st.DataObject) -> None:
    done = data.draw(st.integers(1, len(probs)))
    partial, whole = part(probs, done), believed(probs)
    for score in SCORES.values():
        assert (score.lowest(partial) <= score.of(whole) + ROUNDING).all()
        assert (score.of(whole) <= score.highest(partial) + ROUNDING).all()


@given(tensors(), st.data())
def test_the_entropy_as_it_stands_lies_between_the_bounds_too(probs: Floats, data: st.DataObject) -> None:
    """So which side of a threshold it is on can be read off fewer passes, once the bounds are on one."""
    done = data.draw(st.integers(1, len(probs)))
    partial, early = part(probs, done), believed(probs[:done])
    assert (ENTROPY.lowest(partial) <= early.entropy + ROUNDING).all()
    assert (early.entropy <= ENTROPY.highest(partial) + ROUNDING).all()


@given(tensors(), st.data())
def test_bounds_only_close_in_and_meet_after_the_last_pass(probs: Floats, data: st.DataObject) -> None:
    """So a bar once reached stays reached, and who is out stays out."""
    done = data.draw(st.integers(1, len(probs)))
    earlier, later, last = part(probs, done), part(probs, min(done + 1, len(probs))), part(probs, len(probs))
    for score in SCORES.values():
        assert (score.lowest(earlier) <= score.lowest(later) + ROUNDING).all()
        assert (score.highest(later) <= score.highest(earlier) + ROUNDING).all()
        np.testing.assert_allclose(score.lowest(last), score.highest(last), atol=ROUNDING)


@given(tensors(most=5), st.data())
def test_bounds_are_reached(probs: Floats, data: st.DataObject) -> None:
    """Each bound is the score of some outcome: nothing could be settled earlier."""
    passes, samples, classes = probs.shape
    done = data.draw(st.integers(1, passes))
    left = passes - done
    partial = part(probs, done)
    sums_N_C = partial.probs_N_C

    leader_N_C = np.eye(classes)[sums_N_C.argmax(1)]
    for score in (ENTROPY, DOUBT, CLOSENESS):
        np.testing.assert_allclose(score.of(completed(probs, done, leader_N_C)), score.lowest(partial), atol=ROUNDING)

    if left:
        flat_N_C = np.array([poured(sums_C, left) / left for sums_C in sums_N_C])
        flattest = completed(probs, done, flat_N_C)
        for score in (ENTROPY, DOUBT):
            np.testing.assert_allclose(score.of(flattest), score.highest(partial), atol=ROUNDING)

    mean_N_C = sums_N_C / done
    same_again = completed(probs, done, mean_N_C)
    np.testing.assert_allclose(INFORMATION.of(same_again), INFORMATION.lowest(partial), atol=ROUNDING)

    popular_N_C = np.eye(classes)[partial.votes_N_C.argmax(1)]
    np.testing.assert_allclose(DISSENT.of(completed(probs, done, popular_N_C)), DISSENT.lowest(partial), atol=ROUNDING)

    order_N_C = np.argsort(-sums_N_C, axis=1, kind="stable")
    first_N_C, second_N_C = (np.eye(classes)[order_N_C[:, place]] for place in (0, 1))
    if left:
        to_second_N = np.minimum(partial.lead + np.maximum(left - partial.lead, 0) / 2, left) / left
        catching_up = completed(probs, done, to_second_N[:, None] * second_N_C + (1 - to_second_N)[:, None] * first_N_C)
        np.testing.assert_allclose(CLOSENESS.of(catching_up), CLOSENESS.highest(partial), atol=ROUNDING)

    votes_N_C = partial.votes_N_C.copy()
    for _ in range(left):
        votes_N_C[np.arange(samples), votes_N_C.argmin(1)] += 1
    np.testing.assert_allclose(DISSENT.highest(partial), 1 - votes_N_C.max(1) / passes, atol=ROUNDING)

    if classes**left <= 1000:  # all ways to be certain
        ways_W_C = [np.eye(classes)[list(way)].sum(0) for way in product(range(classes), repeat=left)]
        mixed_N = np.max([entropy((sums_N_C + way_C) / passes) for way_C in ways_W_C], axis=0)
        highest_N = np.maximum(mixed_N - partial.entropy_N / passes, 0)
        np.testing.assert_allclose(INFORMATION.highest(partial), highest_N, atol=ROUNDING)


@given(tensors(single=True))
def test_guesses_are_those_of_all_passes(probs: Floats) -> None:
    ids = np.arange(probs.shape[1])
    whole, early = believed(probs), Replay(probs).infer(ids, GUESSES)
    assert early.guess.tolist() == whole.guess.tolist()


def some_labels(samples: int, classes: int, rng: np.random.Generator) -> Labels:
    """Make labels of which some are known, some guessed, some asked for."""
    known, members, asked = (np.flatnonzero(rng.random(samples) < share) for share in (0.2, 0.4, 0.2))
    labels = Labels.none(samples, classes).answered(Answers(known, rng.integers(0, classes, len(known))))
    return labels.guessed(members, rng.integers(0, classes, len(members))).wanted(asked)


@settings(max_examples=300)
@given(
    tensors(single=True),
    st.sampled_from(sorted(ADMIT)),
    st.sampled_from(sorted(ACQUIRE)),
    st.integers(0, 12),
    st.data(),
)
def test_every_decision_is_that_of_all_passes(
    probs: Floats, admit: str, acquire: str, count: int, data: st.DataObject
) -> None:
    passes, samples, classes = probs.shape
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    labels = some_labels(samples, classes, rng)
    whole = believed(probs)
    # also a threshold that is some sample's entropy to the last bit, or next to it
    edge = float(whole.entropy[data.draw(st.integers(0, samples - 1))])
    near = [edge, np.nextafter(edge, 2.0), np.nextafter(edge, -1.0), edge + 1e-7, edge - 1e-7]
    threshold = float(data.draw(st.sampled_from([0.0, 0.3, 0.7, 1.0, *near])))

    method = Method.of(Config(admit=admit, acquire=acquire))
    engine = Replay(probs)
    early = engine.infer(np.arange(samples), method.need(labels, threshold, count))

    assert early.guess.tolist() == whole.guess.tolist()
    assert method.admit(early, threshold, labels) == method.admit(whole, threshold, labels)
    choices = [method.acquire(belief, labels.askable, count, np.random.default_rng(1)) for belief in (early, whole)]
    assert choices[0].tolist() == choices[1].tolist()  # the order, too
    if count:
        asked = early.about(choices[0])
        assert acquire in ("random", "none") or (asked.passes == passes).all()
    complete = early.passes == passes
    np.testing.assert_array_equal(early.mean_N_C[complete], whole.mean_N_C[complete])


def a_confident_network(samples: int = 400, passes: int = 10, classes: int = 10) -> Floats:
    """Make passes as they look late in a run: nearly all samples clear, a few unsure, some of them very."""
    rng = np.random.default_rng(0)
    clear = [_confident(rng, passes, classes) for _ in range(samples - 40)]
    votes = [_certain(rng, 1, classes)[0] * 0.5 + _unsure(rng, passes, classes) * 0.5 for _ in range(20)]
    unsure = [_unsure(rng, passes, classes) for _ in range(10)]
    scattered = [np.eye(classes)[rng.integers(classes, size=passes)] for _ in range(10)]
    return np.stack([*clear, *votes, *unsure, *scattered], axis=1)


@pytest.mark.parametrize(
    ("admit", "acquire", "count", "most"),
    [
        ("all-data", "none", 0, 6.5),
        ("all-data", "above-average", 0, 6.5),  # an iteration without questions
        ("all-data", "random", 10, 6.5),
        ("all-data", "max-entropy", 10, 8.0),
        ("all-data", "least-confidence", 10, 6.5),
        ("all-data", "margin", 10, 8.0),
        ("all-data", "variation-ratios", 10, 8.0),
        ("all-data", "bald", 10, 9.5),
        ("step-wise", "none", 0, 9.5),
    ],
)
def test_passes_are_spared(admit: str, acquire: str, count: int, most: float) -> None:
    probs = a_confident_network()
    samples = probs.shape[1]
    labels = Labels.none(samples, 10)
    need = Method.of(Config(admit=admit, acquire=acquire)).need(labels, 0.3, count)
    engine = Replay(probs)
    belief = engine.infer(np.arange(samples), need)
    assert engine.made == belief.passes.sum()
    assert 6 <= belief.passes.mean() < most


def test_who_is_in_already_needs_no_word_from_the_threshold() -> None:
    probs = a_confident_network()
    ids = np.arange(probs.shape[1])
    method = Method.of(Config(admit="step-wise", acquire="none"))
    outside = Labels.none(len(ids), 10)
    inside = outside.guessed(ids, np.zeros(len(ids), dtype=np.int64))
    made = [Replay(probs).infer(ids, method.need(labels, 0.1, 0)).passes.mean() for labels in (outside, inside)]
    assert made[0] > 9.5  # confident samples end up near a low threshold
    assert made[1] < 6.5


@pytest.mark.parametrize("policy", ["above-average", "above-quantile"])
def test_a_bar_set_by_the_whole_pool_needs_every_pass(policy: str) -> None:
    need = Method.of(Config(acquire=policy)).need(Labels.none(5, 2), 0.5, 1)
    assert need.everything


def test_a_policy_or_score_that_says_nothing_of_its_bounds_gets_every_pass() -> None:
    assert Acquire(lambda belief, askable, count, rng: askable[:count]).need(np.arange(3), 1).everything
    probs = a_confident_network()
    ids = np.arange(probs.shape[1])
    askable = ids[::2]
    belief = Replay(probs).infer(ids, top(Score(lambda belief: belief.entropy**2)).need(askable, 5))
    assert (belief.passes[askable] == 10).all()
    assert belief.passes[ids[1::2]].mean() < 6.5  # nobody asks for these


@pytest.mark.parametrize("count", range(6))
def test_exactly_so_many_stay_open_as_are_asked_for_where_scores_are_clear(count: int) -> None:
    """With one of ten passes left, confidences that differ by more than a tenth are in a certain order."""
    confidence_N = np.array([0.5, 0.95, 0.35, 0.8, 0.65])
    probs_N_C = np.stack([confidence_N, *[(1 - confidence_N) / 4] * 4], axis=1)
    partial = part(np.repeat(probs_N_C[None], 10, axis=0), 9)
    open_N = Highest(partial.ids, count, DOUBT).open(partial)
    assert set(np.flatnonzero(open_N)) == set(np.argsort(confidence_N)[:count])


def test_the_setting_turns_it_off() -> None:
    labels = Labels.none(5, 2)
    assert Method.of(Config(early_exit=False)).need(labels, 0.5, 0).everything
    assert not Method.of(Config()).need(labels, 0.5, 0).everything


def test_needs_add_up() -> None:
    one, other = Need((Below(np.arange(3), 0.5),)), Need((Highest(np.arange(3), 1, ENTROPY),))
    assert (one & other).decisions == (*one.decisions, *other.decisions)
    assert (one & EVERYTHING).everything
    assert (EVERYTHING & one).everything
    assert not (one & GUESSES).everything


@pytest.mark.parametrize(
    ("made", "last", "guess"),
    [
        ([[1, 0], [0.4, 0.6]], [0, 1], 1),  # overtaken
        ([[0, 1], [0.5, 0.5]], [1, 0], 0),  # level, and the lower class takes it
        ([[1, 0], [0.5, 0.5]], [0, 1], 0),
    ],
)
def test_a_lead_that_can_be_caught_is_followed_to_the_end(
    made: list[list[float]], last: list[float], guess: int
) -> None:
    belief = Replay(np.array([*made, last])[:, None]).infer(np.array([0]), GUESSES)
    assert belief.passes.tolist() == [3]
    assert belief.guess.tolist() == [guess]


def test_a_threshold_that_is_not_a_number_settles_nothing() -> None:
    probs = a_confident_network()
    ids = np.arange(probs.shape[1])
    assert (Replay(probs).infer(ids, Need((Below(ids, float("nan")),))).passes == 10).all()


@given(tensors(), st.sampled_from([-1e-6, 1e-6]), st.data())
def test_single_precision_cannot_tip_a_settled_decision(probs: Floats, off: float, data: st.DataObject) -> None:
    """Passes that sum to one only within 1e-6 end up beyond the bounds by less than the slack."""
    done = data.draw(st.integers(1, len(probs)))
    rough = probs.copy()
    rough[done:] *= 1 + off
    partial, whole = part(rough, done), believed(rough)
    for score in SCORES.values():
        assert (score.lowest(partial) < score.of(whole) + SLACK).all()
        assert (score.of(whole) < score.highest(partial) + SLACK).all()


@pytest.mark.parametrize(
    ("admit", "acquire", "kernel", "longer"),
    [
        ("all-data", "max-entropy", "off", True),  # trained for less, it asks for the same whoever is settled too soon
        ("step-wise", "max-entropy", "auto", False),
        pytest.param("step-wise", "margin", "off", False, marks=pytest.mark.slow),
        pytest.param("all-data", "bald", "off", False, marks=pytest.mark.slow),
    ],
)
def test_a_run_with_early_exit_is_the_run_without(
    admit: str, acquire: str, kernel: str, longer: bool, tmp_path: Path
) -> None:
    """Labels, questions, answers, weights and accuracies agree to the last bit; passes are spared."""
    chosen: dict[str, Any] = {**SMALL, "admit": admit, "acquire": acquire, "kernel": kernel}
    chosen |= {"passes_pool": 8, "initial_epochs": 12, "iterations": 4, "pool": 120}
    if longer:
        chosen.pop("copies")
    ends = {}
    for early in (True, False):
        path = tmp_path / str(early)
        deepbass.run("digits", out=path, **chosen, early_exit=early)
        ends[early] = everything(path)
    of_passes = {}
    for early, end in ends.items():
        steps: Any = end.pop("live_steps")
        metrics = [json.loads(row) for _, row in steps]
        of_passes[early] = [row.pop("passes") for row in metrics]
        for row in metrics:
            row.pop("entropy_pool")  # over the passes made
            row.pop("expected_error")  # too: who stops by it has all of them made
        end["metrics"] = metrics
    assert ends[True] == ends[False]
    assert set(of_passes[False]) == {None, 8.0}
    assert np.mean(of_passes[True][1:]) < 7.7
