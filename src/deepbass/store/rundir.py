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
from deepbass.files import replace_file, sync_folder
from deepbass.store.checkpoints import Checkpoints
from deepbass.store.events import Events
from deepbass.store.folder import Kind
from deepbass.store.lock import take_lock
from deepbass.store.names import CHECKPOINTS_FOLDER, RUN_DB_FILE, RUN_FILE
from deepbass.store.run_database import FORMAT
from deepbass.store.write_errors import now

__all__ = ["FORMAT", "RunDir"]

# what is told of a run, for whoever resumes it, loads its model, replays it or reports on it
_FIELDS = {
    "deepbass": str,
    "created_at": str,
    "keep_checkpoints": int,
    "config": {"iterations?": int, "passes_pool?": int},  # what a report draws with; Config checks all of it
    "data": {
        "name?": str,
        "source?": (str, type(None)),  # None: arrays in Python
        "samples?": int,
        "shape?": [int],
        "classes?": [str],
        "validation?": int,
        "notes?": [str],
        "parameters?": int,
        "fingerprint?": str,
    },
    "versions": {"engine?": str},
}

_RUN = Kind(
    noun="run",
    about=RUN_FILE,
    format=FORMAT,
    fields=_FIELDS,
    option="--out",
    go_on="`deepbass resume {path}` goes on with it",
    mended="Restore it from a copy, or start a new run",
)


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
        _RUN.make(path)
        with ExitStack() as held:
            held.callback(take_lock(path).release)
            events = held.enter_context(closing(Events(path / RUN_DB_FILE, "rwc")))
            try:
                checkpoints.folder.mkdir()
                # last: a directory without it is known to be half made
                replace_file(path / RUN_FILE, text.encode())
                sync_folder(path.parent)
            except OSError as error:
                raise StoreError(f"Cannot make the run {path}: {error}. Delete it and choose another --out.") from error
            return cls(path, json.loads(text), events, checkpoints, held.pop_all())

    @classmethod
    def open(cls, path: str | PathLike[str], *, lock: bool = True) -> Self:
        """Open a run: to go on with it, which locks it, or without the lock to read it, also while it is running."""
        path = Path(path)
        about = _RUN.read(path)
        checkpoints = Checkpoints(path / CHECKPOINTS_FOLDER, about["keep_checkpoints"])
        with ExitStack() as held:
            if lock:
                held.callback(take_lock(path).release)
            events = held.enter_context(closing(Events(path / RUN_DB_FILE, "rw" if lock else "ro")))
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
