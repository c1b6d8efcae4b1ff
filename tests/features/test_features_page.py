"""What docs/features.md says was measured is in the result file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def test_what_the_page_says_was_measured_is_in_the_result_file() -> None:
    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "results" / "features.json").read_text(encoding="utf-8"))
    for row in results["photographs"]:
        size = f"{row['side']} x {row['side']}" + (", two views" if row["views"] == 2 else "")
        found = " | ".join(f"{row['accuracy'][labels]} %" for labels in ("100", "300", "1000"))
        assert f"| {size} | {found} | {row['speed']:.0f} |" in page
    for row in results["texts"]:
        found = " | ".join(f"{row['accuracy'][labels]} %" for labels in ("100", "300", "1000"))
        assert f"| `{row['features']}` | {found} | {row['speed']:,.0f} |" in page


def test_the_head_is_level_with_logistic_regression_on_photographs_texts_and_digits() -> None:
    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "results" / "heads.json").read_text(encoding="utf-8"))
    assert {"cifar-10", "newsgroups-words"} <= set(results)
    for name, found in results.items():
        for labels, row in found["labels"].items():
            head, other = np.array(row["head"]), np.array(row["logistic regression"])
            apart = head - other
            error = apart.std(ddof=1) / np.sqrt(len(apart))
            means = f"{head.mean():.1f} % | {other.mean():.1f} % | {apart.mean():+.1f} ± {error:.1f} |"
            assert f"{found['features']} | {int(labels):,} | {means}" in page
            assert len(head) == 5
            below = name in ("wine", "cancer") or (name, labels) == ("newsgroups", "1000")  # of these, the page tells
            assert (apart.mean() < -error) == below


def test_what_the_page_says_of_people_who_wait_is_in_the_result_file() -> None:
    page = " ".join((ROOT / "docs" / "features.md").read_text(encoding="utf-8").split())
    found = json.loads((ROOT / "benchmarks" / "results" / "photos.json").read_text(encoding="utf-8"))
    known = found["known_after_seconds"]["when all are"]
    assert f"With {found['settings']['images']:,} photographs" in page
    assert f"{found['first_answer_seconds']:.1f} s after the command" in page
    assert (
        f"after {found['first_model_seconds']:.0f} s, all features after {found['all_features_seconds']:.0f} s" in page
    )
    assert f"after {known['p50']} s (median; {known['p100']} s at most)" in page


def test_what_the_page_says_of_fine_tuning_is_in_the_result_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import fine_tune

    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    assert fine_tune.table(json.loads(fine_tune.RESULTS.read_text(encoding="utf-8"))) in page
