"""A project's samples as features: the first that are ready are learned from, and the others as they come."""

from __future__ import annotations

import csv
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.core.errors import ConfigError
from deepbass.data.raw_rows import Texts
from deepbass.features.saved_extractor import unpack_extractor
from deepbass.label.items import open_items
from deepbass.label.journal import Journal
from deepbass.label.project import Project, Settings
from deepbass.label.ranking import Ranking
from deepbass.store.names import FEATURES_FILE, RANKING_FILE
from deepbass.store.rundir import RunDir
from deepbass.trainer import supply
from deepbass.trainer.status_writer import StatusWriter
from deepbass.trainer.trainer import Trainer

SLOW = """
import time

def features():
    def compute(texts):
        time.sleep(0.02 * len(texts))
        return [[float("shiny" in text), float("dull" in text), len(text) / 50] for text in texts]
    return compute
"""


def message(number: int) -> str:
    """Write a message that is easily told apart from those of the other class."""
    return f"{('a shiny apple', 'the dull stone')[number % 2]} number {number}, seen on day {number % 7}"


class Enough(Exception):  # noqa: N818
    """The trainer has done what was wanted."""


@contextmanager
def texts(folder: Path, count: int = 60, labelled: int = 12, **config: Any) -> Iterator[Project]:
    """Make a project of messages, some of which have labels."""
    source = folder / "messages.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["body", "kind"])
        table.writerows([message(n), ("good", "bad")[n % 2] if n < labelled else ""] for n in range(count))
    settings = Settings(config={"text": "body", "target": "kind", "device": "cpu", **config}, audit=0.0)
    items = open_items(str(source), None, settings.columns)
    yield Project.create(folder / "project", str(source), (), settings, items=items)


def train(project: Project, until: Callable[[dict[str, Any]], bool], named: str | None = None) -> list[dict[str, Any]]:
    """Let a trainer work in this process until it has said something."""
    said: list[dict[str, Any]] = []

    def say(what: dict[str, Any]) -> None:
        said.append(what)
        if until(what):
            raise Enough

    with closing(Journal.open(project.labels_db, mode="ro")) as journal, suppress(Enough):
        Trainer(project, journal, StatusWriter(say), named_features=named).go()
    return said


def newest(project: Project) -> tuple[RunDir, Ranking]:
    with RunDir.open(max(project.models.glob("[0-9]*")), lock=False) as run:
        checkpoint, _ = run.checkpoints.newest([row.iteration for row in run.events.steps()])
        return run, Ranking.unpack(checkpoint.files[RANKING_FILE])


def test_texts_are_learned_from_and_what_computed_their_features_is_kept(tmp_path: Path) -> None:
    with texts(tmp_path, features="words") as project:
        said = train(project, lambda what: what.get("committed") == 1)
        run, ranking = newest(project)
        assert run.about["data"]["features"] == "words"
        assert any("Features: words" in what.get("note", "") for what in said)
        guesses = ranking.guess[12:]  # those that are not known
        right = np.array([number % 2 for number in range(12, 60)])
        names = run.about["data"]["classes"]
        assert (np.array([names[class_] for class_ in guesses]) == np.array(["good", "bad"])[right]).mean() > 0.9
        kept = unpack_extractor((run.path / FEATURES_FILE).read_bytes(), "here")
        assert kept.compute([message(0)]).shape == (1, kept.width)


def test_a_model_begins_with_what_is_ready_and_gives_way_to_one_that_has_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPBASS_FEATURE_CACHE", "1")
    monkeypatch.setenv("DEEPBASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(supply, "FIRST", 10)
    monkeypatch.setattr(supply, "_CHUNK", 8)
    own = tmp_path / "own.py"
    own.write_text(SLOW)
    with texts(tmp_path, count=120, features=f"{own}:features") as project:
        sizes: list[int] = []

        def all_there(what: dict[str, Any]) -> bool:
            if "committed" in what:
                sizes.append(newest(project)[0].about["data"]["samples"])
            return bool(sizes) and sizes[-1] == 120

        said = train(project, all_there, named=f"{own}:features")
        assert sizes[0] < 120
        assert sizes == sorted(sizes)
        assert {what["share"] for what in said if "background" in what} >= {1.0}
        assert not any("samples are not those" in what.get("note", "") for what in said)


def test_where_nothing_is_kept_on_disk_a_model_begins_when_all_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "FIRST", 10)  # which are ready long before the others
    monkeypatch.setattr(supply, "_CHUNK", 8)
    own = tmp_path / "own.py"
    own.write_text(SLOW)
    with texts(tmp_path, features=f"{own}:features") as project:
        train(project, lambda what: "committed" in what, named=f"{own}:features")
        assert newest(project)[0].about["data"]["samples"] == 60


def test_every_sample_is_computed_once_and_what_is_wanted_comes_first() -> None:
    computing = object.__new__(supply.FeatureSupply)  # without its thread
    names = [f"train/{number}" for number in range(100)]
    computing._samples = supply.ItemSamples(Texts(names), names)
    computing._order, computing._wanted = np.random.default_rng(0).permutation(100), []
    computing._news = threading.Condition()
    chunks = computing._chunks(8)
    done = next(chunks)
    assert done == computing._order[:8].tolist()
    computing._wanted = [*done, 71, 72]
    following = next(chunks)
    assert following[:2] == [71, 72]
    assert sorted([*done, *following, *(row for chunk in chunks for row in chunk)]) == list(range(100))


def test_features_of_ones_own_are_not_run_because_a_project_names_them(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text("raise SystemExit('this was run')")
    with texts(tmp_path, features=f"{own}:features") as project, pytest.raises(ConfigError, match="name it again"):
        train(project, lambda what: "committed" in what)


def test_what_goes_on_in_the_background_is_said_once_per_cent_and_at_its_end() -> None:
    said: list[dict[str, Any]] = []
    status = StatusWriter(said.append)
    for done in range(1001):
        status.background("computing features", done / 1000)
    shares = [what["share"] for what in said]
    assert shares == sorted(shares)
    assert len(shares) == 101
    assert shares[-1] == 1
