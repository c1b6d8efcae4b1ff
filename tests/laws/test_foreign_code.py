"""A folder that came from somebody else is opened without running code that it names."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import deepbass
from deepbass.bench.cells import FAILED, Cell
from deepbass.bench.results import Results
from deepbass.bench.worker import run_cell
from deepbass.cli import app
from deepbass.core.errors import ConfigError, DeepBassError
from deepbass.label.journal import Journal
from deepbass.label.project import Project, Settings
from deepbass.store.names import MODEL_CONFIG_FILE, MODEL_FILE, PROJECT_FILE, RUN_DB_FILE, RUN_FILE
from deepbass.trainer.status_writer import StatusWriter
from deepbass.trainer.trainer import Trainer
from tests.runs.small_runs import SMALL

CODE = """
import math
from pathlib import Path
from torch import nn

Path(__file__).with_name("it ran").touch()

def build(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 8), nn.Dropout(0.2), nn.Linear(8, classes))
"""
SETTINGS: dict[str, Any] = {**SMALL, "iterations": 2}
REASON = "is not run because a folder names it"


class Foreign:
    """A model's file, and whether it was run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._file = folder / "net.py"
        self._file.write_text(CODE)
        self._mark = folder / "it ran"
        self.name = f"{self._file}:build"

    def ran(self) -> bool:
        """Tell whether the code was run since this was last asked."""
        there = self._mark.exists()
        self._mark.unlink(missing_ok=True)
        return there


@pytest.fixture
def foreign(tmp_path: Path) -> Foreign:
    return Foreign(tmp_path / "theirs")


@pytest.fixture
def run(tmp_path: Path, foreign: Foreign) -> Path:
    """Make a run whose model is the foreign one."""
    deepbass.run("toy", model=foreign.name, out=tmp_path / "run", **SETTINGS)
    assert foreign.ran()
    return tmp_path / "run"


def invoke(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, " ".join(result.output.split())


def test_resume_runs_what_is_named_again_and_nothing_else(run: Path, foreign: Foreign) -> None:
    code, said = invoke("resume", run)
    assert code == 2
    assert REASON in said
    assert f"deepbass resume {run} --model {foreign.name}" in said
    with pytest.raises(ConfigError, match=REASON):
        deepbass.resume(run)
    with pytest.raises(ConfigError, match="not 'mlp'"):
        deepbass.resume(run, model="mlp")
    assert not foreign.ran()
    assert invoke("resume", run, "--model", foreign.name)[0] == 0
    assert foreign.ran()
    assert len(deepbass.resume(run, model=foreign.name).history) == 3


def test_a_file_that_lies_elsewhere_by_now_can_be_named_there(run: Path, foreign: Foreign, tmp_path: Path) -> None:
    moved = Foreign(tmp_path / "mine")
    assert len(deepbass.resume(run, model=moved.name).history) == 3
    assert moved.ran()
    assert not foreign.ran()


def test_a_run_of_a_built_in_model_takes_no_code(tmp_path: Path, foreign: Foreign) -> None:
    deepbass.run("toy", out=tmp_path / "plain", **SETTINGS)
    for wrong in (foreign.name, "cnn"):
        with pytest.raises(ConfigError, match=r"The model of .* is 'auto'"):
            deepbass.resume(tmp_path / "plain", model=wrong)
        with pytest.raises(ConfigError, match=r"The model of .* is 'auto'"):
            deepbass.load_model(tmp_path / "plain", wrong)
    assert not foreign.ran()
    deepbass.resume(tmp_path / "plain", model="auto")


def exported(path: Path, run: Path, model: str) -> Path:
    """Make a folder as ``deepbass export --format model`` does."""
    path.mkdir()
    (path / MODEL_FILE).write_bytes((run / MODEL_FILE).read_bytes())
    about = {"classes": ["0", "1"], "shape": [2], "architecture": {"model": model, "dropout": 0.33, "seed": 0}}
    (path / MODEL_CONFIG_FILE).write_text(json.dumps(about))
    return path


@pytest.mark.parametrize("kind", ["run", "exported"])
def test_load_model_runs_what_is_named_again_and_nothing_else(
    run: Path, foreign: Foreign, tmp_path: Path, kind: str
) -> None:
    folder = run if kind == "run" else exported(tmp_path / "exported", run, foreign.name)
    with pytest.raises(ConfigError, match=REASON):
        deepbass.load_model(folder)
    assert not foreign.ran()
    assert not deepbass.load_model(folder, foreign.name).training
    assert foreign.ran()


@pytest.fixture
def project(tmp_path: Path, foreign: Foreign) -> Project:
    """Make a labelling project whose settings name the foreign model, with enough labels to begin training."""
    for number in range(40):
        name = tmp_path / "images" / "ab"[number % 2] / f"{number}.png"
        name.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), 200 * (number % 2), dtype=np.uint8)).save(name)
    settings = Settings(config={"model": foreign.name, "initial_epochs": 1}, audit=0.0)
    return Project.create(tmp_path / "project", str(tmp_path / "images"), settings=settings)


