"""Turn and stretch images a little, each time another way: so that the network sees more of the few labels known."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from deepbass.core.belief import Floats
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError

Images = NDArray[np.float32]


def augments(config: Config, shape: tuple[int, ...]) -> bool:
    """Tell whether known labels are shown turned or stretched; refuse it for samples that are no images."""
    if not config.rotate and not config.stretch:
        return False
    if len(shape) != 3:
        raise ConfigError(
            f"rotate = {config.rotate:g} and stretch = {config.stretch:g} are for images (channels, height, width), "
            f"but the samples have shape {shape}. Set both to 0, or give the data as images, as in "
            "X.reshape(-1, 1, 28, 28)."
        )
    return True


def augment(images_N_C_H_W: Images, rotate: float, stretch: float, rng: np.random.Generator) -> Images:
    """Turn and stretch every image by a draw of its own."""
    return warp(images_N_C_H_W, *draw(len(images_N_C_H_W), rotate, stretch, rng))


def draw(count: int, rotate: float, stretch: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw angles of less than ``rotate`` degrees, and factors for height and width, at most ``stretch`` from 1."""
    lowest = np.nextafter(-1.0, 0.0)  # the highest, 1, is left out by NumPy already
    draws_N_3 = rng.uniform(lowest, 1.0, (count, 3))
    return rotate * draws_N_3[:, 0], 1.0 + stretch * draws_N_3[:, 1:]


def warp(images_N_C_H_W: Images, degrees_N: Floats, factors_N_2: Floats) -> Images:
    """Turn images counterclockwise about their centre, then scale height and width, with bilinear interpolation.

    What comes from outside an image has the value of the nearest pixel of its edge, as in Keras.
    """
    height, width = images_N_C_H_W.shape[2:]
    angles_N_1_1 = np.radians(degrees_N)[:, None, None]
    cos_N_1_1, sin_N_1_1 = np.cos(angles_N_1_1), np.sin(angles_N_1_1)

    # Where each pixel of the result comes from: scaled back, then turned back, in pixels from the centre. In torch's
    # own coordinates, where every side is 2 long, a turn would shear an image that is not square. F.affine_grid is
    # left out as well: it multiplies matrices, and their rounding may hang on the number of threads.
    y_N_H_1 = (np.arange(height) - (height - 1) / 2)[:, None] / factors_N_2[:, 0, None, None]
    x_N_1_W = (np.arange(width) - (width - 1) / 2) / factors_N_2[:, 1, None, None]
    from_y_N_H_W = cos_N_1_1 * y_N_H_1 + sin_N_1_1 * x_N_1_W
    from_x_N_H_W = cos_N_1_1 * x_N_1_W - sin_N_1_1 * y_N_H_1

    grid_N_H_W_2 = np.stack((from_x_N_H_W * (2 / width), from_y_N_H_W * (2 / height)), axis=-1, dtype=np.float32)
    return seen_at(images_N_C_H_W, grid_N_H_W_2)


def seen_at(images_N_C_H_W: Images, grid_N_H_W_2: NDArray[np.float32]) -> Images:
    """Look images up at other places, (x, y) in torch's coordinates; outside is the nearest pixel of the edge."""
    warped: Images = F.grid_sample(
        torch.from_numpy(images_N_C_H_W),
        torch.from_numpy(grid_N_H_W_2),
        mode="bilinear",
        padding_mode="border",
        align_corners=False,
    ).numpy()
    return warped
