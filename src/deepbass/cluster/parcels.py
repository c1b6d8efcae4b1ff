"""A raw sample on its way to a worker: as plain values and arrays, or as the file to read it from."""

from __future__ import annotations

from pathlib import Path
from socket import gethostname
from typing import Any

import numpy as np

from deepbass.core.errors import ConfigError
from deepbass.core.foreign import reason_of
from deepbass.core.raw_samples import RawSamples, UnreadableSample
from deepbass.data.raw_images import HasFiles, ImageFiles, NamedFile

Parcel = tuple[Any, ...]  # what it is, and what it takes to have the sample again

_FILE, _PIXELS, _PLAIN, _NONE = "file", "pixels", "plain", "unreadable"


def pack_row(samples: RawSamples, row: int, *, files: bool = True) -> Parcel:
    """Pack one sample; a picture in a file is left there, for the worker to decode, unless ``files`` is off."""
    named = samples.file(row) if files and isinstance(samples, HasFiles) else None
    if named is not None:
        return pack_sample(named)
    try:
        return pack_sample(samples.read(row))
    except UnreadableSample as error:
        return pack_sample(error)


def pack_sample(sample: Any) -> Parcel:
    """Pack a picture, a text, a row, an array, or why there is none."""
    if isinstance(sample, UnreadableSample):
        return _NONE, reason_of(sample)
    if isinstance(sample, NamedFile) and not sample.path.exists():  # here; so it is not for a worker to find out
        return pack_row(ImageFiles([sample.path], [sample.path.name], sample.side), 0, files=False)
    if isinstance(sample, NamedFile):
        return _FILE, str(sample.path.absolute()), sample.side
    if hasattr(sample, "convert"):  # a decoded picture: grey or RGB, 8 bits
        return _PIXELS, np.asarray(sample)
    return _PLAIN, sample if isinstance(sample, str | np.ndarray) else dict(sample)


def unpack_sample(parcel: Parcel) -> Any:
    """Have the sample again; raises `UnreadableSample` as reading it does."""
    kind, what = parcel[0], parcel[1]
    if kind == _NONE:
        raise UnreadableSample(what)
    if kind == _FILE:
        path = Path(what)
        if not path.exists():
            raise ConfigError(
                f"Node {gethostname()} does not see {path.resolve()}, as the machine of the command does: put it on "
                "storage that all nodes mount at the same place."
            )
        return ImageFiles([path], [path.name], parcel[2]).read(0)
    if kind == _PIXELS:
        from PIL import Image

        return Image.fromarray(what)
    return what
