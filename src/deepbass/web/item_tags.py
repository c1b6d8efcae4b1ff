"""Names for the states of what items show (ETags), so that a browser keeps what has not changed, and no longer."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from starlette.requests import Request

from deepbass.core.raw_samples import Kind

_AGAIN = "private, no-cache"  # ask every time whether it has changed: the next project here has the same addresses
_FOR_EVER = "private, max-age=2592000, immutable"  # for addresses that name the project


class ItemTags:
    """Knows the file of every item. ``names`` has the name of each by id; ``project`` tells projects apart."""

    def __init__(self, kind: Kind, names: Sequence[str], source: str, project: str) -> None:
        self._names = names
        self._project = project
        self._base, self._single = _places(source, kind)

    async def tag(self, item: int, form: object) -> str:
        """Name this state of an item in a form, such as a size: a file that is replaced gets another name."""
        path = self._single or (self._base / self._names[item] if self._base else None)
        # not in the threads that read: whoever has it already need not wait for others to be read
        changed = await asyncio.to_thread(_changed, path) if path else ""
        digest = hashlib.sha256(f"{self._project} {item} {form} {changed}".encode()).hexdigest()
        return f'"{digest[:24]}"'

    def headers(self, request: Request, tag: str) -> dict[str, str]:
        """Say how long a browser may keep it."""
        named = request.query_params.get("v") == self._project
        return {"ETag": tag, "Cache-Control": _FOR_EVER if named else _AGAIN}


def is_known(request: Request, tag: str) -> bool:
    """Tell whether the browser has this state already."""
    return tag in request.headers.get("if-none-match", "")


def _places(source: str, kind: Kind) -> tuple[Path | None, Path | None]:
    """Find the folder that names lie in, or the one file that holds all samples; neither for a data set by name."""
    path = Path(source)
    if path.is_dir():
        return path, None
    if kind == "image" and path.suffix.lower() == ".csv":
        return path.parent, None
    return None, path if path.exists() else None


def _changed(path: Path) -> str:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return "gone"
    return f"{found.st_mtime_ns} {found.st_size}"
