"""Bring arrays of samples into the one shape that networks see, and refuse what cannot be learned from."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.errors import DataError
from deepbass.core.raw_samples import Kind, RawSamples
from deepbass.data.source import is_raw

CHANNELS = (1, 3, 4)  # grey, RGB, RGBA
WORDS: dict[Kind, str] = {"image": "images", "text": "texts", "row": "rows of a table", "series": "series"}
FEATURES: dict[Kind, tuple[str, ...]] = {
    "image": ("pixels", "imagenet", "imagenet-depths"),
    "text": ("words", "sentences", "sentences-words"),
    "row": ("table",),
    "series": ("series", "pixels"),
}
_FEWEST_PIXELS = 64  # columns from which on whole numbers from 0 to 255 may be a picture's
CHUNK_BYTES = 1 << 24  # how much of an array on disk is looked at in one go


def as_samples(X: ArrayLike | RawSamples, where: str) -> NDArray[Any]:
    """Check an array and view it as N samples, images channel-first. Nothing is copied or read as a whole."""
    if is_lazy(X):  # it checks what it reads
        return cast(NDArray[Any], X)
    array = _as_numbers(X, where)
    _check_finite(array, where)
    return _channel_first(array)


def is_lazy(X: Any) -> bool:
    """Tell what indexes like an array of samples, and reads them when they are wanted."""
    return not hasattr(X, "__array__") and all(hasattr(X, name) for name in ("shape", "dtype", "ndim", "__getitem__"))


def view_samples(X: ArrayLike | RawSamples, where: str) -> NDArray[Any]:
    """View an array as N samples, images channel-first, without a look at the numbers: some may not be finite."""
    return _channel_first(_as_numbers(X, where))


def looks_unscaled(array: Any, where: str) -> str | None:
    """Say that floats look like pixels from 0 to 255 that nobody has scaled; a few samples are looked at."""
    if getattr(array, "dtype", None) is None or array.dtype.kind not in "if" or array.ndim < 2:
        return None
    if array.ndim == 2 and array.shape[1] < _FEWEST_PIXELS:  # a table
        return None
    some = np.asarray(array[:: max(1, len(array) // 64)], dtype=np.float64)
    if not (some.size and some.min() >= 0 and 100 < some.max() <= 255 and (some == np.round(some)).all()):
        return None
    return (
        f"{where} holds numbers of type {array.dtype} from 0 to {some.max():g}, which look like pixels that were not "
        "scaled: a network learns badly from them. Give them as uint8, or divide them by 255."
    )


def _as_numbers(X: ArrayLike | RawSamples, where: str) -> NDArray[Any]:
    if is_raw(X):
        raise DataError(
            f"{where} holds {WORDS[X.kind]}, which no network sees as they are: choose features for them, "
            f"{' or '.join(FEATURES[X.kind])}, or your own as 'file.py:function'."
        )
    array = _as_array(X, where)
    if array.dtype.kind not in "biuf":
        features = f" Texts take features: {' or '.join(FEATURES['text'])}." if array.dtype.kind == "U" else ""
        raise DataError(f"{where} holds {array.dtype} values: samples are numbers (bool, int or float).{features}")
    if array.ndim == 0 or array.size == 0:
        raise DataError(f"{where} is empty (shape {array.shape}): give at least two samples of every class.")
    return array


def _as_array(X: Any, where: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.asanyarray(X)  # a memory map stays one
    except ValueError as error:  # NumPy's word for rows of unlike length
        raise _ragged(X, where) from error
    if array.dtype == object:
        raise _ragged(array.reshape(-1) if array.ndim == 0 else array, where)
    return array


def _ragged(X: Any, where: str) -> DataError:
    """Name the first sample that differs from sample 0."""
    shapes = []
    for index, sample in enumerate(X):
        try:
            shapes.append(np.shape(sample))
        except ValueError:  # a sample that is ragged in itself
            return DataError(f"{where} has ragged shapes: sample {index} has rows of unlike length.")
        if shapes[index] != shapes[0]:
            return DataError(
                f"{where} has ragged shapes: sample {index} has shape {shapes[index]}, sample 0 has {shapes[0]}. "
                "Bring all samples to one shape first."
            )
    return DataError(f"{where} holds Python objects, not numbers: convert it, as in np.stack(X).astype(np.float32).")


def _channel_first(array: NDArray[Any]) -> NDArray[Any]:
    """View (N,H,W) as (N,1,H,W) and (N,H,W,C) as (N,C,H,W); an alpha channel that comes last is dropped."""
    match array.shape:
        case (_,) | (_, _, _):  # one number per sample, or one grey image
            return array[:, None]
        case (_, first, _, last) if last in CHANNELS and first not in CHANNELS:
            return np.moveaxis(array[..., :3], -1, 1)
    return array


def _check_finite(array: NDArray[Any], where: str) -> None:
    if array.dtype.kind != "f":
        return
    step = max(1, CHUNK_BYTES // max(1, array[:1].nbytes))
    for start in range(0, len(array), step):
        chunk = np.asarray(array[start : start + step])
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is found
            good = np.isfinite(chunk.astype(np.float32))
        if not good.all():
            index, *position = (int(i) for i in np.argwhere(~good)[0])
            value = chunk[(index, *position)]
            raise DataError(
                f"{where}: sample {start + index} holds {value} at position {tuple(position)}. "
                "Samples must be finite numbers in the range of float32: repair or remove it."
            )
