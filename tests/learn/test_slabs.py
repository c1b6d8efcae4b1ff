"""Passes over a large pool are made slab by slab, and every decision is that of all rows in memory."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deepbass
from deepbass.core.acquire import ACQUIRE, Acquire
from deepbass.core.admit import ADMIT
from deepbass.core.belief import ROWS, Belief, Floats
from deepbass.core.by_budget import PLACED
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import NO_IDS, Answers, Labels
from deepbass.core.loop import Method
from deepbass.core.need import EVERYTHING, GUESSES, Below, Highest, Need
from deepbass.core.pool_belief import PoolBelief, gathered
from deepbass.core.row_map import RowMap
from deepbass.core.score import ENTROPY, INFORMATION
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import build
from deepbass.learn.slabs import SLAB, compute_slab, slabs_of
from deepbass.learn.torch_engine import CHUNK
from deepbass.trainer.ranker import RANKED
from tests.laws.test_early_exit import some_labels, tensors
from tests.learn.arrays import Arrays
from tests.learn.replay import Replay
from tests.runs.small_runs import SMALL, everything

CLASSES = 4
CPU = torch.device("cpu")
NO_POOL = Arrays(np.empty(0, np.float32))
# settings of each, the shape of a sample, how many there are, and how many a small slab of them has
LEARNERS: dict[str, tuple[dict[str, Any], tuple[int, ...], int, int]] = {
    "kernel": ({"model": "cnn"}, (1, 8, 8), 300, 70),
    "torch": ({"model": "mlp", "kernel": "off"}, (4,), 2 * CHUNK + 300, CHUNK),
    "teacher": ({"model": "cnn", "teacher": 0.9}, (1, 8, 8), 300, 70),
    "head": ({"model": "linear"}, (4,), 2 * CHUNK + 300, CHUNK),
}


def told(samples: int) -> Labels:
    """Make labels of which some are known, some guessed, some asked for."""
    ids = np.arange(samples)
    labels = Labels.none(samples, CLASSES).answered(Answers(ids[::15], ids[::15] % CLASSES))
    return labels.guessed(ids[1::3], ids[1::3] % CLASSES).wanted(ids[2::40])


@cache
def trained(kind: str) -> LocalLearner:
    """Train a learner a little, on clouds that lie close enough for doubt."""
    chosen, shape, samples, _ = LEARNERS[kind]
    config = Config.of({**chosen, "batch_size": 64, "infer_batch": 256})
    rng = np.random.default_rng(0)
    values = rng.normal(size=(samples, *shape)) + (np.arange(samples) % CLASSES).reshape(-1, *[1] * len(shape))
    made = learner_for(build(config, shape, CLASSES), Arrays(values.astype(np.float32)), CLASSES, config)
    made.train(told(samples).guessed(NO_IDS, NO_IDS), epochs=3, copies=2, seed=0)
    return made


def believed(subject: LocalLearner, slab: int, need: Need, passes: int = 6) -> Belief:
    subject.slab = slab
    return subject.infer(None, passes=passes, seed=5, need=need)


@pytest.mark.parametrize("early_exit", [True, False])
@pytest.mark.parametrize(
    ("kind", "admit", "acquire"),
    [
        *(("kernel", admit, "max-entropy") for admit in sorted(ADMIT)),
        *(("kernel", "step-wise", acquire) for acquire in sorted(ACQUIRE | PLACED)),
        *(("torch", "step-wise", acquire) for acquire in ("max-entropy", "bald", "margin-draw", "above-average")),
    ],
)
def test_small_slabs_decide_as_one_large_one(kind: str, admit: str, acquire: str, early_exit: bool) -> None:
    """Guesses, members, questions and their order, to the last one."""
    subject, small = trained(kind), LEARNERS[kind][3]
    samples = len(subject._pool)
    labels = told(samples)
    method = Method.of(Config(admit=admit, acquire=acquire, early_exit=early_exit), subject._pool)
    need = method.need(labels, 0.7, 5)
    whole, slabs = (believed(subject, size, need) for size in (samples, small))
    assert isinstance(slabs, PoolBelief) == (acquire != "badge")
    np.testing.assert_array_equal(slabs.guess, whole.guess)
    assert method.admit(slabs, 0.7, labels) == method.admit(whole, 0.7, labels)
    asked = [
        method.acquire.about(labels)(belief, labels.askable, 5, np.random.default_rng(1)) for belief in (whole, slabs)
    ]
    assert asked[0].tolist() == asked[1].tolist()
    assert len(asked[0]) == (0 if acquire == "none" else 5)
    if not early_exit:
        assert (slabs.passes == 6).all()
        np.testing.assert_array_equal(slabs.entropy, whole.entropy)


@pytest.mark.parametrize("passes", [0, 1, 4])
@pytest.mark.parametrize("kind", sorted(LEARNERS))
def test_all_columns_are_those_of_one_slab(kind: str, passes: int) -> None:
    """Bit for bit, with every learner; and all rows are there for who reads them."""
    subject, small = trained(kind), LEARNERS[kind][3]
    whole = believed(subject, len(subject._pool), EVERYTHING, passes)
    rows = believed(subject, small, EVERYTHING, passes)
    names = ("guess", "passes", "entropy", "confidence", "margin", "agreement", "expected_entropy")
    columns = believed(subject, small, Need(everything=True, reads=frozenset(names[4:])), passes)
    for name in names:
        for belief in (columns, rows):
            np.testing.assert_array_equal(getattr(belief, name), getattr(whole, name), err_msg=name)
    np.testing.assert_array_equal(columns.mutual_information, whole.mutual_information)
    np.testing.assert_array_equal(rows.mean_N_C, whole.mean_N_C)
    some = np.array([7, 3, len(whole.ids) - 1])
    np.testing.assert_array_equal(columns.about(some).margin, whole.about(some).margin)
    np.testing.assert_array_equal(columns.about(some).about(some[1:]).ids, some[1:])
    np.testing.assert_array_equal(columns.about(some).about(some[1:]).margin, whole.margin[some[1:]])
    assert columns.guess.nbytes == len(whole.ids)


def test_slabs_come_out_the_same_in_any_order_also_with_fresh_masks() -> None:
    """So it does not matter who computes which; a need that was cut to the slab does as well."""
    config = Config.of({"masks": "fresh", "kernel": "off", "batch_size": 64})
    rng = np.random.default_rng(0)
    pool = Arrays(rng.normal(size=(300, 4)).astype(np.float32))
    subject = LocalLearner(build(replace(config, model="mlp"), (4,), CLASSES), pool, CLASSES, config)
    need = Need((Below(np.arange(0, 300, 2), 0.5), Highest(np.arange(0, 300, 3), 5, ENTROPY)), reads=frozenset())
    straight = believed(subject, 70, need)
    parts = [
        (
            slab,
            compute_slab(
                subject._engine, pool, CLASSES, slab, passes=6, seed=5, need=need.within(slab), device=subject.device
            ),
        )
        for slab in reversed(slabs_of(300, 70))
    ]
    other = gathered(parts, 300, None)
    np.testing.assert_array_equal(straight.entropy, other.entropy)
    np.testing.assert_array_equal(straight.passes, other.passes)
    assert len(np.unique(straight.entropy)) > 290  # no slab has the masks of another


@settings(max_examples=60, deadline=None)
@given(
    tensors(single=True),
    st.sampled_from(sorted(ADMIT)),
    st.sampled_from(sorted(ACQUIRE)),
    st.integers(1, 12),
    st.integers(1, 9),
    st.data(),
)
def test_every_decision_is_that_of_all_passes_over_all_samples(
    probs: Floats, admit: str, acquire: str, count: int, size: int, data: st.DataObject
) -> None:
    """With ties, copies, and thresholds that are some sample's entropy to the last bit."""
    passes, samples, classes = probs.shape
    labels = some_labels(samples, classes, np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))))
    whole = Replay(probs).infer(np.arange(samples), EVERYTHING)
    threshold = float(data.draw(st.sampled_from([0.0, 0.7, 1.0, *whole.entropy.tolist()])))
    method = Method.of(Config(admit=admit, acquire=acquire))
    need = method.need(labels, threshold, count)
    slabs = slabs_of(samples, size)
    columns = [
        compute_slab(Replay(probs), NO_POOL, classes, slab, passes=passes, seed=0, need=need, device=CPU)
        for slab in slabs
    ]
    belief = gathered(zip(slabs, columns, strict=True), samples, None)
    assert belief.guess.tolist() == whole.guess.tolist()
    assert method.admit(belief, threshold, labels) == method.admit(whole, threshold, labels)
    choices = [method.acquire(one, labels.askable, count, np.random.default_rng(1)) for one in (belief, whole)]
    assert choices[0].tolist() == choices[1].tolist()


