"""Decode many image files side by side into one array of pixels; unreadable ones are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.data.images import ImageHeader, UnreadableError, draw, read_header
from deepbass.data.parallel import in_order, usable_threads
from deepbass.data.progress_bars import track
from deepbass.data.quiet import quiet

SIDE = 64  # the chosen size when any image is larger

Pixels = NDArray[np.uint8]
# takes images as they come, how many there are at most, and the shape of one; gives them back as one array
Gather = Callable[[Iterable[Pixels], int, tuple[int, int, int]], Pixels]

R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Decoded:
    """The readable ones of some image files."""

    pixels: Pixels  # N x C x H x W, a row for every file that did not fail, in order
    failed: dict[int, str]  # which of the files could not be read, and why
    lasting: bool = True  # False: some file failed for a reason that lies outside of it
    notes: tuple[str, ...] = ()  # what the user should be told


class _Failure(NamedTuple):
    reason: str
    lasting: bool


def decode(paths: Sequence[Path], config: Config, gather: Gather, progress: bool = False) -> Decoded:
    """Decode images to one size, grey or colour, and leave it to ``gather`` where they are kept."""
    failed: dict[int, _Failure] = {}

    def readable(ids: Sequence[int], results: Iterable[R | _Failure], what: str) -> Generator[tuple[int, R]]:
        with closing(track(results, what, len(ids), progress)) as tracked:
            for i, result in zip(ids, tracked, strict=True):
                if isinstance(result, _Failure):
                    failed[i] = result
                else:
                    yield i, result

    # left from right to left: no thread is at work any more when warnings are heard again
    with quiet(), ThreadPoolExecutor(usable_threads()) as threads:
        # headers are read in a twentieth of a millisecond, all of it Python's: threads would only be in the way
        headers = dict(readable(range(len(paths)), map(partial(_tried, read_header), paths), "Looking at images"))
        width, height = _choose_size([header.size for header in headers.values()], config.image_size)
        grey = config.colour == "grey" or (config.colour == "auto" and all(header.grey for header in headers.values()))
        coloured = False

        def images() -> Generator[Pixels]:
            nonlocal coloured
            apply = partial(in_order, threads) if _worth_threads(headers.values()) else map
            drawn = apply(partial(_tried, partial(draw, size=(width, height), grey=grey)), [paths[i] for i in headers])
            with closing(readable(list(headers), drawn, "Decoding images")) as found:
                for _, image in found:
                    coloured = coloured or bool((image != image[0]).any())
                    yield image

        with closing(images()) as source:  # also when there is no room for them: threads and progress bar must end
            pixels = gather(source, len(headers), (1 if grey else 3, height, width))

    if config.colour == "auto" and not grey and not coloured:  # colour files whose every pixel is grey
        pixels = gather((image[:1] for image in pixels), len(pixels), (1, height, width))
    return Decoded(
        pixels,
        {i: failed[i].reason for i in sorted(failed)},
        all(failure.lasting for failure in failed.values()),
    )


def in_memory(images: Iterable[Pixels], most: int, shape: tuple[int, int, int]) -> Pixels:
    """Gather images in memory."""
    pixels = np.empty((most, *shape), dtype=np.uint8)
    count = 0
    for count, image in enumerate(images, 1):
        pixels[count - 1] = image
    return pixels[:count]


def _tried(function: Callable[[Path], R], path: Path) -> R | _Failure:
    try:
        return function(path)
    except UnreadableError as error:
        return _Failure(str(error), error.lasting)  # not the error itself, which holds on to the image


def _choose_size(sizes: Sequence[tuple[int, int]], side: int | None) -> tuple[int, int]:
    """Choose width and height: as configured, else the most common size if all are small, else 64 x 64."""
    if side is not None:
        return side, side
    if not sizes or max(max(size) for size in sizes) > SIDE:
        return SIDE, SIDE
    return Counter(sorted(sizes)).most_common(1)[0][0]


def _worth_threads(headers: Iterable[ImageHeader]) -> bool:
    """Tell whether most images are so large that Pillow's share of the work, which needs no lock, is the greater.

    Two threads decode 256 x 256 pixels in half the time of one, but take half as long again for 32 x 32.
    """
    areas = [width * height for (width, height), _ in headers]
    return bool(areas) and float(np.median(areas)) > SIDE * SIDE
