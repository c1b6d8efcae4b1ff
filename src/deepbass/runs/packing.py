"""The files of a checkpoint that a resume needs, as bytes: the learner packs itself, the labels are packed here."""

from __future__ import annotations

import numpy as np
import safetensors.numpy

from deepbass.core.errors import StoreError
from deepbass.core.foreign import decoding
from deepbass.core.labels import UNKNOWN, Classes, Ids, Labels
from deepbass.store.names import LABELS_FILE


def pack_labels(labels: Labels, item: Ids | None = None, guesses: Classes | None = None) -> bytes:
    """Write labels as safetensors; ``item`` says who a row is outside, where that is not its number.

    ``guesses`` are what all samples were last taken for, whether or not they are trained on. Classes are written in the
    smallest type that holds them; older checkpoints have 64 bits.
    """
    arrays = {"answer": labels.answer, "guess": labels.guess, "asked": labels.asked}
    taken_for = None if guesses is None else guesses.astype(labels.guess.dtype, copy=False)
    more = {"item": item, "taken_for": taken_for}
    return safetensors.numpy.save(arrays | {name: array for name, array in more.items() if array is not None})


def unpack_labels(packed: bytes, classes: int) -> tuple[Labels, Classes | None]:
    """Read labels again, and what all samples were taken for, if that is there."""
    with decoding(f"{LABELS_FILE} of the checkpoint", "list of labels", "Restore the run from a copy.", StoreError):
        arrays = safetensors.numpy.load(packed)
        answer, guess, asked = (arrays[name] for name in ("answer", "guess", "asked"))
        if not answer.ndim == 1 or not answer.shape == guess.shape == asked.shape or asked.dtype != np.bool_:
            raise ValueError("answers, guesses and what was asked are not of one length")
        taken_for = arrays.get("taken_for")
        if taken_for is not None and taken_for.shape != answer.shape:
            raise ValueError("answers and what samples were taken for are not of one length")
        for numbers in (answer, guess, *(() if taken_for is None else (taken_for,))):
            if numbers.dtype.kind != "i" or not ((numbers >= UNKNOWN) & (numbers < classes)).all():
                raise ValueError(f"a label is none of the {classes} classes")
        return Labels(classes, answer, guess, asked), taken_for
