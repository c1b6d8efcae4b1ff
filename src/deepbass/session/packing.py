"""The files of a checkpoint that a resume needs, as bytes: the learner packs itself, the labels are packed here."""

from __future__ import annotations

import safetensors.numpy

from deepbass.core.labels import Ids, Labels

LEARNER_FILE, LABELS_FILE = "learner.safetensors", "labels.safetensors"


def pack_labels(labels: Labels, item: Ids | None = None) -> bytes:
    """Write labels as safetensors; ``item`` says who a row is outside, where that is not its number."""
    arrays = {"answer": labels.answer, "guess": labels.guess, "asked": labels.asked}
    return safetensors.numpy.save(arrays if item is None else {**arrays, "item": item})


def unpack_labels(packed: bytes, classes: int) -> Labels:
    """Read labels again."""
    arrays = safetensors.numpy.load(packed)
    return Labels(classes, arrays["answer"], arrays["guess"], arrays["asked"])
