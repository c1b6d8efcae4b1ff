"""The page's own files, read once: no path from a client ever reaches the file system.

Not Starlette's StaticFiles, which reads a file anew for every request and names its state by time and size. Two laws
need more: a package that is updated under a running server must not mix old scripts with new ones; and files whose
times were all set to one moment, as reproducible builds and containers do, must not be taken for unchanged.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from deepbass.web.responses import Refusal

STATIC = Path(__file__).parent / "static"

_KINDS = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class _File:
    content: bytes
    kind: str
    tag: str


class Files:
    """Hands out what lies in a folder, as it was when the server started."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): _read(path)
            for path in sorted(folder.rglob("*"))
            if path.suffix in _KINDS and path.is_file()
        }

    def respond(self, request: Request, name: str, status: int = 200) -> Response:
        """Answer with a file; a browser asks every time whether it is still the same."""
        file = self._files.get(name)
        if file is None:
            raise Refusal(404, "NoFile", f"There is no {name[:100]!r} here.")
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if status == 200 and file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(file.content, status, headers, file.kind)


def _read(path: Path) -> _File:
    content = path.read_bytes()
    return _File(content, _KINDS[path.suffix], f'"{hashlib.sha256(content).hexdigest()[:24]}"')
