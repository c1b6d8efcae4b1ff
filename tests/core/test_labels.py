"""Labels are values, and a guess never overwrites an answer."""

from __future__ import annotations

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core import labels as labels_module
from deepbass.core.errors import DataError
from deepbass.core.labels import UNKNOWN, Answers, Labels, short_ids, shuffled
from deepbass.runs.packing import pack_labels, unpack_labels

SAMPLES, CLASSES = 12, 4
pairs = st.lists(st.tuples(st.integers(0, SAMPLES - 1), st.integers(0, CLASSES - 1)), max_size=20)
answers_and_retractions = st.lists(
    st.tuples(st.integers(0, SAMPLES - 1), st.integers(UNKNOWN, CLASSES - 1)), max_size=20
)


def arrays(given_pairs: list[tuple[int, int]]) -> Answers:
    ids = np.array([id_ for id_, _ in given_pairs], dtype=np.int64)
    return Answers(ids, np.array([class_ for _, class_ in given_pairs], dtype=np.int64))


@given(answers_and_retractions, pairs)
def test_a_guess_never_overwrites_an_answer(answered: list[tuple[int, int]], guessed: list[tuple[int, int]]) -> None:
    known = Labels.none(SAMPLES, CLASSES).answered(arrays(answered))
    both = known.guessed(*arrays(guessed))
    assert np.array_equal(both.answer, known.answer)
    assert not set(both.known) & set(both.members)
    assert set(both.known) | set(both.unknown) == set(range(SAMPLES))


@given(pairs, answers_and_retractions)
def test_an_answer_beats_a_guess_and_the_last_word_counts(
    guessed: list[tuple[int, int]], answered: list[tuple[int, int]]
) -> None:
    labels = Labels.none(SAMPLES, CLASSES).guessed(*arrays(guessed)).answered(arrays(answered))
    for id_, class_ in dict(answered).items():
        assert labels.answer[id_] == class_
        assert class_ == UNKNOWN or labels.guess[id_] == UNKNOWN


@given(pairs, pairs, st.integers(1, 30))
def test_the_curriculum_holds_answers_copied_and_guesses_once(
    answered: list[tuple[int, int]], guessed: list[tuple[int, int]], copies: int
) -> None:
    labels = Labels.none(SAMPLES, CLASSES).answered(arrays(answered)).guessed(*arrays(guessed))
    ids, classes = labels.curriculum(copies)
    for id_ in range(SAMPLES):
        here = ids == id_
        if id_ in labels.known:
            assert here.sum() == copies
            assert set(classes[here]) == {labels.answer[id_]}
        elif id_ in labels.members:
            assert here.sum() == 1
            assert classes[here][0] == labels.guess[id_]
        else:
            assert not here.any()


@given(pairs)
def test_labels_are_values(answered: list[tuple[int, int]]) -> None:
    before = Labels.none(SAMPLES, CLASSES)
    before.answered(arrays(answered)).guessed(*arrays(answered)).wanted(np.array([0, 1]))
    assert before == Labels.none(SAMPLES, CLASSES)
    with pytest.raises(ValueError, match="read-only"):
        before.answer[0] = 1


def test_what_was_asked_is_not_askable_again() -> None:
    labels = Labels.none(5, 2).wanted(np.array([1, 3])).answered(Answers(np.array([0]), np.array([1])))
    assert labels.askable.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("ids", "classes", "says"),
    [([5], [0], "Sample id 5"), ([-1], [0], "Sample id -1"), ([0], [2], "Class 2"), ([0], [-2], "Class -2")],
)
def test_impossible_answers_are_refused(ids: list[int], classes: list[int], says: str) -> None:
    with pytest.raises(DataError, match=says):
        Labels.none(5, 2).answered(Answers(np.array(ids), np.array(classes)))


def test_ids_and_classes_must_come_in_pairs() -> None:
    with pytest.raises(DataError, match="one class an id"):
        Labels.none(5, 2).answered(Answers(np.array([1, 2]), np.array([1])))


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 2**32 - 1))
def test_short_ids_and_orders_are_numpys_in_half_the_bytes(chosen: list[bool], seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labels_module, "_AT_A_TIME", 7)
        ids = short_ids(np.array(chosen, dtype=np.bool_))
    np.testing.assert_array_equal(ids, np.flatnonzero(chosen))
    order = shuffled(len(chosen), np.random.default_rng(seed))
    np.testing.assert_array_equal(order, np.random.default_rng(seed).permutation(len(chosen)))
    assert ids.dtype == order.dtype == np.int32


@pytest.mark.parametrize(("classes", "kind"), [(2, np.int8), (128, np.int8), (129, np.int16), (40_000, np.int32)])
def test_classes_are_held_in_the_smallest_type_that_they_fit_in(classes: int, kind: type) -> None:
    labels = Labels.none(3, classes).answered(Answers(np.array([1]), np.array([classes - 1])))
    assert labels.answer.dtype == labels.guess.dtype == kind
    assert labels.answer.tolist() == [UNKNOWN, classes - 1, UNKNOWN]
    grown = labels.extended(4, 50_000)
    assert grown.answer.dtype == np.int32
    assert grown.answer.tolist() == [UNKNOWN, classes - 1, UNKNOWN, UNKNOWN]


def test_guesses_about_many_samples_are_checked_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels_module, "_AT_A_TIME", 3)
    ids, classes = np.arange(10)[::-1], np.arange(10) % 3
    guessed = Labels.none(10, 3).answered(Answers(np.array([4]), np.array([2]))).guessed(ids, classes)
    assert guessed.guess.tolist() == [UNKNOWN if id_ == 4 else (9 - id_) % 3 for id_ in range(10)]
    with pytest.raises(DataError, match="Class 3 of sample 1 is outside"):
        Labels.none(10, 3).guessed(ids, np.where(ids == 1, 3, classes))
    with pytest.raises(DataError, match="Sample id 10 does not exist"):
        Labels.none(10, 3).guessed(ids + 1, classes)


def test_checkpoints_that_were_written_in_64_bits_are_read() -> None:
    answer, guess, asked = np.array([1, -1, -1]), np.array([-1, 0, 2]), np.array([True, False, True])
    taken_for = np.array([1, 0, 2])
    before = {"answer": answer, "guess": guess, "asked": asked, "taken_for": taken_for}
    assert answer.dtype == np.int64
    labels, guesses = unpack_labels(safetensors.numpy.save(before), 3)
    again, guesses_again = unpack_labels(pack_labels(labels, None, guesses), 3)
    assert labels == again == Labels(3, answer, guess, asked)
    assert guesses is not None
    assert guesses_again is not None
    assert guesses.tolist() == guesses_again.tolist() == taken_for.tolist()
    assert len(pack_labels(labels, None, guesses)) < len(safetensors.numpy.save(before))
