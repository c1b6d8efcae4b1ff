"""Known labels are seen turned and stretched, another way each time; nothing else is, and without it nothing moves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import deepbass
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Answers, Classes, Labels
from deepbass.core.randomness import generator
from deepbass.learn import learner as learner_module
from deepbass.learn.augment import Images, augment, draw, warp
from deepbass.learn.kernel import native
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import build
from deepbass.runs.lifecycle import Watch
from tests.learn.arrays import Arrays
from tests.runs.small_runs import SMALL, everything

SAMPLES, CLASSES = 60, 3
SHAPE = (1, 9, 8)
KNOWN = np.arange(0, SAMPLES, 6)
ON = {"rotate": 10.0, "stretch": 0.05}
ENGINES = pytest.mark.parametrize(
    "kernel",
    [pytest.param("auto", marks=pytest.mark.skipif(not native.widths(), reason="there is no kernel")), "off"],
)


def pictures(count: int = SAMPLES, shape: tuple[int, ...] = SHAPE) -> Images:
    return np.random.default_rng(3).random((count, *shape), dtype=np.float32)


def gaussians(height: int, width: int, y: float, x: float) -> Images:
    """Draw a smooth spot at a place, counted in pixels from the centre."""
    ys, xs = np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2
    spot_H_W = np.exp(-((ys[:, None] - y) ** 2 + (xs - x) ** 2) / 8)
    return spot_H_W.astype(np.float32)[None, None]


def centre(image_H_W: NDArray[np.float32]) -> tuple[float, float]:
    """Find the centre of mass, in pixels from the image's centre."""
    ys, xs = (np.arange(side) - (side - 1) / 2 for side in image_H_W.shape)
    total = image_H_W.sum()
    return float(image_H_W.sum(1) @ ys / total), float(image_H_W.sum(0) @ xs / total)


def turned(images: Images, degrees: float, tall: float = 1.0, wide: float = 1.0) -> Images:
    """Warp all images the same way."""
    return warp(images, np.full(len(images), degrees), np.tile((tall, wide), (len(images), 1)))


# what a warp is


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 7, 12), (2, 1, 5)])
def test_no_turn_and_no_stretch_show_the_image_itself(shape: tuple[int, ...]) -> None:
    images = pictures(4, shape)
    np.testing.assert_allclose(turned(images, 0), images, atol=1e-5)
    np.testing.assert_allclose(augment(images, 0, 0, np.random.default_rng(0)), images, atol=1e-5)


@pytest.mark.parametrize("side", [1, 2, 7, 8, 28, 29])
@pytest.mark.parametrize("quarters", [-1, 1, 2, 3])
def test_quarter_turns_are_numpys(side: int, quarters: int) -> None:
    images = pictures(3, (2, side, side))
    np.testing.assert_allclose(turned(images, 90 * quarters), np.rot90(images, quarters, axes=(2, 3)), atol=2e-5)


@pytest.mark.parametrize(("height", "width"), [(7, 13), (13, 7), (8, 14), (6, 4)])
def test_an_image_that_is_not_square_is_turned_in_pixels(height: int, width: int) -> None:
    images = pictures(3, (2, height, width))
    np.testing.assert_allclose(turned(images, 180), images[..., ::-1, ::-1], atol=2e-5)
    side = min(height, width)  # of the square in the middle, which a quarter turn maps to itself
    top, left = (height - side) // 2, (width - side) // 2
    middle = (..., slice(top, top + side), slice(left, left + side))
    np.testing.assert_allclose(turned(images, 90)[middle], np.rot90(images[middle], axes=(2, 3)), atol=2e-5)


@pytest.mark.parametrize("degrees", [-25.0, 9.9, 45.0, 140.0])
def test_a_spot_moves_on_a_circle_in_an_image_of_any_sides(degrees: float) -> None:
    y, x = 2.0, 5.0
    image = turned(gaussians(33, 47, y, x), degrees)[0, 0]
    angle = np.radians(degrees)  # counterclockwise for the eye: rows are counted downwards
    expected = (np.cos(angle) * y - np.sin(angle) * x, np.sin(angle) * y + np.cos(angle) * x)
    np.testing.assert_allclose(centre(image), expected, atol=0.02)


