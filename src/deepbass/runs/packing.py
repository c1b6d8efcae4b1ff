"""The files of a checkpoint that a resume needs, as bytes: the learner packs itself, the labels are packed here."""

from __future__ import annotations

import numpy as np
import safetensors.numpy

from deepbass.core.errors import StoreError
from deepbass.core.foreign import decoding
from deepbass.core.labels import UNKNOWN, Ids, Labels
from deepbass.store.names import LABELS_FILE


def pack_labels(labels: Labels, item: Ids | None = None) -> bytes:
    """Write labels as safetensors; ``item`` says who a row is outside, where that is not its number."""
    arrays = {"answer": labels.answer, "guess": labels.guess, "asked": labels.asked}
    return safetensors.numpy.save(arrays if item is None else {**arrays, "item": item})


def unpack_labels(packed: bytes, classes: int) -> Labels:
    """Read labels again."""
    with decoding(f"{LABELS_FILE} of the checkpoint", "list of labels", "Restore the run from a copy.", StoreError):
        arrays = safetensors.numpy.load(packed)
        answer, guess, asked = (arrays[name] for name in ("answer", "guess", "asked"))
        if not answer.ndim == 1 or not answer.shape == guess.shape == asked.shape or asked.dtype != np.bool_:
            raise ValueError("answers, guesses and what was asked are not of one length")
        for numbers in (answer, guess):
            if numbers.dtype != np.int64 or not ((numbers >= UNKNOWN) & (numbers < classes)).all():
                raise ValueError(f"a label is none of the {classes} classes")
        return Labels(classes, answer, guess, asked)
