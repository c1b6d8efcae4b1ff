"""Labels as folders of images, a subfolder per class: what deepbass and most other tools read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from deepbass.data.listing import Listing
from deepbass.data.sources import find_source
from deepbass.exchange.class_folders import Put, fill_folders
from deepbass.exchange.records import Records
from deepbass.label.inside import open_inside
from deepbass.label.items import open_items

_WHOLE = 1 << 30  # a side that no picture is longer than


def write_folder(out: Path, records: Records, source: str, *, link: bool, folder: Path | None = None) -> list[str]:
    """Copy or hard-link every labelled image to its class, people's apart from the model's; note what could not be.

    Samples of arrays become PNG files. ``folder`` is where the user keeps files of named data sets.
    """
    found = find_source(source, folder, unlabelled=True)
    files = isinstance(found, Listing)
    put = _from_files(found, link) if isinstance(found, Listing) else _from_arrays(source, folder)
    return fill_folders(out, records, put, "" if files else ".png")


def _from_files(listing: Listing, link: bool) -> Put:
    root = listing.folder.resolve()
    is_table = listing.path != listing.folder

    def put(name: str, place: Path) -> None:
        path = listing.folder / name
        # a table may name files anywhere; a folder shows what lies in it, wherever links lead
        with open_inside(path, path.resolve().parent if is_table else root) as opened:
            if link and _linked(path, place):
                return
            with place.open("wb") as copy:
                shutil.copyfileobj(opened, copy)

    return put


def _linked(path: Path, place: Path) -> bool:
    """Give a file a second name, if the file system can: it may be another one."""
    try:
        os.link(path.resolve(), place)
    except OSError:
        return False
    return True


def _from_arrays(source: str, folder: Path | None) -> Put:
    items = open_items(source, folder)

    def put(name: str, place: Path) -> None:
        items.see(name, _WHOLE).image.save(place, "PNG")

    return put
