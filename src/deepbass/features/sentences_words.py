"""Features of texts both ways: what a language model makes of them, and which words they have.

The one knows what a text is about before it has seen another; the other knows the words that this pool has and the
model does not, and reads long texts to their end.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import RawSamples
from deepbass.features.extractor import Extractor, Features, PreparingExtractor, State, side_by_side
from deepbass.features.sentences import SentenceFeatures
from deepbass.features.tfidf import WordFeatures

FACTORS = (1.0, 2 / 3)  # of either part: about a third of the square length is the words'


class SentencesWords(PreparingExtractor):
    """A text becomes 384 numbers from a language model, and at most 256 from its words."""

    name = "sentences-words"
    kind: Literal["text"] = "text"
    batch = SentenceFeatures.batch

    def __init__(self, words: WordFeatures | None = None) -> None:
        self._sentences, self._words = SentenceFeatures(), words

    @property
    def parts(self) -> tuple[Extractor, ...]:
        """What is computed and kept for itself (`JoinedFeatures`): only the words are of this pool."""
        return (self._sentences,) if self._words is None else (self._sentences, self._words)

    @property
    def factors(self) -> tuple[float, ...]:
        """What the numbers of each are multiplied by."""
        return FACTORS[: len(self.parts)]

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""
        return self._sentences.width + (self._words.width if self._words else 0)

    @property
    def identity(self) -> str:
        """What both are."""
        return f"{self._sentences.identity}; {self._words.identity if self._words else 'no words'}; {FACTORS[1]:.3f}"

    def describe(self) -> str:
        """Say what is seen of a text."""
        words = self._words.describe() if self._words else "words: there are none, or none that two texts have"
        return f"{self._sentences.describe()}; {words}"

    def fit(self, samples: RawSamples, rows: NDArray[np.int64]) -> None:
        """Learn the words, if there are any that two texts have."""
        words = WordFeatures()
        with suppress(DataError):
            words.fit(samples, rows)
            self._words = words

    def prepare(self, sample: str) -> tuple[list[int], str]:
        """Split a text into tokens, and keep it."""
        return self._sentences.prepare(sample), sample

    def compute_prepared(self, prepared: Sequence[tuple[list[int], str]]) -> Features:
        """Compute both, side by side."""
        found = [self._sentences.compute_prepared([tokens for tokens, _ in prepared])]
        if self._words:
            found.append(self._words.compute_prepared([text for _, text in prepared]))
        return side_by_side(found, self.factors)

    def state(self) -> State:
        """The language model's identity, and the words."""
        words = self._words.state() if self._words else {"version": 0, "terms": []}
        return {**words, "name": self.name, "identity": self._sentences.identity}

    @classmethod
    def from_state(cls, state: State) -> SentencesWords:
        """Make the extractor that a model was trained with."""
        SentenceFeatures.from_state({"name": "sentences", "identity": state["identity"]})
        return cls(WordFeatures.from_state(state) if state["terms"] else None)
