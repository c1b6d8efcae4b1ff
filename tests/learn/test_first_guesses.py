"""The first guesses come from neighbours: few labels are enough, answers stand, and one class alone says nothing."""

from __future__ import annotations

import numpy as np

from deepbass.core.labels import Answers, Labels
from deepbass.learn.first_guesses import first_guesses
from tests.learn.arrays import Arrays


def clouds(count: int = 90) -> tuple[Arrays, np.ndarray]:
    of = np.arange(count) % 3
    values = np.random.default_rng(0).normal(size=(count, 1, 4, 4)) + 8.0 * of[:, None, None, None]
    return Arrays(values.astype(np.float32)), of


def test_a_label_of_each_cloud_is_enough_to_guess_all_of_it_and_answers_are_left_alone() -> None:
    pool, of = clouds()
    known = np.array([0, 1, 2])
    labels = Labels.none(90, 4).answered(Answers(known, of[known]))
    guessed = first_guesses(pool, labels, np.random.default_rng(0))
    np.testing.assert_array_equal(guessed.members, np.arange(3, 90))
    np.testing.assert_array_equal(guessed.guess[3:], of[3:])
    np.testing.assert_array_equal(guessed.answer, labels.answer)


def test_one_class_alone_says_nothing_about_the_others() -> None:
    pool, _ = clouds()
    labels = Labels.none(90, 4).answered(Answers(np.array([0, 3]), np.array([0, 0])))
    assert len(first_guesses(pool, labels, np.random.default_rng(0)).members) == 0
    assert len(first_guesses(pool, Labels.none(90, 4), np.random.default_rng(0)).members) == 0


def test_pictures_that_are_all_the_same_are_in_doubt() -> None:
    pool = Arrays(np.ones((20, 1, 4, 4), np.float32))
    labels = Labels.none(20, 2).answered(Answers(np.array([0, 1]), np.array([0, 1])))
    guessed = first_guesses(pool, labels, np.random.default_rng(0))
    np.testing.assert_array_equal(guessed.answer, labels.answer)
    assert (guessed.guess[guessed.members] < 2).all()
