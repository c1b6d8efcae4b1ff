"""Find the files of a named data set: in the cache, in the user's folder, on the network. Use none unchecked."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deepbass.core.errors import DataError
from deepbass.data.catalogue import File, Named, look_up
from deepbass.data.places import remotes_of
from deepbass.data.remote import Remote, RemoteError
from deepbass.files import CACHE, cache_folder

FOLDER = "DEEPBASS_DATA"  # a folder in which the user keeps data, if none is named in the call
OFFLINE = "DEEPBASS_OFFLINE"  # 1: never ask the network


@dataclass(frozen=True)
class Found:
    """Where one file of a data set is, if it is anywhere."""

    file: File
    path: Path | None  # of the verified file
    refused: tuple[str, ...]  # files of that name which are not as published, and why


@dataclass(frozen=True)
class Where:
    """Where a data set would come from."""

    name: str
    cache: Path
    folder: Path | None
    source: str  # what would be used now: a folder, "network", or where a built-in set comes from
    files: tuple[Found, ...]


def fetch(
    name: str, *, folder: Path | None = None, progress: bool = False, remotes: Sequence[Remote] | None = None
) -> list[Path]:
    """Get the verified files of a data set, in the order of the catalogue; downloads go to the cache.

    ``remotes`` are the places to ask when neither cache nor folder has a file; None takes the catalogue's.
    """
    named = look_up(name)
    place = where(name, folder)
    paths = {found.file: found.path for found in place.files if found.path is not None}
    tried = [reason for found in place.files for reason in found.refused]

    if remotes is None:
        remotes = [] if _offline() else remotes_of(named)
    if not remotes and len(paths) < len(named.files):
        tried.append(f"network: not asked, because {OFFLINE} is set")
    for remote in remotes:
        missing = [file for file in named.files if file not in paths]
        try:
            for file in missing:
                paths[file] = _download(remote, file, place.cache, progress)
        except RemoteError as error:  # the next place is asked for what is still missing
            tried.append(f"{remote.label}: {error}")

    missing = [file for file in named.files if file not in paths]
    if missing:
        raise DataError(_not_found(named, place, missing, tried))
    return [paths[file] for file in named.files]


def where(name: str, folder: Path | None = None) -> Where:
    """Tell where a data set would come from, and which of its files are there and sound."""
    named = look_up(name)
    cache = cache_folder() / named.name
    folder = folder or _from_environment(FOLDER)
    files = tuple(_find(file, cache, folder, named) for file in named.files)
    if not files:
        source = named.origin
    elif any(found.path is None for found in files):
        source = "network"
    else:
        source = ", ".join(sorted({str(found.path.parent) for found in files if found.path}))
    return Where(named.name, cache, folder, source, files)


def _find(file: File, cache: Path, folder: Path | None, named: Named) -> Found:
    """Look for a sound copy: cache, the user's folder, its subfolder of the data set's name or of the archive's."""
    candidates = [cache / file.name]
    subfolders = ["", named.name, *([named.archive.folder] if named.archive else [])]
    for place in [folder / name for name in subfolders] if folder else []:
        candidates += [place / file.name, place / file.unpacked_name]

    refused: list[str] = []
    for path in candidates:
        if not path.is_file():
            continue
        try:
            problem = _problem(path, file.unpacked_sha256 if path.name == file.unpacked_name else file.sha256)
        except OSError as error:
            problem = str(error)
        if problem is None:
            return Found(file, path, tuple(refused))
        refused.append(f"{path}: {problem}")
    return Found(file, None, tuple(refused))


def _problem(path: Path, sha256: str) -> str | None:
    """Say how a file differs from what was published, if it does."""
    if not sha256:
        return None
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return None if found == sha256 else f"not as published: sha256 {found}, not {sha256}"


def _download(remote: Remote, file: File, cache: Path, progress: bool) -> Path:
    """Have pooch get a file into the cache: written aside, and given its name only if its digest is right."""
    import pooch

    def download(url: str, path: str, _: object) -> None:
        remote.download(url, Path(path), progress)

    known = f"sha256:{file.sha256}" if file.sha256 else None
    place = pooch.Pooch(cache, remote.base_url, {file.name: known})
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)  # what it would tell is for those who asked for progress, and they are shown it
    try:
        return Path(place.fetch(file.name, downloader=download))
    except RemoteError:
        raise
    except ValueError as error:
        raise RemoteError(f"{file.name} is not as published: its sha256 is not {file.sha256}") from error
    except OSError as error:
        raise DataError(f"The cache {cache} cannot be written ({error}): set {CACHE} to a folder that can.") from error
    finally:
        logger.setLevel(level)


def _not_found(named: Named, place: Where, missing: Sequence[File], tried: Sequence[str]) -> str:
    looked = [str(folder) for folder in (place.cache, place.folder) if folder]
    lines = [
        f"{named.name}: no source gave {', '.join(file.name for file in missing)}.",
        *(f"  {folder}: {'looked into' if Path(folder).is_dir() else 'does not exist'}" for folder in looked),
        *(f"  {reason}" for reason in tried),
        f"To supply the files by hand, put them, as published or unpacked, into a folder and name it with "
        f"--data FOLDER or {FOLDER}=FOLDER.",
    ]
    return "\n".join(lines)


def _offline() -> bool:
    return os.environ.get(OFFLINE, "") not in ("", "0")


def _from_environment(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value).expanduser() if value else None
