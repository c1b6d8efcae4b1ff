"""Directories that tell what they are by one JSON file, written last: made once, read again, refused if another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from deepbass import __version__
from deepbass.core.checked_json import check, read_json
from deepbass.core.errors import StoreError
from deepbass.core.foreign import guarded, reason_of
from deepbass.store.expected import Expected

# how the names begin of what deepbass writes into directories, before the file that tells what they are
_OURS = {"", "run", "labels", "checkpoints", "models", "matrix", "cells", "work"}


@dataclass(frozen=True)
class Kind:
    """What is kept in a directory, and the words for it."""

    noun: str
    about: str  # the file that tells what the directory is; without it, it is half made
    format: int  # of the directory; another number means another layout
    fields: Mapping[str, Any]  # of the file, beside its format: what they must be, as checked_json.Kind has it
    option: str  # of the command line, that names the directory
    go_on: str  # what to do with one that is there already; {path} stands for it
    mended: str  # what to do about a damaged file

    def make(self, path: Path, mode: int = 0o777) -> None:
        """Make the directory; one that holds anything is left alone."""
        try:
            if (path / self.about).exists():
                go_on = self.go_on.format(path=path)
                raise StoreError(f"{path} holds a {self.noun} already: {go_on}, or choose another {self.option}.")
            if path.exists() and not path.is_dir():
                raise StoreError(f"{path} is a file: choose another {self.option}.")
            path.mkdir(parents=True, exist_ok=True, mode=mode)
            if any(path.iterdir()):
                half_made = {entry.name.partition(".")[0] for entry in path.iterdir()} <= _OURS
                advice = f" If it is a {self.noun} that was killed while being made, delete it." if half_made else ""
                raise StoreError(f"{path} is not empty and holds no {self.noun}: choose another {self.option}.{advice}")
        except OSError as error:
            raise StoreError(f"Cannot make {path}: {error}. Choose another {self.option}.") from error

    def read(self, path: Path) -> dict[str, Any]:
        """Read what the directory says of itself, and refuse what deepbass did not write."""
        file = path / self.about
        try:
            if not path.exists():
                raise StoreError(f"{path} does not exist. Give the directory of a {self.noun}.")
            if not file.exists():
                raise StoreError(
                    f"{path} is not a {self.noun}, or one that was killed while being made: it has no "
                    f"{self.about}. Give the directory of a {self.noun}."
                )
            content = file.read_bytes()
        except OSError as error:
            raise StoreError(f"Cannot read {file}: {error}. Check that you may read it.") from error
        with guarded(lambda cause: self.changed(path, reason_of(cause))):
            about = read_json(content, {"format": int})
            if about["format"] == self.format:
                check(about, self.fields)
        if about["format"] != self.format:
            raise StoreError(
                f"{path} was made by deepbass {about.get('deepbass', '?')} (format {about['format']}), this is "
                f"{__version__} (format {self.format}): use that version or start a new {self.noun}."
            )
        changed = partial(self.changed, path)
        return {name: Expected(value, changed) if isinstance(value, dict) else value for name, value in about.items()}

    def changed(self, path: Path, how: object) -> StoreError:
        """Make the error for a file that is not as it was written."""
        return StoreError(f"{path / self.about} was changed or is damaged: {how}. {self.mended}.")
