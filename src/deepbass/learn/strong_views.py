"""Strong views: pictures changed so that a person would still know them, every time another way.

A network that has to say the same of all views of a picture learns what stays the same in them, from guesses as well as
from known labels (FixMatch: Sohn et al., 2020; cutout: DeVries and Taylor, 2017). Nothing is mirrored unless wanted: a
mirrored digit or letter is another one, or none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import ConfigError
from deepbass.learn.augment import Images, seen_at


@dataclass(frozen=True)
class Changes:
    """How far views go from the picture, at most."""

    rotate: float = 15.0  # degrees
    stretch: float = 0.15  # share of height and of width, each by its own draw
    shear: float = 0.15  # share of the height that its top is moved sideways against the middle
    shift: float = 0.1  # share of height and of width
    hole: float = 0.7  # share of height and width that is hidden, both by the same draw
    light: float = 0.2  # share that contrast is scaled by; of the picture's own spread, half as much is added
    colour: float = 0.1  # of the spread, that is added to each channel of a colour picture by its own draw
    mirror: bool = False


VIEWS = {"strong": Changes(), "mirrored": Changes(mirror=True), "plain": None}


def changes_for(views: str, shape: tuple[int, ...]) -> Changes | None:
    """Look up how samples of a shape are shown; None: as they are. What is no picture cannot be shown otherwise."""
    changes = VIEWS[views]
    if changes is not None and len(shape) != 3:
        raise ConfigError(
            f"views = {views!r} is for pictures (channels, height, width), but the samples have shape {shape}. Set "
            "views = 'plain', or give the data as pictures, as in X.reshape(-1, 1, 28, 28)."
        )
    return changes


def strong_views(images_N_C_H_W: Images, changes: Changes, rng: np.random.Generator) -> Images:
    """Change every picture by a draw of its own."""
    count, channels = images_N_C_H_W.shape[:2]
    spread_N = images_N_C_H_W.reshape(count, -1).std(1)
    mean_N_C_1_1 = images_N_C_H_W.mean((2, 3), keepdims=True)
    views = _warped(images_N_C_H_W, changes, rng)
    draws_N_2 = rng.uniform(-changes.light, changes.light, (count, 2)).astype(np.float32)
    tints_N_C = rng.uniform(-changes.colour, changes.colour, (count, channels)).astype(np.float32)
    added_N_C = (draws_N_2[:, 1:] / 2 + (tints_N_C if channels > 1 else 0.0)) * spread_N[:, None]
    # (view - mean) * scale + mean + added, in place
    views -= mean_N_C_1_1
    views *= (1 + draws_N_2[:, 0])[:, None, None, None]
    views[_holes(views.shape, changes.hole, rng)] = 0.0  # the hole has the picture's mean
    views += mean_N_C_1_1 + added_N_C[:, :, None, None]
    return views


def _warped(images_N_C_H_W: Images, changes: Changes, rng: np.random.Generator) -> Images:
    """Shift, turn, stretch and shear, bilinearly; from outside comes the nearest pixel of the edge."""
    count, _, height, width = images_N_C_H_W.shape
    draws_N_6 = rng.uniform(-1, 1, (count, 6)).astype(np.float32)
    angle_N = np.float32(np.radians(changes.rotate)) * draws_N_6[:, 0]
    cos_N, sin_N = np.cos(angle_N), np.sin(angle_N)
    down_N, across_N = 1 / (1 + np.float32(changes.stretch) * draws_N_6[:, 1:3].T)
    lean_N = np.float32(changes.shear) * draws_N_6[:, 3]
    shift_N_2 = 2 * np.float32(changes.shift) * draws_N_6[:, 4:]
    if changes.mirror:
        across_N = across_N * rng.choice(np.array([-1, 1], dtype=np.float32), count)

    # Where each pixel of the view comes from, in torch's coordinates, in which every side is 2 long; what a turn mixes
    # is scaled, so that a picture that is not square is turned and not sheared.
    y_H, x_W = ((2 * np.arange(side, dtype=np.float32) + 1) / side - 1 for side in (height, width))
    ratio = np.float32(height / width)
    grid_N_H_W_2 = np.empty((count, height, width, 2), dtype=np.float32)
    for axis, of_x_N, of_y_N in (
        (0, cos_N * across_N, ratio * (cos_N * across_N * lean_N - sin_N * down_N)),
        (1, sin_N * across_N / ratio, sin_N * across_N * lean_N + cos_N * down_N),
    ):
        grid_N_H_W_2[..., axis] = (of_x_N[:, None] * x_W)[:, None, :]
        grid_N_H_W_2[..., axis] += (of_y_N[:, None] * y_H + shift_N_2[:, axis, None])[:, :, None]
    return seen_at(images_N_C_H_W, grid_N_H_W_2)


def _holes(shape: tuple[int, ...], most: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw a hole per picture: its middle anywhere, its sides the same share of height and width, ``most`` at most."""
    count, channels, height, width = shape
    half_N_1 = rng.uniform(0, most / 2, (count, 1))
    inside = []
    for side in (height, width):
        middle_N_1 = rng.uniform(0, 1, (count, 1))
        inside.append(np.abs((np.arange(side) + 0.5) / side - middle_N_1) < half_N_1)
    holes_N_1_H_W = inside[0][:, None, :, None] & inside[1][:, None, None, :]
    return np.broadcast_to(holes_N_1_H_W, (count, channels, height, width))
