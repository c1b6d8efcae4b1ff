"""The directory of a project and its ``project.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deepbass.core.errors import ConfigError, StoreError
from deepbass.label.settings import Settings
from deepbass.store.files import replace_file
from deepbass.store.folder import Kind

FORMAT = 1  # of the directory; another number means another layout
ABOUT_FILE = "project.json"

_PROJECT = Kind(
    noun="project",
    about=ABOUT_FILE,
    format=FORMAT,
    fields={
        "deepbass": str, "created_at": str, "source": str, "classes_from": str, "reserve_items": int,
        "reserve_share": (int, float), "settings": dict,
    },
    option="--project",
    go_on="open it",
    mended="Correct it, or restore it from a copy",
)  # fmt: skip


def make_folder(path: Path) -> None:
    """Make the directory of a new project; one that holds anything is left alone."""
    _PROJECT.make(path, mode=0o700)  # it may hold hashes of passwords


def write_about(path: Path, about: dict[str, Any]) -> None:
    """Write ``project.json``, whole or not at all."""
    text = json.dumps(about, indent=2, allow_nan=False)
    try:
        replace_file(path / ABOUT_FILE, text.encode())
    except OSError as error:
        raise StoreError(f"Cannot write {path / ABOUT_FILE}: {error}. Check that you may write there.") from error


def read_about(path: Path) -> tuple[dict[str, Any], Settings]:
    """Read ``project.json``, with its settings as such."""
    about = _PROJECT.read(path)
    try:
        return about, Settings.of(about["settings"])
    except ConfigError as error:
        raise _PROJECT.changed(path, error) from error
