"""Parts of the user's own: passed, in a file, or offered by a package that was installed."""

from __future__ import annotations

import json
import pickle
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import deepbass
from deepbass.cli import app
from deepbass.core.config import OWN
from deepbass.core.errors import ConfigError, DeepBassError
from deepbass.core.labels import Ids, Labels
from deepbass.core.samples import Samples
from deepbass.core.stop import History
from deepbass.store.names import RUN_FILE
from tests.runs.small_runs import everything, run_words

PAGE = Path(__file__).parents[1] / "docs" / "own-parts.md"
TINY: dict[str, Any] = {
    "pool": 60,
    "initial": 6,
    "iterations": 3,
    "ask_count": 3,
    "ask_every": 1,
    "passes_pool": 2,
    "passes_known": 2,
    "initial_epochs": 2,
    "device": "cpu",
}


def invoke(*words: object) -> tuple[int, str]:
    """Call the command in this process; return its exit code and all it said, in one line."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, " ".join(result.output.split())


def config_of(run: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((run / RUN_FILE).read_text())["config"]
    return config


def press_ctrl_c(iteration: int, metrics: deepbass.Metrics) -> None:
    if iteration == 2:
        raise KeyboardInterrupt


def install_the_example(folder: Path) -> None:
    """Put the package of the documentation where an installer would."""
    shown, (module,) = (
        re.findall(r"```ini\n(.*?)```", text := PAGE.read_text(encoding="utf-8"), flags=re.DOTALL),
        re.findall(r"```python\n(\"\"\"Ask evenly.*?)```", text, flags=re.DOTALL),
    )
    project = tomllib.loads(shown[0])["project"]
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in names.items())
        for group, names in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    (folder / "deepbass_evenly.py").write_text(module)


def test_a_policy_of_another_package_is_named_on_the_command_line_and_named_again_on_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_the_example(tmp_path / "site")
    out = tmp_path / "run"
    with monkeypatch.context() as there:
        there.syspath_prepend(str(tmp_path / "site"))
        code, said = invoke(*run_words("toy", out, **{**TINY, "acquire": "evenly"})[3:])
        assert code == 0, said
    del sys.modules["deepbass_evenly"]
    assert config_of(out)["acquire"] == "deepbass_evenly:evenly"
    before = everything(out)

    code, said = invoke("resume", out)
    assert (code, "is not run because a folder names it" in said) == (2, True)
    assert f"deepbass resume {out} --acquire deepbass_evenly:evenly" in said
    code, said = invoke("resume", out, "--acquire", "deepbass_evenly:evenly")  # which is not installed here
    assert (code, "cannot import 'deepbass_evenly'" in said, "Install the package" in said) == (2, True, True)
    code, said = invoke("resume", out, "--acquire", "evenly")
    assert (code, "Unknown acquire 'evenly'" in said) == (2, True)

    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert deepbass.resume(out, acquire="evenly").ended == "3 iterations done"
    assert everything(out) == before
    with pytest.raises(ConfigError, match=r"Did you mean 'evenly'\? Choose one of: .*, evenly, or name"):
        deepbass.Config(acquire="evenlie")
    twin = tmp_path / "site" / "twin-1.dist-info"
    twin.mkdir()
    (twin / "METADATA").write_text("Metadata-Version: 2.1\nName: twin\nVersion: 1\n")
    (twin / "entry_points.txt").write_text("[deepbass.acquire]\nevenly = elsewhere:evenly\n")
    with pytest.raises(ConfigError, match="is offered by two packages"):
        deepbass.Config(acquire="evenly")


RULES = """
from pathlib import Path

Path(__file__).with_name("it ran").touch()

def last(belief, askable, count, rng):
    return askable[-count:]

def first(samples, there, count, rng):
    return there[:count]

def enough(history):
    return "12 labels" if history[-1]["known"] >= 12 else None
