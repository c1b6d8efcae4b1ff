"""Features of texts without any weights: which words a text has, and how rare they are.

TF-IDF with a logarithmic count, reduced to a few dense numbers by a truncated singular value decomposition (latent
semantic analysis: Deerwester et al., 1990), both by scikit-learn and fitted on the texts at hand, without labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.features.extractor import Features, PreparingExtractor, State, digest_of_arrays, not_installed
from deepbass.features.installed import scikit_learn

WIDTH = 256
MOST_TERMS = 30_000  # the commonest are kept
MOST_TEXTS = 20_000  # that are fitted on: evenly spread over all, if there are more
CHARACTERS = 100_000  # of a text that are looked at
VERSION = 1  # to be raised when other terms are taken from a text

_WORD = re.compile(r"\w+")
# scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer, Japanese, Chinese
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class WordFeatures(PreparingExtractor):
    """A text becomes a direction in at most 256 dimensions, which are what the texts at hand differ in most."""

    name = "words"
    kind: Literal["text"] = "text"
    batch = 512

    def __init__(self) -> None:
        if not scikit_learn():
            raise not_installed(self.name, "sklearn")
        self._terms: list[str] = []
        self._idf = np.empty(0, np.float32)
        self._components = np.empty((0, 0), np.float16)  # width x terms; half the size, to be saved with every model
        self._vectorizer: Any = None

    @property
    def width(self) -> int:
        """How many numbers a text becomes: fewer than 256 if there are fewer texts or words."""
        return len(self._components)

    @property
    def identity(self) -> str:
        """The terms, their weights and the directions."""
        return f"words {VERSION} {digest_of_arrays(chr(0).join(self._terms), self._idf, self._components)}"

    def describe(self) -> str:
        """Say what it sees of a text."""
        return (
            f"words: {self.width} numbers a text from which of {len(self._terms):,} words it has; where words "
            "are not spaced, which characters and pairs of them"
        )

    def fit(self, samples: RawSamples, rows: NDArray[np.int64]) -> None:
        """Learn the terms, how rare they are, and the directions in which texts differ."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        spread = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_TEXTS)).astype(np.int64))]
        texts = list(_readable(samples, spread))
        fewest = 2 if len(texts) >= 20 else 1  # texts that must have a term
        vectorizer = TfidfVectorizer(
            analyzer=terms_of, min_df=fewest, max_features=MOST_TERMS, sublinear_tf=True, dtype=np.float32
        )
        try:
            counted = vectorizer.fit_transform(texts)
        except ValueError as error:  # an empty vocabulary
            raise DataError(f"There are no words in the {len(texts)} texts, or none that two have.") from error
        width = min(WIDTH, *counted.shape)
        if width < min(counted.shape):
            components = TruncatedSVD(width, n_iter=4, random_state=0).fit(counted).components_
        else:  # so few that all directions are kept
            components = np.linalg.svd(counted.toarray(), full_matrices=False)[2][:width]
        terms = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
        self._set(terms, vectorizer.idf_.astype(np.float32), components.astype(np.float16))

    def _set(self, terms: list[str], idf: NDArray[np.float32], components: NDArray[np.float16]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._terms, self._idf, self._components = terms, idf, components
        self._directions = components.astype(np.float32).T
        self._vectorizer = TfidfVectorizer(
            analyzer=terms_of,
            sublinear_tf=True,
            dtype=np.float32,
            vocabulary={term: number for number, term in enumerate(terms)},
        )
        self._vectorizer.idf_ = idf

    def compute_prepared(self, prepared: Sequence[str]) -> Features:
        """Count words, and reduce the counts; a text is as long as any other."""
        features = np.asarray(self._vectorizer.transform(prepared) @ self._directions, dtype=np.float32)
        lengths = np.linalg.norm(features, axis=1, keepdims=True)
        features /= np.maximum(lengths, 1e-12)
        return features

    def state(self) -> State:
        """The terms, their weights and the directions."""
        return {
            "name": self.name,
            "version": VERSION,
            "terms": self._terms,
            "idf": self._idf,
            "components": self._components,
        }

    @classmethod
    def from_state(cls, state: State) -> WordFeatures:
        """Make the extractor that a model was trained with."""
        if state["version"] != VERSION:
            raise DataError(
                f"These words were taken from texts by another version of deepbass ({state['version']}): train again."
            )
        terms, idf, components = state["terms"], state["idf"], state["components"]
        if idf.shape != (len(terms),) or components.shape[1:] != idf.shape or len(set(terms)) != len(terms):
            raise DataError("The words, their weights and directions do not fit together: the file is damaged.")
        extractor = cls()
        extractor._set(terms, idf.astype(np.float32), components.astype(np.float16))
        return extractor


def terms_of(text: str) -> list[str]:
    """List a text's words; of a run without spaces, its characters and pairs of them."""
    terms: list[str] = []
    for word in _WORD.findall(text[:CHARACTERS].lower()):
        terms += [*word, *map("".join, pairwise(word))] if _UNSPACED.search(word) else [word]
    return terms


def _readable(samples: RawSamples, rows: NDArray[np.int64]) -> Iterator[str]:
    for row in rows:
        try:
            yield samples.read(int(row))
        except UnreadableSample:
            continue
