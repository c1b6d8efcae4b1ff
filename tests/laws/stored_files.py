"""The kinds of files that deepbass keeps and takes in, whole and small, for tests that damage them."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepbass
from deepbass.api import load_model
from deepbass.bench.results import Results
from deepbass.cli.set_option import from_words
from deepbass.cluster.crew_log import CrewLog, WorkDone
from deepbass.compare.compare_page import write_comparison
from deepbass.compare.standing import read_outcome
from deepbass.core.config import Config
from deepbass.data.load import load
from deepbass.exchange.imports import import_labels
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.label.trained_models import newest_model
from deepbass.paper.results_page import write_matrix_report
from deepbass.report import write_report
from deepbass.report.facts import read_facts
from deepbass.runs.configure import configure, from_toml
from deepbass.runs.lifecycle import Run
from deepbass.runs.predictor import Predictor
from deepbass.session import Session
from deepbass.store.checkpoints import Checkpoints
from deepbass.store.names import (
    CHECKPOINT_FILE,
    CHECKPOINTS_FOLDER,
    FIELD_FILE,
    LABELS_FILE,
    LEARNER_FILE,
    MATRIX_FILE,
    MODEL_FILE,
    MODELS_FOLDER,
    PROJECT_DB_FILE,
    PROJECT_FILE,
    QUALITY_FILE,
    RANKING_FILE,
    RUN_DB_FILE,
    RUN_FILE,
    RUN_LOCK_FILE,
    SESSION_FILE,
    WORKERS_FILE,
)
from deepbass.store.rundir import RunDir
from tests.compare.made_up import comparison
from tests.compare.made_up import write as write_comparison_results
from tests.label.projects import begin_model, commit, make_images, make_project, make_ranking, say
from tests.laws.data_files import Kind, in_all_ways
from tests.laws.mutate import BINARY, JSON, TEXT, Mutate
from tests.paper.made_up import matrix

SETTINGS: dict[str, Any] = {
    "iterations": 3,
    "initial": 4,
    "initial_epochs": 2,
    "passes_pool": 2,
    "passes_known": 2,
    "ask_count": 2,
    "ask_every": 1,
    "device": "cpu",
}
NEWEST = f"{CHECKPOINTS_FOLDER}/{SETTINGS['iterations']:06}"  # in a run
RANKED = f"{MODELS_FOLDER}/0001/{CHECKPOINTS_FOLDER}/000000/{RANKING_FILE}"  # in a project
REPORTS = 20  # a report takes a second to draw, so one mutant of so many gets one


def make_finished(path: Path) -> Path:
    """Make a small run on points in the plane, which has all files that a run can have."""
    deepbass.run("toy", out=path, **SETTINGS)
    with RunDir.open(path) as run:
        picture = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        run.events.describe_many((sample, f"sample {sample}", picture) for sample in range(2000, 2003))
    log = CrewLog(handed_out=60_000, lost=1)
    log.note("machine 17", "blocks", WorkDone(4, 1024, 0.5, 0.01, 8192, 1_000_000))
    (path / WORKERS_FILE).write_text(json.dumps(log.figures()), encoding="utf-8")
    return path


class Reader:
    """Does with a run whatever can be done with it; a report now and then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = load("toy", Config.of(SETTINGS))
        self._count = count()

    def __call__(self) -> None:
        """Read the run in all ways, each of which may be refused."""
        try:
            in_all_ways(self.rows, self.facts, self.model, self.predictor, self.resumed, self.report)
        finally:
            for left in (*self._path.glob(f"{RUN_DB_FILE}-*"), *self._path.glob(f"{RUN_LOCK_FILE}*")):
                left.unlink()

    def rows(self) -> None:
        with RunDir.open(self._path, lock=False) as run:
            run.events.steps(), run.events.answers(), run.events.questions()
            run.events.labels_now(), run.events.descriptions()
            run.checkpoints.newest()

    def facts(self) -> None:
        read_facts(self._path)

    def model(self) -> None:
        load_model(self._path)

    def predictor(self) -> None:
        Predictor.load(self._path).predict(np.zeros((2, 2)))

    def resumed(self) -> None:
        about = self._path / RUN_DB_FILE
        before = about.read_bytes()
        try:
            with RunDir.open(self._path) as run:
                Run.resume(run, self._data)
        finally:  # a resume adds a row
            about.write_bytes(before)

    def report(self) -> None:
        if next(self._count) % REPORTS == 0:
            write_report(self._path)


def of_run(folder: Path, finished: Path, name: str, mutators: tuple[Mutate, ...] = BINARY) -> Kind:
    shutil.copytree(finished, folder, dirs_exist_ok=True)
    return Kind([(folder / name).read_bytes()], folder / name, Reader(folder), mutators)


