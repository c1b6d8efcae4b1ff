"""What the speed page says is what was measured, and the benchmark still runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def seconds(**sides: dict[str, list[float]]) -> dict[str, Any]:
    """Make results of rounds whose seconds are known; only plain's pool was timed in part."""
    return {
        "task": {"passes_pool": 10},
        "seconds": {
            side: {
                piece: {
                    "how": "in whole",
                    "times": 10 if (side, piece) == ("plain", "pool") else 1,
                    "rounds": rounds,
                    "facts": [{"parts": {"infer pool": 1.0, "infer known": 0.5, "train": 0.5}}] * len(rounds),
                }
                for piece, rounds in pieces.items()
            }
            for side, pieces in sides.items()
        },
    }


def test_the_page_of_speed_is_what_the_result_files_say() -> None:
    from speed import page

    assert page.PAGE.read_text(encoding="utf-8") == page.page()


def test_the_picture_shows_the_numbers_of_the_result_files() -> None:
    from speed import page, picture

    assert picture.digest(page.read("speed")) in page.PICTURE.read_text(encoding="utf-8")


def test_the_readme_claims_what_was_measured() -> None:
    from speed import page

    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert page.claim(page.read("speed")) in readme


def test_what_is_kept_was_measured_in_earnest() -> None:
    from speed import page

    for name in ("speed", "scale", "profile"):
        task = page.read(name)["task"]
        assert not task["quick"], f"{name}.json is a smoke test's: run make bench"
        assert task["rounds"] >= 3
    assert page.read("speed")["left_out"] == {}


def test_a_ratio_is_taken_within_a_round_and_what_was_left_out_is_counted() -> None:
    from speed import table

    results = seconds(
        deepbass={"iteration": [2.0, 4.0, 2.0]},
        plain={"pool": [1.0, 2.0, 4.0], "known": [5.0, 10.0, 5.0], "epoch": [5.0, 10.0, 5.0]},
    )
    (row,) = (row for row in table.rows(results) if row.what == "one whole iteration")
    assert (row.ratio, row.lowest, row.highest) == (10.0, 10.0, 25.0)
    assert (row.ours, row.theirs) == (2.0, 40.0)
    assert row.verdict == "floor missed"


def test_the_roofline_is_better_when_smaller() -> None:
    from speed import table

    (fast,) = table.rows(seconds(deepbass={"pool": [9.0]}, roofline={"pass": [1.0]}))
    (slow,) = table.rows(seconds(deepbass={"pool": [13.0]}, roofline={"pass": [1.0]}))
    (slower,) = table.rows(seconds(deepbass={"pool": [17.0]}, roofline={"pass": [1.0]}))
    assert [row.verdict for row in (fast, slow, slower)] == ["aim reached", "floor reached", "floor missed"]


def test_a_claim_is_cut_off_never_rounded_up() -> None:
    from speed import numbers

    assert (numbers.times(29.99), numbers.times(7.99), numbers.times(0.96)) == ("29", "7.9", "0.9")


def test_the_work_of_one_image_is_counted_from_the_layers() -> None:
    from speed.roofline import forward_flops

    convolutions = 28 * 28 * 16 * 9 * (1 + 16) + 2 * (14 * 14 * 16 * 9 * 16)
    assert forward_flops() == 2 * (convolutions + 784 * 10) == 5_660_480


def test_other_weights_or_a_frozen_mask_are_noticed() -> None:
    from speed.same import standard_errors

    rng, passes = np.random.default_rng(0), 100
    draws_T_N_C = rng.dirichlet(np.ones(10) / 5, (2 * passes, 128))  # as undecided as dropout passes can be
    means = draws_T_N_C[:passes].mean(0), draws_T_N_C[passes:].mean(0)
    assert standard_errors(*means, passes) < 5.0
    assert standard_errors(means[0], draws_T_N_C[0], passes) > 5.0
    assert standard_errors(means[0], np.roll(means[1], 1, axis=1) ** 4, passes) > 2.0


def test_keras_gets_torchs_weights_in_its_own_order() -> None:
    pytest.importorskip("keras", reason="the bench extra is not installed")
    pytest.importorskip("tensorflow", reason="the bench extra is not installed")
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    code = (
        "import numpy as np; from speed.keras_side import _keras_weights;"
        "w = {'0.weight': np.arange(144.).reshape(16, 1, 3, 3), '0.bias': np.zeros(16)};"
        "assert _keras_weights(w)[0][2, 1, 0, 5] == w['0.weight'][5, 0, 2, 1]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=BENCHMARKS, env=environment)


def smoke(out: Path, *words: str) -> dict[str, Any]:
    """Run the benchmark on a few samples."""
    command = [sys.executable, "-m", "speed", *words, "--quick", "--out", str(out)]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results: dict[str, Any] = json.loads((out / "speed.json").read_text(encoding="utf-8"))
    return results


@pytest.mark.slow
def test_the_benchmark_runs_on_torch_alone(tmp_path: Path) -> None:
    results = smoke(tmp_path, "sides", "--only", "plain", "deepbass", "roofline")
    assert {"plain, cnn", "plain, resnet", "plain, mlp"} <= set(results["same_answers"]["sides"])
    assert [row["what"] for row in results["ratios"]].count("one whole iteration") == 1
    assert results["idle_processor_share"] < 0.5


@pytest.mark.timeout(1200)
@pytest.mark.skipif(not (find_spec("keras") and find_spec("baal")), reason="the bench extra is not installed")
def test_the_whole_benchmark_runs_and_its_page_can_be_written(tmp_path: Path) -> None:
    from speed import page

    results = smoke(tmp_path)
    assert {"keras, cnn", "baal, cnn"} <= set(results["same_answers"]["sides"])
    assert (tmp_path / "speed.md").read_text(encoding="utf-8") == page.page(tmp_path)
    assert "smoke test" in page.page(tmp_path)
    assert page.claim(results) in page.page(tmp_path)
