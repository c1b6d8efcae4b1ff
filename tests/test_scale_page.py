"""What docs/scale.md says was measured is what the result files say, and its picture shows them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def scale_page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("scale_page")


def test_the_page_is_written_from_the_result_files(scale_page: Any) -> None:
    text = scale_page.PAGE.read_text(encoding="utf-8")
    assert scale_page.page(text) == text, "run python -m scale_page in benchmarks/"
    assert all(text.count(f"<!-- measured: {name} -->\n") == 1 for name in scale_page.SECTIONS)


def test_the_picture_is_of_the_same_constants(scale_page: Any) -> None:
    picture = scale_page.PICTURE.read_text(encoding="utf-8")
    assert scale_page.reckoned.digest(scale_page.read("cluster")) in picture, "run python -m scale_page in benchmarks/"
