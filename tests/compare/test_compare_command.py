"""deepbass compare as a user meets it: what it says, writes and ends with."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deepbass.cli import app
from deepbass.store.names import CELLS_FOLDER, WORK_FOLDER
from tests.bench.here import WAYS
from tests.runs.small_runs import command

Call = Callable[[list[str]], subprocess.CompletedProcess[str]]
QUICK = [
    f"--set={each}"
    for each in (
        *("initial_epochs=2", "iterations=2", "ask_every=1", "passes_pool=2", "initial=10", "copies=10", "advice=none"),
    )
]
FEW = ["--methods", "commonest,logistic-regression,deepbass"]


@pytest.mark.parametrize("call", WAYS)
def test_digits_are_compared_once_reported_and_not_run_again(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "r"
    words = command(
        "compare", "digits", "--pool", 200, "--labels", "30,20,5000", "--runs", 1, *FEW, *QUICK, "--out", out, "--json"
    )
    done = call(words)
    assert done.returncode == 0, done.stderr
    assert "digits-20/deepbass.00: " in done.stderr
    assert "5,000 labels are left out" in done.stderr
    assert "Is it worth it? By accuracy" in done.stderr
    told = json.loads(done.stdout)
    assert (told["cells"], told["finished"], told["failed"]) == (9, 9, 0)
    assert [row["labels"] for row in told["worth"]["accuracy"]] == [20, 30]
    assert told["methods"]["deepbass"]["30"]["labels"] == 30
    assert set(told["methods"]["logistic-regression"]) == {"10", "20", "30", "60", "120"}
    assert "<!doctype html>" in Path(told["report"]).read_text(encoding="utf-8").lower()
    files = {file: file.read_bytes() for file in (out / CELLS_FOLDER).glob("*/*.json")}
    assert len(files) == 9
    assert not list((out / WORK_FOLDER).glob("*/*.0?"))  # a run that is finished is not kept
    assert call([*words, "--redo", "commonest"]).returncode == 0
    after = {file: file.read_bytes() for file in (out / CELLS_FOLDER).glob("*/*.json")}
    assert after.keys() == files.keys()
    assert {file.name for file in files if files[file] != after[file]} == {"commonest.00.json"}
    shown = call(command("report", out, "--figures", tmp_path / "figures", "--json"))
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["tables"] == told["tables"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["digits", "--methods", "svn"], "Did you mean 'svm'?"),
        (["digits", "--redo", "deepbas"], "Did you mean 'deepbass'?"),
        (["digits", "--labels", "fifty"], "--labels 'fifty'"),
        (["digits", "--labels", "5000"], "ask for fewer"),
        (["digits", "--runs", "0"], "--runs 0 is too few"),
        (["digits", "--workers", "0"], "--workers 0 is too few"),
        (["digits", "--seed", "-1"], "--seed -1"),
        (["digits", "--set", "budget=5"], "sets budget itself"),
        (["digits", "--set", "droput=0.1"], "Did you mean 'dropout'?"),
        (["digist"], "Did you mean 'digits'?"),
        (["digits", "--text", "words"], "has no columns"),
    ],
)
def test_a_wrong_call_says_what_is_right_and_leaves_nothing(words: list[str], said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["compare", *words, "--out", str(tmp_path / "r")])
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "r").exists()
