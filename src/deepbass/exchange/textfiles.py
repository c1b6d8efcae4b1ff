"""Labels as a text file per class, a text on every line: to be read, searched and counted by any tool.

people/CLASS.txt      what people labelled
model/CLASS.txt       what the model labelled itself
classes.json          the class of every file, for names that a file cannot have

What would end a line inside of a text is written as in JSON, \\n for a line break, and a backslash as two: a line is
always one whole text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from deepbass.core.errors import DataError
from deepbass.data.listing import name_some
from deepbass.exchange.folder_names import folder_names
from deepbass.exchange.records import Records
from deepbass.label.pictures import Unpicturable
from deepbass.store.names import CLASSES_FILE, MODEL_FOLDER, PEOPLE_FOLDER

SUFFIX = ".txt"
# whatever some program takes for the end of a line: Python's str.splitlines goes by the same list
_BREAKS = re.compile("[\\\\\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_SHORT = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\f": "\\f"}


def write_text_files(out: Path, records: Records) -> list[str]:
    """Write every labelled text as a line of its class's file; note what could not be read."""
    read = records.read
    if read is None:
        raise DataError("The texts cannot be read, so there is nothing to write: put their source back.")
    names = folder_names(records.classes)
    lines: dict[Path, list[str]] = {}
    missing = []
    for record in records.labelled():
        part = MODEL_FOLDER if record.is_guess else PEOPLE_FOLDER
        try:
            text = read(record.path).text
        except Unpicturable as error:
            missing.append(f"{record.path} ({error})")
            continue
        lines.setdefault(out / part / f"{names[str(record.label)]}{SUFFIX}", []).append(one_line(text))
    for file, texts in lines.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes("".join(f"{text}\n" for text in texts).encode(errors="replace"))
    used = {str(record.label) for record in records.labelled()}
    classes = {f"{names[label]}{SUFFIX}": label for label in records.classes if label in used}
    (out / CLASSES_FILE).write_text(json.dumps(classes, indent=1), encoding="utf-8")
    return [f"{len(missing)} texts could not be read and are left out: {name_some(missing)}"] if missing else []


def one_line(text: str) -> str:
    """Write a text on one line; `json.loads` of it between quotes, its own quotes escaped, gives the text back."""
    return _BREAKS.sub(lambda found: _SHORT.get(found[0], f"\\u{ord(found[0]):04x}"), text)
