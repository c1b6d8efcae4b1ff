"""Views stay views of their picture: each by its own draw, never mirrored unless wanted, as far as is said."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core.errors import ConfigError
from deepbass.learn.strong_views import Changes, changes_for, strong_views

NOTHING = Changes(rotate=0, stretch=0, shear=0, shift=0, hole=0, light=0, colour=0)


def pictures(count: int = 40, channels: int = 1, height: int = 12, width: int = 16) -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(count, channels, height, width)).astype(np.float32)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("channels", [1, 3])
def test_without_changes_a_view_is_the_picture(channels: int) -> None:
    given = pictures(channels=channels)
    np.testing.assert_allclose(strong_views(given, NOTHING, rng()), given, atol=1e-5)


def test_views_hang_on_the_generator_alone_and_leave_the_pictures_as_they_are() -> None:
    given = pictures(channels=3)
    before = given.copy()
    first, again, other = (strong_views(given, Changes(), rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(given, before)
    assert (np.abs(first - other).reshape(len(given), -1).max(1) > 0.01).all()
    assert first.dtype == np.float32


def test_a_mirrored_view_is_mirrored_or_not_and_others_never_are() -> None:
    given = pictures()
    views = strong_views(given, Changes(0, 0, 0, 0, 0, 0, 0, mirror=True), rng())
    same = np.array([np.allclose(*pair, atol=1e-5) for pair in zip(views, given, strict=True)])
    swapped = np.array([np.allclose(view, one[..., ::-1], atol=1e-5) for view, one in zip(views, given, strict=True)])
    assert (same ^ swapped).all()
    assert 5 < same.sum() < 35
    # a picture that is bright on its left stays so under all that is done by default
    left = np.zeros((200, 1, 28, 28), dtype=np.float32)
    left[..., :9] = 1
    views = strong_views(left, changes_for("strong", (1, 28, 28)) or NOTHING, rng())
    assert (views[..., :14].sum((1, 2, 3)) > views[..., 14:].sum((1, 2, 3))).all()


def test_a_hole_hides_a_part_of_the_size_that_is_said() -> None:
    given = pictures(count=300, height=20, width=20)
    views = strong_views(given, Changes(0, 0, 0, 0, 0.5, 0, 0), rng())
    hidden = np.isclose(views, given.mean((2, 3), keepdims=True), atol=1e-6) & ~np.isclose(views, given, atol=1e-4)
    rows, columns = hidden.any(3).sum((1, 2)), hidden.any(2).sum((1, 2))
    assert rows.max() <= 11
    assert columns.max() <= 11
    assert rows.max() >= 8
    assert (hidden.reshape(300, -1).sum(1) <= rows * columns).all()


def test_light_keeps_the_order_of_pixels_and_colour_shifts_whole_channels() -> None:
    given = pictures(channels=3)
    lit = strong_views(given, Changes(0, 0, 0, 0, 0, 0.3, 0), rng())
    order = np.argsort(given[0, 0].ravel())
    assert (np.diff(lit[0, 0].ravel()[order]) > -1e-5).all()
    tinted = strong_views(given, Changes(0, 0, 0, 0, 0, 0, 0.2), rng())
    moved = tinted - given
    assert np.ptp(moved, axis=(2, 3)).max() < 1e-5
    assert np.ptp(moved.mean((2, 3)), axis=1).min() > 0


def test_a_turn_keeps_distances_in_a_picture_that_is_not_square() -> None:
    given = np.zeros((50, 1, 21, 41), dtype=np.float32)
    given[:, 0, 10, 20] = given[:, 0, 10, 32] = 1.0  # two points, 12 apart
    views = strong_views(given, Changes(30, 0, 0, 0, 0, 0, 0), rng())[:, 0]
    for view in views:
        y, x = np.unravel_index(np.argmax(np.where(np.arange(41) > 26, view, 0)), view.shape)
        assert np.hypot(y - 10, x - 20) == pytest.approx(12, abs=1.5)


def test_samples_that_are_no_pictures_are_refused_with_what_to_do() -> None:
    with pytest.raises(ConfigError, match="views = 'plain'"):
        changes_for("strong", (784,))
    assert changes_for("plain", (784,)) is None
