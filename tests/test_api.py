"""The library's front door: settings, rules of one's own, and what comes back."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
import torch

import deepbass
from deepbass.core.acquire import ACQUIRE
from deepbass.core.admit import ADMIT
from deepbass.core.belief import Belief
from deepbass.core.config import OWN, RunSettings
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.labels import Answers, Ids, Labels
from deepbass.core.stop import History
from deepbass.store.names import MODEL_FILE, RUN_FILE

TINY: dict[str, Any] = {
    "pool": 60,
    "initial": 8,
    "iterations": 4,
    "ask_count": 3,
    "ask_every": 2,
    "passes_pool": 3,
    "passes_known": 3,
    "initial_epochs": 3,
    "device": "cpu",
}


def config_of(run: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((run / RUN_FILE).read_text())["config"]
    return config


def stop_at(iteration: int) -> deepbass.Watch:
    """Press Ctrl-C after an iteration."""

    def on_metrics(done: int, metrics: deepbass.Metrics) -> None:
        if done == iteration:
            raise KeyboardInterrupt

    return deepbass.Watch(on_metrics=on_metrics)


# settings


def test_a_configuration_can_be_passed_and_settings_go_above_it(tmp_path: Path) -> None:
    config = deepbass.Config(**{**TINY, "seed": 3, "acquire": "bald"})
    deepbass.run("toy", config=config, out=tmp_path / "one")
    assert config_of(tmp_path / "one") == config.as_dict()  # and nothing of the data's preset
    deepbass.run("toy", config=config, seed=4, admit="none", iterations=0, out=tmp_path / "two")
    assert config_of(tmp_path / "two") == {**config.as_dict(), "seed": 4, "admit": "none", "iterations": 0}


def test_a_configuration_and_a_preset_do_not_go_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="leave one out"):
        deepbass.run("toy", config=deepbass.Config(), preset="paper", out=tmp_path / "run")
    misspelt: Any = {"iteration": 3}
    with pytest.raises(ConfigError, match="Did you mean 'iterations'"):
        deepbass.run("toy", out=tmp_path / "run", **misspelt)
    assert not (tmp_path / "run").exists()


def test_the_signature_names_every_setting() -> None:
    named = set(inspect.signature(deepbass.run).parameters) | set(get_type_hints(RunSettings))
    assert set(deepbass.Config().as_dict()) <= named


# rules of one's own


def most_uncertain(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
    return askable[np.argsort(-belief.about(askable).entropy, kind="stable")][:count]


def all_of_them(belief: Belief, threshold: float, labels: Labels) -> Labels:
    return labels.guessed(belief.ids, belief.guess)


def enough(history: History) -> str | None:
    return "ten labels are enough" if history[-1]["known"] >= 10 else None


class Patient(deepbass.LocalLearner):
    """A learner that trains twice as long."""

    def train(self, labels: Labels, *, epochs: int, copies: int, seed: int) -> None:
        super().train(labels, epochs=2 * epochs, copies=copies, seed=seed)


def test_a_rule_of_ones_own_does_what_the_same_rule_does_by_name(tmp_path: Path) -> None:
    named = deepbass.run("toy", acquire="max-entropy", admit="all-data", out=tmp_path / "named", **TINY)
    own = deepbass.run("toy", acquire=most_uncertain, admit=all_of_them, out=tmp_path / "own", **TINY)
    told = deepbass.run(
        "toy", acquire=ACQUIRE["max-entropy"](0.9), admit=ADMIT["all-data"], out=tmp_path / "told", **TINY
    )
    assert own.labels == named.labels
    assert told.history == named.history  # also the passes: it says what it needs of them
    assert all(row["passes"] == 3 for row in own.history[1:])
    assert (tmp_path / "own" / MODEL_FILE).read_bytes() == (tmp_path / "named" / MODEL_FILE).read_bytes()


def test_a_stop_rule_of_ones_own_ends_the_run_and_the_report_says_so(tmp_path: Path) -> None:
    result = deepbass.run("toy", stop=enough, out=tmp_path / "run", **TINY)
    assert (result.ended, len(result.history)) == ("ten labels are enough", 2)
    page = deepbass.write_report(str(tmp_path / "run"))
    text = page.read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert "Finished after 1 iteration: ten labels are enough." in text
    assert "deepbass resume" not in text


def test_a_wrong_rule_is_said_with_what_it_returned_and_the_run_stands(tmp_path: Path) -> None:
    def twice(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        return np.repeat(askable[:1], 2)

    with pytest.raises(ConfigError, match=r"acquire = twice returned array\(\[\d+, \d+\]\), in which \d+ is more than"):
        deepbass.run("toy", acquire=twice, out=tmp_path / "run", **TINY)
    result = deepbass.resume(tmp_path / "run", acquire=most_uncertain)  # mended
    assert len(result.history) == 5


class Truth:
    """An oracle that answers 0, always."""

    def ask(self, ids: Ids) -> Answers:
        return Answers(ids, np.zeros_like(ids))


OWN_PARTS: dict[str, Callable[[], Any]] = {
    "acquire": lambda: most_uncertain,
    "admit": lambda: all_of_them,
    "stop": lambda: lambda history: None,
    "learner": lambda: Patient,
    "optimizer": lambda: lambda weights: torch.optim.SGD(weights, lr=0.01, momentum=0.9),
    "schedule": lambda: lambda optimizer: torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9),
    "loss": lambda: lambda logits, classes: torch.nn.functional.cross_entropy(logits, classes, label_smoothing=0.1),
    "oracle": Truth,
    "model": lambda: torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 2)),
}


@pytest.mark.parametrize("part", OWN_PARTS)
def test_what_was_passed_is_written_down_as_such_and_given_again_on_a_resume(tmp_path: Path, part: str) -> None:
    torch.manual_seed(0)
    given: Mapping[str, Any] = {part: OWN_PARTS[part]()}
    whole = deepbass.run("toy", out=tmp_path / "whole", **given, **TINY)
    with pytest.raises(KeyboardInterrupt):
        deepbass.run("toy", out=tmp_path / "part", watch=stop_at(2), **given, **TINY)
    defaults = deepbass.Config().as_dict()
    parts = {field: value for field, value in config_of(tmp_path / "part").items() if field in OWN_PARTS}
    assert parts == {**{field: defaults[field] for field in OWN_PARTS}, "admit": "step-wise", part: OWN}
    with pytest.raises(ConfigError, match=re.escape(f"deepbass.resume({str(tmp_path / 'part')!r}, {part}=...)")):
        deepbass.resume(tmp_path / "part")
    resumed = deepbass.resume(tmp_path / "part", **given)
    assert resumed.history == whole.history
    assert resumed.labels == whole.labels


@pytest.mark.parametrize("part", OWN_PARTS)
def test_a_run_goes_on_with_what_it_began_with(tmp_path: Path, part: str) -> None:
    deepbass.run("toy", out=tmp_path / "run", **{**TINY, "iterations": 0})
    given: Mapping[str, Any] = {part: OWN_PARTS[part]()}
    with pytest.raises(ConfigError, match=f"leave {part}=... out"):
        deepbass.resume(tmp_path / "run", **given)


@pytest.mark.parametrize("part", OWN_PARTS)
def test_nothing_is_passed_by_its_mark(tmp_path: Path, part: str) -> None:
    given: Mapping[str, Any] = {part: OWN}
    with pytest.raises(ConfigError, match=r"pass the \w+ itself"):
        deepbass.run("toy", out=tmp_path / "run", **given, **TINY)
    assert not (tmp_path / "run").exists()


# rows are rows


def spread_classes() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    return (rng.normal(size=(90, 3)) / 4 + np.eye(3)[y]).astype(np.float32), y


@pytest.mark.parametrize("kind", ["function", "array", "dict", "object", "names"])
def test_an_oracle_is_asked_about_rows_of_what_was_passed_in(tmp_path: Path, kind: str) -> None:
    X, y = spread_classes()
    known = np.where(np.arange(90) < 40, y, -1)
    asked: list[int] = []

    class Person:
        def ask(self, rows: Ids) -> Answers:
            asked.extend(rows.tolist())
            return Answers(rows, y[rows])

    def answer(rows: Ids) -> Any:
        return Person().ask(rows).classes

    who: dict[str, Any] = {
        "function": answer,
        "array": y,
        "dict": dict(enumerate(y.tolist())),
        "object": Person(),
        "names": lambda rows: [str(label) for label in answer(rows)],
    }
    tiny = {**TINY, "pool": None, "model": "mlp", "iterations": 2}
    result = deepbass.run(X, known, oracle=who[kind], out=tmp_path / "run", **tiny)
    labels = result.labels
    assert len(labels) == 90
    assert len(labels.known) > 8  # some were asked, and held-out rows are not among them
    np.testing.assert_array_equal(labels.answer[labels.known], y[labels.known])
    if asked:
        assert set(asked) <= set(labels.known.tolist())
    again = deepbass.resume(tmp_path / "run", X, known, oracle=who[kind])
    assert again.labels == labels


def test_rules_and_guesses_speak_of_rows_of_what_was_passed_in(tmp_path: Path) -> None:
    X, y = spread_classes()
    seen: list[int] = []

    def rule(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
        seen.extend(askable.tolist())
        return askable[-1:]

    result = deepbass.run(
        X, y, acquire=rule, admit="all-data", model="mlp", out=tmp_path / "run", **{**TINY, "pool": None}
    )
    held = np.flatnonzero((result.labels.answer == -1) & (result.labels.guess == -1))
    assert len(held) == 18
    assert not set(held.tolist()) & set(seen)
    assert max(seen) in result.labels.known
    right = result.labels.guess[result.labels.members] == y[result.labels.members]
    assert right.mean() == result.history[-1]["pseudo_accuracy"]


# what comes back


def test_the_model_that_comes_back_is_ready_to_predict(tmp_path: Path) -> None:
    result = deepbass.run("toy", out=tmp_path / "run", **TINY)
    points = torch.rand(50, 2)
    assert not any(module.training for module in result.model.modules())
    assert torch.equal(result.model(points), result.model(points))
    assert torch.equal(result.model(points), deepbass.load_model(str(tmp_path / "run"))(points))


def test_the_numbers_of_an_iteration_are_those_that_are_named(tmp_path: Path) -> None:
    result = deepbass.run("toy", out=tmp_path / "run", **TINY)
    assert all(set(row) == set(get_type_hints(deepbass.Metrics)) for row in result.history)


def test_arrays_need_labels() -> None:
    with pytest.raises(DataError, match="call run"):
        deepbass.run(np.zeros((4, 2)))


def test_every_public_name_is_there_and_explained() -> None:
    page = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text(encoding="utf-8")
    for name in deepbass.__all__:
        public = getattr(deepbass, name)
        if name != "__version__":
            assert inspect.getdoc(public), name
            assert f"`{name}`" in page or f"`deepbass.{name}`" in page, name
    assert dir(deepbass) == sorted(deepbass.__all__)


def test_initial_labels_may_be_rows_of_ones_own_choice(tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32), np.arange(40) % 2
    short: Any = {"iterations": 1, "initial_epochs": 1, "passes_pool": 2, "passes_known": 2, "acquire": "none"}
    first = deepbass.run(X, y, X_val=X, y_val=y, initial=[7, 12, 30], out=tmp_path / "rows", **short)
    np.testing.assert_array_equal(first.labels.known, [7, 12, 30])
    again = deepbass.resume(tmp_path / "rows", X, y, X_val=X, y_val=y)
    np.testing.assert_array_equal(again.labels.known, [7, 12, 30])
    listed = tmp_path / "initial.txt"
    listed.write_text("train/7\n12\n30\n")
    second = deepbass.run(X, y, X_val=X, y_val=y, initial_labels=str(listed), out=tmp_path / "file", **short)
    assert second.labels == first.labels
    with pytest.raises(DataError, match="rows or names"):
        deepbass.run(X, y, initial=[], out=tmp_path / "none", **short)
