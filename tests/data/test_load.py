"""Laws of loading: pool and validation are apart, all checks are made, and the seed decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data import from_arrays, load

X = np.arange(200, dtype=np.float32).reshape(100, 2)
y = np.arange(100) % 4


@given(st.integers(0, 50), st.floats(0.05, 0.9), st.integers(2, 80), st.integers(0, 60))
def test_every_sample_is_in_one_place_with_its_own_label(seed: int, share: float, pool: int, unknown: int) -> None:
    labels = np.where(np.arange(100) < unknown, -1, y)
    data = from_arrays(X, labels, config=Config(seed=seed, validation=share, pool=pool))
    names = [data.pool.name(i) for i in range(len(data.pool))]
    held = [data.validation.name(i) for i in range(len(data.validation))]
    assert not set(names) & set(held)
    assert len(names) <= pool
    for part, truth in ((data.pool, data.truth), (data.validation, data.validation_labels)):
        rows = [int(part.name(i).removeprefix("train/")) for i in range(len(part))]
        np.testing.assert_array_equal(part.read(range(len(part))), X[rows])
        np.testing.assert_array_equal(truth, labels[rows])
    assert (data.validation_labels >= 0).all()


def test_the_same_seed_loads_the_same_and_another_does_not() -> None:
    one, same, other = (from_arrays(X, y, config=Config(seed=seed, pool=20)) for seed in (1, 1, 2))
    ids = range(20)
    np.testing.assert_array_equal(one.pool.read(ids), same.pool.read(ids))
    assert (one.pool.read(ids) != other.pool.read(ids)).any()


def test_a_validation_part_is_taken_as_it_is() -> None:
    data = from_arrays(X, y, X[:8], y[:8], config=Config(), name="mine")
    assert (data.name, data.classes) == ("mine", ("0", "1", "2", "3"))
    assert (len(data.pool), len(data.validation)) == (100, 8)
    assert data.notes == ()


def test_validation_samples_without_a_label_are_left_out_and_noted() -> None:
    data = from_arrays(X, y, X[:8], [0, 1, -1, 3, -1, 0, 0, 0], config=Config())
    assert data.validation_labels.tolist() == [0, 1, 3, 0, 0, 0]
    assert data.validation.name(2) == "validation/3"
    assert data.notes == ("2 validation samples without a label were left out",)


def test_a_pool_larger_than_the_data_takes_all_and_says_so() -> None:
    data = from_arrays(X, y, X[:8], y[:8], config=Config(pool=1000))
    assert len(data.pool) == 100
    assert "pool = 1000 is more than the 100" in data.notes[0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((X, y[:7]), "100 samples but labels"),
        ((X, np.full(100, -1)), "simulated run needs"),
        ((X[:2], [0, 1]), "no labelled samples to validate with"),
        ((X, y, X[:8]), "X_val and y_val go together"),
        ((X, y, X[:8], np.full(8, -1)), "no labelled samples to validate with"),
        ((X, y, X[:8, :1], y[:8]), r"Samples of X_val have shape \(1,\), those of X \(2,\)"),
        ((X, y, X[:8].astype(np.uint8), y[:8]), "divided by 256"),
        ((X, y, X[:8], y[:8] + 9), "X_val: label '9' of sample 0 lies outside the classes"),
        ((np.where(X == 7, np.nan, X), y), r"X: sample 3 holds nan at position \(1,\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_arrays(*arrays, config=Config())


def test_a_class_of_one_sample_stays_in_the_pool() -> None:
    data = from_arrays(X[:9], [0, 0, 0, 0, 1, 1, 1, 1, 2], config=Config())
    assert 2 in data.truth
    assert set(data.validation_labels) == {0, 1}


def test_the_toy_is_the_papers() -> None:
    data = load("toy", Config(seed=3))
    assert data.classes == ("red", "blue")
    assert data.pool.shape == (2,)
    assert np.bincount(data.truth).tolist() == np.bincount(data.validation_labels).tolist() == [500, 500]
    points = data.pool.read(range(1000))
    red, blue = points[data.truth == 0], points[data.truth == 1]
    # E[cos(pi N(1/2, 1/9))] = 0 and E[sin] = exp(-(pi/3)^2 / 2) = 0.578: the moons bulge up and down
    np.testing.assert_allclose(red.mean(0), [1 / 3, -0.1 + 0.578], atol=0.12)
    np.testing.assert_allclose(blue.mean(0), [-1 / 3, 0.1 - 0.578], atol=0.12)
    radius = np.linalg.norm(red - [1 / 3, -0.1], axis=1)
    assert abs(radius.mean() - 1) < 0.05
    assert abs(radius.std() - 0.25) < 0.03
    assert (data.validation.read(range(1000)) != points).all()  # fresh points
    np.testing.assert_array_equal(points, load("toy", Config(seed=3)).pool.read(range(1000)))
    assert (points != load("toy", Config(seed=4)).pool.read(range(1000))).all()


def test_digits_are_pixels_below_one() -> None:
    data = load("digits", Config())
    pixels = data.pool.read(range(len(data.pool)))
    assert data.pool.shape == (1, 8, 8)
    assert len(data.pool) + len(data.validation) == 1797
    assert pixels.min() == 0.0
    assert 0.9 < pixels.max() < 1.0
    assert pixels.max() * 256 == 240  # scikit-learn's 16


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "No data was named"),
        ("n" * 5000, "cannot be read"),
        ("mnits", "no data set and no file 'mnits'. Did you mean 'mnist'"),
        ("no/such/place", "no file 'no/such/place'. Known by name: toy, digits, mnist, fashion-mnist"),
    ],
)
def test_what_is_nowhere_is_quoted(source: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(source, Config())


def test_a_file_of_no_known_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.xlsx").touch()
    with pytest.raises(DataError, match=r"data\.xlsx' is of no kind"):
        load(str(tmp_path / "data.xlsx"), Config())


def test_loading_needs_no_torch_and_no_extras() -> None:
    import subprocess
    import sys

    code = "import sys, deepbass.data; print([m for m in ('torch', 'PIL', 'sklearn', 'rich') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(("module", "extra"), [("sklearn.datasets", "sklearn"), ("PIL", "images")])
def test_a_missing_extra_is_named(module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "a.png").touch()
    with pytest.raises(DataError, match=rf"pip install 'deepbass\[{extra}\]'"):
        load("digits" if extra == "sklearn" else str(tmp_path), Config())
