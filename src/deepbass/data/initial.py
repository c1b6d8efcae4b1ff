"""Choose the labels that a run knows from the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepbass.core.errors import DataError
from deepbass.core.labels import UNKNOWN, Classes, Ids
from deepbass.core.randomness import generator


def choose_initial(truth: Classes, classes: int | Sequence[str], count: int, seed: int) -> Ids:
    """Draw the same number of every class; a remainder goes one each to classes drawn at random.

    Where all labels are wanted, all are taken, whatever the sizes of the classes: there is nothing to draw.
    """
    names = [str(class_) for class_ in range(classes)] if isinstance(classes, int) else list(classes)
    known = np.flatnonzero(truth != UNKNOWN)
    if count > len(known):
        raise DataError(
            f"initial = {count} labels were asked for, but only {len(known)} samples have one: ask for fewer."
        )
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


def initial_at_random(truth: Classes, count: int, seed: int) -> Ids:
    """Draw labels at random, as they come: rare classes are met rarely, and some not at all.

    Where there are fewer labels than wanted, all are taken.
    """
    known = np.flatnonzero(truth != UNKNOWN)
    if not len(known):
        raise DataError("No sample has a label to begin with: label some.")
    rng = generator(seed, 0, "initial labels at random")
    return np.sort(rng.choice(known, size=min(count, len(known)), replace=False))
