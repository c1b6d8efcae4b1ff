"""The model as a folder: weights, what is needed to use them, and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from deepbass import __version__
from deepbass.core.errors import DeepBassError, StoreError
from deepbass.core.foreign import decoding
from deepbass.data.catalogue import NAMED
from deepbass.data.listing import Listing
from deepbass.data.pool import LEVELS
from deepbass.data.sources import find_source
from deepbass.label.estimate import Estimate
from deepbass.label.trained_models import Model
from deepbass.store.checkpoints import Checkpoint
from deepbass.store.names import LEARNER_FILE, MODEL_CONFIG_FILE, MODEL_FILE, MODEL_README_FILE

PREFIX = "model."  # of what a learner packs, the weights


def write_model(out: Path, model: Model, checkpoint: Checkpoint, estimate: Estimate | None, source: str) -> None:
    """Write the weights, their configuration and a page that tells how to load them."""
    (out / MODEL_FILE).write_bytes(_weights(model.path, checkpoint))
    config = _config(model, estimate, source)
    (out / MODEL_CONFIG_FILE).write_text(json.dumps(config, indent=2, ensure_ascii=False), encoding="utf-8")
    (out / MODEL_README_FILE).write_text(_readme(config, estimate), encoding="utf-8")


def _weights(path: Path, checkpoint: Checkpoint) -> bytes:
    """Take the weights out of what the learner needs to go on training."""
    where = f"The checkpoint of {path}, iteration {checkpoint.iteration},"
    advice = "Let the model be trained for one more iteration, then export it again."
    with decoding(where, "set of weights", advice, StoreError):
        packed = safetensors.numpy.load(checkpoint.files[LEARNER_FILE])
    return safetensors.numpy.save(
        {name.removeprefix(PREFIX): array for name, array in packed.items() if name.startswith(PREFIX)},
        metadata={"format": "pt"},
    )


def _config(model: Model, estimate: Estimate | None, source: str) -> dict[str, Any]:
    trained = model.about["config"]
    return {
        "deepbass": __version__,
        "classes": list(model.classes),
        "shape": model.about["data"]["shape"],
        "pixels_divided_by": _divisor(source),
        "architecture": {name: trained[name] for name in ("model", "dropout", "seed")},
        "model": model.name,
        "iteration": model.iteration,
        "created_at": model.created_at,
        "labels": model.ranking.known,
        "error": None
        if estimate is None
        else {
            "estimate": estimate.estimate,
            "low": estimate.low,
            "high": estimate.high,
            "confidence": 0.95,
            "audit_answers": estimate.n,
            "wrong": estimate.errors,
        },
    }


def _divisor(source: str) -> int | None:
    """Tell what samples are divided by before the network sees them: images and bytes are, other numbers are not.

    None: nobody can tell, since the source is not there any more.
    """
    if source in NAMED:
        return LEVELS
    try:
        found = find_source(source, None, unlabelled=True)
    except DeepBassError:
        return None
    return LEVELS if isinstance(found, Listing) or np.asanyarray(found.train.X).dtype == np.uint8 else 1


def _readme(config: dict[str, Any], estimate: Estimate | None) -> str:
    error = "Its error was not measured: there were no audit answers."
    if estimate is not None:
        error = (
            f"Its error is {estimate.estimate:.2%}, with 95 % confidence between {estimate.low:.2%} and "
            f"{estimate.high:.2%}: it was wrong about {estimate.errors} of {estimate.n} samples that were drawn at "
            "random, labelled by people and never trained on."
        )
    name = config["architecture"]["model"]
    again = f", model={name!r}" if ":" in name else ""  # code is run for who names it, not because a folder does
    return _README.format(
        error=error,
        labels=config["labels"],
        classes=len(config["classes"]),
        shape=" x ".join(map(str, config["shape"])),
        version=config["deepbass"],
        weights=MODEL_FILE,
        about=MODEL_CONFIG_FILE,
        again=again,
    ) + (_IMAGES if config["pixels_divided_by"] == LEVELS and len(config["shape"]) == 3 else _ARRAYS)


_README = """\
# A model made with deepbass

It tells {classes} classes apart and was trained with {labels} labels by people, and with its own guesses.
{error}

- `{weights}`: the weights
- `{about}`: the classes in the order of the network's outputs, the shape of its input, and what it was made with

It takes samples of {shape} (for images: channels, height, width) and returns one number per class, before the softmax.

With deepbass {version} (`pip install 'deepbass[images]'`), in this folder:

```python
import json
from pathlib import Path

import torch

import deepbass

model = deepbass.load_model("."{again})
about = json.loads(Path("{about}").read_text(encoding="utf-8"))
"""

_IMAGES = """\


def predict(image: Path) -> str:
    from deepbass.data.images import draw  # decodes an image as for the training: upright, grey or RGB, of one size

    channels, height, width = about["shape"]
    pixels = torch.tensor(draw(image, (width, height), grey=channels == 1)) / about["pixels_divided_by"]
    with torch.no_grad():
        return about["classes"][int(model(pixels[None]).argmax())]
```
"""

_ARRAYS = """\


def predict(sample) -> str:  # an array of that shape, with numbers as in the training: bytes are divided by 256
    with torch.no_grad():
        return about["classes"][int(model(torch.as_tensor(sample, dtype=torch.float32)[None]).argmax())]
```
"""
