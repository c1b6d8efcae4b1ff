"""Choose the labels that a run knows from the start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.foreign import decoding
from deepbass.core.labels import UNKNOWN, Classes, Ids
from deepbass.core.own_rules import own_start
from deepbass.core.randomness import generator
from deepbass.core.row_map import StartRule
from deepbass.core.samples import Samples
from deepbass.core.typical import typical_of
from deepbass.data.pool import Pool


def initial_labels(
    config: Config,
    pool: Pool,
    truth: Classes,
    classes: Sequence[str],
    own: StartRule | None = None,
    places: Samples | None = None,
) -> Ids:
    """Choose the labels known at the start, by the rule that is configured, or by one of the user's own.

    What is typical is told by the ``places`` of the samples, or else by the samples as they are.
    """
    if config.start == "balanced":
        return choose_initial(truth, classes, config.initial, config.seed)
    known = np.flatnonzero(truth != UNKNOWN)  # whoever is simulated has an answer to these
    _check_enough(config.initial, len(known))
    rng = generator(config.seed, 0, "initial labels")
    if own is not None:
        return pool.row_map.start(own_start(own))(pool, known, config.initial, rng)
    if config.start == "random":
        return np.sort(rng.permutation(known)[: config.initial])  # fewer are always among more
    return np.sort(typical_of(pool if places is None else places, known, config.initial, rng))


def choose_initial(truth: Classes, classes: int | Sequence[str], count: int, seed: int) -> Ids:
    """Draw the same number of every class; a remainder goes one each to classes drawn at random.

    Where all labels are wanted, all are taken, whatever the sizes of the classes: there is nothing to draw.
    """
    names = [str(class_) for class_ in range(classes)] if isinstance(classes, int) else list(classes)
    known = np.flatnonzero(truth != UNKNOWN)
    _check_enough(count, len(known))
    if count == len(known) and len(np.unique(truth[known])) == len(names):
        return known

    rng = generator(seed, 0, "initial labels")
    needed = np.full(len(names), count // len(names))
    needed[rng.permutation(len(names))[: count % len(names)]] += 1
    if not needed.all():
        left_out = ", ".join(repr(names[class_]) for class_ in np.flatnonzero(needed == 0))
        raise DataError(
            f"initial = {count} labels leave a class with no initial label: {left_out}. "
            f"Ask for {len(names)} or more, one for each of the {len(names)} classes."
        )

    chosen = []
    for class_, need in enumerate(needed):
        members = np.flatnonzero(truth == class_)
        if len(members) < need:
            raise DataError(
                f"Class {names[class_]!r} has {len(members)} labelled samples, but {need} are needed "
                f"for initial = {count} over {len(names)} classes: ask for fewer, or label more of it."
            )
        chosen.append(rng.choice(members, size=int(need), replace=False))
    return np.sort(np.concatenate(chosen))


def _check_enough(count: int, known: int) -> None:
    if count > known:
        raise DataError(f"initial = {count} labels were asked for, but only {known} samples have one: ask for fewer.")


def read_initial(path: Path) -> list[str]:
    """Read which samples are to be known from the start: a name or a row number per line."""
    with decoding(path, "list of samples", "Write a name or a row number per line.", DataError):
        lines = path.read_text("utf-8-sig").splitlines()
    wanted = [line.strip() for line in lines if line.strip()]
    if not wanted:
        raise DataError(f"{path} names no sample: write a name or a row number per line.")
    return wanted


def find_initial(wanted: Sequence[str | int], pool: Pool, truth: Classes) -> Ids:
    """Find the samples that are meant by their names, or else by their rows in the data; each has to have a label."""
    by_name = {pool.name(id_): id_ for id_ in range(len(pool))}
    by_row = {str(row): id_ for id_, row in enumerate(pool.rows.tolist())}
    found = []
    for each in map(str, wanted):
        id_ = by_name.get(each, by_row.get(each))
        if id_ is None:
            raise DataError(
                f"The initial label {each!r} is of no sample of the pool: give names or row numbers of the training "
                "part, and none that is held out for validation."
            )
        if truth[id_] == UNKNOWN:
            raise DataError(f"The initial label {each!r} is not known: the data has no label for that sample.")
        found.append(id_)
    chosen = np.unique(np.array(found, dtype=np.int64))
    if len(chosen) < len(found):
        twice = next(str(each) for place, each in enumerate(wanted) if found[place] in found[:place])
        raise DataError(f"The initial label {twice!r} is there twice: name each sample once.")
    return chosen