def in_database(folder: Path, finished: Path, select: str, update: str, mutators: tuple[Mutate, ...]) -> Kind:
    """Damage a value in a database that is whole."""
    kind = of_run(folder, finished, RUN_DB_FILE)
    with closing(sqlite3.connect(kind.path)) as db:
        ((value,),) = db.execute(select).fetchall()
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()

    def pack(content: bytes) -> bytes:
        value = content if mutators == BINARY else content.decode("utf-8", "replace").replace("\0", "")
        place = folder / "packed.db"
        place.write_bytes(kind.whole[0])
        with closing(sqlite3.connect(place)) as db, db:
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            db.execute(update, (value,))
            for _, sql in triggers:
                db.execute(sql)
        return place.read_bytes()

    whole = value if isinstance(value, bytes) else value.encode()
    return Kind([whole], kind.path, kind.read, mutators, pack, outside=False)


def in_checkpoint(folder: Path, finished: Path, name: str) -> Kind:
    """Damage a file of a checkpoint and seal it again, as nobody does by mistake."""
    newest = folder / NEWEST
    kind = of_run(folder, finished, f"{NEWEST}/{name}")

    def pack(content: bytes) -> bytes:
        reseal(newest, name, content)
        return content

    return Kind(kind.whole, kind.path, kind.read, BINARY, pack, outside=False)


def reseal(place: Path, name: str, content: bytes) -> None:
    manifest = json.loads((place / CHECKPOINT_FILE).read_bytes())
    manifest["files"][name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (place / CHECKPOINT_FILE).write_bytes(sealed(manifest))


def sealed(manifest: dict[str, Any]) -> bytes:
    manifest.pop("sha256", None)
    digest = hashlib.sha256(json.dumps(manifest, allow_nan=False).encode()).hexdigest()
    return json.dumps({**manifest, "sha256": digest}, indent=1, allow_nan=False).encode()


def manifest(folder: Path, finished: Path) -> Kind:
    """Damage what a checkpoint says of itself, mostly so that its seal is right."""
    kind = of_run(folder, finished, f"{NEWEST}/{CHECKPOINT_FILE}", JSON)

    def pack(content: bytes) -> bytes:
        try:
            return sealed(json.loads(content))
        except (ValueError, TypeError, AttributeError, RecursionError):
            return content

    load = partial(Checkpoints((folder / NEWEST).parent).load, SETTINGS["iterations"])
    return Kind(kind.whole, kind.path, partial(in_all_ways, load, kind.read), JSON, pack)


def field(folder: Path, finished: Path) -> Kind:
    kind = of_run(folder, finished, FIELD_FILE)
    with np.load(io.BytesIO(kind.whole[0])) as arrays:
        held = dict(arrays)
    fewer = io.BytesIO()
    np.savez(fewer, **{**held, "probs": held["probs"][:4, :4], "xs": held["xs"][:4], "ys": held["ys"][:4]})
    return Kind([*kind.whole, fewer.getvalue()], kind.path, kind.read)


def project(folder: Path, name: str, mutators: tuple[Mutate, ...]) -> Kind:
    """Damage a file of a labelling project."""
    images = make_images(folder / "images", [f"{number}.png" for number in range(12)])
    made = make_project(folder / "project", images, audit=0.1)
    with Journal.open(made.labels_db) as journal:
        journal.write([say(item, item % 2) for item in range(8)])
        journal.set_person("ann", "scrypt$1$1$1$AA==$AA==")
        journal.hand_out(9, "ann", "rank", 1e12)
    with begin_model(made, notes=[], fingerprint="x") as run:
        commit(run, 0, make_ranking([0, 1] * 6))
    path = made.path / name

    def look() -> None:
        opened = Project.open(made.path)
        with Journal.open(opened.labels_db, "ro") as journal:
            journal.items(), journal.classes(), journal.people(), journal.leases()
            opened.ledger(journal)

    def read() -> None:
        try:
            in_all_ways(look, partial(newest_model, made))
        finally:
            for left in made.path.rglob("*.db-*"):
                left.unlink()

    if name != RANKED:
        return Kind([path.read_bytes()], path, read, mutators)

    def pack(content: bytes) -> bytes:
        reseal(path.parent, path.name, content)
        return content

    return Kind([path.read_bytes()], path, read, mutators, pack, outside=False)


def results(folder: Path, name: str) -> Kind:
    """Damage a file of a matrix of results."""
    made = Results.make(folder / "results")
    for record in matrix(1, names=["initial", "semi-supervised", "active", "active-semi-supervised"]):
        made.write(record)
    path = next(made.folder.rglob(name))
    reports = count()

    def read() -> None:
        Results.open(made.folder).records()
        if next(reports) % REPORTS == 0:
            write_matrix_report(made.folder)

    return Kind([path.read_bytes()], path, read, JSON)


def comparison_plan(folder: Path) -> Kind:
    """Damage what a comparison says that it is about."""
    plan = comparison()
    whole = write_comparison_results(folder / "comparison", plan, lambda method, labels, run: 0.5 + 0.1 * run)
    reports = count()

    def read() -> None:
        outcome = read_outcome(Results.open(whole))
        if next(reports) % REPORTS == 0:
            write_comparison(whole, outcome)

    path = whole / MATRIX_FILE
    return Kind([path.read_bytes()], path, read, JSON)


def settings(folder: Path) -> Kind:
    path = folder / "run.toml"
    whole = (
        b'data = "toy"\npreset = "paper"\niterations = 5\nlearning_rate = 1e-3\nvalidation = "20%"\nmodel = "a.py:f"\n'
    )

    def read() -> None:
        filed = from_toml(path)
        source, preset = filed.pop("data", "toy"), filed.pop("preset", "paper")
        configure(str(source), preset, filed)

    return Kind([whole], path, read, TEXT)


def words(folder: Path) -> Kind:
    path = folder / "word"

    def read() -> None:
        configure("toy", "paper", from_words([path.read_bytes().decode("utf-8", "surrogateescape")]))

    return Kind([b"learning_rate=0.0005", b"seed = 12", b"colour=grey", b'admit="step-wise"'], path, read, TEXT)


def labels(folder: Path, suffix: str, whole: bytes) -> Kind:
    """Damage a file of labels from elsewhere."""
    made = make_project(folder / "project", make_images(folder / "images", [f"{number}.png" for number in range(3)]))
    path = folder / f"labels{suffix}"
    options = {"add_classes": True, "skip_unknown": True}
    return Kind([whole], path, partial(import_labels, made, path, "ben", **options), TEXT if suffix == ".csv" else JSON)


TABLE = "path,label,annotator\n0.png,cat,ann\n1.png,dög,\n2.png,cat,\n".encode()
LINES = (
    b'{"path": "0.png", "label": "cat", "annotator": "ann"}\n{"path": "1.png", "label": "dog", "source": "person"}\n'
)
CHOICE = {"type": "choices", "from_name": "label", "to_name": "image", "value": {"choices": ["cat"]}}
TASKS = [
    {
        "data": {"image": f"/data/local-files/?d=images/{number}.png"},
        "annotations": [{"completed_by": {"email": "a@b"}, "updated_at": "2024", "result": [CHOICE]}],
        "predictions": [],
    }
    for number in range(3)
]

Request = pytest.FixtureRequest


def session(folder: Path, name: str, mutators: tuple[Mutate, ...]) -> Kind:
    X = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32) + np.arange(24)[:, None] % 2
    Session(X, y=["a", "b"] * 6 + [""] * 12).save(folder / "session")

    def read() -> None:
        opened = Session.open(folder / "session", X)
        opened.predict(), opened.ask(2)

    return Kind([(folder / "session" / name).read_bytes()], folder / "session" / name, read, mutators)


