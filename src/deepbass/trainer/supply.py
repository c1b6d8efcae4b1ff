"""Where a project's models get their samples from: decoded all at once, or features computed while people answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import copy_context
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.labels import NO_IDS, Ids
from deepbass.core.randomness import generator
from deepbass.core.raw_samples import Kind, RawSamples
from deepbass.data.featurised import with_raw
from deepbass.data.joined_samples import join
from deepbass.data.listing import Listing, raw_listing
from deepbass.data.pool import Pool
from deepbass.data.raw_images import HasFiles, NamedFile
from deepbass.data.source import is_raw
from deepbass.features.choice import PIXELS, Choice, choose
from deepbass.features.compute import open_features
from deepbass.features.extractor import Extractor
from deepbass.features.joined_features import features_of
from deepbass.label.item_pool import find_samples, load_pool
from deepbass.label.settings import Columns

FIRST = 300  # samples that a first model is made of, if there are so many: half a minute of photographs
GROWTH = 2  # times as many samples as a model has, for which it gives way to one that has them
_CHUNK = 128  # samples that each worker computes at a time, after which those that were just labelled come first

OnShare = Callable[[str, float], None]


class Supply(Protocol):
    """Samples of a project's items, as many as are ready."""

    features: str  # what a network sees of them
    extractor: Extractor | None
    notes: Sequence[str]

    def pool(self) -> tuple[Pool, Ids]:
        """Make the pool of what is ready: row i is the item ``ids[i]``."""

    def want(self, items: Iterable[int]) -> None:
        """Say which items are needed first."""

    def grown(self, count: int) -> bool:
        """Tell whether a pool of ``count`` samples should give way to a larger one."""


class DecodedSupply:
    """Pixels, or the numbers of arrays: all there are, from the start."""

    features: str = PIXELS
    extractor: Extractor | None = None
    notes: Sequence[str] = ()

    def __init__(self, load: Callable[[], tuple[Pool, Ids]]) -> None:
        self._load = load

    def pool(self) -> tuple[Pool, Ids]:
        """Load all that is there and readable."""
        return self._load()

    def want(self, items: Iterable[int]) -> None:
        """Do nothing: there is no order."""

    def grown(self, count: int) -> bool:
        """Tell that there is never more."""
        return False


class FeatureSupply:
    """Features, computed by a thread in the order in which items are likely to be asked."""

    extractor: Extractor | None
    notes: Sequence[str]

    def __init__(self, samples: ItemSamples, chosen: Choice, named: str | None, order: Ids, on_share: OnShare) -> None:
        """Begin to compute. ``order`` has the rows of ``samples``, those that are asked first at the front."""
        opened = open_features(samples, None, chosen.name, named=named)
        self.features: str = chosen.name
        self.extractor = opened.extractor
        self.notes = [f"Features: {chosen.name}, {chosen.why}.", *opened.notes, *([chosen.gain] if chosen.gain else [])]
        self._samples, self._order, self._on_share = samples, order, on_share
        self._features = opened.train  # the thread has one of its own: they meet in the cache
        self._wanted: list[int] = []
        self._done = 0
        self._error: Exception | None = None
        self._news = threading.Condition()
        where = copy_context()  # the thread computes where this one would: here, or on a cluster
        self._thread = threading.Thread(target=where.run, args=[self._compute], name="features", daemon=True)
        self._thread.start()

    def pool(self) -> tuple[Pool, Ids]:
        """Wait until there is enough to begin with, and take all that is ready."""
        with self._news:
            while self._thread.is_alive() and self._done < min(FIRST, len(self._order)):
                self._news.wait(1.0)
        self._check()
        if self._thread.is_alive():
            self._features.compute(NO_IDS)  # takes up what is on disk
            if not self._features.ready.any():  # there is nowhere to meet: whatever is ready, the thread has it
                self._thread.join()
                self._check()
        if not self._thread.is_alive():
            self._features.compute(None)  # what could not be kept on disk, the thread's work, is done again here
        rows = np.flatnonzero(self._features.ready)
        names = [self._samples.name(row) for row in range(len(self._samples))]
        pool = Pool(cast(NDArray[Any], self._features), names, rows, raw=self._samples)
        return pool, self._samples.items[rows]

    def want(self, items: Iterable[int]) -> None:
        """Say which items are needed first."""
        if self._thread.is_alive():
            with self._news:
                self._wanted = self._samples.rows_of(items)

    def grown(self, count: int) -> bool:
        """Tell whether all are ready and were not, or many times as many are."""
        self._check()
        with self._news:
            done, over = self._done, not self._thread.is_alive()
        failed = len(self._features.failed)
        return done - failed > count if over else done >= GROWTH * count

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _compute(self) -> None:
        try:
            features = features_of(self._samples, self._features.extractor, self._features.folder)
            for chunk in self._chunks(_CHUNK * features.side_by_side):
                features.compute(chunk)
                with self._news:
                    self._done += len(chunk)
                    self._news.notify_all()
                self._on_share("computing features", self._done / len(self._order))
        except Exception as error:  # is raised where somebody can say it
            self._error = error

    def _chunks(self, size: int) -> Iterator[list[int]]:
        """Cut the order into chunks of a size; what is wanted by then comes first."""
        left = np.ones(len(self._samples), dtype=np.bool_)
        following = (row for row in self._order.tolist() if left[row])
        while True:
            with self._news:
                first = [row for row in self._wanted if left[row]][:size]
            left[first] = False
            chunk = [*first, *islice(following, size - len(first))]
            if not chunk:
                return
            left[chunk] = False
            yield chunk


