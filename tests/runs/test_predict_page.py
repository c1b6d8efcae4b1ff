"""What docs/predict.md says was measured is in the result file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_table_of_dropout_passes_is_that_of_the_result_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import predict_passes

    found = json.loads(predict_passes.RESULTS.read_text(encoding="utf-8"))
    assert predict_passes.table(found) in (ROOT / "docs" / "predict.md").read_text(encoding="utf-8")