def test_a_slab_spares_its_own_settled_samples_and_knows_no_other_ids() -> None:
    ids = np.arange(100)
    need = Need((Below(ids[::-1], 0.5), Highest(ids[10:90], 3, INFORMATION))).within(range(5, 20))
    below, highest = need.decisions
    assert isinstance(below, Below)
    assert isinstance(highest, Highest)
    assert below.ids.tolist() == list(range(5, 20))
    assert highest.ids.tolist() == list(range(10, 20))
    by_row = RowMap(np.arange(0, 200, 2), 200).need(Need((Below(np.arange(0, 200, 2), 0.5),))).within(range(5, 20))
    inside = by_row.decisions[0].decision  # type: ignore[attr-defined]
    assert inside.ids.tolist() == list(range(10, 40, 2))


def test_who_reads_what_is_not_held_is_told_what_to_say() -> None:
    belief = believed(trained("kernel"), 70, GUESSES)
    with pytest.raises(ConfigError, match=r"no margin. .* reads=frozenset\({'margin'}\)"):
        _ = belief.margin
    with pytest.raises(ConfigError, match=ROWS):
        _ = belief.mean_N_C


def test_a_rule_of_the_users_own_sees_all_probabilities_unless_it_says_otherwise() -> None:
    rule = Acquire(lambda belief, askable, count, rng: askable[belief.about(askable).mean_N_C[:, 0].argsort()][:count])
    method = replace(Method.of(Config()), acquire=rule)
    subject = trained("kernel")
    labels = told(300)
    whole, slabs = (believed(subject, size, method.need(labels, 0.7, 5)) for size in (300, 70))
    rng = np.random.default_rng(0)
    assert rule(whole, labels.askable, 5, rng).tolist() == rule(slabs, labels.askable, 5, rng).tolist()