class ItemSamples:
    """Samples of a project's items as they were found, in the project's order; items that are gone have none."""

    def __init__(self, samples: RawSamples, names: Sequence[str]) -> None:
        self._samples = samples
        row_names = [samples.name(row) for row in range(len(samples))]
        self.items: Ids = np.arange(len(names))
        self._rows: Sequence[int] = range(len(names))
        if row_names != names:  # some came or went since
            row_of = {name: row for row, name in enumerate(row_names)}
            self.items = np.array([id_ for id_, name in enumerate(names) if name in row_of], dtype=np.int64)
            self._rows = [row_of[names[id_]] for id_ in self.items]

    @property
    def kind(self) -> Kind:
        """What they are."""
        return self._samples.kind

    def __len__(self) -> int:
        return len(self._rows)

    def name(self, row: int) -> str:
        """Name a sample."""
        return self._samples.name(self._rows[row])

    def read(self, row: int) -> Any:
        """Read a sample."""
        return self._samples.read(self._rows[row])

    def key(self, row: int) -> bytes:
        """Sum a sample up."""
        return self._samples.key(self._rows[row])

    def file(self, row: int) -> NamedFile | None:
        """Tell where a picture is, if it is in a file of its own."""
        return self._samples.file(self._rows[row]) if isinstance(self._samples, HasFiles) else None

    def rows_of(self, items: Iterable[int]) -> list[int]:
        """Find the rows of items; those that are gone are left out."""
        wanted = np.fromiter(items, dtype=np.int64)
        places = np.searchsorted(self.items, wanted)
        there = places < len(self.items)
        found = places[there]
        rows: list[int] = found[self.items[found] == wanted[there]].tolist()
        return rows


def open_supply(
    source: str,
    names: Sequence[str],
    config: Config,
    *,
    columns: Columns,
    folder: Path | None,
    named_features: str | None,
    on_share: OnShare,
) -> Supply:
    """Open the samples of a project's items, and begin to compute their features if there are any to compute."""
    found = find_samples(source, folder, columns)
    whole = with_raw(raw_listing(found) if isinstance(found, Listing) else found, config.features)
    parts = [part.X for part in (whole.train, whole.validation) if part is not None]
    raw = [part for part in parts if is_raw(part)]
    if len(raw) == len(parts):
        samples = ItemSamples(join(raw), names)
        chosen = choose(samples, config.features, config.model) if len(samples) else None
        if chosen is not None and chosen.name != PIXELS:
            # the page draws its first questions from the front of the same order (label/spread.py)
            drawn = generator(config.seed, 0, "spread").permutation(len(names)).tolist()
            order = np.array(samples.rows_of(drawn), dtype=np.int64)
            return FeatureSupply(samples, chosen, named_features, order, on_share)
    return DecodedSupply(lambda: load_pool(source, names, config, folder))
