"""Samples of a `torch.utils.data.Dataset`, of Hugging Face's `datasets`, or of whatever has a length and items.

Items are read when they are wanted, with whatever transforms the dataset has. A tensor or array is what the network
sees; pictures of Pillow, texts and rows (mappings of several columns) get features as they would from files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.foreign import reason_of
from deepbass.core.raw_samples import Kind, RawSamples, UnreadableSample
from deepbass.data.images import as_grey_or_rgb
from deepbass.data.raw_rows import TableRows, Texts, key_of
from deepbass.data.sample_arrays import view_samples

_LABELS = ("label", "labels", "target", "targets", "class")  # columns of items that are mappings


class HasItems(Protocol):
    """What a dataset is: it has a length, and an item for every row."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: Any, /) -> Any: ...


def is_dataset(X: Any) -> bool:
    """Tell what is read item by item from arrays, lists, frames and mappings."""
    if isinstance(X, list | tuple | str | bytes | Mapping | DatasetArray) or hasattr(X, "__array__"):
        return False
    return hasattr(type(X), "__getitem__") and hasattr(type(X), "__len__") and not hasattr(X, "iloc")


def refuse_streams(X: Any, where: str) -> None:
    """Refuse what has items but no rows: loaders and streams."""
    if hasattr(X, "dataset") and not hasattr(type(X), "__getitem__"):
        raise DataError(f"{where} is a {type(X).__name__}, which has batches but no rows: give its dataset.")
    if hasattr(type(X), "__iter__") and not hasattr(type(X), "__len__"):
        raise DataError(
            f"{where} is a {type(X).__name__}, which is read from its beginning only: samples go by their rows, so "
            "give a dataset with a length, or a list."
        )


def from_dataset(dataset: Any, where: str = "X") -> DatasetArray | RawSamples:
    """Find out from its first item what a dataset holds."""
    items = _Items(dataset, where)
    first = items.sample(0)
    if isinstance(first, str):
        return Texts([items.sample(row) for row in range(len(items))])
    if isinstance(first, Mapping):
        return TableRows.of([items.sample(row) for row in range(len(items))])
    return DatasetImages(items) if hasattr(first, "convert") else DatasetArray(items)


def labels_of_dataset(dataset: Any, where: str = "X") -> list[Any]:
    """Read the labels that come with samples: from `targets`, from a column, or from the second of every pair."""
    for name in ("targets", "labels"):
        found = getattr(dataset, name, None)
        if found is not None and not callable(found) and len(found) == len(dataset):
            return list(found.tolist()) if hasattr(found, "tolist") else list(found)
    items = _Items(dataset, where)
    return [items.label(row) for row in range(len(items))]


class _Items:
    """The items of a dataset, whose length must not change."""

    def __init__(self, dataset: Any, where: str) -> None:
        self._dataset, self.where = dataset, where
        self._count = len(dataset)
        if not self._count:
            raise DataError(f"{where} is a dataset without items.")

    def __len__(self) -> int:
        return self._count

    def sample(self, row: int) -> Any:
        """Read a sample, without its label; of a mapping with one other column, what is in it."""
        item = self._item(row)
        if isinstance(item, tuple | list) and len(item) == 2:
            return item[0]
        if not isinstance(item, Mapping):
            return item
        others = {str(name): value for name, value in item.items() if name not in _LABELS}
        return next(iter(others.values())) if len(others) == 1 else others

    def label(self, row: int) -> Any:
        """Read the label that comes with a sample."""
        item = self._item(row)
        if isinstance(item, tuple | list) and len(item) == 2:
            label = item[1]
        elif isinstance(item, Mapping) and (named := [name for name in _LABELS if name in item]):
            label = item[named[0]]
        else:
            raise DataError(f"{self.where} has items without labels: give y, with -1 where there is none.")
        return label.item() if hasattr(label, "item") else label

    def _item(self, row: int) -> Any:
        if len(self._dataset) != self._count:
            raise DataError(
                f"{self.where} had {self._count} items when it was opened, and has {len(self._dataset)} now: a dataset "
                "must stay as it is while it is learned from."
            )
        try:
            return self._dataset[row]
        except Exception as error:
            raise DataError(f"Item {row} of {self.where} cannot be read: {reason_of(error)}.") from error


class DatasetArray:
    """Indexes like an array of samples, and reads the items when they are wanted."""

    def __init__(self, items: _Items) -> None:
        self._items = items
        first = self._read([0])
        self.dtype = first.dtype
        self.shape: tuple[int, ...] = (len(items), *first.shape[1:])
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        """Read some items."""
        wanted = np.arange(len(self))[rows]
        found = self._read(np.atleast_1d(wanted).tolist())
        if found.shape[1:] != self.shape[1:]:
            raise DataError(f"{self._items.where}: items of shape {found.shape[1:]} and {self.shape[1:]} are mixed.")
        return found if wanted.ndim else found[0]

    def _read(self, rows: list[int]) -> NDArray[Any]:
        if not rows:
            return np.empty((0, *self.shape[1:]), dtype=self.dtype)
        arrays = [_as_array(self._items.sample(row)) for row in rows]
        for row, array in zip(rows, arrays, strict=True):
            if array.shape != arrays[0].shape:
                raise DataError(
                    f"{self._items.where} has ragged shapes: item {row} has shape {array.shape}, item {rows[0]} "
                    f"{arrays[0].shape}. Bring all to one shape, as by a transform."
                )
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise DataError(f"{self._items.where}: item {row} holds what is not a finite number: repair it.")
        return view_samples(np.stack(arrays), self._items.where)


class DatasetImages:
    """Pictures of Pillow, read when they are asked for."""

    kind: Kind = "image"

    def __init__(self, items: _Items) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def name(self, row: int) -> str:
        """Name an item."""
        return f"row {row}"

    def read(self, row: int) -> Any:
        """Read a picture: grey or RGB, 8 bits, opaque, upright."""
        picture = self._items.sample(row)
        if not hasattr(picture, "convert"):
            raise UnreadableSample(f"a {type(picture).__name__}, not a picture like the others")
        return as_grey_or_rgb(picture)

    def key(self, row: int) -> bytes:
        """Sum a picture up."""
        picture = self.read(row)
        return key_of(repr((picture.size, picture.mode)).encode(), picture.tobytes())


def _as_array(sample: Any) -> NDArray[Any]:
    """Take a tensor, an array or numbers in a list."""
    if hasattr(sample, "detach"):
        sample = sample.detach().cpu().numpy()
    array = np.asarray(sample)
    return array.astype(np.float32) if array.dtype == np.float64 else array