def test_a_slab_is_whole_chunks_of_shared_masks() -> None:
    assert SLAB % CHUNK == 0
    assert slabs_of(2 * SLAB + 1)[-1] == range(2 * SLAB, 2 * SLAB + 1)


def test_progress_grows_over_all_slabs() -> None:
    subject, shares = trained("kernel"), list[float]()
    subject._on_progress = lambda what, share: shares.append(share)
    believed(subject, 70, EVERYTHING)
    subject._on_progress = lambda what, share: None
    assert shares == sorted(shares)
    assert 0.7 < shares[-1] < 1


def test_what_people_are_shown_has_the_next_likeliest_class() -> None:
    need = replace(Method.of(Config()), shown=RANKED).need(told(300), 0.7, 5)
    assert ROWS in need.reads
    assert not need.everything


def test_a_run_in_small_slabs_is_the_run_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels, questions, answers and weights agree to the last bit, and so do accuracies."""
    chosen: dict[str, Any] = {**SMALL, "admit": "step-wise", "acquire": "max-entropy", "passes_pool": 8}
    chosen.pop("copies")  # of networks that have learned less, fewer decisions are close
    ends = []
    for slab in (SLAB, 50):
        monkeypatch.setattr(LocalLearner, "slab", slab)
        path = tmp_path / str(slab)
        deepbass.run("digits", out=path, **{**chosen, "initial_epochs": 8, "iterations": 3, "pool": 120})
        end = everything(path)
        steps: Any = end.pop("live_steps")
        metrics = [json.loads(row) for _, row in steps]
        # over the passes that were made: a slab makes some more
        unlike = ("passes", "entropy_pool", "expected_error")
        ends.append((end, [{name: row[name] for name in row if name not in unlike} for row in metrics]))
    assert ends[0] == ends[1]
