"""Passes are made in stages: over all samples first, then over those that are still open."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core.belief import Floats
from deepbass.core.labels import NO_IDS
from deepbass.core.need import EVERYTHING, GUESSES, Need
from tests.learn.replay import Replay

SURE, UNSURE = 0, 1


def one_sure_one_not(passes: int) -> Floats:
    """Make the passes of a sample that is certain of class 0, and of one that has no idea."""
    return np.array([[[1.0, 0.0], [0.5, 0.5]]] * passes)


@pytest.mark.parametrize(("passes", "first"), [(1, 1), (2, 2), (3, 2), (4, 3), (10, 6), (11, 6)])
def test_no_more_passes_are_made_over_a_sure_sample_than_can_be_overruled(passes: int, first: int) -> None:
    engine = Replay(one_sure_one_not(passes))
    belief = engine.infer(np.array([SURE, UNSURE]), GUESSES)
    assert belief.passes.tolist() == [first, passes]
    later = [(range(done, done + 1), [UNSURE]) for done in range(first, passes)]
    assert engine.calls == [(range(first), [SURE, UNSURE]), *later]


def test_rows_are_told_by_id_whatever_their_order() -> None:
    engine = Replay(one_sure_one_not(10))
    belief = engine.infer(np.array([UNSURE, SURE]), GUESSES)
    assert belief.passes.tolist() == [10, 6]
    assert engine.calls[1] == (range(6, 7), [UNSURE])


@pytest.mark.parametrize(("exits", "need"), [(False, GUESSES), (True, EVERYTHING)])
def test_all_passes_are_made_in_one_go_where_none_can_be_spared(exits: bool, need: Need) -> None:
    engine = Replay(one_sure_one_not(10), exits=exits)
    belief = engine.infer(np.array([SURE, UNSURE]), need)
    assert engine.calls == [(range(10), [SURE, UNSURE])]
    assert belief.passes.tolist() == [10, 10]


def test_no_samples_are_no_error() -> None:
    assert len(Replay(one_sure_one_not(10)).infer(NO_IDS, GUESSES).ids) == 0


def test_progress_only_grows_and_knows_what_is_spared() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 0.2), size=(20, 50))
    probs[:, :40] = np.eye(4)[0]
    shares: list[float] = []
    engine = Replay(probs)
    engine.infer(np.arange(50), GUESSES, shares.append)
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert len(engine.calls) > 3
    # when the sure ones drop out, most of the work is done: 11 of 20 passes, but 550 of at most 640
    after_first = shares[11]
    assert 0.8 < after_first < 0.9
    assert 0.95 < shares[-1] < 1
