"""Tables: whole, true to the records, and honest about what is missing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.bench.cells import FAILED
from deepbass.bench.results import Results
from deepbass.bench.text_table import LEFT, RIGHT, Table, escape, markdown
from deepbass.paper.rows import OTHERS, ROWS
from deepbass.paper.summary import summarise
from deepbass.paper.tables import progress, readme_table, table_3, tables
from deepbass.paper.verdict import NOT_RUN

from .made_up import matrix, read, record, runs, write


def widths(text: str) -> list[set[int]]:
    """Count the cells of each line, table by table."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    return [{len(re.split(r"(?<!\\)\|", line)) for line in block.splitlines()} for block in blocks]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_every_line_of_a_table_has_the_same_columns(tmp_path: Path, count: int) -> None:
    folder = write(tmp_path / "results", [*matrix(count), *matrix(count, "quick")])
    summary = summarise(Results.open(folder).records())
    text = "\n".join(markdown(table) for tier in ("full", "quick") for table in tables(summary, tier))
    text += "\n" + markdown(progress(summary)) + "\n" + readme_table(Results.open(folder))
    found = widths(text)
    assert len(found) == (9 if count else 6)
    assert all(len(counts) == 1 for counts in found)


def test_a_row_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells, the table 2"):
        Table("x", (("a", LEFT), ("b", RIGHT)), (("1",),))


@given(st.text())
def test_no_text_leaves_its_cell(text: str) -> None:
    table = Table("x", (("a", LEFT), ("b", RIGHT)), ((text, "1"),))
    (counts,) = widths(markdown(table))
    assert counts == {4}
    assert "\n" not in escape(text)


def test_without_records_every_row_says_not_run() -> None:
    made = tables(summarise([]), "full")
    compared = [row for table in made[:-1] for row in table.rows]
    assert len(compared) == len(ROWS)
    assert all(row[4] == row[-1] == NOT_RUN for row in compared)
    assert tables(summarise([]), "quick") == []


def test_the_numbers_are_the_records(tmp_path: Path) -> None:
    made = runs("all-data-100", [95.0, 96.0, 97.0])
    failed = record("all-data-100", 3, status=FAILED)
    table = tables(read(tmp_path / "results", [*made, failed]), "full")[1]
    (row,) = (row for row in table.rows if row[4] != NOT_RUN)
    assert row[:7] == ("all data", "–", "100", "96.08 (1.49)", "96.00", "1.00", "3")
    assert re.fullmatch(r"-0\.08 \(-\d\.\d\d to \+\d\.\d\d\)", row[7].replace("\N{MINUS SIGN}", "-"))
    assert row[8] == "agrees"
    assert "Not counted: all data, 100 labels: 1 failed." in table.notes


def test_a_borrowed_spread_is_owned_up_to(tmp_path: Path) -> None:
    summary = read(tmp_path / "results", [*runs("initial", [80, 83, 86]), *runs("labels-100", [80, 83, 86])])
    toy, mnist, *_ = tables(summary, "full")
    assert toy.rows[0][7].endswith("¹")
    assert toy.notes[0].startswith("¹")
    assert not any("¹" in text for text in (*mnist.rows[0], *mnist.notes))


def test_many_differences_to_one_side_are_counted(tmp_path: Path) -> None:
    made = [one for row in ROWS if row.experiment == "toy" for one in runs(row.name, [80.0, 82.0, 84.0])]
    toy = tables(read(tmp_path / "results", made), "full")[0]
    assert any(note.startswith("6 of 6 differences are below 0.") for note in toy.notes)
    assert not any("below 0" in note for note in tables(summarise(made[:12]), "full")[0].notes)


def test_the_quick_tier_of_mnist_claims_no_agreement(tmp_path: Path) -> None:
    summary = read(tmp_path / "results", matrix(3, "quick"))
    toy, mnist, text = tables(summary, "quick")
    for table in (mnist, text):
        assert "verdict" not in dict(table.columns)
        assert not any("agrees" in cell for row in table.rows for cell in row)
        assert any(re.search(r"\d+ of \d+ pairs of rows", note) for note in table.notes)
    assert "verdict" in dict(toy.columns)  # its quick tier is the paper's protocol


def test_all_labels_of_the_quick_tier_are_those_of_its_pool(tmp_path: Path) -> None:
    table = tables(read(tmp_path / "results", matrix(1, "quick")), "quick")[1]
    assert table.rows[-1][2] == "10,000 (whole pool)"
    assert not any("60,000" in row[2] for row in table.rows)


def test_swapped_rows_are_named_where_they_are_few(tmp_path: Path) -> None:
    made = [record(row.name, tier="quick") for row in ROWS if row.table == "Table 2"]
    worst = record("labels-300", tier="quick", accuracy=81.0)
    table = tables(read(tmp_path / "results", [*made, worst]), "quick")[0]
    (note,) = (note for note in table.notes if "same order" in note)
    assert note.endswith("The other way round: labels only, 100 labels above labels only, 300 labels.")


def test_table_3_tells_ours_from_the_papers(tmp_path: Path) -> None:
    nothing = table_3(summarise([])).rows
    assert len(nothing) == len(OTHERS) + 2
    assert [row[3] for row in nothing[-2:]] == ["1.06", NOT_RUN]
    assert {row[5] for row in nothing[:-1]} == {"as the paper reports it"}
    both = [
        *runs("all-data-max-entropy-1000", [98.8, 99.0]),
        *runs("all-data-max-entropy-1000", [97.0], "quick"),
    ]
    assert [row[2:] for row in table_3(read(tmp_path / "results", both)).rows[-2:]] == [
        ("100 → 1,000", "1.10", "0.14", "measured here, 2 runs"),
        ("100 → 1,000", "3.00", "–", "measured here, quick tier, 1 run"),
    ]


def test_the_readme_tells_the_tiers_apart(tmp_path: Path) -> None:
    made = [
        *runs("labels-100", [80.0, 82.0]),
        *runs("labels-100", [70.0], "quick"),
        *runs("labels-300", [90.0], "quick"),
    ]
    text = readme_table(Results.open(write(tmp_path / "results", made)))
    assert "| MNIST, 100 labels | 82.03 | 81.00 ± 1.41 (2 runs) | 70.00 (1 run) |" in text
    assert "| MNIST, 300 labels | 91.91 | not run | 90.00 (1 run) |" in text
    assert "| toy, 8 labels | 83.27 | not run | not run |" in text


def test_a_cell_of_other_settings_is_in_no_table(tmp_path: Path) -> None:
    good = record("labels-100")
    odd = replace(good, cell=replace(good.cell, settings={**good.cell.settings, "copies": 3}))
    assert tables(read(tmp_path / "results", [odd]), "full") == tables(summarise([]), "full")
