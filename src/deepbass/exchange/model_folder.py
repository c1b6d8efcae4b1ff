"""The model as a folder: weights, what is needed to use them, and how."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from deepbass import __version__
from deepbass.core.config import Config
from deepbass.core.error_law import Estimate
from deepbass.core.errors import DeepBassError, StoreError
from deepbass.core.foreign import decoding
from deepbass.data.catalogue import NAMED
from deepbass.data.listing import Listing
from deepbass.data.pool import LEVELS
from deepbass.data.sources import find_source
from deepbass.label.trained_models import Model
from deepbass.store.checkpoints import Checkpoint
from deepbass.store.names import FEATURES_FILE, LEARNER_FILE, MODEL_CONFIG_FILE, MODEL_FILE, MODEL_README_FILE

PREFIX = "model."  # of what a learner packs, the weights
_ARCHITECTURE = ("model", "dropout", "seed", "predict_passes", "text", "target")  # settings that a prediction hangs on
PIXELS = "pixels"


def write_model(out: Path, model: Model, checkpoint: Checkpoint, estimate: Estimate | None, source: str) -> None:
    """Write the weights, what computes features, their configuration and a page that tells how to use them."""
    features = model.path / FEATURES_FILE
    extractor = features.read_bytes() if features.exists() else None
    _write(out, _config(model, estimate, source), _weights(model.path, checkpoint), extractor, estimate)


def fill_model_folder(
    out: Path,
    settings: Config,
    *,
    classes: Sequence[str],
    shape: Sequence[int],
    pixels: bool,
    labels: int,
    iteration: int,
    weights: bytes,
    extractor: bytes | None,
) -> None:
    """Write a model that was trained in Python, in the same form; nobody has measured its error."""
    config = {
        "deepbass": __version__,
        "classes": list(classes),
        "shape": list(shape),
        "pixels_divided_by": LEVELS if pixels else 1,
        "architecture": {name: getattr(settings, name) for name in (*_ARCHITECTURE, "features")},
        "iteration": iteration,
        "labels": labels,
        "error": None,
    }
    _write(out, config, weights, extractor, None)


def _write(
    out: Path, config: dict[str, Any], weights: bytes, extractor: bytes | None, estimate: Estimate | None
) -> None:
    (out / MODEL_FILE).write_bytes(weights)
    if extractor is not None:
        (out / FEATURES_FILE).write_bytes(extractor)
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
    trained, data = model.about["config"], model.about["data"]
    pixels = data.get("pixels")  # older models do not say
    return {
        "deepbass": __version__,
        "classes": list(model.classes),
        "shape": data["shape"],
        "pixels_divided_by": _divisor(source) if pixels is None else LEVELS if pixels else 1,
        "architecture": {
            **{name: trained[name] for name in _ARCHITECTURE if name in trained},
            "features": data.get("features", PIXELS),
        },
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
            "random, labelled by people and never trained on, predicted as is said below."
        )
    architecture = config["architecture"]
    own = {name: architecture[name] for name in ("model", "features") if ":" in architecture[name]}
    again = "".join(f", {name}={code!r}" for name, code in own.items())  # code is run for who names it, never by itself
    features = architecture["features"]
    takes = "samples of " + " x ".join(map(str, config["shape"])) + " (for images: channels, height, width)"
    passes = architecture.get("predict_passes", 0)
    mean = f"the mean over {passes} dropout passes" if passes else "one pass with dropout off"
    return _README.format(
        error=error,
        labels=config["labels"],
        classes=len(config["classes"]),
        takes=takes if features == PIXELS else f"samples as they are, and computes their features ({features})",
        version=config["deepbass"],
        weights=MODEL_FILE,
        about=MODEL_CONFIG_FILE,
        again=again,
        network=f", model={own['model']!r}" if "model" in own else "",
        options="".join(f" --{name} {shlex.quote(code)}" for name, code in own.items()),
        mean=mean,
    )


_README = """\
# A model made with deepbass

It tells {classes} classes apart and was trained with {labels} labels, and maybe with its own guesses.
{error}

- `{weights}`: the weights
- `{about}`: the classes in the order of the network's outputs, the shape of its input, and what it was made with

It takes {takes}. A prediction is {mean}.

With deepbass {version} (`pip install 'deepbass[images]'`), on the command line:

```bash
deepbass predict .{options} FOLDER-OR-FILE --out predictions.csv
```

In Python, in this folder (`deepbass.load_model("."{network})` is the network alone):

```python
import deepbass

model = deepbass.load("."{again})


def predict(sample) -> str:  # an image's path, a text, a row or an array, as in the training
    return model.predict([sample])[0]  # model.predict_proba: samples x classes, in the order of model.classes
```
"""
