"""Texts seen both ways: what is kept apart is read as one, and only what is of the pool is computed anew."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from deepbass.core.errors import DataError
from deepbass.features import choose, open_features
from deepbass.features.joined_features import JoinedFeatures
from deepbass.features.sentences import WIDTH, SentenceFeatures
from deepbass.features.sentences_words import FACTORS, SentencesWords
from deepbass.features.tfidf import WordFeatures
from tests.features.found import Found

TEXTS = [f"the {animal} number {number}" for number in range(12) for animal in ("cat", "dog", "horse")]


def opened(texts: list[str | None]) -> JoinedFeatures:
    found = open_features(Found("text", texts), None, "sentences-words").train
    assert isinstance(found, JoinedFeatures)
    return found


def test_both_parts_stand_side_by_side(cache: Path) -> None:
    features = opened([*TEXTS])
    assert not features.ready.any()
    features.compute()
    assert features.ready.all()
    words = WordFeatures()
    words.fit(Found("text", TEXTS), np.arange(len(TEXTS)))
    np.testing.assert_array_equal(features[:][:, :WIDTH], FACTORS[0] * SentenceFeatures().compute(TEXTS))
    np.testing.assert_allclose(features[:][:, WIDTH:], FACTORS[1] * words.compute(TEXTS), atol=1e-3)
    np.testing.assert_array_equal(features[7], features[[3, 7]][1])
    np.testing.assert_allclose(features[:], features.extractor.compute(TEXTS), atol=1e-3)  # kept in 16 bits
    assert features.shape == features[:].shape


def test_for_another_pool_the_language_model_reads_only_what_is_new(cache: Path) -> None:
    opened([*TEXTS]).compute()
    more = opened([*TEXTS, "and an owl number 3"])
    read: list[int] = []
    compute = SentenceFeatures.compute_prepared

    def counted(self: SentenceFeatures, prepared: list[list[int]]) -> object:
        read.append(len(prepared))
        return compute(self, prepared)

    with mock.patch.object(SentenceFeatures, "compute_prepared", counted):
        more.compute()
    assert sum(read) == 1
    assert more.ready.all()


def test_what_cannot_be_read_is_said_once(cache: Path) -> None:
    features = opened([*TEXTS, None])
    features.compute()
    assert list(features.failed) == [len(TEXTS)]
    assert features.ready.sum() == len(TEXTS)
    with pytest.raises(DataError, match="There are no features of sample-36: cut off"):
        features[len(TEXTS)]


def test_texts_without_words_are_seen_by_the_language_model_alone(cache: Path) -> None:
    features = opened(["?", "!!", "..."])
    features.compute()
    assert features.shape == (3, WIDTH)
    assert isinstance(features.extractor, SentencesWords)
    assert "words: there are none" in features.extractor.describe()


def test_without_scikit_learn_there_is_still_the_language_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.features.choice.scikit_learn", lambda: False)
    choice = choose(Found("text", TEXTS), "auto")
    assert choice.name == "sentences"
    assert "pip install 'deepbass[sklearn]'" in (choice.gain or "")