@pytest.mark.parametrize(("tall", "wide"), [(1.05, 1.0), (1.0, 0.95), (1.2, 0.8), (0.7, 1.3)])
def test_a_spot_moves_away_from_the_centre_by_the_factors_of_height_and_width(tall: float, wide: float) -> None:
    before = gaussians(41, 61, 4.0, -6.0)
    after = turned(before, 0, tall, wide)[0, 0]
    np.testing.assert_allclose(centre(after), (4.0 * tall, -6.0 * wide), atol=0.05)  # bilinear is not exact
    np.testing.assert_allclose(after.sum(), before.sum() * tall * wide, rtol=0.01)


def test_an_image_is_turned_first_and_then_scaled() -> None:
    image = turned(gaussians(61, 61, 0.0, 8.0), 90, tall=1.5)[0, 0]
    np.testing.assert_allclose(centre(image), (-12.0, 0.0), atol=0.02)


@given(st.floats(-180, 180), st.floats(0.1, 3), st.floats(0.1, 3))
def test_values_stay_within_those_of_the_image(degrees: float, tall: float, wide: float) -> None:
    """The outside is filled with the edge, so a frame of one value has no seam, and black does not come in."""
    image = pictures(1, (1, 6, 9)) + 5
    after = turned(image, degrees, tall, wide)
    assert image.min() - 1e-5 <= after.min() <= after.max() <= image.max() + 1e-5
    np.testing.assert_allclose(turned(np.full_like(image, 7), degrees, tall, wide), 7, rtol=1e-6)


def test_outside_an_image_its_nearest_edge_goes_on() -> None:
    image = np.arange(8, dtype=np.float32).reshape(1, 1, 1, 8).repeat(8, axis=2)  # a ramp from left to right
    after = turned(image, 0, wide=0.5)[0, 0]
    np.testing.assert_allclose(after, np.tile([0, 0, 0.5, 2.5, 4.5, 6.5, 7, 7], (8, 1)), atol=1e-5)


def test_every_image_has_a_warp_of_its_own_and_none_meets_another() -> None:
    images, (degrees, factors) = pictures(5), draw(5, 30, 0.3, np.random.default_rng(0))
    together = warp(images, degrees, factors)
    for row in range(5):
        one = slice(row, row + 1)
        np.testing.assert_array_equal(together[one], warp(images[one], degrees[one], factors[one]))


def test_images_are_the_same_bits_with_any_number_of_threads() -> None:
    before, bits = torch.get_num_threads(), set()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            bits.add(augment(pictures(300), 10, 0.05, np.random.default_rng(0)).tobytes())
    finally:
        torch.set_num_threads(before)
    assert len(bits) == 1


# what is drawn


