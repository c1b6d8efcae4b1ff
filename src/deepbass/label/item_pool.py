"""What the trainer learns from: the samples of a project's items, decoded as a run decodes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data.catalogue import NAMED
from deepbass.data.image_cache import read_images
from deepbass.data.image_table import is_image_table
from deepbass.data.listing import Listing
from deepbass.data.pool import Pool
from deepbass.data.row_files import KINDS, kind_of, open_rows
from deepbass.data.row_source import Roles, from_rows
from deepbass.data.sample_arrays import CHUNK_BYTES, view_samples
from deepbass.data.source import Part, Source
from deepbass.data.sources import find_source
from deepbass.label.settings import Columns

Ids = NDArray[np.int64]


def load_pool(source: str, names: Sequence[str], config: Config, folder: Path | None = None) -> tuple[Pool, Ids]:
    """Load what is still there and readable of a project's items, in the project's order.

    ``names`` are all items that the project ever had. Row i of the pool is the item ``ids[i]``: a place in ``names``.
    """
    found = find_samples(source, folder, Columns(config.text, config.target, id=config.id))
    pool, ids = _from_files(found, names, config) if isinstance(found, Listing) else _from_arrays(found, names)
    if not len(pool):
        raise DataError(f"None of the {len(names)} samples of {source!r} can be read: restore or repair some.")
    return pool, ids


def find_samples(source: str, folder: Path | None, columns: Columns | None = None) -> Source | Listing:
    """Find what is to be labelled; image files are listed, not opened. Texts and rows are raw samples of the parts."""
    if source == "toy":
        raise DataError(
            "The toy data set has points, not pictures, so there is nothing to look at. Try digits, mnist or "
            "fashion-mnist, or give a folder of images or texts."
        )
    columns = columns or Columns()
    path = Path(source).expanduser()
    if columns.text is None and columns.target is None and source not in NAMED and _is_table_of_rows(path):
        roles = Roles(show=columns.show, id=columns.id)  # nothing is known of its rows yet
        return from_rows(open_rows(path), roles, unlabelled=True)
    return find_source(
        source, folder, unlabelled=True, text=columns.text, target=columns.target, show=columns.show, id_=columns.id
    )


def _is_table_of_rows(path: Path) -> bool:
    try:
        return path.is_file() and kind_of(path) in KINDS and not (path.suffix == ".csv" and is_image_table(path))
    except OSError:
        return False


def parts_of(source: Source) -> list[tuple[Part, NDArray[Any]]]:
    """List the parts of a source, with their samples as a network sees them; they must be alike."""
    parts = [part for part in (source.train, source.validation) if part is not None]
    viewed = [(part, view_samples(part.X, part.where)) for part in parts]
    (first, samples), (last, others) = viewed[0], viewed[-1]
    if samples.shape[1:] != others.shape[1:] or (samples.dtype == np.uint8) != (others.dtype == np.uint8):
        raise DataError(
            f"{last.where} holds {others.dtype} samples of shape {others.shape[1:]}, {first.where} {samples.dtype} "
            f"samples of shape {samples.shape[1:]}: bring both to one shape and type."
        )
    return viewed


def finite(samples: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which samples hold nothing but finite numbers, as float32 has them; a part at a time."""
    good = np.ones(len(samples), dtype=np.bool_)
    if samples.dtype.kind != "f":
        return good
    step = max(1, CHUNK_BYTES // max(1, samples[:1].nbytes))
    for start in range(0, len(samples), step):
        chunk = np.asarray(samples[start : start + step])
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite
            good[start : start + step] = np.isfinite(chunk.astype(np.float32)).reshape(len(chunk), -1).all(axis=1)
    return good


def _from_files(listing: Listing, names: Sequence[str], config: Config) -> tuple[Pool, Ids]:
    there = {image.name for image in listing.images}
    ids = [id_ for id_, name in enumerate(names) if name in there]
    wanted = [names[id_] for id_ in ids]
    decoded = read_images(listing.path.resolve(), wanted, [listing.folder / name for name in wanted], config)
    kept = [place for place in range(len(ids)) if place not in decoded.failed]
    pool = Pool(decoded.pixels, [wanted[place] for place in kept])
    return pool, np.array([ids[place] for place in kept], dtype=np.int64)


def _from_arrays(source: Source, names: Sequence[str]) -> tuple[Pool, Ids]:
    parts = parts_of(source)
    row_names = [f"{part.names}/{row}" for part, samples in parts for row in range(len(samples))]
    # one part stays on disk; two are put together in memory
    samples = parts[0][1] if len(parts) == 1 else np.concatenate([samples for _, samples in parts])
    good = finite(samples)
    if good.all() and row_names == names:  # most often: nothing came, nothing went
        return Pool(samples, row_names), np.arange(len(names))
    row_of = {row_names[row]: row for row in np.flatnonzero(good).tolist()}
    ids = [id_ for id_, name in enumerate(names) if name in row_of]
    rows = np.array([row_of[names[id_]] for id_ in ids], dtype=np.int64)
    return Pool(samples, row_names, rows), np.array(ids, dtype=np.int64)
