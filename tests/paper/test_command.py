"""deepbass reproduce and deepbass report as a user meets them: what they say, write and end with."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deepbass.cli import app
from deepbass.store.names import CELLS_FOLDER, CHECKPOINTS_FOLDER, REPORT_TEXT_FILE, WORK_FOLDER
from tests.bench.here import WAYS
from tests.runs.small_runs import command
from tests.runs.warm import warm

Call = Callable[[list[str]], subprocess.CompletedProcess[str]]


def reproduce(*words: object) -> list[str]:
    return command("reproduce", *words)


@pytest.mark.parametrize("call", WAYS)
def test_a_row_is_run_once_reported_and_not_run_again(call: Call, tmp_path: Path) -> None:
    words = reproduce("toy", "--rows", "initial", "--runs", 1, "--out", tmp_path / "r", "--json")
    done = call(words)
    assert done.returncode == 0, done.stderr
    assert "toy-quick/initial.00: " in done.stderr
    assert "1 of 1 cells finished" in done.stderr
    summary = json.loads(done.stdout)
    assert (summary["cells"], summary["finished"], summary["failed"]) == (1, 1, 0)
    assert "<!doctype html>" in Path(summary["report"]).read_text(encoding="utf-8").lower()
    assert "| 83.27 |" in Path(summary["tables"]).read_text(encoding="utf-8")
    file = tmp_path / "r" / CELLS_FOLDER / "toy-quick" / "initial.00.json"
    before = file.read_bytes()
    assert call(words).returncode == 0
    assert file.read_bytes() == before
    shown = call(command("report", tmp_path / "r", "--figures", tmp_path / "figures", "--json"))
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["tables"] == summary["tables"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tyo"], "Did you mean 'toy'?"),
        (["mnist", "--rows", "labels-100,label-300"], "Did you mean 'labels-300'?"),
        (["toy", "--tier", "fast"], "Unknown tier 'fast'"),
        (["toy", "--runs", "0"], "--runs 0 is too few"),
        (["toy", "--workers", "0"], "--workers 0 is too few"),
    ],
)
def test_a_wrong_call_says_what_is_right_and_leaves_nothing(words: list[str], said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", *words, "--out", str(tmp_path / "r")])
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "r" / CELLS_FOLDER / "toy-quick").exists()


@pytest.mark.parametrize("call", WAYS)
def test_a_failed_cell_ends_with_code_1_and_its_reason(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "nothing here"
    nowhere.mkdir()
    # a cache and a folder without the files, and no network: MNIST cannot be had
    monkeypatch.delenv("DEEPBASS_DATA", raising=False)
    monkeypatch.setenv("DEEPBASS_CACHE", str(nowhere))
    monkeypatch.setenv("DEEPBASS_OFFLINE", "1")
    words = reproduce("mnist", "--rows", "labels-100", "--runs", 1, "--out", tmp_path / "r", "--data", nowhere)
    done = call(words)
    assert done.returncode == 1, done.stderr
    assert "mnist-quick/labels-100.00 failed: DataError" in done.stderr
    assert "1 failed: the same command tries them again" in done.stderr
    assert "labels-100.00" in (tmp_path / "r" / REPORT_TEXT_FILE).read_text(encoding="utf-8")


def test_ctrl_c_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt  # as tests/bench/test_runner.py has it raised

    monkeypatch.setattr("deepbass.bench.runner.run_matrix", interrupted)
    done = CliRunner().invoke(app, ["reproduce", "toy", "--runs", "1", "--out", str(tmp_path / "r")])
    assert done.exit_code == 130
    assert "the same command goes on" in done.output


@pytest.mark.slow
def test_ctrl_c_ends_the_command_and_its_worker_in_order(tmp_path: Path) -> None:
    words = reproduce("toy", "--rows", "active-semi-supervised", "--runs", 1, "--out", tmp_path / "r")
    work = tmp_path / "r" / WORK_FOLDER / "toy-quick" / "active-semi-supervised.00" / CHECKPOINTS_FOLDER
    with warm(words) as process:
        while not list(work.glob("00000[3-9]")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        ended = process.done()
    assert ended.returncode == 130
    assert "the same command goes on" in ended.stderr
    assert "Traceback" not in ended.stderr
