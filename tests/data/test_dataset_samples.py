"""Datasets are pools: read lazily, by row, and refused where they cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

import deepbass
from deepbass.core.errors import DataError
from deepbass.data.dataset_samples import DatasetArray, from_dataset, labels_of_dataset
from deepbass.data.in_python import from_python

Y = np.arange(40) % 2
X = (np.eye(3)[Y] * 2 + np.random.default_rng(0).normal(size=(40, 3)) / 2).astype(np.float32)
TINY: dict[str, Any] = {
    "initial": 6,
    "iterations": 1,
    "initial_epochs": 1,
    "passes_pool": 2,
    "passes_known": 2,
    "device": "cpu",
}


class Counted(Dataset[Any]):
    """Counts how often each item is read; items are made by a function."""

    def __init__(self, make: Any, count: int = 40) -> None:
        self.make, self.count, self.read = make, count, np.zeros(count, dtype=int)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, row: int) -> Any:
        self.read[row] += 1
        return self.make(row)


def pairs(row: int) -> tuple[torch.Tensor, int]:
    return torch.from_numpy(X[row]), int(Y[row])


def test_a_dataset_is_the_array_of_its_items_and_nothing_is_read_ahead() -> None:
    dataset = Counted(pairs)
    array = from_dataset(dataset)
    assert isinstance(array, DatasetArray)
    assert array.shape == (40, 3)
    assert array.dtype == np.float32
    np.testing.assert_array_equal(np.flatnonzero(dataset.read), [0])  # which tells what the others are
    np.testing.assert_array_equal(array[np.array([5, 2])], X[[5, 2]])
    np.testing.assert_array_equal(array[7], X[7])
    np.testing.assert_array_equal(np.flatnonzero(dataset.read), [0, 2, 5, 7])
    assert from_python(array) is array


@pytest.mark.parametrize(
    "dataset",
    [
        TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)),
        Subset(TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), range(40)),
        Counted(lambda row: {"values": X[row].tolist(), "label": int(Y[row])}),
    ],
    ids=["tensors", "subset", "mappings"],
)
def test_a_run_on_a_dataset_is_the_run_on_its_arrays(tmp_path: Path, dataset: Any) -> None:
    assert labels_of_dataset(dataset) == Y.tolist()
    of_items = deepbass.run(dataset, model="mlp", out=tmp_path / "items", **TINY)
    of_arrays = deepbass.run(X, Y, model="mlp", out=tmp_path / "arrays", **TINY)
    assert of_items.history == of_arrays.history


def test_pictures_of_tensors_are_shown_in_the_report(tmp_path: Path) -> None:
    light = torch.from_numpy(Y)[:, None, None, None] / 2
    dataset = TensorDataset(torch.rand(40, 1, 8, 8) / 2 + light, torch.from_numpy(Y))
    result = deepbass.run(dataset, out=tmp_path / "run", **TINY)
    assert "data:image/png" in deepbass.write_report(result.path).read_text()


def test_a_classifier_and_a_session_take_datasets() -> None:
    dataset = TensorDataset(torch.from_numpy(X), torch.from_numpy(Y))
    model = deepbass.DeepBASSClassifier(random_state=0).fit(dataset)
    np.testing.assert_array_equal(model.predict(dataset), model.predict(X))
    session = deepbass.Session(Subset(dataset, range(20)), y=Y[:20])
    assert session.append(Subset(dataset, range(20, 40))).tolist() == list(range(20, 40))
    assert (session.predict() == Y).mean() > 0.9


def test_pictures_texts_and_rows_get_features() -> None:
    def picture(row: int) -> tuple[Image.Image, int]:
        return Image.new("L", (6, 5), int(row * 6)), int(Y[row])

    pictures = from_dataset(Counted(picture))
    assert not isinstance(pictures, DatasetArray)
    assert (pictures.kind, pictures.read(7).getpixel((0, 0))) == ("image", 42)
    assert pictures.key(3) != pictures.key(4)
    texts: Any = from_dataset(Counted(lambda row: {"text": f"number {row}", "label": 0}))
    assert (texts.kind, texts.read(3)) == ("text", "number 3")
    rows: Any = from_dataset(Counted(lambda row: {"size": row, "colour": "red", "label": 0}))
    assert (rows.kind, rows.read(3)) == ("row", {"size": 3.0, "colour": "red"})


class Endless(IterableDataset[Any]):
    """A stream."""

    def __iter__(self) -> Iterator[Any]:
        yield from map(pairs, range(40))


def failing(row: int) -> Any:
    if row == 30:
        raise KeyError("gone")
    return pairs(row)


@pytest.mark.parametrize(
    ("dataset", "says"),
    [
        (Endless(), "Endless, which is read from its beginning only"),
        (DataLoader(Counted(pairs)), "which has batches but no rows: give its dataset"),
        (iter([1, 2]), "a dataset with a length, or a list"),
        (Counted(failing), "Item 30 of X cannot be read"),
        (Counted(lambda row: (torch.zeros(3 + row // 30), 0)), "ragged shapes: item 30"),
        (Counted(lambda row: (torch.full((2,), float("nan") if row == 30 else 0.0), 0)), "item 30 holds what is not"),
        (Counted(lambda row: torch.zeros(3)), "items without labels: give y"),
        (Counted(lambda row: (object(), 0)), "Python objects, not numbers"),
        (Counted(pairs, 0), "without items"),
    ],
)
def test_what_is_no_pool_is_refused(tmp_path: Path, dataset: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        deepbass.run(dataset, None if "without labels" in says else Y, out=tmp_path / "run", **TINY)


def test_a_dataset_must_keep_its_length() -> None:
    dataset = Counted(pairs)
    session = deepbass.Session(dataset)
    dataset.count = 39
    with pytest.raises(DataError, match="had 40 items when it was opened, and has 39 now"):
        session.ask(2)