class Extreme(np.random.Generator):
    """Draws the lowest or the highest that a uniform draw can be."""

    def __init__(self, share: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._share = share

    def uniform(self, low: float, high: float, size: tuple[int, ...]) -> NDArray[np.float64]:  # type: ignore[override]
        return np.full(size, low + (high - low) * self._share)


highest = np.nextafter(1.0, 0.0)
draws = st.integers(0, 1000).map(np.random.default_rng) | st.sampled_from([0.0, highest]).map(Extreme)


@given(st.floats(1e-9, 180, exclude_max=True), st.floats(0, 1, exclude_max=True), draws)
def test_angles_are_below_the_bound_and_factors_within_theirs(
    rotate: float, stretch: float, rng: np.random.Generator
) -> None:
    degrees, factors = draw(50, rotate, stretch, rng)
    assert (np.abs(degrees) < rotate).all()
    assert (factors >= 1 - stretch).all() and (factors <= 1 + stretch).all() and (factors > 0).all()


def test_angles_and_factors_fill_their_range_both_ways_and_know_nothing_of_each_other() -> None:
    degrees, factors = draw(20_000, 10, 0.05, np.random.default_rng(0))
    drawn_N_3 = np.column_stack([degrees / 10, (factors - 1) / 0.05])
    for quantile in (0.05, 0.25, 0.5, 0.75, 0.95):
        np.testing.assert_allclose(np.quantile(drawn_N_3, quantile, axis=0), 2 * quantile - 1, atol=0.04)
    np.testing.assert_allclose(np.corrcoef(drawn_N_3.T), np.eye(3), atol=0.04)


def test_the_same_seed_draws_the_same_images_however_they_are_cut_into_batches() -> None:
    images = pictures()
    whole = augment(images, 10, 0.05, np.random.default_rng(4))
    np.testing.assert_array_equal(whole, augment(images, 10, 0.05, np.random.default_rng(4)))
    assert not np.array_equal(whole, augment(images, 10, 0.05, np.random.default_rng(5)))
    rng = np.random.default_rng(4)
    parts = [augment(images[rows], 10, 0.05, rng) for rows in (slice(0, 7), slice(7, 7), slice(7, SAMPLES))]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


# what a learner shows


class Recorder:
    """Stands in for an engine's backward, and keeps what it is given."""

    def __init__(self, subject: LocalLearner, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[tuple[Images, Classes]] = []
        passed_on = subject._engine.backward

        def backward(inputs: Images, classes: Classes) -> None:
            self.batches.append((inputs.copy(), classes.copy()))
            passed_on(inputs, classes)

        monkeypatch.setattr(subject._engine, "backward", backward)

    @property
    def inputs(self) -> Images:
        return np.concatenate([inputs for inputs, _ in self.batches])

    @property
    def classes(self) -> Classes:
        return np.concatenate([classes for _, classes in self.batches])


def labels() -> Labels:
    """Know every sixth sample, and guess all others."""
    truth = np.arange(SAMPLES) % CLASSES
    return Labels.none(SAMPLES, CLASSES).answered(Answers(KNOWN, truth[KNOWN])).guessed(np.arange(SAMPLES), truth)


def learner(pool: Arrays | None = None, /, **settings: object) -> LocalLearner:
    pool = pool or Arrays(pictures())
    config = Config.of({"batch_size": 32, **settings})
    return LocalLearner(build(config, pool.shape, CLASSES), pool, CLASSES, config)


def order(epochs: int, copies: int, seed: int) -> NDArray[np.int64]:
    """Tell which samples training shows, as it did before there was any augmentation."""
    ids, rng = labels().curriculum(copies)[0], np.random.default_rng(seed)
    return np.concatenate([ids[rng.permutation(len(ids))] for _ in range(epochs)])


@ENGINES
def test_without_augmentation_training_shows_the_pool_in_the_same_order_as_ever(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner_module, "augment", None)  # never called
    subject = learner(kernel=kernel, rotate=0.0, stretch=0.0)
    seen = Recorder(subject, monkeypatch)
    subject.train(labels(), epochs=2, copies=5, seed=1)
    np.testing.assert_array_equal(seen.inputs, pictures()[order(2, 5, 1)])


@ENGINES
def test_augmentation_moves_neither_the_order_nor_the_masks(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn of next to nothing changes next to nothing: the other draws of training are those of a run without."""
    on, off = learner(kernel=kernel, rotate=1e-9), learner(kernel=kernel)
    seen = Recorder(on, monkeypatch)
    for subject in (on, off):
        subject.train(labels(), epochs=1, copies=5, seed=1)
    np.testing.assert_array_equal(seen.classes, np.arange(SAMPLES)[order(1, 5, 1)] % CLASSES)
    for with_, without in zip(on.model.parameters(), off.model.parameters(), strict=True):
        torch.testing.assert_close(with_, without, rtol=1e-3, atol=1e-5)


@ENGINES
def test_every_presentation_of_a_known_label_differs_and_guesses_are_shown_as_they_are(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = learner(kernel=kernel, **ON)
    seen = Recorder(subject, monkeypatch)
    subject.train(labels(), epochs=2, copies=5, seed=1)
    ids, images = order(2, 5, 1), pictures()
    known = np.isin(ids, KNOWN)
    np.testing.assert_array_equal(seen.inputs[~known], images[ids[~known]])
    for sample in KNOWN:
        views = seen.inputs[ids == sample]
        assert len({view.tobytes() for view in [*views, images[sample]]}) == 2 * 5 + 1
        assert np.abs(views.mean(0) - images[sample]).mean() < 0.2  # but it is this sample, not another
    rng = generator(1, 0, "augment")
    np.testing.assert_array_equal(seen.inputs[known], augment(images[ids[known]], 10, 0.05, rng))


def test_an_answer_that_is_taken_back_is_a_guess_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = KNOWN[:1]
    back = labels().answered(Answers(first, np.array([-1]))).guessed(first, np.array([0]))
    subject = learner(**ON)
    seen = Recorder(subject, monkeypatch)
    subject.train(back, epochs=1, copies=1, seed=0)
    assert (seen.inputs == pictures()[first]).all(axis=(1, 2, 3)).sum() == 1


@ENGINES
def test_the_pool_inference_and_evaluation_are_left_alone(kernel: str) -> None:
    values = pictures()
    pool = Arrays(values)
    on, off = learner(pool, kernel=kernel, **ON), learner(pool, kernel=kernel)
    on.train(labels(), epochs=1, copies=5, seed=1)
    off.restore(on.state())
    np.testing.assert_array_equal(values, pictures())
    assert np.array_equal(on.probabilities(pool), off.probabilities(pool))
    for ids in (None, KNOWN):
        for passes in (0, 4):
            one, other = (subject.infer(ids, passes=passes, seed=2) for subject in (on, off))
            np.testing.assert_array_equal(one.mean_N_C, other.mean_N_C)


@ENGINES
def test_both_engines_learn_with_it(kernel: str) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(SAMPLES) % CLASSES
    values = np.zeros((SAMPLES, 1, 12, 10), dtype=np.float32)
    for sample, class_ in enumerate(truth):  # a bar in one of three places
        values[sample, 0, 1 + 4 * class_ : 3 + 4 * class_, 2:8] = 1
    values += rng.normal(scale=0.2, size=values.shape)
    pool = Arrays(values)
    subject = learner(pool, kernel=kernel, **ON)
    assert subject.engine.startswith("kernel" if kernel == "auto" else "torch")
    known = Labels.none(SAMPLES, CLASSES).answered(Answers(KNOWN, truth[KNOWN]))
    known = known.answered(Answers(KNOWN + 1, truth[KNOWN + 1])).answered(Answers(KNOWN + 2, truth[KNOWN + 2]))
    subject.train(known, epochs=60, copies=5, seed=1)
    assert subject.evaluate(pool, truth).accuracy > 0.9


@pytest.mark.parametrize("settings", [{"rotate": 10}, {"stretch": 0.05}, ON])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 2, 2, 2)])
def test_what_is_no_image_cannot_be_turned(shape: tuple[int, ...], settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError) as refused:
        learner(Arrays(pictures(SAMPLES, shape)), **settings)
    message = str(refused.value)
    assert f"the samples have shape {shape}" in message
    assert f"rotate = {settings.get('rotate', 0):g} and stretch = {settings.get('stretch', 0):g}" in message
    assert "Set both to 0" in message


# what a run is


def test_a_run_on_features_is_refused_before_there_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="are for images"):
        deepbass.run("toy", out=tmp_path / "run", **{**SMALL, "rotate": 10})
    assert not (tmp_path / "run").exists()


@ENGINES
def test_stop_and_resume_equals_not_stopping_with_augmentation(kernel: str, tmp_path: Path) -> None:
    X, y = pictures(200, (8, 8)), np.arange(200) % CLASSES
    settings = {**SMALL, **ON, "kernel": kernel, "iterations": 5, "initial_epochs": 2, "batch_size": 64, "model": "cnn"}
    trained: list[float] = []

    def die(what: str, share: float) -> None:
        """Stop in the middle of an epoch, after some draws were made that nobody kept."""
        if what == "training":
            trained.append(share)
            if sum(share == 0 for share in trained) == 5 and share > 0:
                raise KeyboardInterrupt

    deepbass.run(X, y, out=tmp_path / "whole", **settings)
    with pytest.raises(KeyboardInterrupt):
        deepbass.run(X, y, out=tmp_path / "part", watch=Watch(on_progress=die), **settings)
    deepbass.resume(tmp_path / "part", X, y)
    assert everything(tmp_path / "part") == everything(tmp_path / "whole")
    deepbass.run(X, y, out=tmp_path / "off", **{**settings, "rotate": 0, "stretch": 0})
    assert everything(tmp_path / "off")["model"] != everything(tmp_path / "whole")["model"]
