"""Samples that come in to be judged: from folders, files and standard input, one after the other, without labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DataError
from deepbass.core.foreign import reason_of
from deepbass.core.raw_samples import Cell, Kind, RawSamples, UnreadableSample
from deepbass.data.arrays import from_npy, from_npz, is_array_folder
from deepbass.data.image_folder import walk_files
from deepbass.data.images import SUFFIXES as IMAGE_SUFFIXES
from deepbass.data.images import need_pillow
from deepbass.data.raw_images import ArrayImages, ImageFiles, is_picture
from deepbass.data.raw_rows import RowNumbers, TextFiles
from deepbass.data.raw_series import ArraySeries, is_stack
from deepbass.data.row_files import KINDS as ROW_KINDS
from deepbass.data.row_files import NumberedRow, RowFile, kind_of, open_rows
from deepbass.data.row_ids import id_of
from deepbass.data.row_source import list_columns, need_column
from deepbass.data.sample_arrays import view_samples
from deepbass.data.standard_input import StdinLines, StdinTable
from deepbass.data.table_cells import as_text, is_missing, with_point
from deepbass.data.text_folder import SUFFIXES as TEXT_SUFFIXES

F = TypeVar("F", RowFile, StdinTable)

STDIN = "-"
PATH = "path"  # the column of a table that names image files
WORDS = {"image": "images", "text": "texts", "row": "rows of a table", "array": "arrays of numbers", "series": "series"}
TAKEN = {
    "image": "a folder of images, image files, a table with a column `path`, .npy or .npz arrays of pictures, or - for "
    "paths on standard input",
    "text": "a table (.csv, .tsv, .jsonl, .parquet), .txt files or a folder of them, or - for a text per line",
    "row": "a table (.csv, .tsv, .jsonl, .parquet) with the columns of the training, or - for CSV on standard input",
    "array": ".npy or .npz arrays",
    "series": ".npy or .npz arrays of series, N x T x F",
}


class NewSample(NamedTuple):
    """A sample to be judged."""

    name: str
    sample: Any  # a picture or its file, a text, a row or an array; an UnreadableSample says why there is none


# None: there is nothing more for the moment, so whoever gathers samples had better go on with what there is
Incomings = Iterator[NewSample | None]


@dataclass(frozen=True)
class Wanted:
    """What a model takes."""

    kind: Kind | Literal["array"]
    shape: tuple[int, ...] | None = None  # of what the network sees; None: of features, so samples may have any
    text: str | None = None  # column of a table that holds the texts
    id: str | None = None  # column of a table that names its rows; None: their numbers do
    columns: tuple[str, ...] = ()  # that a table must have
    side: int | None = None  # pixels that big JPEGs need not be much larger than
    files: bool = False  # images in files are left there: whoever judges them decodes them


@dataclass(frozen=True)
class Opened:
    """An input that is there, and of the right kind."""

    items: Callable[[], Incomings]
    count: int | None = None  # as far as that is known
    notes: tuple[str, ...] = ()


def open_input(source: str, wanted: Wanted, *, several: bool = False) -> Opened:
    """Open a folder, a file or standard input, whose samples are then read one at a time.

    Rows are called "row 12"; where there are ``several`` inputs, with the name of their file before it.
    """
    if wanted.kind == "image":
        need_pillow()
    if source == STDIN:
        return _from_stdin(wanted)
    path = Path(source).expanduser()
    if not path.exists():
        raise DataError(f"There is no file or folder {source!r}. The model takes {TAKEN[wanted.kind]}.")
    holds = _holds(path)
    prefix = f"{path.name} row " if several else "row "
    match wanted.kind, holds:
        case ("image", "folder" | "image file") | ("text", "folder" | "text file"):
            return _from_files(path, wanted)
        case ("image" | "array" | "series", "array"):
            return _from_array(path, wanted)
        case ("image", "table"):
            return _from_paths(path, wanted)
        case ("text", "table"):
            return Opened(partial(_texts, _with_text(open_rows(path), wanted), wanted, prefix))
        case ("row", "table"):
            return Opened(partial(_rows, _with_columns(open_rows(path), wanted), wanted, prefix))
    raise DataError(
        f"{source!r} is {_article(holds)}, but the model was trained on {WORDS[wanted.kind]}: give "
        f"{TAKEN[wanted.kind]}."
    )


def _holds(path: Path) -> str:
    if path.is_dir():
        return "array" if is_array_folder(path) else "folder"
    suffix = path.suffix.lower()
    if suffix in IMAGE_SUFFIXES or suffix in TEXT_SUFFIXES:
        return "image file" if suffix in IMAGE_SUFFIXES else "text file"
    if suffix in (".npy", ".npz"):
        return "array"
    return "table" if kind_of(path) in ROW_KINDS else "file of an unknown kind"


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _from_files(path: Path, wanted: Wanted) -> Opened:
    suffixes, others = IMAGE_SUFFIXES, TEXT_SUFFIXES
    if wanted.kind == "text":
        suffixes, others = others, suffixes
    paths: list[Path] = [path]
    notes: list[str] = []
    if path.is_dir():
        inside, notes = walk_files(path, suffixes)
        paths = [path / name for name in inside]
        if not paths:
            what = WORDS[wanted.kind]
            found = "images, and" if others is IMAGE_SUFFIXES else "texts, and"
            also = f"{found} " if walk_files(path, others)[0] else ""
            raise DataError(f"{path} has {also}no {what} in it. The model takes {TAKEN[wanted.kind]}.")
    names = [str(file) for file in paths]
    samples: RawSamples = TextFiles(paths, names) if wanted.kind == "text" else ImageFiles(paths, names, wanted.side)
    return Opened(partial(_raw, samples, wanted.files), len(paths), tuple(notes))


def _raw(samples: RawSamples, files: bool = False) -> Incomings:
    left = samples.file if files and isinstance(samples, ImageFiles) else partial(_tried, samples)
    for row in range(len(samples)):
        yield NewSample(samples.name(row), left(row))


def _tried(samples: RawSamples, row: int) -> Any:
    try:
        return samples.read(row)
    except UnreadableSample as error:
        return error


def _from_array(path: Path, wanted: Wanted) -> Opened:
    source = (from_npz if path.suffix.lower() == ".npz" else from_npy)(path, unlabelled=True)
    array: NDArray[Any] = np.asanyarray(source.train.X)
    samples, names = view_samples(array, str(path)), RowNumbers(f"{path.name}/")
    if wanted.kind == "series":
        if not is_stack(array):
            raise DataError(f"{path} has the shape {array.shape}, but the model takes series: N x T x F.")
        return Opened(partial(_raw, ArraySeries(array, names)), len(array))
    if samples.shape[1:] == wanted.shape:
        return Opened(partial(_numbers, samples, names), len(samples))
    if wanted.kind == "image" and is_picture(array) and (wanted.shape is None or array.dtype == np.uint8):
        return Opened(partial(_raw, ArrayImages(array, names)), len(array))
    takes = "pictures" if wanted.shape is None else f"samples of shape {wanted.shape}"
    raise DataError(
        f"{path} has samples of shape {samples.shape[1:]}, but the model takes {takes}: give it what it was trained on."
    )


def _numbers(samples: NDArray[Any], names: RowNumbers) -> Incomings:
    plain = samples.view(np.ndarray)  # of a file: a memory map's rows are slow to make
    for row in range(len(plain)):
        yield NewSample(names[row], plain[row])


def _from_paths(path: Path, wanted: Wanted) -> Opened:
    file = open_rows(path)
    need_column(file, PATH)

    def paths() -> Iterator[str | None]:
        return (str(path.parent / as_text(row.cells.get(PATH))) for row in file.rows([PATH]))

    return Opened(lambda: _images(paths(), wanted))


def _images(paths: Iterable[str | None], wanted: Wanted) -> Incomings:
    for name in paths:
        if name is None:
            yield None
        else:
            yield from _raw(ImageFiles([Path(name)], [name], wanted.side), wanted.files)


def _with_text(file: RowFile, wanted: Wanted) -> RowFile:
    if wanted.text is None:
        raise DataError(
            f"{file.path}: say which column holds the texts, with --text COLUMN. Its columns: {list_columns(file)}."
        )
    need_column(file, wanted.text)
    if wanted.id is not None:
        need_column(file, wanted.id)
    return file


def _with_columns(file: F, wanted: Wanted) -> F:
    if wanted.id is not None:
        need_column(file, wanted.id)
    missing = [column for column in wanted.columns if column not in file.columns]
    if missing:
        need = f"the model was trained with {', '.join(map(repr, wanted.columns))}"
        try:
            need_column(file, missing[0])
        except DataError as error:
            raise DataError(f"{error} ({need})") from None
    return file


def _texts(file: RowFile, wanted: Wanted, prefix: str) -> Incomings:
    assert wanted.text is not None
    for row in file.rows([wanted.text, *([] if wanted.id is None else [wanted.id])]):
        text = as_text(row.cells.get(wanted.text))
        yield _named(row, wanted, prefix, text if text.strip() else UnreadableSample("no text in it"))


def _named(row: NumberedRow, wanted: Wanted, prefix: str, sample: Any) -> NewSample:
    """Call a row by its number, or as its column of names has it; one that has none there is not judged."""
    number = f"{prefix}{row.number}"
    if wanted.id is None:
        return NewSample(number, sample)
    if name := id_of(row.cells.get(wanted.id)):
        return NewSample(name, sample)
    return NewSample(number, UnreadableSample(f"nothing in {wanted.id!r}, which names the rows"))


def _text(name: str, text: str) -> NewSample:
    return NewSample(name, text if text.strip() else UnreadableSample("no text in it"))


def _rows(file: RowFile | StdinTable, wanted: Wanted, prefix: str) -> Incomings:
    comma = getattr(file, "delimiter", ",") == ";"  # where a comma parts no cells, it may part a number
    for row in file.rows():
        if row is None:  # standard input has pauses in it
            yield None
        else:
            cells = {name: _cell(cell, comma) for name, cell in row.cells.items()}
            yield _named(row, wanted, prefix, cells)


def _cell(cell: Cell, comma: bool) -> Cell:
    """Read a cell as tables are read for training."""
    if is_missing(cell):
        return None
    cell = with_point(cell) if comma else cell
    return cell.strip() if isinstance(cell, str) else cell


def _from_stdin(wanted: Wanted) -> Opened:
    match wanted.kind:
        case "image":
            return Opened(lambda: _images((line if line is None else line.strip() for line in _stdin()), wanted))
        case "text":
            return Opened(_stdin_texts)
        case "row":
            return Opened(lambda: _rows(_with_columns(StdinTable(), wanted), wanted, "row "))
    raise DataError("Arrays are not read from standard input: give a .npy or .npz file.")


def _stdin() -> Iterator[str | None]:
    lines = StdinLines()
    for line in lines:
        if line.strip():
            yield line.rstrip("\r\n")
        if lines.drained:
            yield None


def _stdin_texts() -> Incomings:
    number = 0
    for line in _stdin():
        number += line is not None
        yield None if line is None else _text(f"line {number}", line)


def inputs_of(sources: Sequence[str], wanted: Wanted) -> list[Opened]:
    """Open all inputs, so that what is wrong with any of them is said before the first sample is judged."""
    try:
        return [open_input(source, wanted, several=len(sources) > 1) for source in sources]
    except OSError as error:
        raise DataError(f"An input cannot be read ({reason_of(error)}).") from error
