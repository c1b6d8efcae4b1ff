"""One predictor: the same answer wherever, with whatever, and however often a sample is judged."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.data.load import load
from deepbass.data.pool import Pool
from deepbass.exchange.exports import export
from deepbass.learn.learner import LocalLearner
from deepbass.runs.predictor import Predictor
from deepbass.store.names import FEATURES_FILE, MODEL_FILE
from deepbass.store.rundir import RunDir
from tests.runs.trained import on_pictures, on_points, on_rows, on_texts
from tests.trainer.labelling import QUICK, world
from tests.trainer.test_supply import message, texts, train

PASSES = 5


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs, each judged by the mean over passes."""
    folder = tmp_path_factory.mktemp("predictor")
    on_points(folder / "points", predict_passes=PASSES)
    on_points(folder / "off")
    on_pictures(folder / "pictures", folder / "images", predict_passes=PASSES)
    on_texts(folder / "texts", folder / "texts.csv", predict_passes=PASSES)
    on_rows(folder / "rows", folder / "rows.csv", predict_passes=PASSES)
    return folder


def judged_by_run(path: Path) -> float:
    with RunDir.open(path, lock=False) as run:
        return float(run.events.steps()[-1].metrics["validation_accuracy"])


@pytest.mark.parametrize("name", ["points", "off"])
def test_a_run_is_judged_by_what_the_predictor_says(here: Path, name: str) -> None:
    with RunDir.open(here / name, lock=False) as run:
        config = Config.of(run.about["config"])
    data = load("toy", config)
    predictor = Predictor.load(here / name)
    assert predictor.passes == config.predict_passes
    said = predictor.predict(data.validation.read(np.arange(len(data.validation)))).argmax(1)
    assert float((said == data.validation_labels).mean()) == judged_by_run(here / name)


def samples_of(here: Path, name: str) -> list[Any]:
    if name == "points":
        return list(np.random.default_rng(0).normal(size=(300, 2)))
    if name == "pictures":
        return sorted((here / "images").rglob("*.png"))
    with (here / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["body"] for row in rows] if name == "texts" else rows


@pytest.mark.parametrize("name", ["points", "pictures", "texts", "rows"])
def test_a_prediction_hangs_on_the_sample_alone(here: Path, name: str) -> None:
    predictor, samples = Predictor.load(here / name), samples_of(here, name)
    together = predictor.predict(samples)
    assert together.shape == (len(samples), 2)
    np.testing.assert_allclose(together.sum(1), 1, atol=1e-6)
    order = np.random.default_rng(1).permutation(len(samples))
    np.testing.assert_allclose(predictor.predict([samples[row] for row in order]), together[order], atol=1e-6)
    for row in order[:3]:
        np.testing.assert_allclose(predictor.predict([samples[row]])[0], together[row], atol=1e-6)
    np.testing.assert_array_equal(Predictor.load(here / name).predict(samples), together)
    off = Predictor.load(here / name, passes=0).predict(samples)
    assert np.abs(off - together).max() > 1e-6


@pytest.mark.parametrize("kernel", ["auto", "off"])
def test_the_learner_says_what_the_mean_over_passes_with_common_masks_is(kernel: str) -> None:
    samples = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    model = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.1), nn.Dropout(0.5), nn.Linear(16, 2))
    config = Config(predict_passes=400, device="cpu", kernel=kernel)
    learner = LocalLearner(model, Pool(samples, "x"), 2, config)
    mean = learner.predict(Pool(samples, "x"))
    belief = learner.infer(None, passes=400, seed=7)  # masks of each sample's own
    np.testing.assert_allclose(mean, belief.mean_N_C, atol=0.1)
    state = torch.random.get_rng_state()
    np.testing.assert_array_equal(learner.predict(Pool(samples, "x")), mean)
    assert torch.equal(torch.random.get_rng_state(), state)


