"""A trained model as an ONNX file: scaling, network and softmax, with dropout off, checked against the predictor.

Bringing pictures to the right size stays outside; what the graph takes is written into the file.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbass import __version__
from deepbass.core.errors import ConfigError, DeepBassError
from deepbass.core.foreign import guarded, reason_of
from deepbass.data.pool import LEVELS
from deepbass.features.imagenet import MEAN, STD, UNIT, ImagenetFeatures
from deepbass.files import replace_file
from deepbass.runs.predictor import Predictor

TOLERANCE = 1e-4  # by which a probability may differ from the predictor's
_MOST_UNITS = 64  # of a picture's side
_NEEDED = ("onnx", "onnxruntime", "onnxscript")


class _Graph(nn.Module):
    """What becomes the file: numbers as they are in a picture or an array, to probabilities."""

    scale: Tensor
    shift: Tensor
    merge: Tensor

    def __init__(self, predictor: Predictor) -> None:
        super().__init__()
        extractor = predictor.extractor
        self.backbone = extractor.network if isinstance(extractor, ImagenetFeatures) else nn.Identity()
        self.network = predictor.network
        scale, shift = np.ones(1), np.zeros(1)
        if isinstance(extractor, ImagenetFeatures):
            scale, shift = 1 / (255 * np.array(STD)), np.array(MEAN) / np.array(STD)
        elif predictor.pixels:
            scale = np.ones(1) / LEVELS
        like = (1, -1, 1, 1) if len(predictor.shape) == 3 or extractor is not None else (1, -1)
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32).reshape(like))
        self.register_buffer("shift", torch.tensor(shift, dtype=torch.float32).reshape(like))
        self.register_buffer("merge", torch.tensor(predictor.outputs_to_classes, dtype=torch.float32))

    def forward(self, samples: Tensor) -> Tensor:
        """Map samples to probabilities."""
        found: Tensor = self.network(self.backbone(samples * self.scale - self.shift)).softmax(1) @ self.merge
        return found


def write_onnx(predictor: Predictor, out: Path) -> float:
    """Write a model; return by how much its probabilities differ from the predictor's with dropout off, at most."""
    missing = [package for package in _NEEDED if importlib.util.find_spec(package) is None]
    if missing:
        raise ConfigError(f"Writing ONNX takes {', '.join(missing)}: pip install 'deepbass[onnx]'.")
    extractor = predictor.extractor
    if extractor is not None and not isinstance(extractor, ImagenetFeatures):
        raise ConfigError(
            f"The features {extractor.name!r} cannot be written as ONNX: that goes for pixels, arrays and imagenet. "
            "Use `deepbass predict`."
        )
    graph = _Graph(predictor).eval().cpu()
    some = _samples(predictor, 2)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        with guarded(_refuse), _silence():
            program = torch.onnx.export(
                graph,
                (torch.from_numpy(some),),
                dynamo=True,
                input_names=["samples"],
                output_names=["probabilities"],
                dynamic_shapes=(_free(predictor),),
                verbose=False,
            )
            assert program is not None
            program.save(str(made), external_data=False)
            _describe(made, predictor)
        worst = max(_difference(made, predictor, _samples(predictor, count)) for count in (1, 3))
        if not worst <= TOLERANCE:
            raise DeepBassError(
                f"The ONNX model's probabilities differ from the predictor's by {worst:.2g}, so it was not written."
            )
        replace_file(out, made.read_bytes())
    return worst


def _refuse(cause: Exception) -> DeepBassError:
    return ConfigError(
        f"torch {torch.__version__} cannot write this model as ONNX ({reason_of(cause)}). Use `deepbass predict`."
    )


def _samples(predictor: Predictor, count: int) -> NDArray[np.float32]:
    """Draw samples like those that the graph takes."""
    rng = np.random.default_rng(count)
    extractor = predictor.extractor
    if isinstance(extractor, ImagenetFeatures):
        pixels: NDArray[np.uint8] = rng.integers(0, 256, (count, 3, extractor.side, extractor.side), dtype=np.uint8)
        return pixels.astype(np.float32)
    if predictor.pixels:
        return rng.integers(0, 256, (count, *predictor.shape)).astype(np.float32)
    return rng.normal(size=(count, *predictor.shape)).astype(np.float32)


def _free(predictor: Predictor) -> dict[int, Any]:
    """Tell which sizes may differ from call to call: how many samples, and for photographs their own shape."""
    free: dict[int, Any] = {0: torch.export.Dim("samples")}
    if predictor.extractor is not None:
        free[2] = UNIT * torch.export.Dim("height", min=1, max=_MOST_UNITS)
        free[3] = UNIT * torch.export.Dim("width", min=1, max=_MOST_UNITS)
    return free


def _describe(file: Path, predictor: Predictor) -> None:
    """Write into a file what it takes and returns, and nothing of where it was made: the exporter notes paths."""
    import onnx

    model = onnx.load(str(file))
    graph = model.graph
    for part in (*graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer, graph):
        del part.metadata_props[:]
    for name, value in _facts(predictor).items():
        entry = model.metadata_props.add()
        entry.key, entry.value = name, value
    onnx.checker.check_model(model)
    onnx.save(model, str(file))


def _facts(predictor: Predictor) -> dict[str, str]:
    extractor = predictor.extractor
    if isinstance(extractor, ImagenetFeatures):
        shape = ["samples", 3, "height", "width"]
        takes = (
            f"RGB pixels from 0 to 255 as float32; height and width are multiples of {UNIT} of about the area of "
            f"{extractor.side} x {extractor.side} and of the picture's shape; scaling is in the graph"
        )
    else:
        shape = ["samples", *predictor.shape]
        takes = "pixels from 0 to 255 as float32, resized to the shape; scaling is in the graph"
        if not predictor.pixels:
            takes = "numbers as in the training, as float32"
    return {
        "deepbass": __version__,
        "classes": json.dumps(list(predictor.classes), ensure_ascii=False),
        "input": takes,
        "input_shape": json.dumps(shape),
        "output": "a probability for every class, dropout off",
    }


def _difference(file: Path, predictor: Predictor, samples: NDArray[np.float32]) -> float:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"samples": samples})
    expected = predictor.judge_inputs(_inputs(predictor, samples), passes=0)
    return float(np.abs(found - expected).max())


def _inputs(predictor: Predictor, samples: NDArray[np.float32]) -> NDArray[np.float32]:
    """Make of samples what the network sees, on the predictor's own way."""
    if isinstance(predictor.extractor, ImagenetFeatures):
        pictures = np.moveaxis(samples, 1, -1).astype(np.uint8)
        return predictor.extractor.compute_prepared(list(pictures))
    return samples / np.float32(LEVELS) if predictor.pixels else samples


@contextmanager
def _silence() -> Iterator[None]:
    """Keep the exporter's remarks about packages that nobody asked for to itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
