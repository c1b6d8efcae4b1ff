"""What a report needs to know of a run, read once from its directory as plain values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.checked_json import check, read_json
from deepbass.core.errors import StoreError
from deepbass.core.foreign import decoding
from deepbass.core.labels import UNKNOWN
from deepbass.core.npy import read_arrays
from deepbass.core.quality import Quality
from deepbass.store.events import Events
from deepbass.store.names import FIELD_FILE, MODEL_FILE, QUALITY_FILE, WORKERS_FILE
from deepbass.store.rundir import RunDir

LARGEST = 1e15
_TALLY = {
    **dict.fromkeys(("messages", "samples", "sent", "received"), int),
    **dict.fromkeys(("seconds", "waited"), float),
}
_WORK = {"workers": {"*": {"*": _TALLY}}, "slow": {"*": float}, "lost": int, "handed_out": int}  # see CrewLog


@dataclass(frozen=True)
class AskedSample:
    """One sample that the network asked for, and what has been said about it."""

    order: int  # 1 is the first question of the run
    sample: int
    iteration: int
    name: str
    picture: NDArray[np.uint8] | None
    answer: int | None  # None: still waiting


@dataclass(frozen=True)
class Iteration:
    """The numbers of one finished iteration; 0 is the initial model."""

    number: int
    metrics: Mapping[str, Any]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Field:
    """What the network says of every place in the plane, and the points it learned from."""

    xs: NDArray[np.float64]
    ys: NDArray[np.float64]
    probs: NDArray[np.float64]  # [iy, ix, class]
    points: NDArray[np.float64]
    truth: NDArray[np.int64]
    known: NDArray[np.int64]
    initial: NDArray[np.int64]

    def __post_init__(self) -> None:
        places, classes = (len(self.ys), len(self.xs)), self.probs.shape[2:]
        if min(places) < 2 or self.probs.shape != (*places, *classes) or len(classes) != 1 or classes[0] < 2:
            raise ValueError(f"probabilities of shape {self.probs.shape} on a grid of {places}")
        if self.points.shape != (len(self.truth), 2):
            raise ValueError(f"points of shape {self.points.shape} with {len(self.truth)} classes")
        for numbers in (self.xs, self.ys, self.probs, self.points):
            if numbers.dtype.kind != "f" or not np.isfinite(numbers).all():
                raise ValueError("what should be a number is none")
        if not (self.xs[0] < self.xs[-1] and self.ys[0] < self.ys[-1]):
            raise ValueError("a grid without extent")
        for ids in (self.known, self.initial):
            if ids.dtype.kind != "i" or ids.ndim != 1 or not ((ids >= 0) & (ids < len(self.points))).all():
                raise ValueError("a point that is not there")


@dataclass(frozen=True)
class Facts:
    """Everything that a report says, and nothing about how it says it."""

    path: Path
    config: Mapping[str, Any]
    data: Mapping[str, Any]
    versions: Mapping[str, Any]
    created_at: str
    iterations: Sequence[Iteration]
    initial: Sequence[int]  # the class of every label known at the start
    questions: Sequence[AskedSample]
    field: Field | None
    quality: Quality | None = None  # of the final model on the validation part
    worth: Sequence[str] = ()  # of the final model beside plain learning, in words
    ended: bool = False  # whether the run has its final model: a rule may end it early
    why_ended: str | None = None
    work: Mapping[str, Any] | None = None  # of the workers of a cluster, if it was computed by some

    @property
    def classes(self) -> list[str]:
        """Names of the classes, in their order."""
        return [str(name) for name in self.data.get("classes", [])]

    @property
    def planned(self) -> int | None:
        """How many iterations the run is to have."""
        return self.config.get("iterations")

    @property
    def done(self) -> int | None:
        """The last finished iteration, or None before the initial model."""
        return self.iterations[-1].number if self.iterations else None

    @property
    def asking(self) -> list[int]:
        """The iterations that asked for labels."""
        return sorted({question.iteration for question in self.questions})

    @property
    def waiting(self) -> int:
        """How many questions have no answer yet."""
        return sum(question.answer is None for question in self.questions)

    def class_name(self, class_: int) -> str:
        """Name a class, also one that the run does not list."""
        return self.classes[class_] if class_ < len(self.classes) else f"class {class_}"

    def series(self, metric: str) -> tuple[list[int], list[float]]:
        """List iterations and values of a metric, without the gaps."""
        pairs = [(it.number, value) for it in self.iterations if (value := number(it.metrics.get(metric))) is not None]
        return [x for x, _ in pairs], [y for _, y in pairs]

    def first(self, metric: str) -> float | None:
        """Look a metric up in the initial model."""
        return number(self.iterations[0].metrics.get(metric)) if self.iterations else None

    def last(self, metric: str) -> float | None:
        """Look a metric up in the newest iteration."""
        return number(self.iterations[-1].metrics.get(metric)) if self.iterations else None

    def seconds(self) -> dict[str, float]:
        """Add up the time by part over all iterations, the longest first."""
        total: dict[str, float] = {}
        for iteration in self.iterations:
            for part, value in iteration.seconds.items():
                total[part] = total.get(part, 0.0) + (number(value) or 0.0)
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    def class_counts(self) -> tuple[Counter[int], Counter[int]]:
        """Count the initial labels and the answered questions by class."""
        # by sample: a question put twice is still one label
        answers = {question.sample: question.answer for question in self.questions if question.answer is not None}
        return Counter(self.initial), Counter(answers.values())


def number(value: object) -> float | None:
    """Take a metric as a number; None where it was not measured, or is more than anything is counted to."""
    return value if isinstance(value, int | float) and abs(value) < LARGEST else None


def read_facts(path: Path) -> Facts:
    """Read a run directory; it may still be growing."""
    with RunDir.open(path, lock=False) as run:
        about, events = run.about, run.events
        return Facts(
            path=path,
            config=about["config"],
            data=about["data"],
            versions=about["versions"],
            created_at=about["created_at"],
            iterations=[Iteration(step.iteration, step.metrics, step.seconds) for step in events.steps()],
            initial=[
                answer.class_ for answer in events.answers() if answer.iteration == 0 and answer.class_ != UNKNOWN
            ],
            questions=_read_questions(events),
            ended=(path / MODEL_FILE).exists(),
            why_ended=_read_why_ended(path / QUALITY_FILE),
            field=read_field(path / FIELD_FILE),
            quality=_read_quality(path / QUALITY_FILE, len(about["data"].get("classes", []))),
            worth=_read_worth(path / QUALITY_FILE),
            work=_read_work(path / WORKERS_FILE),
        )


def _read_questions(events: Events) -> list[AskedSample]:
    descriptions, labels = events.descriptions(), events.labels_now()
    questions = []
    for order, row in enumerate(events.questions(), start=1):
        name, picture = descriptions.get(row.sample, ("", None))
        answer = labels.get(row.sample)
        questions.append(AskedSample(order, row.sample, row.iteration, name or f"sample {row.sample}", picture, answer))
    return questions


def _read_quality(path: Path, classes: int) -> Quality | None:
    """Read what the final model took for what; None for a run that is not at its end, or of an earlier version."""
    if not path.exists():
        return None
    with decoding(path, "matrix of confusions", "Delete it to do without.", StoreError):
        return Quality.of_dict(read_json(path.read_bytes(), dict), classes)


def _read_worth(path: Path) -> list[str]:
    """Read what the final model is worth, in words; nothing where it was not found out."""
    if not path.exists():
        return []
    with decoding(path, "matrix of confusions", "Delete it to do without.", StoreError):
        said = read_json(path.read_bytes(), dict).get("worth", [])
        check(said, [str])
        return list(said)


def _read_why_ended(path: Path) -> str | None:
    """Read why the run is over; None where it is not, or where an earlier version did not write it down."""
    if not path.exists():
        return None
    with decoding(path, "matrix of confusions", "Delete it to do without.", StoreError):
        said: str | None = read_json(path.read_bytes(), dict).get("ended")
        check(said, (str, type(None)))
        return said


def _read_work(path: Path) -> Mapping[str, Any] | None:
    """Read what workers have done; None for a run that had none."""
    if not path.exists():
        return None
    with decoding(path, "note of what workers did", "Delete it to do without.", StoreError):
        found: Mapping[str, Any] = read_json(path.read_bytes(), _WORK)
        tallies = [tally for kinds in found["workers"].values() for tally in kinds.values()]
        for counts in (*tallies, found["slow"], {name: found[name] for name in ("lost", "handed_out")}):
            for name, count in counts.items():
                if not 0 <= count < LARGEST:
                    raise ValueError(f"{name} = {count} was never counted")
        return found


def read_field(path: Path) -> Field | None:
    """Read a decision field; None if there is none."""
    if not path.exists():
        return None
    with decoding(path, "decision field", "Delete it to do without.", StoreError), path.open("rb") as file:
        return Field(**read_arrays(file, Field.__dataclass_fields__))
