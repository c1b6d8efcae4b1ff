"""Read text from elsewhere, and JSON in it, within limits: errors say the file and the place."""

from __future__ import annotations

import json
import reprlib
from pathlib import Path
from typing import Any

from deepbass.core.errors import DataError

LARGEST = 1 << 29  # bytes: as much as can be held in memory several times over

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def read_text(file: Path) -> str:
    """Read a file of UTF-8 text."""
    try:
        size = file.stat().st_size
        if not file.is_file():
            raise DataError(f"{file} cannot be read: it is no file.")
        if size > LARGEST:
            raise DataError(
                f"{file} has {size / 1e6:,.0f} MB, more than the {LARGEST / 1e6:,.0f} MB that can be read: split it."
            )
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}.") from error
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{file} is UTF-16 text: save it as UTF-8.")
    try:
        return content.decode("utf-8-sig")  # -sig: spreadsheets put a mark in front
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{file}, line {line}: not UTF-8 text ({error.reason}): save the file as UTF-8.") from error


def parse_json(file: Path, text: str, line: int | None = None) -> Any:
    """Parse JSON, all of a file's text or one ``line`` of it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if line is None else f"line {line}"
        raise DataError(f"{file}, {place}: not valid JSON ({error.msg}).") from error
    except RecursionError as error:
        raise DataError(f"{file}, line {line or 1}: JSON that is nested too deeply to be read.") from error
    except ValueError as error:  # Python does not convert numbers of thousands of digits
        raise DataError(f"{file}, line {line or 1}: JSON with a number that is too long to be read.") from error


def excerpt(value: object) -> str:
    """Quote what a file has, or some of it: it may be long, or nested deeply."""
    return _SHORT.repr(value)
