"""Labels as a folder of images, a subfolder a class: what deepbass and most other tools read."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from deepbass.data.listing import Listing, name_some
from deepbass.data.sources import find_source
from deepbass.label.folder_names import file_names, folder_names
from deepbass.label.inside import open_inside
from deepbass.label.items import open_items
from deepbass.label.pictures import Unpicturable
from deepbass.label.records import Record, Records

MARK = "classes.json"  # the class of every folder, for names that a folder cannot have
_WHOLE = 1 << 30  # a side that no picture is longer than

_Put = Callable[[str, Path], None]  # brings an item, by name, to a place


def write_folder(out: Path, records: Records, source: str, *, link: bool, folder: Path | None = None) -> list[str]:
    """Copy or hard-link every labelled image into the folder of its class; return notes on what could not be.

    Samples of arrays become PNG files. ``folder`` is where the user keeps files of named data sets.
    """
    found = find_source(source, folder, unlabelled=True)
    files = isinstance(found, Listing)
    put = _from_files(found, link) if isinstance(found, Listing) else _from_arrays(source, folder)
    by_class: dict[str, list[Record]] = {}
    for record in records.labelled():
        by_class.setdefault(str(record.label), []).append(record)
    names = folder_names(records.classes)
    missing = []
    for label, labelled in by_class.items():
        place = out / names[label]
        place.mkdir()
        called = file_names([record.path for record in labelled], "" if files else ".png")
        for record in labelled:
            try:
                put(record.path, place / called[record.path])
            except Unpicturable as error:
                missing.append(f"{record.path} ({error})")
    (out / MARK).write_text(json.dumps({names[label]: label for label in by_class}, indent=1), encoding="utf-8")
    return [f"{len(missing)} images could not be read and are left out: {name_some(missing)}"] if missing else []


def _from_files(listing: Listing, link: bool) -> _Put:
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


def _from_arrays(source: str, folder: Path | None) -> _Put:
    items = open_items(source, folder)

    def put(name: str, place: Path) -> None:
        items.see(name, _WHOLE).image.save(place, "PNG")

    return put
