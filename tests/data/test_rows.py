"""Laws of tables: columns are what their cells say, and no row sees its own label."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data import load
from deepbass.data.raw_rows import TableRows
from deepbass.data.source import Source
from deepbass.data.sources import find_source
from tests.data.counting import count
from tests.data.test_texts import write_parquet

TABLE = """,age,city,member,empty,income,species,Split
0,31,Bonn,true,,1e3,cat,train
1,NA,Köln,false,NA,-.5,dog,train
2, 7 ,Bonn,,,nan,cat,
3,2.50,null,true,,inf,,train
4,8,Wuppertal,TRUE,,12,dog,val
"""
CELLS: list[dict[str, Any]] = [
    {"age": 31.0, "city": "Bonn", "member": "true", "income": 1000.0},
    {"age": None, "city": "Köln", "member": "false", "income": -0.5},
    {"age": 7.0, "city": "Bonn", "member": None, "income": None},
    {"age": 2.5, "city": None, "member": "true", "income": None},
]


def open_table(path: Path, **roles: Any) -> tuple[Source, TableRows]:
    source = find_source(str(path), None, **roles)
    assert isinstance(source, Source)
    assert isinstance(source.train.X, TableRows)
    return source, source.train.X


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_cells_are_numbers_words_or_nothing_and_the_target_never_among_them(table: Path) -> None:
    source, rows = open_table(table, target="species")
    assert [rows.read(row) for row in range(len(rows))] == CELLS
    assert rows.columns == {"age": "number", "city": "category", "member": "category", "income": "number"}
    assert list(source.train.y) == ["cat", "dog", "cat", ""]  # type: ignore[arg-type]
    assert source.validation is not None
    assert source.notes[0] == "columns with nothing in them were left out: empty"


def test_other_kinds_of_files_hold_the_same_rows(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{**row, "species": "cat", "when": None} for row in CELLS]
    rows[0]["member"] = True
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    paths = [tmp_path / "a.jsonl", write_parquet(tmp_path / "a.parquet", [{**row, "member": "true"} for row in rows])]
    for path in paths:
        _, found = open_table(path, target="species")
        assert found.read(1)["age"] is None
        assert found.read(0) == CELLS[0]
        assert found.key(0) == open_table(paths[0], target="species")[1].key(0)


def test_keys_follow_the_cells(table: Path) -> None:
    _, rows = open_table(table, target="species")
    assert len({rows.key(row) for row in range(4)}) == 4
    assert rows.key(0) == TableRows.of([{**CELLS[0], "member": True}]).key(0)


def test_commas_part_numbers_where_semicolons_part_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x;y;label\n1,5;1.234,5;a\n-2,25;7;b\n", encoding="utf-8")
    _, rows = open_table(path, target="label")
    assert [rows.read(row)["x"] for row in (0, 1)] == [1.5, -2.25]
    assert rows.columns["y"] == "category"


def test_a_column_of_names_is_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,x,label\n" + "".join(f"n{i},{i},a\n" for i in range(300)), encoding="utf-8")
    source, _ = open_table(path, target="label")
    assert source.notes[0].startswith("the column 'name' has 300 different words in 300 rows")
    assert len(source.notes) == 1


@pytest.mark.parametrize(
    ("target", "content", "message"),
    [
        ("kind", "x,species\n1,a\n", r"no column 'kind'\. Its columns: x, species"),
        ("specis", "x,species\n1,a\n", r"Did you mean 'species'\?"),
        ("species", "species\na\n", "nothing to learn from"),
        ("species", "species,x\na,\nb,NA\n", "nothing to learn from"),
        ("species", "species,x\n", "nothing in its columns"),
    ],
)
def test_a_table_that_teaches_nothing_is_refused(tmp_path: Path, target: str, content: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        find_source(str(path), None, target=target)


def test_a_run_learns_from_rows_and_people_read_them_as_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,c,label\n" + "".join(f"{i},{'uv'[i % 2]},{i % 2}\n" for i in range(10)), encoding="utf-8")
    data = load(str(path), Config(target="label"), featurise=count)
    assert data.classes == ("0", "1")
    assert data.pool.text(0) in [f"x: {i}\nc: {'uv'[i % 2]}" for i in range(10)]
    assert data.pool.read([0]).tolist() == [[2, 1]]
    with pytest.raises(DataError, match=r"holds rows of a table, .* table"):
        load(str(path), Config(target="label"))


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *more: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *more)

    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(builtins, "__import__", refuse)
    for module in [name for name in sys.modules if name.startswith("pyarrow")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(DataError, match=r"takes pyarrow, which is missing: pip install pyarrow"):
        find_source(str(tmp_path / "a.parquet"), None, text="t")


def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        find_source(str(tmp_path / "a.parquet"), None, text="t")
