"""Checkpoints: the files a resume needs, whole or not at all.

A checkpoint is a folder of plain files and a ``checkpoint.json`` with their sizes and SHA-256 sums. It is written under
a temporary name, flushed to the disk and renamed, so that a folder named by its iteration is never half written.
What happens to the disk later is noticed on loading, and the checkpoint before is taken.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from deepbass.core.checked_json import read_json
from deepbass.core.errors import StoreError
from deepbass.core.foreign import guarded, reason_of
from deepbass.files import sync_folder, write_file
from deepbass.store.expected import Expected
from deepbass.store.names import CHECKPOINT_FILE
from deepbass.store.write_errors import write_failed

_NAME = re.compile(r"\w[\w.-]*")  # of a file: nothing that leads out of the folder


@dataclass(frozen=True)
class Checkpoint:
    """What was saved at the end of an iteration."""

    iteration: int
    files: dict[str, bytes]
    info: dict[str, Any]


class Checkpoints:
    """The checkpoints of one run; only the ``keep`` newest stay."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        if keep < 2:  # a checkpoint counts only once its step is committed; until then the one before must be there
            raise StoreError(f"keep = {keep} is too small: keep 2 checkpoints or more.")
        self.folder = folder
        self.keep = keep

    def iterations(self) -> list[int]:
        """List the iterations that have a checkpoint, damaged or not, oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in self.folder.iterdir() if re.fullmatch(r"\d{6,}", entry.name))

    def save(self, iteration: int, files: Mapping[str, bytes], info: Mapping[str, Any]) -> None:
        """Write a checkpoint; when this returns, it is on the disk. Then remove those no longer needed."""
        manifest = {
            "iteration": iteration,
            "info": dict(info),
            "files": {name: {"size": len(content), "sha256": _sha256(content)} for name, content in files.items()},
        }
        content_of = {**files, CHECKPOINT_FILE: _sealed(manifest)}
        for name in files:
            if name == CHECKPOINT_FILE or not _NAME.fullmatch(name):
                raise StoreError(f"{name!r} cannot be a file of a checkpoint: use a plain file name.")

        place = self._place(iteration)
        temporary = self.folder / f".{place.name}.tmp-{os.getpid()}"
        aside = self.folder / f".{place.name}.old"
        before = [known for known in self.iterations() if known < iteration]
        try:
            temporary.mkdir(parents=True, exist_ok=True)
            for name, content in content_of.items():
                write_file(temporary / name, content)
            sync_folder(temporary)
            if place.exists():  # an iteration that is done again; tidy() puts it back if we die between the renames
                place.rename(aside)
            temporary.rename(place)
            sync_folder(self.folder)
        except OSError as error:
            with suppress(OSError):  # the disk is in trouble already; the next open for writing tidies too
                self.tidy()
            safe = before[-1] if before else None
            raise write_failed(f"write checkpoint {iteration}", self.folder.parent, error, safe) from error
        self.tidy()
        self._prune(iteration)

    def load(self, iteration: int, only: Collection[str] | None = None) -> Checkpoint:
        """Read a checkpoint and check every byte of it; ``only``: no other files than these, as far as it has them."""
        place = self._place(iteration)
        try:
            sealed = (place / CHECKPOINT_FILE).read_bytes()
            with guarded(lambda cause: _damaged(place, f"{CHECKPOINT_FILE} cannot be understood ({reason_of(cause)})")):
                manifest = _unsealed(sealed)
            # sealing again must give the same bytes, so that even a changed blank is noticed
            if _sealed(manifest) != sealed or manifest["iteration"] != iteration:
                raise _damaged(place, f"{CHECKPOINT_FILE} was changed")
            names = [name for name in manifest["files"] if only is None or name in only]
            files = {name: (place / name).read_bytes() for name in names}
        except FileNotFoundError as error:
            raise _damaged(place, f"{error.filename} is missing") from error
        except OSError as error:
            raise _damaged(place, f"{error.filename} cannot be read: {error.strerror}") from error
        for name, content in files.items():
            expected = manifest["files"][name]
            if len(content) != expected["size"]:
                raise _damaged(place, f"{name} has {len(content)} bytes instead of {expected['size']}")
            if _sha256(content) != expected["sha256"]:
                raise _damaged(place, f"{name} was changed: its SHA-256 is not the one of {CHECKPOINT_FILE}")
        return Checkpoint(iteration, Expected(files, partial(_damaged, place)), manifest["info"])

    def newest(
        self, committed: Collection[int] | None = None, only: Collection[str] | None = None
    ) -> tuple[Checkpoint, list[str]]:
        """Load the newest whole checkpoint, and say which damaged ones were passed over.

        Only ``committed`` iterations count (None: all): the run may have died between a checkpoint and its commit.
        ``only``: see `load`.
        """
        passed_over: list[str] = []
        for iteration in reversed(self.iterations()):
            if committed is not None and iteration not in committed:
                continue
            try:
                return self.load(iteration, only), passed_over
            except StoreError as error:
                passed_over.append(str(error))
        raise StoreError(" ".join([*passed_over, f"{self.folder} holds no checkpoint to go on from: start a new run."]))

    def tidy(self) -> None:
        """Clear what a killed or failed save left behind. Only for who holds the lock of the run."""
        for aside in self.folder.glob(".*.old"):
            place = self.folder / aside.name[1 : -len(".old")]
            if place.exists():
                shutil.rmtree(aside, ignore_errors=True)
            else:
                aside.rename(place)
        for temporary in self.folder.glob(".*.tmp-*"):
            shutil.rmtree(temporary, ignore_errors=True)

    def _prune(self, newest: int) -> None:
        # later ones belong to a future that a rewind abandoned; counting them would push out the ones in use
        kept = [iteration for iteration in self.iterations() if iteration <= newest][-self.keep :]
        for iteration in self.iterations():
            if iteration not in kept:
                shutil.rmtree(self._place(iteration), ignore_errors=True)

    def _place(self, iteration: int) -> Path:
        return self.folder / f"{iteration:06d}"


def _sealed(manifest: Mapping[str, Any]) -> bytes:
    """Write a manifest together with its own SHA-256 sum."""
    sums = {"sha256": _sha256(json.dumps(manifest, allow_nan=False).encode())}
    return json.dumps({**manifest, **sums}, indent=1, allow_nan=False).encode()


def _unsealed(sealed: bytes) -> dict[str, Any]:
    files = {"*": {"size": int, "sha256": str}}
    manifest: dict[str, Any] = read_json(sealed, {"sha256": str, "iteration": int, "info": dict, "files": files})
    if odd := [name for name in manifest["files"] if not _NAME.fullmatch(name)]:
        raise ValueError(f"{odd[0]!r} is no plain file name")
    manifest.pop("sha256")
    return manifest


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _damaged(place: Path, how: str) -> StoreError:
    return StoreError(f"Checkpoint {place} is damaged: {how}.")
