"""Turn labels as people write them (numbers, text, yes or no) into classes 0..C-1."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.errors import DataError
from deepbass.core.foreign import decoding
from deepbass.core.labels import UNKNOWN, Classes

EXACT = 2.0**53  # below it a float can be any whole number
UNKNOWN_TEXT = ("", str(UNKNOWN))


def as_labels(y: ArrayLike, samples: int, where: str) -> NDArray[Any]:
    """Check that there is one plain label per sample: whole numbers from -1 on, booleans, or text."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:  # Keras keeps labels in a column
        labels = labels[:, 0]
    if labels.ndim == 2:
        raise DataError(
            f"The labels of {where} have shape {labels.shape}: one-hot labels are not supported. "
            "Give one label per sample, as in y.argmax(1)."
        )
    if labels.shape != (samples,):
        raise DataError(f"{where} has {samples} samples but labels of shape {labels.shape}: give one label per sample.")
    if labels.dtype.kind == "O":
        labels = _from_objects(labels, where)
    if labels.dtype.kind == "f":
        labels = _from_floats(labels, where)
    if labels.dtype.kind in "SU":
        with decoding(f"The text among the labels of {where}", "text in UTF-8", "Write the labels again.", DataError):
            labels = np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels
            _check_characters(labels)
    if labels.dtype.kind not in "biuU":
        raise DataError(f"The labels of {where} are {labels.dtype} values: give whole numbers, booleans or text.")
    if labels.dtype.kind == "i" and labels.min() < UNKNOWN:
        index = int(np.argmax(labels < UNKNOWN))
        raise DataError(
            f"{where}: label {labels[index]} of sample {index} lies outside the classes: "
            f"labels are 0 or more, or {UNKNOWN} for unknown."
        )
    return labels


def find_classes(labels: NDArray[Any], where: str) -> NDArray[Any]:
    """List the classes that labels speak of, in order: numbers by value, text by the alphabet."""
    known = labels[~is_unknown(labels)]
    if not len(known):
        raise DataError(
            f"{where} has no labels. A simulated run needs them: its oracle answers from them, and the accuracy is "
            "measured with them. Label at least two samples of every class."
        )
    classes: NDArray[Any] = np.unique(known)
    if len(classes) < 2:
        raise DataError(f"{where} has one class only ({str(classes[0])!r}): at least two are needed to tell apart.")
    return classes


def to_classes(labels: NDArray[Any], classes: NDArray[Any], where: str) -> Classes:
    """Number the labels by their place among the classes; UNKNOWN stays UNKNOWN."""
    known = ~is_unknown(labels)
    if (labels.dtype.kind == "U") != (classes.dtype.kind == "U"):
        raise DataError(f"The labels of {where} are {labels.dtype}, but those of the training part {classes.dtype}.")
    place = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    wrong = known & (classes[place] != labels)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise DataError(
            f"{where}: label {str(labels[index])!r} of sample {index} lies outside the classes "
            f"of the training part: {', '.join(map(str, classes))}."
        )
    return np.where(known, place, UNKNOWN).astype(np.int64)


def is_unknown(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Find the samples without a label: -1, or no text."""
    return np.isin(labels, UNKNOWN_TEXT) if labels.dtype.kind == "U" else np.asarray(labels == UNKNOWN)


def _from_objects(labels: NDArray[Any], where: str) -> NDArray[Any]:
    """Unpack text or numbers held as Python objects (as pandas does); None is unknown."""
    items = labels.tolist()
    kind, blank = (str, "") if any(isinstance(item, str) for item in items) else (int, UNKNOWN)
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, kind):
            raise DataError(f"{where}: label {item!r} of sample {index} is not {kind.__name__} like the others.")
    return np.array([blank if item is None else item for item in items])


def _check_characters(labels: NDArray[Any]) -> None:
    """Refuse what are no characters: NumPy takes any four bytes for one, and Python fails on them much later."""
    codes = np.ascontiguousarray(labels.astype(labels.dtype.newbyteorder("="))).view(np.uint32)
    wrong = (codes > sys.maxunicode) | ((codes >= 0xD800) & (codes <= 0xDFFF))  # the latter stand for halves of one
    if wrong.any():
        raise ValueError(f"it holds {codes[wrong][0]:#x}, which is no character")


def _from_floats(labels: NDArray[Any], where: str) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):
        whole = (np.abs(labels) < EXACT) & (labels == np.floor(labels))
    if not whole.all():
        index = int(np.argmax(~whole))
        raise DataError(f"{where}: label {labels[index]} of sample {index} is not a whole number: classes are counted.")
    return labels.astype(np.int64)
