"""A model as ONNX says what the predictor says with dropout off."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import deepbass
from deepbass.cli import app
from deepbass.core.errors import ConfigError
from deepbass.features.tfidf import WordFeatures
from deepbass.runs.onnx_model import write_onnx
from deepbass.runs.predictor import Predictor
from tests.runs.trained import on_pictures

INSTALLED = importlib.util.find_spec("onnxscript") is not None


def test_a_model_of_pictures_predicts_alike_or_it_is_said_what_to_install(tmp_path: Path) -> None:
    run, out = on_pictures(tmp_path / "run", tmp_path / "images"), tmp_path / "model.onnx"
    result = CliRunner().invoke(app, ["onnx", str(run), str(out)])
    if not INSTALLED:
        assert result.exit_code == 2
        assert "pip install 'deepbass[onnx]'" in result.stderr
        return
    assert result.exit_code == 0, result.output
    import onnxruntime

    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["classes"]) == ["dark", "light"]
    assert json.loads(about["input_shape"]) == ["samples", 1, 12, 10]
    paths = sorted((tmp_path / "images").rglob("*.png"))
    pixels = np.stack([np.asarray(Image.open(path)) for path in paths])[:, None].astype(np.float32)
    (found,) = session.run(None, {"samples": pixels})
    np.testing.assert_allclose(found, Predictor.load(run, passes=0).predict(paths), atol=1e-4)
    assert str(Path(__file__).parents[2]).encode() not in out.read_bytes()
    before = out.read_bytes()
    assert CliRunner().invoke(app, ["onnx", str(run), str(out)]).exit_code == 2
    assert out.read_bytes() == before
    predictor = Predictor.load(run)
    predictor.extractor = WordFeatures()
    with pytest.raises(ConfigError, match="'words' cannot be written as ONNX"):
        write_onnx(predictor, out)


def test_columns_that_are_seen_by_nearness_predict_alike_everywhere(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    y = np.linalg.norm(X, axis=1) > 1.5
    run = deepbass.run(X, y, out=tmp_path / "run", budget=60, initial=60, iterations=1, seed=0)
    predictor, out = Predictor.load(run.path, passes=0), tmp_path / "model.onnx"
    with torch.no_grad():
        trained = run.model(torch.from_numpy(X)).softmax(1).numpy()
    np.testing.assert_allclose(predictor.judge_inputs(X, passes=0), trained, atol=1e-6)
    assert (trained.argmax(1) == y).mean() > 0.8  # by no straight cut
    if not INSTALLED:
        return
    assert write_onnx(predictor, out) < 1e-4
    import onnxruntime

    (found,) = onnxruntime.InferenceSession(str(out)).run(None, {"samples": X})
    np.testing.assert_allclose(found, predictor.judge_inputs(X, passes=0), atol=1e-4)
