"""A model leaves with all that it takes to predict, and a README whose code runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.core.config import Config
from deepbass.core.errors import StoreError
from deepbass.exchange.exports import export
from deepbass.label.project import Project
from deepbass.store.names import (
    MODEL_CONFIG_FILE,
    MODEL_FILE,
    MODEL_README_FILE,
)
from deepbass.store.rundir import RunDir
from tests.label.projects import act, begin_model, commit, make_images, make_project, make_ranking, say, shade_of

NAMES = [f"{item}.png" for item in range(10)]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path / "project", make_images(tmp_path / "images", NAMES))


def test_an_exported_model_is_the_papers_network_with_the_trained_weights(project: Project, tmp_path: Path) -> None:
    import safetensors.torch
    import torch

    from deepbass.learn.models import build

    config = Config.of({"seed": 3})
    trained = build(config, (1, 8, 8), 2)
    with torch.no_grad():
        for weights in trained.parameters():
            weights.add_(0.1)
    act(project, say(0, 0), say(1, 1))
    with begin_model(project) as run:
        weights_of = {name: tensor.numpy() for name, tensor in trained.state_dict().items()}
        commit(run, 4, make_ranking([0] * 10, known=2), weights_of)
    done = export(project, "model", tmp_path / "model")
    about = json.loads((done.path / MODEL_CONFIG_FILE).read_text())
    assert about["classes"] == ["cat", "dog"]
    assert (about["shape"], about["pixels_divided_by"], about["labels"]) == ([1, 8, 8], 256, 2)
    assert (about["iteration"], about["error"]) == (4, None)
    loaded = build(Config.of(about["architecture"]), tuple(about["shape"]), len(about["classes"]))
    loaded.load_state_dict(safetensors.torch.load_file(done.path / MODEL_FILE))
    x = torch.rand(3, 1, 8, 8)
    assert torch.equal(loaded.eval()(x), trained.eval()(x))


def run_readme(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the code that a model's README shows, in its folder, and return its ``predict``."""
    text = (folder / MODEL_README_FILE).read_text(encoding="utf-8")
    assert "{" not in text.split("```")[0]
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {"__name__": "readme"}
    exec(compile(text.split("```python\n")[1].split("```")[0], MODEL_README_FILE, "exec"), namespace)
    return namespace["predict"]


def export_network(project: Project, out: Path, shape: tuple[int, ...]) -> tuple[Path, Any]:
    """Export a network of random weights; return the folder and the network."""
    from deepbass.learn.models import build

    network = build(Config.of({"seed": 3}), shape, 2).eval()
    with begin_model(project, shape=list(shape)) as run:
        weights = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
        commit(run, 0, make_ranking([0] * 10), weights)
    return export(project, "model", out).path, network


def test_the_readme_of_a_model_shows_code_that_predicts_images(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    folder, network = export_network(project, tmp_path / "model", (1, 8, 8))
    predict = run_readme(folder, monkeypatch)
    for name in NAMES[:3]:
        path = tmp_path / "images" / name
        with torch.no_grad():
            logits = network(torch.full((1, 1, 8, 8), shade_of(path) / 256))
        assert predict(path) == ["cat", "dog"][int(logits.argmax())]


def test_the_readme_of_a_model_of_arrays_shows_code_that_predicts_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    X = np.random.default_rng(0).random((4, 8, 8), dtype=np.float32)
    np.savez(tmp_path / "data.npz", X=X, y=np.full(4, -1))
    project = make_project(tmp_path / "project", tmp_path / "data.npz")
    folder, network = export_network(project, tmp_path / "model", (1, 8, 8))
    predict = run_readme(folder, monkeypatch)
    with torch.no_grad():
        expected = network(torch.from_numpy(X[:, None])).argmax(1).tolist()
    assert [predict(sample) for sample in X[:, None]] == [["cat", "dog"][class_] for class_ in expected]


def test_the_readme_names_a_network_of_ones_own_so_that_its_code_may_run(project: Project, tmp_path: Path) -> None:
    config = {**Config.of({"seed": 3}).as_dict(), "model": "my net.py:build"}
    data = {"shape": [1, 8, 8], "classes": ["cat", "dog"]}
    with RunDir.create(project.models / "0001", config=config, data=data, versions={}) as run:
        commit(run, 0, make_ranking([0] * 10))
    text = (export(project, "model", tmp_path / "model").path / MODEL_README_FILE).read_text()
    assert "deepbass.load_model(\".\", model='my net.py:build')" in text


def test_a_model_comes_with_its_error_by_the_audit(tmp_path: Path) -> None:
    names = [f"{i:02}.png" for i in range(40)]
    project = make_project(tmp_path / "project", make_images(tmp_path / "images", names, side=2), audit=0.1)
    reserve = project.audit_reserve().tolist()[:4]
    act(project, *[say(item, 1, why="audit") for item in reserve])
    guess = [1] * 40
    guess[reserve[0]] = 0
    with begin_model(project) as run:
        commit(run, 0, make_ranking(guess))
    about = json.loads((export(project, "model", tmp_path / "model").path / MODEL_CONFIG_FILE).read_text())
    assert (about["error"]["audit_answers"], about["error"]["wrong"], about["error"]["estimate"]) == (4, 1, 0.25)
    assert about["error"]["low"] < 0.25 < about["error"]["high"]
    assert "1 of 4 samples" in (tmp_path / "model" / MODEL_README_FILE).read_text()


def test_samples_that_are_no_pixels_are_not_divided(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=np.random.default_rng(0).random((4, 6, 5)), y=np.full(4, -1))
    project = make_project(tmp_path / "project", tmp_path / "data.npz")
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 4))
    assert json.loads((export(project, "model", tmp_path / "m").path / MODEL_CONFIG_FILE).read_text())[
        "pixels_divided_by"
    ] == 1  # fmt: skip


def test_without_a_model_that_is_said(project: Project, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no trained model yet"):
        export(project, "model", tmp_path / "model")
    assert not (tmp_path / "model").exists()
