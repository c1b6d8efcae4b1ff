"""What a comparison consists of: the data, the budgets, the methods; and the cells that follow from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepbass.bench.cells import Cell
from deepbass.bench.cost import CellWork
from deepbass.compare.methods import METHODS, PLAIN, SET_HERE, ComparedMethod
from deepbass.core.checked_json import check
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.labels import UNKNOWN
from deepbass.data.load import Data, load
from deepbass.runs.configure import reconfigure
from deepbass.runs.featurise import Featuriser, OnShare

EVERY_LABEL = "all"  # the tier of cells that are trained on all labels of the pool
_FEWER, _MORE = 0.5, (2.0, 4.0)  # times the smallest and the largest budget, that plain gets besides
_FILE_NAME = re.compile(r"[^\w.-]+")
_MOST, _MOST_CELLS = 2**53, 100_000  # labels, and numbers of labels times runs

# what a plan in matrix.json has to hold
PLAN_FIELDS = {
    "data": str, "source": str, "settings": dict, "seed": int, "labels": [int], "plain_labels": [int], "methods": [str],
    "runs": int, "pool": int, "validation": int, "classes": int, "commonest": float, "features": str, "notes": [str],
}  # fmt: skip


@dataclass(frozen=True)
class DataFacts:
    """What there is to know of the data before anything is learned from it."""

    name: str
    pool: int  # samples whose labels could be had
    validation: int
    classes: int
    commonest: float  # share of the commonest class in the validation part
    features: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """A whole comparison, as it is written down with its results."""

    data: str
    source: str
    settings: Mapping[str, Any]  # of the data and of our own method; seeds are the runs'
    seed: int  # of the first run
    labels: tuple[int, ...]
    plain_labels: tuple[int, ...]  # what plain is run with, to find how many labels it needs
    methods: tuple[str, ...]
    runs: int
    pool: int
    validation: int
    classes: int
    commonest: float
    features: str
    notes: tuple[str, ...] = ()

    def cells(self) -> list[Cell]:
        """List all cells, run by run: after each, every method has one more."""
        return [
            Cell(file_name(self.data), method, tier, run, self.source, {**self.settings, "seed": self.seed + run})
            for run in range(self.runs)
            for method in self.methods
            for tier in self.tiers(method)
        ]

    def tiers(self, method: str) -> list[str]:
        """List how many labels a method is run with."""
        if METHODS[method].every_label:
            return [EVERY_LABEL]
        if METHODS[method].every_class:
            return [str(labels) for labels in self.labels if labels >= self.classes]
        return [str(labels) for labels in (self.plain_labels if method in PLAIN else self.labels)]

    def as_dict(self) -> dict[str, Any]:
        """List all fields, ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> Comparison:
        """Take up what was written down; a ValueError says what is wrong with it."""
        check(plan, PLAN_FIELDS)
        _check_sizes(plan)
        named = {name: plan[name] for name in PLAN_FIELDS}
        lists = {name: tuple(value) for name, value in named.items() if isinstance(value, list)}
        return cls(**{**named, **lists})


def read_budgets(text: str) -> tuple[int, ...]:
    """Read numbers of labels, as in 50,100,300."""
    words = [word for word in text.replace(" ", ",").split(",") if word]
    if not words or not all(word.isdecimal() and int(word) > 0 for word in words):
        raise ConfigError(f"--labels {text!r} must be whole numbers above 0, as in --labels 50,100,300.")
    return tuple(sorted({int(word) for word in words}))


