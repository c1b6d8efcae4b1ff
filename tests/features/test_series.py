"""Series over time: told from pictures by a rule, seen on one scale, and used again by a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import deepbass
from deepbass.core.errors import ConfigError
from deepbass.core.raw_samples import UnreadableSample
from deepbass.data.raw_series import ArraySeries, is_series
from deepbass.features import choose, pack_extractor, unpack_extractor
from deepbass.features.series import MOST, SUMS, SeriesFeatures
from deepbass.runs.predictor import Predictor

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("array", "series"),
    [
        (RNG.normal(size=(5, 128, 9)), True),
        (RNG.normal(size=(5, 9, 128)).astype(np.float32), True),
        (RNG.normal(size=(5, 60, 1)), True),
        (RNG.integers(-500, 500, (5, 100, 2)), True),
        (RNG.uniform(size=(5, 40, 3)), True),
        (RNG.normal(size=(5, 28, 28)), False),  # sides alike
        (RNG.normal(size=(5, 30, 15)), False),  # one just twice the other
        (RNG.integers(0, 256, (5, 100, 4), dtype=np.uint8), False),  # bytes
        (RNG.integers(0, 17, (5, 100, 4)).astype(float), False),  # whole, from 0 to 255
        (RNG.normal(size=(5, 7)), False),
        (RNG.normal(size=(5, 64, 9, 1)), False),
        ([[1.0]], False),
    ],
)
def test_a_stack_is_of_series_unless_its_numbers_or_sides_are_those_of_pictures(array: Any, series: bool) -> None:
    assert is_series(array) == series


def waves(count: int, steps: int = 60, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Make series of two columns, slow or fast waves of any phase, on unlike scales."""
    rng = np.random.default_rng(seed)
    fast = np.arange(count) % 2
    phase, time = rng.uniform(0, 2 * np.pi, count), np.linspace(0, 2 * np.pi, steps)
    wave = np.sin((1 + 5 * fast)[:, None] * time + phase[:, None])
    series = np.stack([1000 * wave + 5000, 0.01 * rng.normal(size=wave.shape)], axis=-1)
    return series.astype(np.float32), fast


def fitted(X: NDArray[Any]) -> SeriesFeatures:
    made = SeriesFeatures()
    made.fit(ArraySeries(X), np.arange(len(X)))
    return made


@pytest.mark.parametrize("steps", [1, 7, 60, 1000])
def test_features_are_the_windows_means_and_four_sums_of_every_column(steps: int) -> None:
    X, _ = waves(12, steps)
    made = fitted(X)
    found = made.compute(list(X)).reshape(12, -1, 2)
    assert made.width == 2 * (min(steps, MOST // 2) + SUMS) == found[0].size
    scaled = np.clip((X - X.mean((0, 1), dtype=float)) / X.std((0, 1), dtype=float), -5, 5)
    edges = np.linspace(0, steps, made.windows + 1).astype(int)
    for window in range(made.windows):
        mean = scaled[:, edges[window] : edges[window + 1]].mean(1)
        assert found[:, window] == pytest.approx(mean, abs=2e-3)
    sums = [scaled.std(1), scaled.min(1), scaled.max(1), np.abs(np.diff(scaled, axis=1)).sum(1) / steps]
    wanted = np.stack(sums, axis=1)
    spread = np.where(wanted.std(0) > 1e-9, wanted.std(0), 1.0)
    wanted = np.clip((wanted - wanted.mean(0)) / spread, -5, 5) * np.sqrt(made.windows / SUMS)
    assert found[:, made.windows :] == pytest.approx(wanted, abs=0.05)


def test_what_is_of_another_shape_or_not_finite_is_named_and_a_constant_column_is_no_trouble() -> None:
    X, _ = waves(6)
    X[..., 1] = 3.0
    made = fitted(X)
    assert np.isfinite(made.compute(list(X))).all()
    with pytest.raises(UnreadableSample, match="shape 61 x 2, not 60 x 2"):
        made.compute([np.zeros((61, 2))])
    X[2, 5, 0] = np.nan
    with pytest.raises(UnreadableSample, match="finite"):
        ArraySeries(X).read(2)
    assert fitted(X).compute([X[0]]).shape == (1, made.width)


def test_an_extractor_comes_back_from_its_bytes() -> None:
    X, _ = waves(6)
    made = fitted(X)
    again = unpack_extractor(pack_extractor(made), "a file")
    assert again.identity == made.identity
    assert np.array_equal(again.compute(list(X)), made.compute(list(X)))
    assert fitted(2 * X).identity != made.identity


def test_the_choice_is_said_and_can_be_overruled(tmp_path: Path) -> None:
    X, y = waves(60)
    chosen = choose(ArraySeries(X), "auto")
    assert (chosen.name, "features = pixels" in chosen.why) == ("series", True)
    with pytest.raises(ConfigError, match="'sentences' are for texts, and these are series: use series"):
        choose(ArraySeries(X), "sentences")
    small: Any = {"initial": 6, "iterations": 0, "initial_epochs": 1}
    as_pixels = deepbass.run(X, y, out=tmp_path / "pixels", features="pixels", **small)
    assert Predictor.load(as_pixels.path).shape == (1, 60, 2)
    square = RNG.normal(size=(40, 16, 16)).astype(np.float32)
    as_series = deepbass.run(square, np.arange(40) % 2, out=tmp_path / "series", features="series", **small)
    assert Predictor.load(as_series.path).wanted.kind == "series"


def test_a_run_learns_series_and_its_model_predicts_arrays(tmp_path: Path) -> None:
    X, y = waves(200)
    notes: list[str] = []
    watch = deepbass.Watch(on_note=notes.append)
    result = deepbass.run(X, y, out=tmp_path / "run", initial=20, iterations=1, watch=watch)
    assert any(note.startswith("features: series") for note in notes)
    assert result.accuracy > 0.9
    unseen, truth = waves(40, seed=1)
    predictor = Predictor.load(result.path)
    found = predictor.predict(unseen)
    assert (found.argmax(1) == truth).mean() > 0.9
    from deepbass.data.incoming import inputs_of

    np.save(tmp_path / "new.npy", unseen)
    (opened,) = inputs_of([str(tmp_path / "new.npy")], predictor.wanted)
    streamed = [one.probs_C for one in predictor.stream(opened.items()) if one.probs_C is not None]
    assert np.allclose(np.stack(streamed), found)
