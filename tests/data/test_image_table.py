"""Laws of CSV tables: every line counts, and a wrong one is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data import load

pytestmark = pytest.mark.usefixtures("image_cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pets" / "images").mkdir(parents=True)
    for i in range(8):
        Image.new("L", (6, 6), i).save(tmp_path / "pets" / "images" / f"{i}.png")
    return tmp_path / "pets"


def write(folder: Path, *lines: str, encoding: str = "utf-8") -> str:
    (folder / "pets.csv").write_text("\n".join(lines), encoding=encoding)
    return str(folder / "pets.csv")


def rows(count: int = 8) -> list[str]:
    return [f"images/{i}.png,{'cat' if i % 2 else 'dög'}" for i in range(count)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_table_tells_which_image_is_what(folder: Path, encoding: str) -> None:
    data = load(write(folder, "path,label", *rows(), "", encoding=encoding), Config())
    assert data.name == "pets"
    assert data.classes == ("cat", "dög")
    for i, class_ in enumerate(data.truth):
        number = int(data.pool.name(i).removeprefix("images/").removesuffix(".png"))
        assert data.classes[class_] == ("cat" if number % 2 else "dög")
        assert data.pool.read([i])[0, 0, 0, 0] * 256 == number


def test_an_empty_label_is_unknown_and_columns_may_stand_in_any_order(folder: Path) -> None:
    lines = ["Label, Path, remark", *(f"{'ab'[i % 2]},images/{i}.png,nice" for i in range(7)), ",images/7.png,"]
    data = load(write(folder, *lines), Config())
    unknown = [data.pool.name(i) for i in range(len(data.pool)) if data.truth[i] == -1]
    assert unknown == ["images/7.png"]


def test_paths_may_be_whole_or_lead_elsewhere(folder: Path) -> None:
    (folder / "tables").mkdir()
    lines = [f"{folder if i % 4 < 2 else '..'}/{row}" for i, row in enumerate(rows())]
    data = load(write(folder / "tables", "path,label", *lines), Config())
    assert len(data.pool) + len(data.validation) == 8


def test_a_third_column_tells_the_parts(folder: Path) -> None:
    lines = [f"{row},{'val' if i > 5 else 'train' if i else ''}" for i, row in enumerate(rows())]
    data = load(write(folder, "path,label,split", *lines), Config())
    assert (len(data.pool), len(data.validation)) == (6, 2)
    assert data.validation.name(0) == "images/6.png"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["images/0.png,cat"], r"line 1: the columns are 'images/0\.png, cat'"),
        ([], r"line 1: the columns are 'missing'"),
        (["path,label", "images/0.png"], r"line 2: 1 cells \('images/0\.png'\) under 2 columns"),
        (["path,label", "images/0.png,cat", "images/99.png,dog"], r"line 3: there is no file 'images/99\.png'"),
        (["path,label", ",dog"], r"line 2: there is no file ''"),
        (["path,label", "images/0.png,cat", "images/0.png,dog"], r"line 3: 'images/0\.png' is listed on line 2"),
        (["path,label,split", "images/0.png,cat,later"], r"line 2: split 'later'"),
        (["path,label", '"images/0.png,cat'], "not a readable CSV"),
    ],
)
def test_a_wrong_line_is_named(folder: Path, lines: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(write(folder, *lines), Config())


def test_a_table_that_is_not_utf8_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="not a readable CSV table in UTF-8"):
        load(write(folder, "path,label", *rows(), encoding="latin-1"), Config())


def test_a_table_without_images_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="has no images"):
        load(write(folder, "path,label"), Config())
