"""Texts and rows are shown as what they are: whole up to a bound, and never more than data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.raw_samples import Row
from deepbass.label.contents import COLUMNS, LONGEST, SHORT_COLUMNS, SHORT_TEXT, Content, plain
from deepbass.label.items import Unpicturable, open_items
from deepbass.label.opening import open_project
from deepbass.label.project import Project, Settings
from deepbass.label.sample_items import reader
from deepbass.label.settings import Columns
from deepbass.label.spread import spread

from .texts import ROWS, TEXTS, Samples, make_text_project, row_items, text_items


def test_a_text_is_its_own_words_with_the_chosen_columns_beside_it() -> None:
    items = text_items(show=("stars", "title"))
    content = items.read("row 3").as_json()
    assert content == {
        "kind": "text",
        "text": TEXTS[2],
        "beside": [["stars", 2.0], ["title", "Ticket 2"]],
        "characters": len(TEXTS[2]),
    }
    assert text_items().read("row 3").as_json()["beside"] == []
    assert items.kind == "text"


def test_what_is_too_long_is_cut_and_says_how_long_it_was() -> None:
    content = text_items().read("row 6").as_json()
    assert (len(content["text"]), content["characters"]) == (LONGEST, 300_000)
    short = text_items().read("row 6").as_json(short=True)
    assert (len(short["text"]), short["characters"], short["beside"]) == (SHORT_TEXT, 300_000, [])


def test_a_row_has_its_columns_in_order_and_what_is_missing_is_nothing() -> None:
    content = row_items().read("row 1").as_json()
    assert content["cells"] == [["age", 42.0], ["city", "Köln"], ["income", None], ["note", "first <b>customer</b>"]]
    chosen = row_items(show=("note", "age")).read("row 2").as_json()
    assert chosen["cells"] == [["note", None], ["age", 31.5]]


@pytest.mark.parametrize("count", [3, 5_000])
def test_a_row_of_any_size_stays_within_bounds(count: int) -> None:
    long = "x" * 90_000
    wide = Content("row", "", tuple((f"c{i}", long) for i in range(count)))
    shown = wide.as_json()
    assert shown["columns"] == count
    assert len(shown["cells"]) <= COLUMNS
    assert len(json.dumps(shown)) < 2 * LONGEST
    assert len(wide.as_json(short=True)["cells"]) <= SHORT_COLUMNS


def test_cells_are_what_json_has() -> None:
    assert [plain(cell) for cell in (None, "a", 1.5, 3, float("nan"), float("inf"), True)] == [
        None, "a", 1.5, 3, None, "inf", "True",
    ]  # fmt: skip


def test_what_cannot_be_read_says_why() -> None:
    items = text_items(broken={1: "not UTF-8"})
    with pytest.raises(Unpicturable, match="not UTF-8"):
        items.read("row 2")
    with pytest.raises(Unpicturable, match="not in the source any more"):
        items.read("row 99")
    with pytest.raises(Unpicturable):
        items.picture("row 1", 64)


def test_a_column_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="'x' is no column of the source: it has 'age', 'city', 'income', 'note'"):
        row_items(show=("age", "x"))
    with pytest.raises(DataError, match="no texts to label"):
        text_items([])
    with pytest.raises(DataError, match="Two samples have one name: row 1"):
        reader(Samples("text", TEXTS[:2]), ["row 1", "row 1"])


def test_the_first_questions_are_unlike_one_another() -> None:
    texts = ["the button is broken"] * 60 + ["how do I pay"] * 60 + ["thank you"] * 2
    first = spread(text_items(texts), range(len(texts)), 3, seed=1)
    assert len({texts[item] for item in first}) == 3
    young: Row = {"age": 1.0, "city": "a"}
    old: Row = {"age": 90.0, "city": "b"}
    rows = [young] * 50 + [old] * 2
    assert {rows[item]["city"] for item in spread(row_items(rows), range(52), 2, seed=1)} == {"a", "b"}


def test_a_project_remembers_what_its_items_are(tmp_path: Path) -> None:
    project = make_text_project(tmp_path / "p", row_items(ROWS), show=["age"])
    again = Project.open(project.path)
    assert (again.kind, again.settings.show) == ("row", ["age"])
    with pytest.raises(ConfigError, match="show"):
        Settings.of({"show": "age"})


def test_a_table_is_opened_by_its_columns_and_opens_again_without_them(tmp_path: Path) -> None:
    table = tmp_path / "tickets.csv"
    table.write_text("title,body,kind,reply\nA,it broke,bug,\nB,how?,,\nC,<b>why</b>,,\n", encoding="utf-8")
    chosen = {"config": {"text": "body", "target": "kind"}, "show": ["title", "reply"]}
    with open_project(str(table), tmp_path / "p", ["bug", "question"], chosen) as opened:
        assert opened.items.labels == {0: "bug"}
    with open_project(str(tmp_path / "p")) as opened:
        items = opened.items
        assert (items.kind, items.names, opened.project.kind) == ("text", ["row 1", "row 2", "row 3"], "text")
        assert items.read("row 3") == Content("text", "<b>why</b>", (("title", "C"), ("reply", None)))
    with open_project(str(tmp_path / "p"), settings={"show": []}) as opened:
        assert opened.items.read("row 1").columns == ()
    with (
        pytest.raises(ConfigError, match=r"text = 'title' cannot be set: .* was made with text = 'body'"),
        open_project(str(tmp_path / "p"), settings={"config": {"text": "title"}}),
    ):
        pass
    with (
        pytest.raises(DataError, match="no column 'titel'"),
        open_project(str(table), tmp_path / "q", settings={**chosen, "show": ["titel"]}),
    ):
        pass


def test_rows_of_a_table_are_items_without_their_label(tmp_path: Path) -> None:
    table = tmp_path / "people.jsonl"
    table.write_text('{"age": 42, "city": "Köln", "left": "yes"}\n{"age": null, "city": "Bonn", "left": null}\n')
    with open_project(str(table), tmp_path / "p", settings={"config": {"target": "left"}}) as opened:
        assert opened.items.read("row 2") == Content("row", "", (("age", None), ("city", "Bonn")))
        assert opened.items.labels == {0: "yes"}


def test_a_table_without_labels_is_labelled_by_row_if_somebody_says_so(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age,city\n42,Bonn\n31,Ulm\n")
    with (
        pytest.raises(ConfigError, match=r"columns age, city.*--text COLUMN.*--show COLUMN,COLUMN"),
        open_project(str(table), tmp_path / "p"),
    ):
        pass
    assert not (tmp_path / "p").exists()
    with open_project(str(table), tmp_path / "p", settings={"show": ["city"]}) as opened:
        assert opened.items.read("row 2") == Content("row", "", (("city", "Ulm"),))
        assert (opened.items.labels, opened.project.kind) == ({}, "row")
    with open_project(str(tmp_path / "p"), settings={"show": []}) as opened:
        assert len(opened.items.read("row 2").columns) == 2
    with pytest.raises(ConfigError, match="is for texts and rows"):
        open_items("digits", None, Columns(show=("age",)))


def test_a_link_that_leads_out_of_a_folder_of_texts_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "texts"
    (folder / "bug").mkdir(parents=True)
    (folder / "bug" / "a.txt").write_text("it broke")
    (folder / "link.txt").write_text("harmless")
    items = open_items(str(folder))
    (folder / "link.txt").unlink()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    assert items.names == ["bug/a.txt", "link.txt"]
    assert items.read("bug/a.txt").text == "it broke"
    with pytest.raises(Unpicturable, match="leads out of the folder"):
        items.read("link.txt")