"""


def test_parts_in_a_file_are_run_for_who_names_them_and_a_stopped_run_goes_on_to_the_same_end(tmp_path: Path) -> None:
    file = tmp_path / "rules.py"
    file.write_text(RULES)
    parts: dict[str, Any] = {"acquire": f"{file}:last", "stop": f"{file}:enough", "start": f"{file}:first"}
    whole = deepbass.run("toy", out=tmp_path / "whole", **parts, **{**TINY, "iterations": 9})
    assert (whole.ended, len(whole.history)) == ("12 labels", 3)
    assert whole.labels.known[:6].tolist() == sorted(whole.labels.known)[:6]
    with pytest.raises(KeyboardInterrupt):
        watch = deepbass.Watch(on_metrics=press_ctrl_c)
        deepbass.run("toy", out=tmp_path / "part", watch=watch, **parts, **{**TINY, "iterations": 9})
    (tmp_path / "it ran").unlink()
    again = ("--acquire", parts["acquire"], "--stop", parts["stop"])
    for words in ((), again[:2]):
        code, said = invoke("resume", tmp_path / "part", *words)
        assert (code, "is not run because a folder names it" in said) == (2, True)
    assert not (tmp_path / "it ran").exists()
    code, said = invoke("resume", tmp_path / "part", *again)  # which was over, and stays so
    assert code == 0, said
    assert everything(tmp_path / "part") == everything(tmp_path / "whole")
    assert deepbass.load(tmp_path / "part").predict(np.zeros((1, 2), dtype=np.float32))  # takes none of them


def first_ones(samples: Samples, there: Ids, count: int, rng: np.random.Generator) -> Ids:
    assert samples.read(there[:1]).shape == (1, *samples.shape)
    return there[:count]


def test_rules_of_ones_own_are_heeded_by_run_classifier_and_session(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 4)) + 3 * y[:, None]

    def enough(history: History) -> str | None:
        return "enough" if history[-1]["known"] >= 12 else None

    tiny = {**TINY, "pool": None, "model": "mlp"}
    ran = deepbass.run(X, y, start=first_ones, acquire="none", out=tmp_path / "run", **tiny)
    held_out = 60 - 48
    assert ran.labels.known.max() <= 6 + held_out  # the first of the rows that are not held out
    assert config_of(tmp_path / "run")["start"] == OWN
    settings = {"start": first_ones, "stop": enough, "ask_count": 8, "iterations": 5}
    model = deepbass.DeepBASSClassifier(oracle=y, classes=[0, 1], settings=settings, random_state=0).fit(X, [None] * 60)
    assert model.asked_[:8].tolist() == list(range(8))
    assert model.termination_condition_ == "enough"
    session = deepbass.Session(X, start=first_ones)
    assert session.ask(4).tolist() == [0, 1, 2, 3]
    session.save(tmp_path / "session")
    with pytest.raises(ConfigError, match=r"start of .* was passed in Python: give it again, as in open"):
        deepbass.Session.open(tmp_path / "session", X)
    assert deepbass.Session.open(tmp_path / "session", X, start=first_ones).ask(2).tolist() == [4, 5]


class Forgetful(deepbass.LocalLearner):
    """A learner that ruins its network."""

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        for weights in self.model.parameters():
            weights.data.fill_(torch.nan)


class Patient(deepbass.LocalLearner):
    """A learner that trains twice as long, and keeps count."""

    trainings = 0

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        super().train(labels, epochs=2 * epochs, copies=copies, seed=seed)
        self.trainings += 1


def descent(weights: list[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(weights, lr=0.05, momentum=0.9)


def test_who_predicts_needs_nothing_that_a_network_was_trained_by(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 4)) + 3 * y[:, None]
    settings = {"learner": Patient, "initial_epochs": 5, "passes_pool": 2, "passes_known": 2, "device": "cpu"}
    model = deepbass.DeepBASSClassifier(
        model="mlp", optimizer=descent, loss=nn.functional.cross_entropy, iterations=1, settings=settings
    ).fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(deepbass.load(tmp_path / "model").predict_proba(X), expected, atol=1e-6)


def no_learner(*_: object) -> int:
    return 3


@pytest.mark.parametrize(
    ("learner", "says"),
    [
        (Forgetful, r"NaN or infinite logits.*trained with learner = \(passed in Python\): look there first"),
        (no_learner, "learner = no_learner returned 3, which is no deepbass.LocalLearner"),
    ],
)
def test_a_learner_that_does_wrong_is_named(learner: Callable[..., Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(DeepBassError, match=says):
        deepbass.run("toy", learner=learner, out=tmp_path / "run", **TINY)


def test_the_page_takes_no_code_but_a_model_and_features() -> None:
    from deepbass.label.project import Settings
    from deepbass.trainer.trainer import labelling_config

    with pytest.raises(ConfigError, match=r"learner = 'own:Mine': the page takes a model and features"):
        labelling_config(Settings(config={"learner": "own:Mine"}), 10)
