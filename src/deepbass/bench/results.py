"""The results store: a folder with one small JSON file per cell, and a folder of unfinished work beside them.

    matrix.json              what the folder is
    cells/mnist-full/labels-100.00.json
    work/                    run directories of the cells, and initial models that cells share: not for keeping

Each file is replaced as a whole, so that a cell is what it was before or what it is now, never something in between.
Without ``work/`` the folder is small enough to be kept with the code, and to be gone on with by somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deepbass import __version__
from deepbass.bench.cells import FIELDS, Cell, CellResult
from deepbass.core.checked_json import Kind, read_json
from deepbass.core.errors import StoreError
from deepbass.core.foreign import guarded, reason_of
from deepbass.files import replace_file
from deepbass.store.names import CELLS_FOLDER, INITIAL_FOLDER, MATRIX_FILE, RUN_LOCK_FILE, WORK_FOLDER
from deepbass.store.write_errors import advice_for

FORMAT = 1
REPRODUCE, COMPARE = "reproduce", "compare"  # the commands that fill such folders


class Results:
    """The results of a matrix of cells."""

    def __init__(self, folder: Path, about: Mapping[str, Any]) -> None:
        self.folder = folder
        self.about = about

    @classmethod
    def make(cls, folder: Path, made_by: str = REPRODUCE) -> Results:
        """Open a results folder that a command made, or make an empty one for it."""
        if is_results(folder):
            opened = cls.open(folder)
            if opened.made_by != made_by:
                raise StoreError(
                    f"{folder} holds results of deepbass {opened.made_by}, not of {made_by}: choose another --out."
                )
            return opened
        try:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise StoreError(f"{folder} is there and holds no results of deepbass {made_by}: choose another --out.")
            (folder / CELLS_FOLDER).mkdir(parents=True)
            (folder / WORK_FOLDER).mkdir()
            (folder / ".gitignore").write_text(f"{WORK_FOLDER}/\n{RUN_LOCK_FILE}*\n")
            made = cls(folder, {"format": FORMAT, "deepbass": __version__, "made_by": made_by})
            replace_file(folder / MATRIX_FILE, _lines(dict(made.about)))
        except OSError as error:
            raise StoreError(f"Cannot make {folder}: {error}. Choose another --out.") from error
        return made

    @classmethod
    def open(cls, folder: Path) -> Results:
        """Open the results that are there."""
        about = _read(folder / MATRIX_FILE, {"format": int, "made_by?": str, "plan?": dict})
        if about["format"] != FORMAT:
            raise StoreError(
                f"{folder} has format {about['format']}, this is deepbass {__version__} with format {FORMAT}: "
                "use the version that made it, or choose another folder."
            )
        return cls(folder, about)

    @property
    def made_by(self) -> str:
        """Name the command whose results they are."""
        made_by: str = self.about.get("made_by", REPRODUCE)
        return made_by

    def keep_plan(self, plan: Mapping[str, Any]) -> None:
        """Write down what the folder is about, in the place of what was said before."""
        self.about = {**self.about, "plan": json.loads(json.dumps(dict(plan)))}  # as it will be read
        try:
            replace_file(self.folder / MATRIX_FILE, _lines(dict(self.about)))
        except OSError as error:
            raise StoreError(f"Cannot write {self.folder / MATRIX_FILE}: {error}; {advice_for(error)}.") from error

    def file(self, cell: Cell) -> Path:
        """Tell where a cell's result is kept."""
        return self.folder / CELLS_FOLDER / f"{cell.key}.json"

    def work(self, cell: Cell) -> Path:
        """Tell where a cell is worked on: its run directory."""
        return self.folder / WORK_FOLDER / cell.key

    @property
    def initial(self) -> Path:
        """Tell where initial models lie that cells share."""
        return self.folder / WORK_FOLDER / INITIAL_FOLDER

    def read(self, cell: Cell) -> CellResult | None:
        """Read what there is of a cell; a record made with other settings is none of it."""
        file = self.file(cell)
        if not file.exists():
            return None
        record = read_record(file)
        return record if dict(record.cell.settings) == dict(cell.settings) else None

    def write(self, record: CellResult) -> None:
        """Write a cell's record; when this returns, it is on the disk."""
        file = self.file(record.cell)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            replace_file(file, _lines(_plain(record)))
        except OSError as error:
            raise StoreError(
                f"Cannot write {file}: {error}; {advice_for(error)}, then run the same command again."
            ) from error

    def records(self) -> list[CellResult]:
        """Read all cells that were ever started, in the order of their names."""
        return [read_record(file) for file in sorted((self.folder / CELLS_FOLDER).glob("*/*.json"))]


def is_results(folder: Path) -> bool:
    """Tell whether a folder holds results."""
    return (folder / MATRIX_FILE).is_file()


def read_record(file: Path) -> CellResult:
    """Read the record of one cell."""
    known = _read(file, FIELDS)
    with guarded(lambda cause: _damaged(file, reason_of(cause))):
        cell = Cell(**known.pop("cell"))
        return CellResult(cell, field_=known.pop("field", None), **known)


def _plain(record: CellResult) -> dict[str, Any]:
    values = {name.rstrip("_"): value for name, value in asdict(record).items()}
    return {name: value for name, value in values.items() if value is not None and not _is_empty(value)}


def _is_empty(value: object) -> bool:
    return isinstance(value, dict | tuple) and not value


def _lines(values: dict[str, Any]) -> bytes:
    """Write JSON with one line a field: small, and a difference between two versions can be read."""
    fields = [f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in values.items()]
    return ("{\n" + ",\n".join(fields) + "\n}\n").encode()


def _read(file: Path, kind: Kind) -> dict[str, Any]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise StoreError(
            f"Cannot read {file}: {error}. Give a folder made by deepbass reproduce or compare."
        ) from error
    with guarded(lambda cause: _damaged(file, reason_of(cause))):
        values: dict[str, Any] = read_json(content, kind)
        return values


def _damaged(file: Path, how: object) -> StoreError:
    return StoreError(f"{file} was changed or is damaged: {how}. Delete it, and the same command makes it again.")
