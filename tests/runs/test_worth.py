"""A run says what it is worth beside plain learning: in its result, in its numbers, in its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deepbass
from deepbass.report import write_report
from deepbass.store.names import QUALITY_FILE
from tests.runs.trained import make_rows


def test_it_is_said_by_the_run_its_numbers_and_its_report(tmp_path: Path) -> None:
    table = make_rows(tmp_path / "rows.csv", 80)
    result = deepbass.run(str(table), target="fits", out=tmp_path / "run", budget=20)
    same, at_random, evidence = result.worth
    final = result.history[-1]
    assert final["plain_accuracy"] is not None
    assert same.startswith(f"Plain learning from the same labels: {final['plain_accuracy']:.2%}; pseudo-labels ")
    assert at_random.startswith("Plain learning from as many labels drawn at random: ")
    assert evidence.startswith("Pseudo-labels: ")
    assert f"on {final['held_back']} held-back labels; " in evidence
    assert final["guess_weight"] is not None
    assert ("not used" in evidence) == (final["guess_weight"] == 0)
    assert json.loads((result.path / QUALITY_FILE).read_text())["worth"] == result.worth
    assert at_random in write_report(result.path).read_text()
    assert deepbass.resume(result.path).worth == result.worth


@pytest.mark.parametrize("settings", [{"preset": "paper"}, {"model": "mlp", "admit": "all-data"}])
def test_where_plain_learning_is_not_known_nothing_is_said(tmp_path: Path, settings: dict[str, str]) -> None:
    small = {"iterations": 1, "initial": 8, "initial_epochs": 2, "pool": 60, "passes_pool": 2, "passes_known": 2}
    result = deepbass.run("toy", out=tmp_path / "run", **small, **settings)  # type: ignore[arg-type]
    assert result.worth == []
    assert result.history[-1]["plain_accuracy"] is None
    assert result.history[-1]["held_back"] is None
