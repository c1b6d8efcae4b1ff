"""A cell of the matrix: one run of one row, and what there is to know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from deepbass.core.config import Config

# what the file of a cell holds
FIELDS = {
    "cell": {"experiment": str, "row": str, "tier": str, "run": int, "source": str, "settings": {"seed?": int}},
    "status": str,
    "started_at": str,
    "ended_at?": str,
    "config?": dict,
    "versions?": dict,
    "seconds?": {"*": float},
    "initial_shared?": bool,
    "labels?": int,
    "accuracy?": float,
    "balanced_accuracy?": float,
    "macro_f1?": float,
    "notes?": [str],
    "curve?": {"*": [(float, type(None))]},
    "field?": dict,
    "error?": str,
}
STARTED, FINISHED, FAILED = "started", "finished", "failed"


@dataclass(frozen=True)
class Cell:
    """What is to be run: plain values, so that it can be sent to another process."""

    experiment: str
    row: str
    tier: str
    run: int
    source: str  # of the data
    settings: Mapping[str, Any]  # what differs from Config's defaults

    @property
    def key(self) -> str:
        """Name the cell's files, as in mnist-full/labels-100.00."""
        return f"{self.experiment}-{self.tier}/{self.row}.{self.run:02}"

    @property
    def config(self) -> Config:
        """Make the configuration of the run."""
        return Config.of(self.settings)

    def as_dict(self) -> dict[str, Any]:
        """List all fields, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class CellResult:
    """How a cell went: what its result file holds."""

    cell: Cell
    status: str
    started_at: str
    ended_at: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # by what they were spent on
    initial_shared: bool = False  # the initial model was trained by another cell, with the same settings and seed
    labels: int | None = None  # known at the end
    accuracy: float | None = None  # validation accuracy after the last iteration, a share
    balanced_accuracy: float | None = None  # mean recall over the classes of the validation part
    macro_f1: float | None = None  # mean F1 over these
    notes: Sequence[str] = ()  # what was done that a reader would not expect
    curve: Mapping[str, list[Any]] = field(default_factory=dict)  # one value per iteration; the first: initial model
    field_: Mapping[str, Any] | None = None  # two-dimensional data: what the network says of every place
    error: str | None = None  # why it failed

    @property
    def finished(self) -> bool:
        """Whether there is a result."""
        return self.status == FINISHED
