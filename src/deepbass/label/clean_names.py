"""Names that people choose: of classes, and of themselves."""

from __future__ import annotations

import unicodedata

from deepbass.core.errors import DataError

LONGEST = 100  # characters


def clean_name(text: str, what: str) -> str:
    """Give a name the one spelling it is known by: composed letters, single blanks; refuse what cannot be shown.

    The same word typed on a page and read from a folder of another system must be one class, not two.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name:
        raise DataError(f"{text!r} is no name for {what}: give at least one letter.")
    if len(name) > LONGEST:
        raise DataError(f"{name[:LONGEST]!r}... is too long a name for {what}: use {LONGEST} characters at most.")
    if not is_text(name):
        raise DataError(f"{name!r} is no name for {what}: it has characters that cannot be shown. Leave them out.")
    return name


def is_text(text: str) -> bool:
    """Tell whether text can be shown and written down: no control characters, no halves of characters."""
    return text.isprintable()  # lone surrogates, which no encoding can write, are not printable
