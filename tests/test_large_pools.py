"""What docs/scale.md says of large pools is what was measured, and what measured it still runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from deepbass.learn.models import paper_cnn

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_the_page_of_scale_says_what_the_result_file_says() -> None:
    from speed import large_page

    assert large_page.PAGE.read_text(encoding="utf-8") == large_page.page()


def test_a_pool_that_was_cut_off_is_written_on_and_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from speed import large_pool

    monkeypatch.setattr(large_pool, "_AT_A_TIME", 100)
    whole = large_pool.write_pool(tmp_path / "one", 450).read_bytes()
    beside = tmp_path / "two" / "pool.npy.part"
    beside.parent.mkdir()
    beside.write_bytes(whole[: 128 + 784 * 250])
    again = large_pool.write_pool(tmp_path / "two", 450)
    assert again.read_bytes() == whole
    assert not beside.exists()
    samples = np.load(again, mmap_mode="r")
    assert samples.shape == (450, 1, 28, 28)
    assert len(np.load(tmp_path / "two" / "labels.npy")) == 450
    assert 20 < samples.mean() < 45  # MNIST's own mean is 33
    assert len(np.unique(samples.reshape(450, -1), axis=0)) == 450


def test_an_iteration_is_measured_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In slabs, with a run directory, and with parts that are all there is."""
    from deepbass.learn.learner import LocalLearner
    from speed import large_iteration, large_page
    from speed.large_pool import write_pool
    from speed.start import Start

    monkeypatch.setattr(LocalLearner, "slab", 300)
    write_pool(tmp_path, 1000)
    truth = np.load(tmp_path / "labels.npy").astype(np.int64)[:200]
    known = np.arange(200) < 20
    weights = {name: tensor.numpy() for name, tensor in paper_cnn((1, 28, 28), 10).state_dict().items()}
    start = Start(weights, np.where(known, truth, -1), np.where(known, -1, truth))
    rows = [large_iteration.one(tmp_path, size, start, 1) for size in (400, 1000)]
    for row in rows:
        assert row["known"] == 30
        assert 2 <= row["passes"] <= 3
        assert sum(row["processor"].values()) - row["processor"]["all"] <= row["processor"]["all"]
        assert row["peak_bytes"] >= row["base_bytes"] > 0
    said = large_page.text({"rows": [*rows, rows[0]], "made": "2026-01-02", "note": "", "task": {"copies": 20}})
    assert "| 400 |" in said
    assert "| 1,000 |" in said
    assert json.loads(json.dumps(rows)) == rows
