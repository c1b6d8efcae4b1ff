"""A pool of any size on disk: MNIST, every sample turned and stretched by a small draw of its own.

    python -m speed.large_pool FOLDER --samples 10000000

writes FOLDER/pool.npy (784 bytes a sample) and FOLDER/labels.npy; killed, it goes on where it was. A smaller pool is
the beginning of a larger one. Remove the folder when you are done.
"""

from __future__ import annotations

import argparse
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.randomness import generator
from deepbass.data import load
from deepbass.files import replace_file
from deepbass.learn.augment import augment

_AT_A_TIME = 10_000  # samples; MNIST's 60,000 are a multiple
_DEGREES, _STRETCH = 10.0, 0.1
_SEED = 0
POOL, LABELS = "pool.npy", "labels.npy"
_BESIDE = "pool.npy.part"  # until it is whole


def write_pool(folder: Path, samples: int) -> Path:
    """Write a pool, or what is missing of it, in parts of one size; return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    whole, beside = folder / POOL, folder / _BESIDE
    if whole.exists() and len(np.load(whole, mmap_mode="r")) >= samples:
        return whole
    data = load("mnist", Config())
    header = _header((samples, *data.pool.shape))
    if not beside.exists() or not _begins_with(beside, header):
        beside.write_bytes(header)
    size = int(np.prod(data.pool.shape))
    done = (beside.stat().st_size - len(header)) // (size * _AT_A_TIME)
    with beside.open("r+b") as file:
        file.truncate(len(header) + done * size * _AT_A_TIME)  # a part that was cut off is written again
        file.seek(0, 2)
        for part in range(done, -(-samples // _AT_A_TIME)):
            ids = np.arange(part * _AT_A_TIME, min((part + 1) * _AT_A_TIME, samples)) % len(data.pool)
            rng = generator(_SEED, part, "affine draws")
            file.write(_pixels(augment(data.pool.read(ids), _DEGREES, _STRETCH, rng)).tobytes())
    labels = np.resize(data.truth, samples).astype(np.int8)
    replace_file(folder / LABELS, _header(labels.shape, labels.dtype) + labels.tobytes())
    beside.replace(whole)
    return whole


def _begins_with(path: Path, header: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(header)) == header


def _pixels(images: NDArray[np.float32]) -> NDArray[np.uint8]:
    return np.clip(np.round(images * 256), 0, 255).astype(np.uint8)


def _header(shape: tuple[int, ...], kind: Any = np.uint8) -> bytes:
    """Make what a .npy file of so many samples begins with."""
    beginning = BytesIO()
    described: Any = {"descr": np.lib.format.dtype_to_descr(np.dtype(kind)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(beginning, described)
    return beginning.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=10_000_000)
    words = parser.parse_args()
    write_pool(words.folder, words.samples)
