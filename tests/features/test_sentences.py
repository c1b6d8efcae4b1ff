"""Features of texts by a language model, with the real weights."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core.errors import ConfigError
from deepbass.features import installed
from deepbass.features.sentences import TOKENS, SentenceFeatures


@pytest.fixture(scope="module")
def sentences() -> SentenceFeatures:
    return SentenceFeatures()


def test_texts_that_mean_the_same_are_near(sentences: SentenceFeatures) -> None:
    texts = [
        "The cat sits on the mat.",
        "A kitten is resting on a rug.",
        "Stock prices fell sharply today.",
        "Shares lost much of their value this morning.",
    ]
    features = sentences.compute(texts)
    likeness = features @ features.T
    np.testing.assert_allclose(np.diag(likeness), 1, atol=1e-5)
    assert min(likeness[0, 1], likeness[2, 3]) > 0.5
    assert likeness[:2, 2:].max() < 0.2
    assert likeness[0, 1] == pytest.approx(0.6411, abs=1e-3)  # as sentence-transformers has it


def test_a_text_has_the_same_features_alone_and_among_longer_ones(sentences: SentenceFeatures) -> None:
    texts = ["short", "", "a longer one, of several words: عربي 漢字 🙂", "word " * 1000]
    together = sentences.compute(texts)
    assert np.isfinite(together).all()
    for text, features in zip(texts, together, strict=True):
        np.testing.assert_allclose(sentences.compute([text])[0], features, atol=1e-5)


def test_what_follows_the_last_token_is_not_read_and_halves_of_characters_do_no_harm(
    sentences: SentenceFeatures,
) -> None:
    assert len(sentences.prepare("word " * 1000)) == TOKENS
    assert len(sentences.prepare("x\ud800y")) > 2
    assert str(TOKENS) in sentences.describe()


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "PLACES", {})
    with pytest.raises(ConfigError, match=r"pip install 'deepbass\[texts\]'"):
        SentenceFeatures()
