"""Rows that a column names: sorting the file shifts no name, and a column that cannot name them is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.raw_samples import RawSamples
from deepbass.data.source import Source, is_raw
from deepbass.data.sources import find_source
from deepbass.label.item_pool import find_samples
from deepbass.label.opening import open_project
from deepbass.label.settings import Columns
from tests.data.test_texts import write_parquet
from tests.label.projects import act, labels, say

ROWS: list[dict[str, Any]] = [
    {"key": f"T-{number}", "body": f"text {number}", "label": ("bug", "praise")[number % 2]} for number in range(6)
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        return write_parquet(path, rows)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in [list(rows[0]), *(row.values() for row in rows)]))
    return path


def samples_of(path: Path, **roles: Any) -> RawSamples:
    source = find_source(str(path), None, **roles)
    assert isinstance(source, Source) and is_raw(source.train.X)
    return source.train.X


def named(samples: RawSamples) -> dict[str, Any]:
    return {samples.name(row): samples.read(row) for row in range(len(samples))}


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("roles", [{"text": "body"}, {"target": "label"}])
def test_names_go_with_their_rows_wherever_these_stand(tmp_path: Path, kind: str, roles: dict[str, str]) -> None:
    first = named(samples_of(write(tmp_path / f"a{kind}", ROWS), id_="key", **roles))
    again = named(samples_of(write(tmp_path / f"b{kind}", ROWS[::-1]), id_="key", **roles))
    assert list(first) == [row["key"] for row in ROWS]
    assert first == again
    if "target" in roles:
        assert all("key" not in row for row in first.values())  # a name is nothing to learn from


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
def test_whole_numbers_are_names_without_a_point(tmp_path: Path, kind: str) -> None:
    rows = [{**row, "key": 10 + number} for number, row in enumerate(ROWS)]
    assert list(named(samples_of(write(tmp_path / f"a{kind}", rows), text="body", id_="key")))[:2] == ["10", "11"]


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        (
            ["a", "b", "a", "d", "b", "a"],
            r"3 have the same name: rows 1 and 3 \('a'\), rows 2 and 5 \('b'\), rows 1 an",
        ),
        (["a", "", "c", "NA", "e", "f"], r"2 name nothing: row 2, row 4"),
        (["a", "b", "x" * 201, "d", "e", "f"], r"row 3.*201 characters"),
    ],
)
def test_a_column_that_does_not_name_every_row_once_is_refused_with_the_rows(
    tmp_path: Path, keys: list[str], error: str
) -> None:
    rows = [{**row, "key": key} for row, key in zip(ROWS, keys, strict=True)]
    with pytest.raises(DataError, match=error):
        samples_of(write(tmp_path / "a.csv", rows), text="body", id_="key")


def test_what_is_named_twice_in_both_parts_is_refused_too(tmp_path: Path) -> None:
    rows = [{**row, "key": number % 5, "split": "val" if number > 3 else "train"} for number, row in enumerate(ROWS)]
    with pytest.raises(DataError, match=r"rows 1 and 6 \('0'\)"):
        samples_of(write(tmp_path / "a.csv", rows), text="body", id_="key")


def test_a_column_that_is_not_there_or_is_something_else_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ROWS)
    with pytest.raises(DataError, match=r"no column 'Key'. Did you mean 'key'"):
        samples_of(path, text="body", id_="Key")
    with pytest.raises(DataError, match="cannot name the rows and be something else"):
        samples_of(path, text="body", id_="body")
    with pytest.raises(DataError, match="leave --id out"):
        find_source("digits", None, id_="key")
    images = tmp_path / "images.csv"
    images.write_text("path,label,key\na.png,cat,1\n")
    with pytest.raises(DataError, match="called by their paths: leave --id key out"):
        find_source(str(images), None, unlabelled=True, id_="key")
    assert Config(id="key").id == "key"


def test_labels_stay_with_their_texts_when_the_file_is_sorted_and_old_projects_open_as_before(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{key: row[key] for key in ("key", "body")} for row in ROWS])
    config = {"text": "body", "id": "key"}
    with open_project(str(path), tmp_path / "p", ["bug", "praise"], {"config": config}) as made:
        project = made.project
        assert made.items.names[:2] == ["T-0", "T-1"]
    act(project, say(0, 0), say(5, 1))
    write(path, [{key: row[key] for key in ("key", "body")} for row in reversed(ROWS)])
    with open_project(str(tmp_path / "p")) as again:
        assert again.items.read("T-5").text == "text 5"
    assert labels(project) == {"T-0": "bug", "T-5": "praise"}
    found = find_samples(project.source, None, project.settings.columns)
    assert isinstance(found, Source) and is_raw(found.train.X) and found.train.X.name(0) == "T-5"

    with open_project(str(path), tmp_path / "old", ["bug"], {"config": {"text": "body"}}) as made:
        assert made.items.names[0] == "row 1"
        assert made.project.settings.columns == Columns("body")
    with (
        pytest.raises(ConfigError, match=r"id = 'key' cannot be set"),
        open_project(str(tmp_path / "old"), settings={"config": {"id": "key"}}),
    ):
        pass
