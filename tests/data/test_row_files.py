"""However much of a file is read at a time, its lines are the same, and so is what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepbass.core.errors import DataError
from deepbass.data import row_files, text_store
from deepbass.data.text_store import TextStore

LINES = ["a,b\n", "1,\"two\nthree\"\n", "\n", "ü,ß \u2028 \x0b\r\n", "x,\r\n", "last,€"]  # fmt: skip


def read(path: Path) -> list[tuple[int, str]]:
    return list(row_files._lines(path))


@pytest.mark.parametrize("block", [1, 2, 3, 7, 16, 1000])
def test_lines_do_not_hang_on_how_much_is_read_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(row_files, "BLOCK", block)
    path = tmp_path / "rows.csv"
    path.write_bytes(row_files.BOM + "".join(LINES).encode())
    lines = "".join(LINES).split("\n")
    assert read(path) == [
        (number, line + ("\n" if number < len(lines) else "")) for number, line in enumerate(lines, 1)
    ]


@pytest.mark.parametrize("block", [1, 5, 1000])
@pytest.mark.parametrize(
    ("wrong", "message"), [(b"\xff", "line 4, is not UTF-8: byte 0xff"), (b"\0", "line 4, has a NUL")]
)
def test_what_comes_before_a_wrong_line_is_read_and_the_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, wrong: bytes, message: str
) -> None:
    monkeypatch.setattr(row_files, "BLOCK", block)
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a\nb\nc\nd" + wrong + b"\ne\n")
    seen: list[str] = []
    with pytest.raises(DataError, match=message):
        seen.extend(row_files._texts(path))  # what came before the error stays
    assert seen == ["a\n", "b\n", "c\n"]


@pytest.mark.parametrize("block", [1, 40])
def test_a_line_without_end_is_refused_and_one_of_the_longest_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(row_files, "BLOCK", block)
    monkeypatch.setattr(row_files, "LONGEST", 50)
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a\n" + b"x" * 49 + b"\nb\n")
    assert len(read(path)) == 3
    path.write_bytes(b"a\n" + b"x" * 50 + b"\nb\n")
    with pytest.raises(DataError, match="line 2, has more than"):
        read(path)


def test_texts_are_read_as_they_were_appended_also_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_store, "_AT_ONCE", 40)
    rng, texts, store = np.random.default_rng(0), [], TextStore()
    for number in range(200):
        texts.append("ä" * int(rng.integers(0, 30)) + str(number))
        store.append(texts[-1])
        row = int(rng.integers(0, len(texts)))
        assert store.read(row) == texts[row]
    assert [store.read(row) for row in range(len(store))] == texts
