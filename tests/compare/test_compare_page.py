"""The page of a comparison: alone, escaped, true to the records, and there for empty results too."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from deepbass.bench.cells import FAILED
from deepbass.bench.results import COMPARE, Results
from deepbass.bench.text_table import plain_text
from deepbass.compare.compare_page import write_comparison, write_comparison_figures
from deepbass.compare.compare_tables import as_plain_values, headline, worth
from deepbass.compare.methods import METHODS, OURS
from deepbass.compare.standing import read_outcome
from tests.compare.made_up import NASTY, comparison, outcome, record, write
from tests.compare.test_standing import law
from tests.paper.test_page import check_alone
from tests.report.parsed import Page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, str]:
    plan = comparison(data=NASTY, notes=(NASTY,))
    first, second = (cell for cell in plan.cells() if cell.row == "svm" and cell.tier == "50")
    others = [
        replace(record(first, 0.5), status=FAILED, error=f"{NASTY}\nmore"),
        record(second, 0.5, notes=(NASTY,)),
    ]
    html, text = write_comparison(write(tmp_path_factory.mktemp("odd") / "results", plan, law, others))
    return Page.read(html), text.read_text(encoding="utf-8")


def test_the_page_is_whole_and_alone(report: tuple[Page, str]) -> None:
    page, _ = report
    check_alone(page)
    assert len(page.said("title")) == len(page.said("h1")) == 1
    assert len(page.all("img")) == 3
    assert all(image["alt"] for image in page.all("img"))
    for method in METHODS:
        assert method in page.text


def test_no_text_becomes_markup(report: tuple[Page, str]) -> None:
    page, text = report
    assert f"{NASTY}\nmore" in page.said("pre")
    assert NASTY in page.said("li")
    assert not re.search(r"(?<!\\)<(script|img|b)", text)


def test_each_table_of_the_page_is_in_the_text_too(report: tuple[Page, str]) -> None:
    page, text = report
    unescaped = [title.replace("\\", "") for title in re.findall(r"^### (.*)$", text, flags=re.MULTILINE)]
    assert page.said("h3") == unescaped
    assert len(unescaped) == 7


def test_it_says_what_the_default_is_worth(tmp_path: Path) -> None:
    found = outcome(tmp_path / "r", comparison(), law)
    assert headline(found).startswith("On made up with ")
    assert "where plain has" in headline(found)
    table = plain_text(worth(found)[0])
    assert "logistic-regression" in table
    assert "1.78" in table
    assert table.count("better") == 2
    values = as_plain_values(found)
    assert [row["labels"] for row in values["worth"]["accuracy"]] == [50, 100]
    assert values["methods"][OURS]["50"]["runs"] == 2
    level = outcome(tmp_path / "l", comparison(), lambda method, n, run: 0.5 + 0.01 * run)
    assert headline(level).startswith("On made up no better than plain; with ")
    below = outcome(tmp_path / "b", comparison(), lambda method, n, run: 0.1 if method == OURS else 0.5)
    assert headline(below) == "On made up plain does better with 50 and 100 labels"


def test_where_classes_are_uneven_balanced_accuracy_comes_first(tmp_path: Path) -> None:
    uneven = outcome(tmp_path / "r", comparison(commonest=0.95), law)
    assert [table.title.split("By ")[1] for table in worth(uneven)] == ["balanced accuracy", "accuracy"]


def test_empty_results_give_a_page_that_says_so(tmp_path: Path) -> None:
    results = Results.make(tmp_path / "r", COMPARE)
    results.keep_plan(comparison().as_dict())
    html, text = write_comparison(tmp_path / "r")
    page = Page.read(html)
    check_alone(page)
    assert "Nothing was run yet" in page.text
    assert "Nothing was run yet" in text.read_text(encoding="utf-8")
    assert not page.all("img")
    assert read_outcome(results).standings() == []


def test_the_same_results_give_the_same_pages_and_figures(tmp_path: Path) -> None:
    folder = write(tmp_path / "r", comparison(), law)
    first, second = ([file.read_bytes() for file in write_comparison(folder)] for _ in range(2))
    assert first == second
    files = write_comparison_figures(folder, tmp_path / "figures", ["svg"])
    assert [file.name for file in files] == [
        "accuracy-by-labels.svg",
        "balanced-accuracy-by-labels.svg",
        "accuracy-by-minutes.svg",
    ]
