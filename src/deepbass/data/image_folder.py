"""List a folder of images: a subfolder per class; what lies beside the subfolders has no label."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from deepbass.data.images import SUFFIXES
from deepbass.data.listing import ListedImage, Listing, name_some

TRAIN = "train"
VALIDATION = ("val", "validation", "test")  # the first that is there is used


def list_folder(folder: Path, suffixes: Set[str] = SUFFIXES) -> Listing:
    """List all images below a folder; train/ and val/ (or validation/, test/) make two parts of it.

    Other ``suffixes`` list other files in the same way.
    """
    inside, notes = walk_files(folder, suffixes)

    validation = next((name for name in VALIDATION if (folder / name).is_dir()), None)
    if validation is None or not (folder / TRAIN).is_dir():
        return Listing(folder, folder, sorted(_listed(path, 0) for path in inside), notes)

    used = [path for path in inside if path.parts[0] in (TRAIN, validation) and len(path.parts) > 1]
    unused = sorted({path.parts[0] for path in inside} - {TRAIN, validation})
    if unused:
        notes.append(f"only {TRAIN}/ and {validation}/ of {folder} were read, not {name_some(unused)}")
    images = sorted(_listed(path, 1, path.parts[0] == validation) for path in used)
    return Listing(folder, folder, images, notes)


def walk_files(folder: Path, suffixes: Set[str] = SUFFIXES) -> tuple[list[Path], list[str]]:
    """Find all files of a kind below a folder, relative to it and sorted, and what the user should be told."""
    inside, outside = _split_links(folder, _walk(folder, suffixes))
    notes = [f"links that lead out of {folder} were not followed: {name_some(outside)}"] if outside else []
    return sorted(inside), notes


def _listed(path: Path, depth: int, validation: bool = False) -> ListedImage:
    """Take the folder at some depth for the label; an image right there has none."""
    label = path.parts[depth] if len(path.parts) > depth + 1 else ""
    return ListedImage(validation, path.as_posix(), label)


def _walk(folder: Path, suffixes: Set[str]) -> Iterator[Path]:
    """Find files of a kind and links, relative to the folder; hidden ones stay hidden."""
    for root, folders, files in os.walk(folder):  # does not walk into linked folders
        here = Path(root).relative_to(folder)
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (here / name for name in folders if (folder / here / name).is_symlink())
        yield from (here / name for name in files if not name.startswith(".") and Path(name).suffix.lower() in suffixes)


def _split_links(folder: Path, paths: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """Tell the regular files inside the folder from links that lead elsewhere, which might show what nobody shared."""
    root = folder.resolve()
    inside, outside = [], []
    for path in paths:
        full = folder / path
        if full.is_symlink() and not (full.is_file() and full.resolve().is_relative_to(root)):
            outside.append(path.as_posix())
        elif full.is_file():
            inside.append(path)
    return inside, sorted(outside)
