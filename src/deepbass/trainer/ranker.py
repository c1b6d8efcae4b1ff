"""Write down what the model thinks of every item, and in which order to ask about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deepbass.core.acquire import Acquire
from deepbass.core.belief import Belief, Floats
from deepbass.core.labels import UNKNOWN, Classes, Ids, Labels
from deepbass.core.need import Need
from deepbass.label.ranking import Ranking
from deepbass.trainer.item_rows import ItemRows

SNAPSHOT_EVERY = 10  # labels from one snapshot of all guesses to the next
SNAPSHOTS_OVER = 100  # labels for which snapshots are kept
RANKED = Need()  # what is shown of a belief: no pass more than the loop needs, but the next likeliest class, too


def asking_order(acquire: Acquire, belief: Belief, labels: Labels, askable: Ids, rng: np.random.Generator) -> Ids:
    """Order all ids that may be asked for by the policy; what it would not ask for follows by entropy.

    Policies that rank put whoever was spared passes behind those that made all, and order them by the score so far:
    what the loop needed is exact, and the rest is as good as what is known. Policies that draw, or never ask, leave
    some out, and people may go on labelling all the same.
    """
    first = acquire.about(labels)(belief, askable, min(len(askable), acquire.most or len(askable)), rng)
    rest = np.setdiff1d(askable, first)
    return np.concatenate([first, rest[np.argsort(-belief.about(rest).entropy, kind="stable")]])


def scores(order: Ids, samples: int) -> NDArray[np.float32]:
    """Turn an order into scores, the same for all policies: 1 for the first, falling to 0; -inf: not to be asked."""
    score = np.full(samples, -np.inf, dtype=np.float32)
    score[order] = 1.0 - np.arange(len(order)) / max(1, len(order))
    return score


def make_ranking(
    rows: ItemRows,
    belief: Belief,
    labels: Labels,
    order: Ids,
    predicted: Classes,
    *,
    class_ids: Sequence[int],
    believed_with: int,
    before: Ranking | None,
) -> Ranking:
    """Lay out what is known of the rows by item, and of the network's outputs by class.

    ``predicted`` has one output per row, UNKNOWN where nothing was predicted; ``class_ids`` has the class of each
    output; ``believed_with`` is how many labels the weights behind the belief were trained with; ``before`` is the
    ranking of the iteration before.
    """
    by_row = belief.about(np.arange(len(rows)))
    second, second_share = _second(by_row)
    ids = np.array([*class_ids, UNKNOWN])  # so that UNKNOWN, which is -1, stays what it is
    guess = rows.by_item(ids[by_row.guess], UNKNOWN, np.int16)
    snapshots, snapshot_labels = _snapshots(before, guess, believed_with)
    return Ranking(
        guess=guess,
        confidence=rows.by_item(by_row.confidence, 0.0, np.float32),
        second=rows.by_item(ids[second], UNKNOWN, np.int16),
        second_confidence=rows.by_item(second_share, 0.0, np.float32),
        entropy=rows.by_item(by_row.entropy, 1.0, np.float32),
        score=rows.by_item(scores(order, len(rows)), -np.inf, np.float32),
        member=rows.by_item(labels.guess != UNKNOWN, False, np.bool_),
        predicted=rows.by_item(ids[predicted], UNKNOWN, np.int16),
        snapshots=snapshots,
        snapshot_labels=snapshot_labels,
        known=len(labels.known),
    )


def _second(belief: Belief) -> tuple[Classes, Floats]:
    """Find the next likeliest class of every row, and its mean probability."""
    others_N_C = belief.mean_N_C.copy()
    others_N_C[np.arange(len(others_N_C)), belief.guess] = -1.0
    return others_N_C.argmax(1), others_N_C.max(1)


def _snapshots(
    before: Ranking | None, guess: NDArray[np.int16], labels: int
) -> tuple[NDArray[np.int16], NDArray[np.int32]]:
    """Add the guesses to the snapshots kept so far if enough labels have come since; forget those of long ago."""
    kept: list[tuple[int, NDArray[np.int16]]] = []
    if before is not None:
        for then, earlier in zip(before.snapshot_labels.tolist(), before.snapshots, strict=True):
            if labels - SNAPSHOTS_OVER <= then <= labels:  # more than now: they were taken back
                # items that came since had no guess
                kept.append((then, np.pad(earlier, (0, len(guess) - len(earlier)), constant_values=UNKNOWN)))
    if not kept or labels - kept[-1][0] >= SNAPSHOT_EVERY:
        kept.append((labels, guess))
    return np.stack([earlier for _, earlier in kept]), np.array([then for then, _ in kept], dtype=np.int32)
