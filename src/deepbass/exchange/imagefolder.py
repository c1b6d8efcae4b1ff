"""Labels as folders of images, a subfolder per class: what deepbass and most other tools read.

people/CLASS/...      what people labelled
model/CLASS/...       what the model labelled itself
classes.json          the class of every subfolder, for names that a folder cannot have
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from deepbass.data.listing import Listing, name_some
from deepbass.data.sources import find_source
from deepbass.exchange.folder_names import file_names, folder_names
from deepbass.exchange.records import ItemRecord, Records
from deepbass.label.inside import open_inside
from deepbass.label.items import open_items
from deepbass.label.pictures import Unpicturable
from deepbass.store.names import CLASSES_FILE, MODEL_FOLDER, PEOPLE_FOLDER

_WHOLE = 1 << 30  # a side that no picture is longer than

_Put = Callable[[str, Path], None]  # brings an item, by name, to a place


def write_folder(out: Path, records: Records, source: str, *, link: bool, folder: Path | None = None) -> list[str]:
    """Copy or hard-link every labelled image to its class, people's apart from the model's; note what could not be.

    Samples of arrays become PNG files. ``folder`` is where the user keeps files of named data sets.
    """
    found = find_source(source, folder, unlabelled=True)
    files = isinstance(found, Listing)
    put = _from_files(found, link) if isinstance(found, Listing) else _from_arrays(source, folder)
    names = folder_names(records.classes)
    missing = []
    for part, is_guess in ((PEOPLE_FOLDER, False), (MODEL_FOLDER, True)):
        by_class: dict[str, list[ItemRecord]] = {}
        for record in records.labelled():
            if record.is_guess == is_guess:
                by_class.setdefault(str(record.label), []).append(record)
        for label, labelled in by_class.items():
            place = out / part / names[label]
            place.mkdir(parents=True)
            called = file_names([record.path for record in labelled], "" if files else ".png")
            for record in labelled:
                try:
                    put(record.path, place / called[record.path])
                except Unpicturable as error:
                    missing.append(f"{record.path} ({error})")
    used = {str(record.label) for record in records.labelled()}
    classes = {names[label]: label for label in records.classes if label in used}
    (out / CLASSES_FILE).write_text(json.dumps(classes, indent=1), encoding="utf-8")
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
