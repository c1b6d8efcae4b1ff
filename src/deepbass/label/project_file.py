"""The directory of a project and its ``project.json``: made once, read again, refused where it is something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deepbass import __version__
from deepbass.core.errors import ConfigError, StoreError
from deepbass.label.settings import Settings
from deepbass.store.files import replace_file

FORMAT = 1  # of the directory; another number means another layout
ABOUT_FILE = "project.json"

_ABOUT: dict[str, type | tuple[type, ...]] = {
    "deepbass": str,
    "created_at": str,
    "source": str,
    "classes_from": str,
    "reserve_items": int,
    "reserve_share": (int, float),
    "settings": dict,
}


def make_folder(path: Path) -> None:
    """Make the directory of a new project; one that holds anything is left alone."""
    try:
        if (path / ABOUT_FILE).exists():
            raise StoreError(f"{path} holds a project already: open it, or choose another --project.")
        if path.exists() and not path.is_dir():
            raise StoreError(f"{path} is a file: choose another --project.")
        path.mkdir(parents=True, exist_ok=True, mode=0o700)  # it may hold hashes of passwords
        if any(path.iterdir()):
            raise StoreError(
                f"{path} is not empty and holds no project: choose another --project. "
                "If it is a project that was killed while being made, delete it."
            )
    except OSError as error:
        raise StoreError(f"Cannot make {path}: {error}. Choose another --project.") from error


def write_about(path: Path, about: dict[str, Any]) -> None:
    """Write ``project.json``, whole or not at all."""
    text = json.dumps(about, indent=2, allow_nan=False)
    try:
        replace_file(path / ABOUT_FILE, text.encode())
    except OSError as error:
        raise StoreError(f"Cannot write {path / ABOUT_FILE}: {error}. Check that you may write there.") from error


def read_about(path: Path) -> tuple[dict[str, Any], Settings]:
    """Read ``project.json``, with its settings as such."""
    file = path / ABOUT_FILE
    try:
        if not path.exists():
            raise StoreError(f"{path} does not exist. Give the directory of a project.")
        if not file.exists():
            raise StoreError(
                f"{path} is not a project, or one that was killed while being made: it has no {ABOUT_FILE}. "
                "Give the directory of a project; delete one that is half made."
            )
        about = json.loads(file.read_bytes())
    except OSError as error:
        raise StoreError(f"Cannot read {file}: {error}. Check that you may read it.") from error
    except (ValueError, RecursionError) as error:
        raise _changed(file, error) from error
    if not isinstance(about, dict) or "format" not in about:
        raise _changed(file, "it names no format")
    if about["format"] != FORMAT:
        raise StoreError(
            f"{path} was made by deepbass {about.get('deepbass', '?')} (format {about['format']}), this is "
            f"{__version__} (format {FORMAT}): use that version or start a new project."
        )
    for name, kind in _ABOUT.items():
        if not isinstance(about.get(name), kind):
            raise _changed(file, f"{name} = {about.get(name)!r} is not what deepbass wrote")
    try:
        return about, Settings.of(about["settings"])
    except ConfigError as error:
        raise _changed(file, error) from error


def _changed(file: Path, how: object) -> StoreError:
    return StoreError(f"{file} was changed or is damaged: {how}. Correct it, or restore it from a copy.")
