"""The first guesses come from neighbours: few labels are enough, answers stand, and one class alone says nothing."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core.labels import UNKNOWN, Answers, Labels
from deepbass.learn.second_opinion import SURE, SecondOpinion
from tests.learn.arrays import Arrays


def clouds(count: int = 90) -> tuple[Arrays, np.ndarray]:
    of = np.arange(count) % 3
    values = np.random.default_rng(0).normal(size=(count, 1, 4, 4)) + 8.0 * of[:, None, None, None]
    return Arrays(values.astype(np.float32)), of


def test_a_label_of_each_cloud_is_enough_to_guess_all_of_it_and_answers_are_left_alone() -> None:
    pool, of = clouds()
    known = np.array([0, 1, 2])
    labels = Labels.none(90, 4).answered(Answers(known, of[known]))
    guessed = SecondOpinion([pool], 0).first_guesses(labels)
    np.testing.assert_array_equal(guessed.members, np.arange(3, 90))
    np.testing.assert_array_equal(guessed.guess[3:], of[3:])
    np.testing.assert_array_equal(guessed.answer, labels.answer)


def test_of_each_class_the_same_share_is_guessed_and_its_surest() -> None:
    """However much closer the ones lie together than the others."""
    of = np.arange(120) % 2
    rng = np.random.default_rng(0)
    values = rng.normal(size=(120, 1, 4, 4)) * np.where(of == 0, 0.3, 1.0)[:, None, None, None]
    values[of == 1] += 1
    labels = Labels.none(120, 2).answered(Answers(np.arange(4), of[:4]))
    opinion = SecondOpinion([Arrays(values.astype(np.float32))], 0)
    probs_N_C = opinion.probabilities(labels, np.arange(120))
    guessed = opinion.first_guesses(labels)
    share = (probs_N_C[4:].max(1) > SURE).mean()
    assert 0.1 < share < 0.9
    for class_ in range(2):
        all_of_it = 4 + np.flatnonzero(probs_N_C[4:].argmax(1) == class_)
        taken = guessed.members[guessed.guess[guessed.members] == class_]
        assert len(taken) == round(share * len(all_of_it))
        assert probs_N_C[taken].max(1).min() >= probs_N_C[np.setdiff1d(all_of_it, taken)].max(1).max()


def test_one_class_alone_says_nothing_about_the_others() -> None:
    pool, _ = clouds()
    labels = Labels.none(90, 4).answered(Answers(np.array([0, 3]), np.array([0, 0])))
    assert len(SecondOpinion([pool], 0).first_guesses(labels).members) == 0
    assert len(SecondOpinion([pool], 0).first_guesses(Labels.none(90, 4)).members) == 0


def test_pictures_that_are_all_the_same_are_in_doubt() -> None:
    pool = Arrays(np.ones((20, 1, 4, 4), np.float32))
    labels = Labels.none(20, 2).answered(Answers(np.array([0, 1]), np.array([0, 1])))
    guessed = SecondOpinion([pool], 0).first_guesses(labels)
    np.testing.assert_array_equal(guessed.answer, labels.answer)
    assert (guessed.guess[guessed.members] < 2).all()


def test_samples_that_are_not_linked_count_where_their_nearest_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, of = clouds()
    monkeypatch.setattr("deepbass.learn.second_opinion._MOST", 30)
    few = SecondOpinion([pool], 0)
    assert len(few.ids) == 30
    outside = np.setdiff1d(np.arange(90), few.ids)
    known = np.array([outside[of[outside] == class_][0] for class_ in range(3)])
    said = few.of_all(Labels.none(90, 3).answered(Answers(known, of[known])))
    np.testing.assert_array_equal(said[few.ids], of[few.ids])
    assert (said[outside] == UNKNOWN).all()


def test_they_follow_from_pool_and_seed() -> None:
    pool, of = clouds()
    labels = Labels.none(90, 3).answered(Answers(np.arange(6), of[:6]))
    first, second = (SecondOpinion([pool], 7) for _ in range(2))
    np.testing.assert_array_equal(first.of_all(labels), second.of_all(labels))


def test_what_is_seen_in_several_ways_counts_by_the_mean_of_what_each_says() -> None:
    pool, of = clouds()
    other, _ = clouds()
    other = Arrays(np.random.default_rng(1).permutation(other.read(np.arange(90))).reshape(90, 8, 2))
    labels = Labels.none(90, 4).answered(Answers(np.array([0, 1, 2]), of[:3]))
    ids = np.array([4, 17, 60])
    said = [SecondOpinion(ways, 0).probabilities(labels, ids) for ways in ([pool, other], [pool], [other])]
    both, first, second = said
    np.testing.assert_allclose(both, (first + second) / 2)
    assert np.abs(first - second).max() > 0.1
