"""The page of a reproduction: alone, escaped, true to the records, and there for empty results too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from deepbass.bench.cells import FAILED, STARTED, CellResult
from deepbass.core.errors import StoreError
from deepbass.paper.results_page import docs_page, write_matrix_report

from ..report.parsed import Page
from .made_up import matrix, record, runs, write

NASTY = '<script>alert(1)</script> | "><img src=x onerror=alert(1)>'


def failed(name: str, run: int, error: str | None) -> CellResult:
    return replace(record(name, run), status=FAILED, error=error, accuracy=None, curve={}, field_=None)


def odd_matrix() -> list[CellResult]:
    """Make results with everything that can go wrong in them."""
    stranger = record("labels-600")
    return [
        *matrix(3),
        *matrix(2, "quick"),
        failed("labels-100", 7, NASTY),
        failed("labels-100", 8, None),
        replace(record("labels-100", 9), status=STARTED, accuracy=None),
        replace(stranger, cell=replace(stranger.cell, row="<b>gone")),
        record("labels-300", 5, versions={"torch": "9.9 <i>", "python": "3.11.7"}),
    ]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("odd") / "results", odd_matrix())


@pytest.fixture(scope="module")
def report(odd: Path) -> tuple[Page, str]:
    html, text = write_matrix_report(odd)
    return Page.read(html), text.read_text(encoding="utf-8")


def check_alone(page: Page) -> None:
    """Nothing is fetched, nothing runs."""
    for _, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert attributes.get(name, "data:").startswith("data:")
        assert not any(name.startswith("on") for name in attributes)
    assert not {"script", "link", "iframe", "object", "embed", "svg", "base"} & {name for name, _ in page.elements}
    assert not re.search(r"url\(|@import", "".join(page.said("style")))
    for svg in page.figures():
        ElementTree.fromstring(svg)
        assert not re.search(r'href="(?!#|data:)|<script|<dc:date>', svg)


def test_the_page_is_whole_and_alone(report: tuple[Page, str]) -> None:
    page, _ = report
    check_alone(page)
    assert len(page.said("title")) == len(page.said("h1")) == 1
    images = page.all("img")
    assert [image["src"].partition(";")[0] for image in images] == ["data:image/png"] * 2 + ["data:image/svg+xml"] * 2
    assert all(image["alt"] for image in images)


def test_it_says_what_was_run_and_what_not(report: tuple[Page, str]) -> None:
    page, text = report
    assert "121 runs finished in 121.0 hours of computing, 2 failed, 1 unfinished." in page.text
    assert re.match(r"24 of 24 rows of the paper measured again: \d+ agree", page.said("h1")[0])
    for title in ("What was run", "The paper's protocol", "The quick tier", "Figures", "Failures", "Versions"):
        assert title in page.said("h2")
    assert "2.4.0 (120 runs); 9.9 <i> (1 run)" in page.said("dd")
    assert "121 runs finished" in text


def test_no_text_becomes_markup(report: tuple[Page, str]) -> None:
    page, text = report
    assert NASTY in page.said("pre")
    assert f"mnist-full/labels-100.07: {NASTY}" in page.said("summary")
    assert "mnist-full/<b>gone.00" in page.said("code")
    assert not re.search(r"(?<!\\)<(script|img|b)", text)


def test_each_table_of_the_page_is_in_the_text_too(report: tuple[Page, str]) -> None:
    page, text = report
    assert page.said("h3") == re.findall(r"^### (.*)$", text, flags=re.MULTILINE)
    assert len(page.said("h3")) == 7
    assert page.elements.count(("tbody", {})) == len(re.findall(r"^\|---", text, flags=re.MULTILINE)) == 8


def test_empty_results_give_a_page_that_says_so(tmp_path: Path) -> None:
    folder = write(tmp_path / "results", [])
    html, text = write_matrix_report(folder)
    page = Page.read(html)
    check_alone(page)
    assert "No row of the paper was measured with its protocol yet" in page.said("h1")
    assert "Nothing was run yet" in page.text
    assert "Nothing was run yet" in text.read_text(encoding="utf-8")
    assert not page.all("img")
    assert docs_page(folder, tmp_path / "docs" / "images").endswith("<!-- results-notes.md is appended here -->\n")


def test_too_few_runs_are_said_to_be_too_few(tmp_path: Path) -> None:
    html, _ = write_matrix_report(write(tmp_path / "results", runs("labels-100", [82.0])))
    assert Page.read(html).said("h1") == ["1 of 24 rows of the paper measured again: 1 with too few runs"]


def test_what_holds_no_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="deepbass reproduce"):
        write_matrix_report(tmp_path)


@pytest.mark.usefixtures("report")
def test_the_same_results_give_the_same_page(odd: Path) -> None:
    before = {file: file.read_bytes() for file in odd.iterdir() if file.is_file()}
    assert {file.read_bytes() for file in write_matrix_report(odd)} <= set(before.values())


def test_the_documents_page_links_the_same_pictures_every_time_and_ends_with_the_notes(tmp_path: Path) -> None:
    folder = write(tmp_path / "results", matrix(2))
    notes = tmp_path / "docs" / "results-notes.md"
    notes.parent.mkdir()
    notes.write_text("## What differs\n\nAs *written*.\n")
    text = docs_page(folder, tmp_path / "docs" / "images")
    assert text.endswith("\n## What differs\n\nAs *written*.\n")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links == ["images/figure-1.png", "images/figure-2.png", "images/figure-3-full.svg"]
    elsewhere = tmp_path / "other.md"
    elsewhere.write_text("Other notes.\n")
    again = docs_page(folder, tmp_path / "again" / "images", elsewhere)
    assert again == text.removesuffix(notes.read_text()) + "Other notes.\n"
    for link in links:
        assert (tmp_path / "docs" / link).read_bytes() == (tmp_path / "again" / link).read_bytes()


def test_a_missing_matplotlib_is_explained_and_the_page_needs_no_torch(tmp_path: Path) -> None:
    folder = write(tmp_path / "results", [])
    code = (
        "import sys, pathlib; sys.modules['matplotlib'] = None; sys.modules['torch'] = None\n"
        "from deepbass.core.errors import DeepBassError\n"
        "from deepbass.paper.results_page import write_matrix_report\n"
        "try: write_matrix_report(pathlib.Path(sys.argv[1]))\n"
        "except DeepBassError as error: print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, folder], env=environment, capture_output=True, text=True, check=True
    )
    assert "pip install 'deepbass[plot]'" in done.stdout
