"""Labels as folders of files, a subfolder per class, people's apart from the model's.

people/CLASS/...      what people labelled
model/CLASS/...       what the model labelled itself
classes.json          the class of every subfolder, for names that a folder cannot have
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from deepbass.data.listing import name_some
from deepbass.exchange.folder_names import file_names, folder_names
from deepbass.exchange.records import ItemRecord, Records
from deepbass.label.pictures import Unpicturable
from deepbass.store.names import CLASSES_FILE, MODEL_FOLDER, PEOPLE_FOLDER

Put = Callable[[str, Path], None]  # brings an item, by name, to a place


def fill_folders(out: Path, records: Records, put: Put, suffix: str = "") -> list[str]:
    """Put every labelled item below its class; note what could not be. ``suffix`` is added to the names of items."""
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
            called = file_names([record.path for record in labelled], suffix)
            for record in labelled:
                try:
                    put(record.path, place / called[record.path])
                except Unpicturable as error:
                    missing.append(f"{record.path} ({error})")
    used = {str(record.label) for record in records.labelled()}
    classes = {names[label]: label for label in records.classes if label in used}
    (out / CLASSES_FILE).write_text(json.dumps(classes, indent=1), encoding="utf-8")
    left_out = f"{len(missing)} {records.kind}s could not be read and are left out: {name_some(missing)}"
    return [left_out] if missing else []
