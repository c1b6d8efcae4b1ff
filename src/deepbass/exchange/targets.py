"""Where an export goes: a place that is free, or an earlier export that may be replaced."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from deepbass.core.errors import StoreError
from deepbass.files import whole_file, whole_folder
from deepbass.store.write_errors import advice_for


@contextmanager
def new_file(out: Path, *, force: bool) -> Iterator[TextIO]:
    """Write a text file in UTF-8; one that is there already is replaced with ``force`` only."""
    with _explained(out):
        _refuse_if(out.is_dir(), out, "is a folder: name a file.")
        _refuse_if(os.path.lexists(out) and not force, out, "is there already: choose another name, or use --force.")
        out.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(out) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            yield text
            text.detach()  # what is left is written; the file is closed by who opened it


@contextmanager
def new_folder(out: Path, *, force: bool, mark: str) -> Iterator[Path]:
    """Fill a folder; one that is there already is replaced with ``force``, and only if it holds the file ``mark``.

    The mark is what every export of the kind has in it: a folder with other things is nobody's to delete.
    """
    with _explained(out):
        _refuse_if(os.path.lexists(out) and not out.is_dir(), out, "is a file: name a folder.")
        filled = out.is_dir() and any(out.iterdir())
        _refuse_if(filled and not force, out, "is not empty: choose another folder, or use --force.")
        _refuse_if(
            filled and not (out / mark).is_file(),
            out,
            f"is no earlier export (it has no {mark}), so --force does not replace it: choose another folder.",
        )
        out.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(out) as folder:
            yield folder


def _refuse_if(wrong: bool, out: Path, why: str) -> None:
    if wrong:
        raise StoreError(f"{out} {why}")


@contextmanager
def _explained(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise StoreError(f"Cannot write {out}: {error.strerror or error}{where}; {advice_for(error)}.") from error