def test_the_labelling_page_does_not_begin_with_code_that_its_project_names(project: Project, foreign: Foreign) -> None:
    before = (project.path / PROJECT_FILE).read_bytes()
    code, said = invoke("label", project.path, "--no-browser", "--twice", "50%")
    assert code == 2
    assert REASON in said
    assert f"deepbass label {project.path} --model {foreign.name}" in said
    assert (project.path / PROJECT_FILE).read_bytes() == before
    assert not foreign.ran()


class Begun(Exception):  # noqa: N818 (nothing is wrong)
    """Ends a trainer that has trained."""


@pytest.mark.parametrize("named", [False, True])
def test_the_trainer_runs_the_code_that_its_command_names(project: Project, foreign: Foreign, named: bool) -> None:
    def say(what: dict[str, Any]) -> None:
        if "committed" in what:
            raise Begun("trained")

    with closing(Journal.open(project.labels_db, mode="ro")) as journal:
        trainer = Trainer(project, journal, StatusWriter(say), named_model=foreign.name if named else None)
        with pytest.raises(Begun if named else ConfigError, match="trained" if named else REASON):
            trainer.go()
    assert foreign.ran() == named


def test_a_cell_of_a_matrix_runs_no_code(tmp_path: Path, foreign: Foreign) -> None:
    results = Results.make(tmp_path / "results")
    cell = Cell("toy", "row", "quick", 0, "toy", {**SETTINGS, "model": foreign.name})
    with pytest.raises(ConfigError, match=REASON):
        run_cell(cell, results)
    record = results.read(cell)
    assert record is not None
    assert record.status == FAILED
    assert not foreign.ran()


Damage = Callable[[Path], object]
DAMAGE: dict[str, Damage] = {
    "no weights": lambda folder: (folder / MODEL_FILE).unlink(),
    "cut weights": lambda folder: (folder / MODEL_FILE).write_bytes(b"\x10\0\0\0\0\0\0\0{}"),
    "no JSON": lambda folder: (folder / MODEL_CONFIG_FILE).write_text("{"),
    "deep JSON": lambda folder: (folder / MODEL_CONFIG_FILE).write_text("[" * 3_000 + "]" * 3_000),
    "long numbers": lambda folder: (folder / MODEL_CONFIG_FILE).write_text("9" * 5_000),
    "a list": lambda folder: (folder / MODEL_CONFIG_FILE).write_text("[]"),
    "nothing": lambda folder: (folder / MODEL_CONFIG_FILE).unlink(),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of a built-in model."""
    path = tmp_path_factory.mktemp("plain") / "run"
    deepbass.run("toy", out=path, **{**SETTINGS, "iterations": 0})
    return path


def test_an_exported_model_predicts_as_the_run_that_it_came_from(plain: Path, tmp_path: Path) -> None:
    import torch

    points = torch.rand(20, 2)
    folder = exported(tmp_path / "exported", plain, "auto")
    assert torch.equal(deepbass.load_model(folder)(points), deepbass.load_model(str(plain))(points))


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_folder_of_a_model_is_an_error(plain: Path, tmp_path: Path, how: str) -> None:
    folder = exported(tmp_path / "exported", plain, "auto")
    DAMAGE[how](folder)
    with pytest.raises(DeepBassError, match=str(folder)):
        deepbass.load_model(folder)


FIELDS: list[dict[str, Any]] = [
    {"shape": None},
    {"shape": []},
    {"shape": ["2"]},
    {"shape": [0]},
    {"shape": [3]},
    {"shape": [10**13]},
    {"shape": [2**62, 2**62]},
    {"classes": None},
    {"classes": "01"},
    {"classes": ["0"]},
    {"classes": [0, 1]},
    {"architecture": None},
    {"architecture": {"model": "cnn"}},
    {"architecture": {"model": "vgg"}},
    {"architecture": {"dropout": "0"}},
    {"architecture": {"unheard": 1}},
    {"architecture": {"model": "(passed in Python)"}},
]


@pytest.mark.parametrize("changed", FIELDS, ids=str)
def test_a_wrong_field_of_a_models_folder_is_an_error(plain: Path, tmp_path: Path, changed: dict[str, Any]) -> None:
    folder = exported(tmp_path / "exported", plain, "auto")
    about = json.loads((folder / MODEL_CONFIG_FILE).read_text())
    (folder / MODEL_CONFIG_FILE).write_text(json.dumps({**about, **changed}))
    with pytest.raises(DeepBassError, match=str(folder)):
        deepbass.load_model(folder)
    copy = json.loads((plain / RUN_FILE).read_text())
    if "architecture" not in changed:
        run = tmp_path / "run"
        run.mkdir()
        for name in (RUN_DB_FILE, MODEL_FILE):
            (run / name).write_bytes((plain / name).read_bytes())
        (run / RUN_FILE).write_text(json.dumps({**copy, "data": {**copy["data"], **changed}}))
        with pytest.raises(DeepBassError, match=str(run)):
            deepbass.load_model(run)
