"""Exports from the page: made in a thread, in a folder that is gone when the download is."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from deepbass.core.errors import StoreError
from deepbass.exchange.exports import FORMATS, Format, export
from deepbass.label.project import Project
from deepbass.store.write_errors import advice_for
from deepbass.web.responses import Refusal

_PREFIX = ".export-"
_FILES: dict[Format, tuple[str, str]] = {  # what is added to the project's name, and the kind of file
    "csv": (".csv", "text/csv"),
    "jsonl": (".jsonl", "application/x-ndjson"),
    "label-studio": ("-label-studio.json", "application/json"),
    "imagefolder": ("-images.zip", "application/zip"),
    "textfolder": ("-texts.zip", "application/zip"),
    "textfiles": ("-by-class.zip", "application/zip"),
    "model": ("-model.zip", "application/zip"),
}


class _Download(FileResponse):
    """A file and its folder, which is removed whatever becomes of the response.

    Starlette's own way, a background task, is not run after a bad Range header, nor when sending fails.
    """

    def __init__(self, folder: Path, file: Path, kind: str) -> None:
        super().__init__(file, media_type=kind, filename=file.name)
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # in a thread that goes on where the request is cancelled meanwhile
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True))


class Downloads:
    """Makes one export at a time: they read everything there is."""

    def __init__(self, project: Project, data: Path | None = None) -> None:
        self._project = project
        self._data = data
        self._turn = asyncio.Semaphore(1)
        self.close()  # what a server left behind that was killed

    def close(self) -> None:
        """Remove what is left of exports; call it when none is being made."""
        for left in self._project.path.glob(f"{_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)

    async def respond(self, name: str, guesses: float | None) -> Response:
        """Make an export, and answer with it; with the model's guesses from a confidence on (None: without any)."""
        if name not in _FILES:
            raise Refusal(404, "NoFormat", f"There is no export as {name[:40]!r}: choose one of {', '.join(FORMATS)}.")
        made: Format = next(each for each in FORMATS if each == name)
        ending, kind = _FILES[made]
        async with self._turn:
            folder = await asyncio.to_thread(self._folder)
            try:
                file = await asyncio.to_thread(self._make, made, folder, ending, guesses)
            except BaseException:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
                raise
        return _Download(folder, file, kind)

    def _folder(self) -> Path:
        # beside the labels, not in the system's folder for temporary files: that may be small, and shared with others
        try:
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._project.path))
        except OSError as error:
            raise StoreError(f"Cannot write in {self._project.path}: {error.strerror}; {advice_for(error)}.") from error

    def _make(self, format_: Format, folder: Path, ending: str, guesses: float | None) -> Path:
        file = folder / f"{self._project.path.name}{ending}"
        if not ending.endswith(".zip"):
            export(self._project, format_, file, guesses=guesses, folder=self._data)
            return file
        content = folder / file.stem
        export(self._project, format_, content, guesses=guesses, link=True, folder=self._data)
        try:
            _zip(content, file)
        except OSError as error:
            raise StoreError(f"Cannot write {file}: {error.strerror or error}; {advice_for(error)}.") from error
        return file


def _zip(folder: Path, file: Path) -> None:
    """Pack a folder without compressing: images and weights do not get smaller."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, strict_timestamps=False) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                packed.write(path, path.relative_to(folder.parent))
                with suppress(OSError):
                    path.unlink()  # what is packed need not be there twice
