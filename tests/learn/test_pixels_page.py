"""What docs/method.md says of pictures from pixels is what the result file says."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_table_of_the_page_is_that_of_the_result_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import pixels

    assert pixels.table().strip() in (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
