"""What docs/method.md and docs/features.md say of experiments is what their result files say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "script",
    [
        "batches",
        "stop_rules",
        "calibration",
        "page_learner",
        "first_labels",
        "rare_class",
        "on_tables",
        "advice",
        "few_labels",
        "few_questions",
        "first_guesses",
        "neighbours",
        "without_augmentation",
        "many_kinds",
        "view_of_pool",
        "nearness",
        "more_features",
    ],
)
def test_the_table_of_the_page_is_that_of_the_result_file(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    module = importlib.import_module(script)
    table = module.table(json.loads(module.RESULTS.read_text()))
    page = "features.md" if script == "more_features" else "method.md"
    assert table.strip() in (ROOT / "docs" / page).read_text(encoding="utf-8")
