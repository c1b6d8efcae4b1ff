"""Laws of texts: every row is there with its label or is named, whatever file it stands in."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.core.raw_samples import RawSamples
from deepbass.data import load
from deepbass.data.raw_rows import Texts
from deepbass.data.source import Source, is_raw
from deepbass.data.sources import find_source
from tests.data.counting import count

ROWS: list[dict[str, str]] = [
    {"body": "it crashes", "label": "bug", "title": "one", "split": "train"},
    {"body": 'a "quoted", word\nand a second line; or\ttab', "label": "bug", "title": "two", "split": "train"},
    {"body": "how do I ask? \U0001f600 שלום", "label": "question", "title": "", "split": ""},
    {"body": "thänks", "label": "", "title": "four", "split": "train"},
    {"body": "why", "label": "question", "title": "five", "split": "val"},
]


def write_csv(path: Path, rows: list[dict[str, str]] = ROWS, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def write(folder: Path, kind: str) -> Path:
    path = folder / f"tickets{kind}"
    match kind:
        case ".csv":
            return write_csv(path)
        case ".tsv":
            return write_csv(path, delimiter="\t")
        case ".parquet":
            return write_parquet(path, ROWS)
        case ".csv.gz":
            path.write_bytes(gzip.compress(write_csv(folder / "plain.csv").read_bytes()))
            return path
    return write_lines(path, ROWS)


def texts_of(source: object) -> Source:
    assert isinstance(source, Source)
    return source


def raw_of(source: object) -> RawSamples:
    X = texts_of(source).train.X
    assert is_raw(X)
    return X


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".csv.gz", ".jsonl", ".ndjson", ".jsonl.gz", ".parquet"])
def test_the_same_rows_come_from_any_kind_of_file(tmp_path: Path, kind: str) -> None:
    source = texts_of(find_source(str(write(tmp_path, kind)), None, text="body"))
    raw = raw_of(source)
    assert source.name == "tickets"
    assert [raw.read(row) for row in range(len(raw))] == [row["body"] for row in ROWS[:4]]
    assert list(source.train.y) == ["bug", "bug", "question", ""]  # type: ignore[arg-type]
    assert [raw.name(row) for row in range(len(raw))] == list(source.train.names) == [f"row {i}" for i in (1, 2, 3, 4)]
    assert source.validation is not None
    assert list(source.validation.names) == ["row 5"]
    assert source.notes == ("1 row without a label in 'label' (empty, NA, nan, null or -1)",)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_delimiter_is_told_by_the_header(tmp_path: Path, delimiter: str, encoding: str) -> None:
    path = write_csv(tmp_path / "a.csv", delimiter=delimiter, encoding=encoding)
    assert raw_of(find_source(str(path), None, text="body")).read(1) == ROWS[1]["body"]


def test_keys_follow_the_text_and_nothing_else(tmp_path: Path) -> None:
    here, there = (raw_of(find_source(str(write(tmp_path, kind)), None, text="body")) for kind in (".csv", ".jsonl"))
    keys = [here.key(row) for row in range(4)]
    assert keys == [there.key(row) for row in range(4)]
    assert len(set(keys)) == 4


def test_columns_that_people_want_to_see_stand_beside_the_text(tmp_path: Path) -> None:
    raw = raw_of(find_source(str(write(tmp_path, ".csv")), None, text="body", show=("title", "label")))
    assert isinstance(raw, Texts)
    assert raw.beside(0) == {"title": "one", "label": "bug"}
    assert raw.beside(2) == {"title": None, "label": "question"}
    with pytest.raises(DataError, match=r"no column 'titel'\. Did you mean 'title'\?"):
        find_source(str(tmp_path / "tickets.csv"), None, text="body", show=("titel",))


def test_rows_without_text_are_named_skipped_and_counted(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"t": text, "y": "ab"[i % 2]} for i, text in enumerate(["one", "", "two", "  ", None])
    ]
    source = texts_of(find_source(str(write_lines(tmp_path / "a.jsonl", rows)), None, text="t", target="y"))
    assert source.notes == ("3 rows without text in 't' skipped: row 2, row 4, row 5",)
    assert list(source.train.names) == ["row 1", "row 3"]
    assert list(source.train.y) == ["a", "a"]  # type: ignore[arg-type]


def test_whole_numbers_are_classes_in_their_order(tmp_path: Path) -> None:
    rows = [{"t": f"text {i}", "y": str(i % 11), "split": "train"} for i in range(44)] + [
        {"t": "new", "y": "", "split": "val"},
        {"t": "old", "y": "3.0", "split": "val"},
    ]
    data = load(str(write_csv(tmp_path / "a.csv", rows)), Config(text="t", target="y"), featurise=count)
    assert data.classes == tuple(str(i) for i in range(11))
    assert data.validation_labels.tolist() == [3]


def test_numbers_with_leading_zeros_are_names(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [{"t": f"text {i}", "y": f"0{i % 2}"} for i in range(8)])
    assert load(str(path), Config(text="t", target="y"), featurise=count).classes == ("00", "01")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"body,label\nfine,a\nbad \xe9t\xe9,b\n", r"a\.csv, line 3, is not UTF-8: byte 0xe9 at place 5, after 'bad'"),
        ("body,label\nfine,a\n".encode("utf-16"), r"line 1, is not UTF-8: byte 0xff"),
        (b"body,label\nfine,a\nnu\0l,b\n", r"line 3, has a NUL byte"),
        (b"body,label\nfine,a\none,two,three\n", r"row 2 \(line 3\): 3 cells \('one,two,three'\) under 2 columns"),
        (b'body,label\n"a\nb",a\n"open,b\nc,d\n', r"line 4, is not readable CSV .*Is a quote left open"),
        (b"body,label,body\n", r"two columns are called 'body'"),
        (b"text,label\nfine,a\n", r"no column 'body'\..* Its columns: text, label"),
        (b"text,class\nfine,a\n", r"no column 'body'"),
        (b"Body,label\nfine,a\n", r"Did you mean 'Body'\?"),
        (b"body,label\n1,a\n2.5,b\n,c\n", r"'body' holds numbers, not texts.*--target COLUMN"),
        (b"body,label\n,a\n", "no rows with text in the column 'body'"),
        (b"body,label,split\nx,a,later\n", r"row 1 \(line 2\): split 'later' is none of train, val"),
        (b"body,class\nfine,a\n", r"no column 'label'.*--target COLUMN.*body, class"),
        (b"body,label\nx," + b"long " * 99, r"row 1 .*label has 494 characters: is 'label' the column of labels"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        find_source(str(path), None, text="body")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"body": "x"', r"row 2 \(line 3\), is not a readable JSON object"),
        (b'["x"]', r"row 2 \(line 3\), is not a readable JSON object .*it holds"),
        (b'{"body": "\\ud800"}', r"row 2 \(line 3\), .*surrogates"),
        (b'{"body": "a\\u0000b"}', r"row 2 \(line 3\), .*NUL"),
        (b"[" * 100_000, r"row 2 \(line 3\)"),
        (b'{"body": "\xff"}', r"line 3, is not UTF-8"),
    ],
)
def test_a_wrong_line_of_json_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"body": "fine", "label": 1}\n\n' + line)
    with pytest.raises(DataError, match=message):
        find_source(str(path), None, text="body")


def test_a_long_text_is_a_text(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [{"t": "long " * 100_000, "label": "a"}])
    assert len(raw_of(find_source(str(path), None, text="t")).read(0)) == 500_000


def test_a_damaged_gz_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, ".jsonl.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="cannot be read beyond line"):
        find_source(str(path), None, text="body")


def test_texts_to_label_need_no_labels(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [{"t": "one"}, {"t": "two"}])
    source = texts_of(find_source(str(path), None, unlabelled=True, text="t"))
    assert list(source.train.y) == ["", ""]  # type: ignore[arg-type]
    assert source.notes == ()


def test_a_csv_that_nobody_explains_tells_its_columns(tmp_path: Path) -> None:
    path = write(tmp_path, ".csv")
    with pytest.raises(DataError, match=r"'body, label, title, split'.*--text COLUMN.*--target COLUMN"):
        load(str(path), Config())


def test_without_features_a_text_is_an_error_that_names_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds texts, .* words or sentences"):
        load(str(write(tmp_path, ".csv")), Config(text="body"))


def test_a_run_learns_from_features_and_people_read_the_text(tmp_path: Path) -> None:
    rows = [{"t": "a" * (i + 1), "label": "xy"[i % 2]} for i in range(20)]
    data = load(str(write_csv(tmp_path / "a.csv", rows)), Config(text="t"), featurise=count)
    assert data.features == "count"
    assert (data.classes, data.notes, len(data.pool), len(data.validation)) == (("x", "y"), ("counted",), 16, 4)
    for pool in (data.pool, data.validation):
        for id_ in range(len(pool)):
            text = pool.text(id_)
            assert text is not None
            assert pool.read([id_])[0].tolist() == [len(text), len(text)]
            assert pool.name(id_) == f"row {len(text)}"
            assert pool.picture(id_) is None


def test_a_folder_of_text_files_has_a_subfolder_per_class(tmp_path: Path) -> None:
    for i in range(12):
        path = tmp_path / ("val" if i > 7 else "train") / ("ham" if i % 2 else "spam") / f"{i}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"\ufefftext {i}" if i == 3 else f"text {i}", encoding="utf-8")
    (tmp_path / "train" / "ham" / "latin.txt").write_bytes(b"fine\nna\xefve")
    (tmp_path / "train" / "ham" / "empty.txt").write_text("\n", encoding="utf-8")
    data = load(str(tmp_path), Config(), featurise=count)
    assert (data.classes, len(data.pool), len(data.validation)) == (("ham", "spam"), 8, 4)
    names = [data.pool.name(i) for i in range(8)]
    assert names == sorted(names)
    assert [data.pool.text(i) for i in range(8)] == [f"text {Path(name).stem}" for name in names]
    assert data.notes == (
        "counted",
        "2 samples skipped: train/ham/empty.txt (no text in it), train/ham/latin.txt (not UTF-8: byte 0xef on line 2)",
    )
    with pytest.raises(DataError, match=r"strict is on: train/ham/empty\.txt"):
        load(str(tmp_path), Config(strict=True), featurise=count)


def test_columns_of_what_has_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.txt").write_text("one", encoding="utf-8")
    for source in (str(tmp_path), "digits"):
        with pytest.raises(DataError, match="has no columns, so text = 'body' means nothing"):
            load(source, Config(text="body"))


def test_many_texts_take_little_memory(tmp_path: Path) -> None:
    texts = Texts("x" * 4000 + str(i) for i in range(20_000))  # 80 MB: more than is kept in memory
    assert [texts.read(row)[4000:] for row in (19_999, 0, 777)] == ["19999", "0", "777"]
