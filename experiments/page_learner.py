"""The labelling page's learner on small pictures: the network with a teacher beside the paper's network.

    python experiments/page_learner.py [LEARNER ...] [--seeds N] [--table]     LEARNER: paper, teacher

A project on 2,000 digits of MNIST's training part, a simulated person who begins with three of every digit and then
answers what is ranked first, an answer every 0.75 seconds of the processor time that the trainer takes; the model is
judged by 2,000 further digits of the training part when it knows 50, 100 and 200 answers. Written to
results/page-learner.json, a run at a time: what is there already is not computed again.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.quality import Quality
from deepbass.data.load import load
from deepbass.label.acts import NewAct
from deepbass.label.journal import Journal
from deepbass.label.project import Project, Settings
from deepbass.label.ranking import Ranking
from deepbass.runs.predictor import Predictor
from deepbass.store.names import RANKING_FILE
from deepbass.store.rundir import RunDir
from deepbass.trainer.status_writer import StatusWriter
from deepbass.trainer.trainer import Trainer
from fill_in import fill_in

RESULTS = Path(__file__).parent.parent / "results" / "page-learner.json"
LEARNERS: dict[str, dict[str, Any]] = {"paper": {"model": "cnn"}, "teacher": {"model": "small-cnn"}}
POOL, JUDGED_BY, AT = 2_000, 2_000, (50, 100, 200)
SECONDS = 0.75  # that an answer takes
FIRST = 3  # of every class


class Enough(Exception):  # noqa: N818 (nothing is wrong)
    """Ends the trainer."""


class Person:
    """Answers what the model asks first, and judges it at some numbers of answers."""

    def __init__(
        self, project: Project, journal: Journal, truth: NDArray[Any], X: NDArray[Any], y: NDArray[Any]
    ) -> None:
        self.project, self.journal, self.truth, self.X, self.y = project, journal, truth, X, y
        reserve = set(project.audit_reserve().tolist())
        self.free = [item for item in range(len(truth)) if item not in reserve]
        self.given: set[int] = set()
        self.found: dict[str, Any] = {"at": {}, "seconds": []}
        self.began = self.last = time.process_time()
        self.due = 0.0

    def label(self, items: list[int]) -> None:
        """Give the right label to items."""
        acts = [NewAct(str(uuid4()), item, "label", "ann", "rank", class_=int(self.truth[item])) for item in items]
        self.journal.write(acts)
        self.given.update(items)

    def begin(self) -> None:
        """Label some of every class."""
        for class_ in range(10):
            self.label([item for item in self.free if self.truth[item] == class_][:FIRST])

    def hear(self, what: dict[str, Any]) -> None:
        """Answer when a model is committed, as much as there was time for since the last."""
        if "committed" not in what:
            return
        now = time.process_time()
        if "first_model" not in self.found:
            self.found["first_model"] = round(now - self.began, 2)
        else:
            self.found["seconds"].append(round(now - self.last, 3))
        self.judge(what["known"])
        if len(self.found["at"]) == len(AT):
            raise Enough
        self.due += (now - self.last) / SECONDS
        count = min(int(self.due), AT[-1] + 10 * FIRST - len(self.given))
        self.due -= int(self.due)
        if count > 0:
            scores = self.ranking().score
            order = [int(item) for item in np.argsort(-scores, kind="stable") if np.isfinite(scores[item])]
            self.label([item for item in order if item not in self.given][:count])
        self.last = time.process_time()

    def judge(self, known: int) -> None:
        """Judge the model when it knows so many answers for the first time."""
        for answers in AT:
            if known - 10 * FIRST >= answers and str(answers) not in self.found["at"]:
                quality = Quality.of(Predictor.load(self.project.path).predict(self.X), self.y)
                self.found["at"][str(answers)] = {"accuracy": quality.accuracy, "ece": quality.ece, "known": known}

    def ranking(self) -> Ranking:
        """Read the newest ranking."""
        with RunDir.open(max(self.project.models.glob("[0-9]*")), lock=False) as run_dir:
            steps = [row.iteration for row in run_dir.events.steps()]
            return Ranking.unpack(run_dir.checkpoints.load(max(steps)).files[RANKING_FILE])


def measured(learner: str, seed: int, files: Path | None) -> dict[str, Any]:
    """Let a person label with a learner beside."""
    data = load("mnist", Config(features="pixels"), folder=files)
    rows = np.random.default_rng(seed).permutation(len(data.truth))[: POOL + JUDGED_BY]
    pictures, truth = np.round(data.pool.read(rows) * 256).astype(np.uint8), data.truth[rows]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "digits.npy"
        np.save(source, pictures[:POOL])
        settings = Settings(config={**LEARNERS[learner], "features": "pixels", "device": "cpu"}, seed=seed)
        project = Project.create(Path(folder) / "project", str(source), tuple("0123456789"), settings)
        with closing(Journal.open(project.labels_db, mode="rw")) as journal:
            person = Person(project, journal, truth[:POOL], pictures[POOL:], truth[POOL:])
            person.begin()
            with closing(Journal.open(project.labels_db, mode="ro")) as reading, suppress(Enough):
                Trainer(project, reading, StatusWriter(person.hear)).go()
    seconds = person.found.pop("seconds")
    return {**person.found, "median_iteration": float(np.median(seconds))}


def table(found: dict[str, Any]) -> str:
    """Lay out the means over seeds."""
    lines = [
        f"| learner | first model | an iteration | {' | '.join(f'{at} answers' for at in AT)} | seeds |",
        "|---|---:|---:|" + "---:|" * (len(AT) + 1),
    ]
    for learner, runs in found.items():
        waits = [f"{np.mean([run[key] for run in runs.values()]):.1f} s" for key in ("first_model", "median_iteration")]
        means = [f"{100 * np.mean([run['at'][str(at)]['accuracy'] for run in runs.values()]):.1f}" for at in AT]
        lines.append(f"| {learner} | {' | '.join([*waits, *means])} | {len(runs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, list(LEARNERS), 1, measured, table)
