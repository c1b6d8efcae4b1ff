"""Features of texts by their words."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core.errors import DataError
from deepbass.features.tfidf import WordFeatures, terms_of
from tests.features.found import Found

TEXTS = [f"{animal} number {count}" for count in range(12) for animal in ("cat", "dog", "bird")]


def fitted(texts: list[str]) -> WordFeatures:
    words = WordFeatures()
    words.fit(Found("text", texts), np.arange(len(texts)))
    return words


def test_texts_with_the_same_rare_words_are_near() -> None:
    features = fitted([*TEXTS, "cat cat dog"]).compute(["cat 3", "cat 3 number", "bird 7", "what nobody wrote"])
    assert features.shape[0] == 4
    assert features[0] @ features[1] > 0.9 > features[0] @ features[2]
    assert not features[3].any()


def test_scripts_without_spaces_are_read_by_character() -> None:
    assert terms_of("Red CAR, 2") == ["red", "car", "2"]
    assert terms_of("東京都 town") == ["東", "京", "都", "東京", "京都", "town"]
    texts = ["東京の天気", "東京の空", "猫が好き", "猫が走る"]
    one, near, far, _ = fitted(texts).compute(texts)
    assert one @ near > one @ far


def test_unreadable_texts_are_left_out_and_texts_without_words_refused() -> None:
    words = WordFeatures()
    words.fit(Found("text", [None, "one two", "two three", "three"]), np.arange(4))
    assert words.width > 0
    with pytest.raises(DataError, match="no words in the 2 texts"):
        fitted(["!", "?"])


def test_the_same_texts_make_the_same_features() -> None:
    assert fitted(TEXTS).identity == fitted(TEXTS).identity != fitted(TEXTS[1:]).identity
