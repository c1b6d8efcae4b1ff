"""What is seen of a pool besides its pixels, and what ``auto`` means for that.

The features by which a head advises a network (learn/advice.py), and where pictures lie for a network that taught
itself (learn/self_taught.py).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.labels import Ids
from deepbass.core.samples import Samples
from deepbass.data.pool import Pool
from deepbass.data.raw_images import ArrayImages, is_picture
from deepbass.features.choice import SEEN_FROM
from deepbass.features.compute import open_features
from deepbass.features.installed import network_weights
from deepbass.features.joined_features import ComputedFeatures
from deepbass.learn.learner import OnProgress
from deepbass.learn.self_taught import FEWEST, SMALLEST, SelfTaught
from deepbass.learn.strong_views import Changes, changes_for


class PoolFeatures:
    """Features of a pool's pictures by sample id, computed when they are first read, and kept as all features are."""

    def __init__(self, pool: Pool, features: ComputedFeatures, on_progress: OnProgress) -> None:
        self._pool, self._features = pool, features
        self.shape: tuple[int, ...] = features.shape[1:]
        features.on_progress = lambda done, total: on_progress("computing features", done / max(1, total))

    def __len__(self) -> int:
        return len(self._pool)

    def read(self, ids: Ids) -> NDArray[np.float32]:
        """Compute what is missing, and read."""
        rows = self._pool.rows[ids]
        if not self._features.ready[rows].all():
            self._features.compute(rows)
        return self._features[rows]


def features_for_advice(pool: Pool, config: Config, on_progress: OnProgress) -> Samples | None:
    """Open the features that a configuration wants advice by; None where there is to be none, or nothing to see."""
    if settled(config, pool).advice == "none":
        return None
    return PoolFeatures(pool, open_features(ArrayImages(pool.samples), None, "imagenet").train, on_progress)


def places_of(pool: Pool, config: Config, on_progress: OnProgress = lambda what, share: None) -> SelfTaught | None:
    """Let a network teach itself where pictures lie, when that is first asked; None where pixels are to tell."""
    if settled(config, pool).neighbours == "pixels":
        return None
    changes = changes_for(config.views, pool.shape) or Changes()  # what is learned from may be shown plainly, this not
    return SelfTaught(pool, changes, config.seed, lambda share: on_progress("looking at the pictures", share))


def settled(config: Config, pool: Pool) -> Config:
    """Settle what ``auto`` means here for advice and neighbours: it must stay so when a run goes on elsewhere."""
    seen = is_picture(pool.samples) and min(pool.shape[1:]) >= SEEN_FROM
    useful = config.teacher and config.admit != "none" and seen
    wanted = config.advice == "imagenet" or (config.advice == "auto" and network_weights() is not None)
    taught = config.neighbours == "self-taught" or (config.neighbours == "auto" and len(pool) >= FEWEST)
    return replace(
        config,
        advice="imagenet" if useful and wanted else "none",
        neighbours="self-taught" if config.teacher and taught and _can_be_taught(pool) else "pixels",
    )


def _can_be_taught(pool: Pool) -> bool:
    return len(pool.shape) == 3 and min(pool.shape[1:]) >= SMALLEST
