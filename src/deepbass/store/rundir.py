"""A run is a directory: ``run.json``, ``run.db``, ``checkpoints/``. Copying the directory moves the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack, closing
from os import PathLike
from pathlib import Path
from typing import Any, Self

from deepbass import __version__
from deepbass.core.errors import StoreError
from deepbass.store.checkpoints import Checkpoints
from deepbass.store.database import DB_FILE, FORMAT
from deepbass.store.events import Events
from deepbass.store.files import now, replace_file, sync_folder
from deepbass.store.lock import take_lock

__all__ = ["FORMAT", "RunDir"]

ABOUT_FILE = "run.json"
CHECKPOINTS_FOLDER = "checkpoints"

_ABOUT = {"deepbass": str, "created_at": str, "keep_checkpoints": int, "config": dict, "data": dict, "versions": dict}


class RunDir:
    """An open run. Closing it, or leaving its ``with`` block, closes the database and releases the lock."""

    def __init__(
        self, path: Path, about: dict[str, Any], events: Events, checkpoints: Checkpoints, held: ExitStack
    ) -> None:
        self.path = path
        self.about = about  # the content of run.json
        self.events = events
        self.checkpoints = checkpoints
        self._held = held

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        *,
        config: Mapping[str, Any],
        data: Mapping[str, Any],
        versions: Mapping[str, Any],
        keep: int = 2,
    ) -> Self:
        """Make the directory of a new run and lock it."""
        path = Path(path)
        checkpoints = Checkpoints(path / CHECKPOINTS_FOLDER, keep)
        about = {
            "format": FORMAT,
            "deepbass": __version__,
            "created_at": now(),
            "keep_checkpoints": keep,
            "config": dict(config),
            "data": dict(data),
            "versions": dict(versions),
        }
        text = json.dumps(about, indent=2, allow_nan=False)
        _make_folder(path)
        with ExitStack() as held:
            held.callback(take_lock(path).release)
            events = held.enter_context(closing(Events(path / DB_FILE, "rwc")))
            try:
                checkpoints.folder.mkdir()
                # last: a directory without it is known to be half made
                replace_file(path / ABOUT_FILE, text.encode())
                sync_folder(path.parent)
            except OSError as error:
                raise StoreError(f"Cannot make the run {path}: {error}. Delete it and choose another --out.") from error
            return cls(path, json.loads(text), events, checkpoints, held.pop_all())

    @classmethod
    def open(cls, path: str | PathLike[str], *, lock: bool = True) -> Self:
        """Open a run: to go on with it, which locks it, or without the lock to read it, also while it is running."""
        path = Path(path)
        about = _read_about(path)
        checkpoints = Checkpoints(path / CHECKPOINTS_FOLDER, about["keep_checkpoints"])
        with ExitStack() as held:
            if lock:
                held.callback(take_lock(path).release)
            events = held.enter_context(closing(Events(path / DB_FILE, "rw" if lock else "ro")))
            if lock:
                checkpoints.tidy()
            return cls(path, about, events, checkpoints, held.pop_all())

    def close(self) -> None:
        """Close the database and release the lock."""
        self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _make_folder(path: Path) -> None:
    try:
        if (path / ABOUT_FILE).exists():
            raise StoreError(
                f"{path} exists and holds a run: `deepbass resume {path}` goes on with it, or choose another --out."
            )
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file: choose another --out.")
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise StoreError(
                f"{path} is not empty and holds no run: choose another --out. "
                "If it is a run that was killed while being made, delete it."
            )
    except OSError as error:
        raise StoreError(f"Cannot make {path}: {error}. Choose another --out.") from error


def _read_about(path: Path) -> dict[str, Any]:
    file = path / ABOUT_FILE
    try:
        if not path.exists():
            raise StoreError(f"{path} does not exist. Give the directory of a run.")
        if not file.exists():
            raise StoreError(
                f"{path} is not a run directory, or one that was killed while being made: it has no {ABOUT_FILE}. "
                "Give the directory of a run; delete one that is half made."
            )
        about = json.loads(file.read_bytes())
    except OSError as error:
        raise StoreError(f"Cannot read {file}: {error}. Check that you may read it.") from error
    except ValueError as error:
        raise _changed(file, error) from error
    if not isinstance(about, dict) or "format" not in about:
        raise _changed(file, "it names no format")
    if about["format"] != FORMAT:
        raise StoreError(
            f"{path} was made by deepbass {about.get('deepbass', '?')} (format {about['format']}), this is "
            f"{__version__} (format {FORMAT}): use that version or start a new run."
        )
    for name, kind in _ABOUT.items():
        if not isinstance(about.get(name), kind):
            raise _changed(file, f"{name} = {about.get(name)!r} is not what deepbass wrote")
    return about


def _changed(file: Path, how: object) -> StoreError:
    return StoreError(f"{file} was changed or is damaged: {how}. Restore it from a copy, or start a new run.")