class _Sequences(nn.Module):
    """Draws masks that cannot be shared."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, 4, num_layers=2, dropout=0.5, batch_first=True)
        self.last = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.last(self.lstm(x)[0][:, -1])
        return found


@pytest.mark.parametrize("make", [_Sequences, lambda: nn.Sequential(nn.Flatten(), nn.Linear(6, 2))])
def test_masks_that_cannot_be_shared_and_no_masks_at_all_do_no_harm(make: Callable[[], nn.Module]) -> None:
    samples = np.random.default_rng(0).normal(size=(7, 3, 2)).astype(np.float32)
    learner = LocalLearner(make(), Pool(samples, "x"), 2, Config(predict_passes=3, device="cpu"))
    together = learner.predict(Pool(samples, "x"))
    for row in range(len(samples)):
        np.testing.assert_allclose(learner.predict(Pool(samples[row : row + 1], "x"))[0], together[row], atol=1e-6)


def test_page_project_and_export_judge_alike(tmp_path: Path) -> None:
    with world(tmp_path, config={**QUICK, "features": "pixels"}) as here:
        here.begin()
        here.train(lambda iteration: iteration >= 1)
        ranking, reserve = here.ranking(), here.reserve
        by_project = Predictor.load(here.project.path)
        folder = export(here.project, "model", tmp_path / "model").path
    assert by_project.passes == 30
    paths = [tmp_path / "pictures" / f"{item:03}.png" for item in reserve]
    probabilities = by_project.predict(paths)
    assert [by_project.classes[place] for place in probabilities.argmax(1)] == [
        ("left", "right", "top")[class_] for class_ in ranking.predicted[reserve]
    ]
    np.testing.assert_array_equal(Predictor.load(folder).predict(paths), probabilities)


def test_a_project_of_texts_and_its_export_predict_with_their_own_features(tmp_path: Path) -> None:
    with texts(tmp_path, features="words") as project:
        train(project, lambda what: what.get("committed") == 1)
        by_project = Predictor.load(project.path)
        folder = export(project, "model", tmp_path / "model").path
    messages = [message(number) for number in range(20)]
    probabilities = by_project.predict(messages)
    assert probabilities.argmax(1).tolist() == [by_project.classes.index(("good", "bad")[n % 2]) for n in range(20)]
    exported = Predictor.load(folder)
    np.testing.assert_array_equal(exported.predict(messages), probabilities)
    assert exported.wanted.text == "body"


def test_pictures_of_any_size_and_colour_are_brought_to_what_the_model_was_trained_on(here: Path) -> None:
    predictor = Predictor.load(here / "pictures")
    assert predictor.shape == (1, 12, 10)
    path = here / "images" / "light" / "00.png"
    with Image.open(path) as image:
        grey = image.copy()
    expected = predictor.predict([path])
    np.testing.assert_array_equal(predictor.predict([grey]), expected)
    np.testing.assert_array_equal(predictor.predict([grey.convert("RGB")]), expected)
    np.testing.assert_array_equal(predictor.predict(np.asarray(grey)[None]), expected)
    larger = np.asarray(grey.resize((50, 60), Image.Resampling.NEAREST))
    assert predictor.predict(np.stack([larger, larger])).argmax(1).tolist() == [expected.argmax()] * 2


@pytest.mark.parametrize(
    ("name", "samples", "error"),
    [
        ("points", np.zeros((3, 5)), r"shape \(5,\), but the model takes \(2,\)"),
        ("points", np.full((1, 2), np.nan), "not a finite number"),
        ("pictures", np.zeros((2, 12, 10), np.float32), "trained on bytes"),
        ("pictures", ["no such file.png"], "cannot be judged"),
        ("texts", [{"body": "x"}], "none of the texts"),
        ("texts", "a text", "several samples"),
        ("rows", ["x"], "none of the rows"),
    ],
)
def test_samples_of_another_kind_are_refused(here: Path, name: str, samples: Any, error: str) -> None:
    with pytest.raises(DataError, match=error):
        Predictor.load(here / name).predict(samples)


def test_what_is_missing_from_a_model_is_said(here: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(here / "texts", tmp_path / "copy"))
    (copied / FEATURES_FILE).unlink()
    with pytest.raises(StoreError, match="trained on the features 'words', but has no features"):
        Predictor.load(copied)
    (copied / FEATURES_FILE).write_bytes(b"damaged")
    with pytest.raises(DataError, match="not a readable description of features"):
        Predictor.load(copied)
    with pytest.raises(ConfigError, match=r"features of .* are 'words', not 'imagenet'"):
        Predictor.load(here / "texts", features="imagenet")
    with pytest.raises(ConfigError, match="as they are, not on features 'words'"):
        Predictor.load(here / "points", features="words")


def test_what_is_no_model_is_said_and_an_unfinished_run_has_its_newest_checkpoint(here: Path, tmp_path: Path) -> None:
    for wrong, error in ((tmp_path, "neither a run nor"), (tmp_path / "x", "is not there"), (__file__, "is a file")):
        with pytest.raises(StoreError, match=error):
            Predictor.load(wrong)
    copied = Path(shutil.copytree(here / "points", tmp_path / "copy"))
    (copied / MODEL_FILE).unlink()
    points = np.zeros((1, 2))
    unfinished = Predictor.load(copied)
    assert unfinished.note is not None
    assert "not finished: this is its model after iteration 1 of 1" in unfinished.note
    np.testing.assert_array_equal(unfinished.predict(points), Predictor.load(here / "points").predict(points))


OWN = """
import torch
from pathlib import Path
Path(__file__).with_name("it ran").touch()

def make():
    return lambda texts: torch.tensor([[len(text), text.count("e")] for text in texts], dtype=torch.float32)
"""


def test_features_of_ones_own_run_for_who_names_them_again(here: Path, tmp_path: Path) -> None:
    code = tmp_path / "own.py"
    code.write_text(OWN)
    run = on_texts(tmp_path / "run", tmp_path / "texts.csv", features=f"{code}:make")
    (tmp_path / "it ran").unlink()
    with pytest.raises(ConfigError, match=r"is not run because a folder names it.*--features"):
        Predictor.load(run)
    assert not (tmp_path / "it ran").exists()
    assert Predictor.load(run, features=f"{code}:make").predict(["great"]).shape == (1, 2)
    code.write_text(OWN + "\n# changed\n")
    with pytest.raises(ConfigError, match="install the same versions, or train again"):
        Predictor.load(run, features=f"{code}:make")