def after(make: Callable[..., Kind], *arguments: Any) -> Callable[[Path, Request], Kind]:
    """Make a kind of file out of the finished run, which is made once."""
    return lambda folder, request: make(folder, request.getfixturevalue("finished"), *arguments)


STORED_FILES: dict[str, Callable[[Path, Request], Kind]] = {
    RUN_FILE: after(of_run, RUN_FILE, JSON),
    RUN_DB_FILE: after(of_run, RUN_DB_FILE),
    "metrics": after(in_database, "SELECT metrics FROM steps LIMIT 1", "UPDATE steps SET metrics = ?", JSON),
    "seconds": after(in_database, "SELECT seconds FROM steps LIMIT 1", "UPDATE steps SET seconds = ?", JSON),
    "picture": after(
        in_database,
        "SELECT picture FROM samples WHERE picture IS NOT NULL LIMIT 1",
        "UPDATE samples SET picture = ?",
        BINARY,
    ),
    MODEL_FILE: after(of_run, MODEL_FILE),
    LEARNER_FILE: after(in_checkpoint, LEARNER_FILE),
    LABELS_FILE: after(in_checkpoint, LABELS_FILE),
    CHECKPOINT_FILE: after(manifest),
    FIELD_FILE: after(field),
    QUALITY_FILE: after(of_run, QUALITY_FILE, JSON),
    WORKERS_FILE: after(of_run, WORKERS_FILE, JSON),
    SESSION_FILE: lambda folder, _: session(folder, SESSION_FILE, JSON),
    "session labels": lambda folder, _: session(folder, LABELS_FILE, BINARY),
    "session learner": lambda folder, _: session(folder, LEARNER_FILE, BINARY),
    PROJECT_FILE: lambda folder, _: project(folder, PROJECT_FILE, JSON),
    PROJECT_DB_FILE: lambda folder, _: project(folder, PROJECT_DB_FILE, BINARY),
    RANKING_FILE: lambda folder, _: project(folder, RANKED, BINARY),
    MATRIX_FILE: lambda folder, _: results(folder, MATRIX_FILE),
    "cell": lambda folder, _: results(folder, "semi-supervised.00.json"),
    "comparison": lambda folder, _: comparison_plan(folder),
    "toml": lambda folder, _: settings(folder),
    "--set": lambda folder, _: words(folder),
    "labels csv": lambda folder, _: labels(folder, ".csv", TABLE),
    "labels jsonl": lambda folder, _: labels(folder, ".jsonl", LINES),
    "labels json": lambda folder, _: labels(folder, ".json", json.dumps(TASKS).encode()),
}