def read_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check settings for our own method and the data; what a comparison sets itself is refused."""
    named = {name.replace("-", "_"): value for name, value in given.items()}
    for name in SET_HERE:
        if name in named:
            raise ConfigError(f"{name} = {named[name]!r}: deepbass compare sets {name} itself. Leave it out.")
    checked: Config = reconfigure({}, named)
    return {name: getattr(checked, name) for name in named}


def look_at_data(
    source: str,
    settings: Mapping[str, Any],
    seed: int,
    *,
    folder: Path | None = None,
    progress: bool = False,
    on_progress: OnShare = lambda what, share: None,
) -> DataFacts:
    """Load the data as a run with this seed will see it, compute its features once, and describe it."""
    config = Config.of({**settings, "seed": seed})
    featurise = Featuriser(config.features, network=config.model, named=config.features, on_progress=on_progress)
    data = load(source, config, folder=folder, progress=progress, featurise=featurise)
    counts = np.bincount(data.validation_labels)
    return DataFacts(
        data.name,
        int(np.count_nonzero(data.truth != UNKNOWN)),
        len(data.validation),
        len(data.classes),
        round(float(counts.max() / counts.sum()), 6),
        data.features,
        (*data.notes, *_warnings(data)),
    )


def make_plan(
    source: str,
    facts: DataFacts,
    labels: Sequence[int],
    methods: Iterable[ComparedMethod],
    runs: int,
    seed: int,
    settings: Mapping[str, Any],
) -> Comparison:
    """Put a comparison together; budgets that the pool has no room for are left out, and that is said."""
    notes = list(facts.notes)
    possible = tuple(each for each in labels if each <= facts.pool)
    if not possible:
        raise DataError(
            f"{facts.name} has {facts.pool:,} labels to give, fewer than each of --labels "
            f"{','.join(map(str, labels))}: ask for fewer."
        )
    if len(possible) < len(labels):
        left_out = ", ".join(f"{each:,}" for each in labels if each > facts.pool)
        notes.append(f"the pool has {facts.pool:,} labels to give: {left_out} labels are left out")
    if possible[0] < facts.classes:
        notes.append(
            f"{possible[0]:,} labels are fewer than the {facts.classes} classes: some will never have been met"
        )
    listed = list(methods)
    names = tuple(method.name for method in listed)
    if possible[0] < facts.classes and (begins := [method.name for method in listed if method.every_class]):
        notes.append(f"{', '.join(begins)} begins with a label of every class, and is left out where there are fewer")
    return Comparison(
        facts.name, source, dict(settings), seed, possible, plain_budgets(possible, facts.pool), names, runs,
        facts.pool, facts.validation, facts.classes, facts.commonest, facts.features, tuple(notes),
    )  # fmt: skip


def plain_budgets(labels: Sequence[int], pool: int) -> tuple[int, ...]:
    """Add half of the smallest budget, and twice and four times the largest, as far as the pool has them."""
    more = [max(2, round(_FEWER * min(labels))), *(min(pool, round(times * max(labels))) for times in _MORE)]
    return tuple(sorted({*labels, *(each for each in more if each <= pool)}))


def cost_of(cell: Cell) -> CellWork:
    """Guess what a cell takes, for the time left: runs that ask take longest, and more with more labels."""
    method = METHODS[cell.row]
    labels = 1_000 if method.every_label else int(cell.tier)
    whole = 8.0 + labels / 100 if method.settings is None else 12.0 + (0.3 if method.asks else 0.05) * labels
    return CellWork(whole / 5, whole / 25, 20)


def same_process(cell: Cell) -> tuple[int, str]:
    """Tell cells apart that get a process of their own: the numbers of labels of a method do not."""
    return cell.run, cell.row if METHODS[cell.row].settings is not None else "scikit-learn"


def file_name(data: str) -> str:
    """Make a name that any file system takes."""
    return _FILE_NAME.sub("-", data).strip("-.")[:40] or "data"


def with_methods(plan: Comparison, before: Mapping[str, Any] | None) -> Comparison:
    """Keep the methods of an earlier call with the same data and settings, so that a page shows all there is."""
    try:
        earlier = Comparison.of(before or {})
    except ValueError:  # nothing was written down yet, or it is damaged and written anew
        return plan
    if (earlier.source, dict(earlier.settings), earlier.seed) != (plan.source, dict(plan.settings), plan.seed):
        return plan
    wanted = {*plan.methods, *earlier.methods}
    return replace(
        plan,
        labels=tuple(sorted({*plan.labels, *earlier.labels})),
        plain_labels=tuple(sorted({*plan.plain_labels, *earlier.plain_labels})),
        methods=tuple(name for name in METHODS if name in wanted),
        runs=max(plan.runs, earlier.runs),
    )


def _check_sizes(plan: Mapping[str, Any]) -> None:
    """Refuse a plan that no command of ours has made."""
    labels = [*plan["labels"], *plan["plain_labels"]]
    if not plan["labels"] or any(name not in METHODS for name in plan["methods"]):
        raise ValueError("it compares nothing that is known here")
    if min(labels) < 1 or max(labels) > _MOST or not 1 <= plan["runs"] * len(labels) <= _MOST_CELLS:
        raise ValueError("it has other budgets or runs than there can be")
    counts = [plan[name] for name in ("pool", "validation", "classes")]
    if min(counts) < 1 or max(counts) > _MOST or not 0 <= plan["commonest"] <= 1 or not 0 <= plan["seed"] < 2**62:
        raise ValueError("it is about data that there cannot be")


def _warnings(data: Data) -> list[str]:
    """Say what cannot be learned from this data, whatever the method."""
    said = []
    met = np.unique(data.validation_labels)
    if len(met) == 1:
        only = data.classes[int(met[0])]
        said.append(f"the validation part has one class only ({only!r}): accuracy says nothing of the others")
    some = np.unique(np.linspace(0, len(data.pool) - 1, 256).astype(np.int64))
    if not np.ptp(data.pool.read(some), axis=0).any():
        said.append("all samples look the same, as far as 256 of them tell: there is nothing to learn from")
    return said
