"""Every row of the paper's tables as data: what it reports, and the settings that measure it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deepbass.bench.cells import Cell
from deepbass.core.config import one_of
from deepbass.core.presets import AUTO, preset

TIERS = ("quick", "full")
RUNS = {"quick": 5, "full": 10}  # the paper's tables are means of ten


@dataclass(frozen=True)
class Reported:
    """What the paper says: validation accuracy in percent, mean and standard deviation over runs."""

    accuracy: float
    sd: float | None = None  # None: the paper does not say
    runs: int = 10
    about: bool = False  # said in passing, as in "around 85 %"


@dataclass(frozen=True)
class Row:
    """One row of a table. ``full`` is the paper's protocol, as far as it differs from Config's defaults."""

    experiment: str
    name: str
    table: str  # where in the paper
    admitted: str  # the pseudo-labels that are trained on
    policy: str  # what is asked for
    labels: str  # known at the end
    paper: Reported
    source: str
    full: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)  # what the quick tier changes

    def cell(self, tier: str, run: int) -> Cell:
        """Make one run of the row; its number is its seed."""
        one_of("tier", tier, TIERS)
        reduced = self.quick if tier == "quick" else {}
        return Cell(self.experiment, self.name, tier, run, self.source, {**self.full, **reduced, "seed": run})


# The quick tier of MNIST: a sixth of the pool, a fifth of the iterations, half of the passes.
QUICK_POOL = 10_000
_QUICK: dict[str, Any] = {
    "pool": QUICK_POOL,
    "iterations": 40,
    "ask_every": 2,
    "passes_pool": 5,
    "passes_known": 20,
}
_QUICK_EPOCHS = {50: 50, 100: 50, 300: 50, 600: 25, 1_000: 20, 3_000: 10, 60_000: 60}


def _toy(name: str, admitted: str, policy: str, labels: str, accuracy: float, **settings: Any) -> Row:
    full = {**preset(AUTO, "toy"), **settings}  # which for points is the paper's
    return Row("toy", name, "Table 1", admitted, policy, labels, Reported(accuracy), "toy", full)


def _mnist(
    name: str, admitted: str, policy: str, labels: str, paper: Reported, start: int, more: Mapping[str, Any], **row: Any
) -> Row:
    full = {"initial": start, **more}
    quick = {**_QUICK, "initial": min(start, QUICK_POOL), "initial_epochs": _QUICK_EPOCHS[start]}
    quick = {**quick, **row.pop("quick", {})}
    if full.get("iterations") == 0:
        quick |= {"iterations": 0}
    return Row(
        row.get("experiment", "mnist"), name, row.get("table", "Table 2"), admitted, policy, labels, paper, "mnist",
        full, quick,
    )  # fmt: skip


def _labels_only(labels: int, accuracy: float, sd: float) -> Row:
    # 60,000 labels, the paper's last row, need no copies: a hundred epochs are enough
    more = {"iterations": 0, **({"copies": 1} if labels == 60_000 else {})}
    return _mnist(f"labels-{labels}", "none", "–", f"{labels:,}", Reported(accuracy, sd), labels, more)


def _asking(admit: str, acquire: str, accuracy: float, sd: float) -> Row:
    name, policy = f"{admit}-{acquire}", {"max-entropy": "max. entropy", "above-average": "above average"}[acquire]
    more = {"admit": admit, "acquire": acquire}
    return _mnist(name, admit.replace("all-data", "all data"), policy, "300", Reported(accuracy, sd), 100, more)


def _guessing(labels: int, accuracy: float, sd: float) -> Row:
    more = {"admit": "all-data", "acquire": "none"}
    return _mnist(f"all-data-{labels}", "all data", "–", f"{labels:,}", Reported(accuracy, sd), labels, more)


ROWS: tuple[Row, ...] = (
    _toy("initial", "none", "–", "8", 83.27, iterations=0),
    _toy("semi-supervised", "step-wise", "–", "8", 84.33, acquire="none"),
    _toy("active", "none", "max. entropy", "80", 90.19, admit="none"),
    _toy("active-semi-supervised", "step-wise", "max. entropy", "80", 90.33),
    _toy("80-labels", "none", "–", "80", 88.65, iterations=0, initial=80),
    _toy("1000-labels", "none", "–", "1,000", 91.37, iterations=0, initial=1_000),
    _labels_only(100, 82.03, 1.95),
    _labels_only(300, 91.91, 0.75),
    _labels_only(600, 94.92, 0.32),
    _labels_only(1_000, 96.24, 0.39),
    _labels_only(3_000, 97.89, 0.25),
    _asking("step-wise", "max-entropy", 97.67, 0.34),
    _asking("step-wise", "above-average", 97.43, 0.19),
    _asking("all-data", "max-entropy", 97.92, 0.19),
    _asking("all-data", "above-average", 97.65, 0.26),
    _guessing(100, 96.08, 1.49),
    _guessing(300, 97.10, 0.40),
    _guessing(600, 97.39, 0.35),
    _guessing(1_000, 97.64, 0.23),
    _guessing(3_000, 98.14, 0.26),
    _labels_only(60_000, 99.09, 0.07),
    _mnist(
        "all-data-max-entropy-1000", "all data", "max. entropy", "1,000", Reported(98.94), 100,
        {"admit": "all-data", "acquire": "max-entropy", "iterations": 900},
        table="Table 3", quick={"iterations": 90, "ask_every": 1},
    ),
    _mnist(
        "no-mc-100", "all data", "–", "100", Reported(89.51, about=True), 100,
        {"admit": "all-data", "acquire": "none", "passes_pool": 0, "passes_known": 0},
        experiment="no-mc", table="text, Section 5", quick={"passes_pool": 0, "passes_known": 0},
    ),
    _mnist(
        "augmented-50", "none", "–", "50", Reported(85.0, about=True), 50,
        {"iterations": 0, "rotate": 10.0, "stretch": 0.05},
        experiment="augmentation", table="text, Section 5",
    ),
)  # fmt: skip

EXPERIMENTS = tuple(dict.fromkeys(row.experiment for row in ROWS))


def choose(experiment: str, names: Iterable[str] = ()) -> list[Row]:
    """Find the rows of an experiment, or of ``all``; ``names`` picks some of them."""
    one_of("experiment", experiment, (*EXPERIMENTS, "all"))
    rows = [row for row in ROWS if experiment in (row.experiment, "all")]
    wanted = list(names)
    for name in wanted:
        one_of(f"row of {experiment}", name, [row.name for row in rows])
    return [row for row in rows if not wanted or row.name in wanted]


def plan(rows: Iterable[Row], tier: str, runs: int) -> list[Cell]:
    """List the cells of some rows, run by run: after each run every row has one more."""
    return [row.cell(tier, run) for run in range(runs) for row in list(rows)]


# Table 3: test error in percent with 1,000 labels, as the paper reports it of others.
OTHERS: tuple[tuple[str, str, float], ...] = (
    ("semi-supervised", "Semi-Supervised Embedding", 5.73),
    ("semi-supervised", "Transductive SVM", 5.38),
    ("semi-supervised", "AtlasRBF", 3.68),
    ("semi-supervised", "Manifold Tangent Classifier", 3.64),
    ("semi-supervised", "Pseudo-label", 3.46),
    ("semi-supervised", "Self-training + dynamic confidence", 3.42),
    ("semi-supervised", "Deep Generative Models", 2.40),
    ("semi-supervised", "Ladder network, Γ-model", 1.53),
    ("semi-supervised", "Virtual Adversarial Training", 1.32),
    ("semi-supervised", "Ladder network, full", 0.84),
    ("active", "BALD", 1.80),
    ("active", "Max. entropy", 1.74),
    ("active", "Variation ratios", 1.64),
)
