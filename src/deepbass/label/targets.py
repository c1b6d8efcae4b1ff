"""Files and folders that are there whole or not at all: written under another name, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from deepbass.core.errors import StoreError
from deepbass.store.files import sync_folder


@contextmanager
def new_file(out: Path, *, force: bool) -> Iterator[TextIO]:
    """Write a text file in UTF-8; one that is there already is replaced with ``force`` only."""
    with _explained(out):
        _refuse_if(out.is_dir(), out, "is a folder: name a file.")
        _refuse_if(os.path.lexists(out) and not force, out, "is there already: choose another name, or use --force.")
        temporary = _beside(out, "tmp")
        try:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(out)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(out.parent)


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
        temporary, aside = _beside(out, "tmp"), _beside(out, "old")
        try:
            temporary.mkdir()
            yield temporary
            if out.is_dir():
                out.rename(aside)
            temporary.rename(out)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            if aside.is_dir() and not out.exists():
                aside.rename(out)
            shutil.rmtree(aside, ignore_errors=True)
        sync_folder(out.parent)


def _beside(out: Path, what: str) -> Path:
    out.parent.mkdir(parents=True, exist_ok=True)
    return out.with_name(f".{out.name}.{what}-{os.getpid()}")


def _refuse_if(wrong: bool, out: Path, why: str) -> None:
    if wrong:
        raise StoreError(f"{out} {why}")


@contextmanager
def _explained(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise StoreError(
            f"Cannot write {out}: {error.strerror or error}{where}. Check that there is room and that you may write "
            "there, or choose another place."
        ) from error
