"""The audit: images drawn at random before anything is known, which the model is measured with and never trained on.

A reserve is fixed by seed when a project is made. Of the questions, a share is about images of the reserve, in an order
drawn once, whatever the model says. So the model's error on them is that on images to come (see estimate.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deepbass.label.acts import CHOSEN, Act
from deepbass.label.draws import behind, draw
from deepbass.label.settings import Settings

_LATER_SHARE = 0.2  # of items that come later: a project begun with a few images may grow a hundredfold


def reserve_share(settings: Settings, count: int) -> float:
    """Find the share below which the numbers of as many items lie as the reserve is to have, of ``count`` at first.

    Of n items it has max(min(2000, n // 5), min(50, n // 2)), and none in a project without an audit.
    """
    if settings.audit == 0:
        return 0.0
    wanted = max(min(2000, count // 5), min(50, count // 2))
    if wanted == 0:
        return _LATER_SHARE
    numbers = np.sort(draw(settings.seed, "audit", count))
    return float(numbers[wanted - 1] + numbers[wanted]) / 2  # half of the items at most, so that there is one behind


def reserve(seed: int, share: float, first: int, count: int) -> NDArray[np.int64]:
    """List the ids that are kept for the audit, in the order in which they are asked.

    Every item has a number drawn by seed and id. Those below ``share`` are in, of the ``first`` items, and of those
    that came later about as many, a fifth at most: what comes later changes neither the order of the others nor which
    of them are in.
    """
    numbers = draw(seed, "audit", count)
    ids = np.flatnonzero(numbers < np.where(np.arange(count) < first, share, min(share, _LATER_SHARE)))
    return ids[np.argsort(numbers[ids], kind="stable")].astype(np.int64)


def is_due(settings: Settings, questions: int, given: int) -> bool:
    """Tell whether the next question is one of the audit, after so many ``questions`` and ``given`` audit questions."""
    return behind(settings.audit, questions, given, settings.seed, "audit due") > 0


def in_audit(labels: Sequence[Act], answers: Sequence[Act], reserved: bool) -> bool:
    """Tell whether the model is measured with an item: that is decided by how it was first come upon, for ever.

    It is when its first label answered an audit question. It also is when it lies in the reserve, unless a person
    looked it up: then the model's guess may have drawn attention to it, and the draw would not be independent of the
    model. Labels brought along are. ``answers`` are all acts on it that answer, ``labels`` those that name a class.
    """
    if labels and labels[0].why == "audit":
        return True
    return reserved and bool(answers) and answers[0].why not in CHOSEN
