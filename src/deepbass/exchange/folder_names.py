"""Names of folders and files that any system can hold, made from class names and paths that can be anything.

Whatever a system might not take is written as %XX, as in web addresses: a/b becomes a%2Fb. So two names never become
one, and what was meant can be read back; plain names stay as they are.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from deepbass.data.classes import UNKNOWN_TEXT
from deepbass.data.image_folder import TRAIN, VALIDATION

LONGEST = 150  # bytes: a path has room for few such, and a name of 255 is refused by most systems

# Windows takes none of these anywhere in a name; % is the mark itself
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*%]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)", re.IGNORECASE)  # of DOS; nul.txt is one, too


def folder_names(classes: Iterable[str]) -> dict[str, str]:
    """Name a folder for every class, so that reading the folders gives the classes back wherever that can be."""
    names = {class_: _safe(class_) for class_ in classes}
    parts = {class_.casefold() for class_ in names}
    for class_ in names:
        # the reader takes one for "unknown", the other, beside val/, for a part of the data
        if class_ in UNKNOWN_TEXT or (class_.casefold() == TRAIN and not parts.isdisjoint(VALIDATION)):
            names[class_] = _quoted(class_[:1]) + _safe(class_[1:]) if class_ else "%"
    return _apart(names)


def file_names(paths: Iterable[str], suffix: str = "") -> dict[str, str]:
    """Name a file for every path, in one folder: by its last part, or by all of it where others are called the same.

    With a ``suffix`` to add it is by all of it: train/17, a row of an array, becomes train-17.png.
    """
    whole = {path: path.strip("/").replace("/", "-") + suffix for path in paths}
    short = {path: whole[path] if suffix else PurePosixPath(path).name for path in whole}
    count = Counter(_folded(name) for name in short.values())
    return _apart({path: _safe(name if count[_folded(name)] == 1 else whole[path]) for path, name in short.items()})


def _safe(name: str) -> str:
    safe = _FORBIDDEN.sub(lambda found: _quoted(found[0]), name)
    if safe.startswith((".", " ")) or _DEVICES.match(safe):
        safe = _quoted(safe[0]) + safe[1:]
    if safe.endswith((".", " ")):  # Windows drops them
        safe = safe[:-1] + _quoted(safe[-1])
    return safe if len(safe.encode()) <= LONGEST else _cut(safe, name)


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _cut(safe: str, name: str) -> str:
    """Shorten a name; a sum of all of it keeps it apart from others that begin alike."""
    suffix = PurePosixPath(safe).suffix
    suffix = suffix if len(suffix.encode()) <= 16 else ""
    room = LONGEST - len(suffix.encode()) - 10
    start = safe.removesuffix(suffix).encode()[:room].decode(errors="ignore")
    return f"{start}%~{_sum(name)}{suffix}"


def _apart(names: dict[str, str]) -> dict[str, str]:
    """Tell names apart that some systems take for the same: Cat and cat, an e with its accent in one or two letters."""
    taken: set[str] = set()
    apart = {}
    for given, name in names.items():
        if _folded(name) in taken:
            path = PurePosixPath(name)
            suffix = path.suffix if path.stem and name != path.suffix else ""
            name = f"{name.removesuffix(suffix)}%~{_sum(given)}{suffix}"  # noqa: PLW2901
        taken.add(_folded(name))
        apart[given] = name
    return apart


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _sum(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
