"""What docs/method.md says of pictures from pixels, and of first labels, is what the result files say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_tables_of_the_page_are_those_of_the_result_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import first_labels
    import pixels

    page = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    assert pixels.table().strip() in page
    assert first_labels.table(json.loads(first_labels.RESULTS.read_text(encoding="utf-8"))) in page
