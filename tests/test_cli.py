"""The command as a user meets it: real processes, real files, exit code 2 and a clear word for a wrong call."""

from __future__ import annotations

import gzip
import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from deepbass import __version__
from deepbass.cli import app
from deepbass.core.config import Config
from deepbass.core.setting import settings_of
from deepbass.store.names import CHECKPOINTS_FOLDER, RUN_FILE
from tests.runs.small_runs import SMALL, call, command, run_words
from tests.runs.warm import warm, warm_call


def invoke(*words: object) -> tuple[int, str]:
    """Call the command in this process; return its exit code and all it said."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def processor_seconds() -> float:
    """Add up the processor time of all commands called so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def small(data: object, out: Path, **settings: object) -> list[object]:
    return ["run", data, "--out", out, *(f"--set={name}={value}" for name, value in {**SMALL, **settings}.items())]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make one finished run that tests may copy."""
    out = tmp_path_factory.mktemp("finished") / "run"
    code, said = invoke(*small("toy", out))
    assert code == 0, said
    return out


EMPTY = """
import typer
app = typer.Typer()
app.command("one")(lambda: None)
app.command("two")(lambda: None)
app()
"""


def test_help_is_nearly_as_quick_as_that_of_an_empty_command() -> None:
    """Measured in the processor's time, and against another command: neither a busy nor a slow machine is a failure."""
    ours: list[float] = []
    empty: list[float] = []
    for _ in range(3):
        for words, seconds in ((command(), ours), ([sys.executable, "-c", EMPTY], empty)):
            start = processor_seconds()
            done = call([*words, "--help"])
            seconds.append(processor_seconds() - start)
            assert done.returncode == 0, done.stderr
    assert min(ours) < 2 * min(empty)


def test_neither_help_nor_import_imports_torch_or_numpy() -> None:
    heavy = "sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert call([sys.executable, "-c", f"import sys, deepbass; {heavy}"]).returncode == 0
    code = f"import sys\nfrom deepbass.cli import app\napp(['--help'], standalone_mode=False)\n{heavy}"
    done = call([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("run", "resume", "report", "data"))


def test_every_setting_is_an_option_and_tells_what_to_choose_from() -> None:
    said = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, ["run", "--help"]).output
    words = " ".join(said.replace("│", " ").split())
    for name, (setting, _) in settings_of(Config).items():
        if len(setting.choices) != 1:
            assert f"--{name.replace('_', '-')} " in words
            assert setting.help[1:] in words
            assert ", ".join(setting.choices) in words


def test_every_kind_of_option_reaches_the_configuration(tmp_path: Path) -> None:
    words = ["--iterations", 0, "--initial-epochs", 1, "--no-early-exit", "--strict", "--learning-rate", "0.01"]
    words += ["--oracle-error", "10%", "--acquire", "bald", "--pool", 40, "--l2", 0]
    code, said = invoke("run", "toy", "--out", tmp_path / "run", *words)
    assert code == 0, said
    config = json.loads((tmp_path / "run" / RUN_FILE).read_text())["config"]
    assert (config["early_exit"], config["strict"], config["learning_rate"]) == (False, True, 0.01)
    assert (config["oracle_error"], config["acquire"], config["pool"], config["l2"]) == (0.1, "bald", 40, 0.0)


def test_the_version_is_printed() -> None:
    assert invoke("--version") == (0, f"deepbass {__version__}\n")


def test_a_run_ends_with_its_accuracy_its_report_and_one_json_object(tmp_path: Path) -> None:
    done = warm_call([*run_words("toy", tmp_path / "run"), "--json"])
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert done.stdout.count("\n") == 1  # nothing else on standard output
    assert summary["labels"] == 32
    assert 0 <= summary["accuracy"] <= 1
    assert Path(summary["report"]).is_file()
    assert f"{summary['accuracy']:.2%} with 32 labels" in done.stderr
    assert f"Always guessing the commonest class: {summary['commonest']:.2%}." in done.stderr
    assert "uneven" not in done.stderr
    assert summary["balanced_accuracy"] == summary["final"]["balanced_accuracy"]
    assert "iteration 8/8" in done.stderr
    for fact in ("validation", "known 32", "pseudo-labelled", "of these right", "mean entropy", "time left"):
        assert fact in done.stderr


def test_options_win_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    lines = [f"{name} = {json.dumps(value)}" for name, value in SMALL.items()]
    file.write_text("\n".join(['data = "toy"', 'preset = "paper"', "seed = 5", *lines, "learning_rate = 0.002"]))
    code, said = invoke("run", "--config", file, "--iterations", 2, "--out", tmp_path / "run", "--set", "l2=0.0")
    assert code == 0, said
    config = json.loads((tmp_path / "run" / RUN_FILE).read_text())["config"]
    assert (config["iterations"], config["seed"], config["learning_rate"], config["l2"]) == (2, 5, 0.002, 0.0)


def test_without_out_every_run_gets_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [f"--set={name}={value}" for name, value in {**SMALL, "iterations": 0, "model": "mlp"}.items()]
    for _ in range(2):
        assert invoke("run", "toy", *words)[0] == 0
    arrays(tmp_path / "features.v2.npz")
    assert invoke("run", "features.v2.npz", *words)[0] == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["features.v2-1", "toy-1", "toy-2"]


def test_data_can_be_listed_fetched_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = invoke("data", "list")
    assert code == 0
    assert all(name in said for name in ("toy", "digits", "mnist", "fashion-mnist"))
    code, said = invoke("data", "fetch", "mnist", "--json")
    files = json.loads(said.splitlines()[-1])["files"]
    assert code == 0
    assert len(files) == 4
    code, said = invoke("data", "where", "mnist", "--json")
    assert json.loads(said)["files"]["t10k-labels-idx1-ubyte.gz"] == files[3]
    monkeypatch.setenv("DEEPBASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DEEPBASS_OFFLINE", "1")
    monkeypatch.delenv("DEEPBASS_DATA", raising=False)
    code, said = invoke("data", "where", "mnist")
    assert (code, said.count("absent")) == (0, 4)
    code, said = invoke("data", "fetch", "mnist")
    assert code == 2
    assert "--data FOLDER" in said
    shutil.copytree(Path(files[0]).parent, tmp_path / "mine")
    assert invoke("data", "fetch", "mnist", "--data", tmp_path / "mine")[0] == 0
    assert invoke("data", "fetch", "imagenet")[0] == 2


def test_a_report_can_be_written_at_any_time_with_its_figures(finished: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(finished, tmp_path / "run")
    code, said = invoke("report", copy, "--figures", tmp_path / "figures", "--json")
    assert code == 0
    answer = json.loads(said.splitlines()[-1])
    assert Path(answer["report"]).is_file()
    assert {Path(file).suffix for file in answer["figures"]} == {".png", ".svg"}


def folder_of_images(folder: Path, classes: tuple[str, ...] = ("cat", "dog"), each: int = 30) -> Path:
    rng = np.random.default_rng(0)
    for shade, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for number in range(each):
            pixels = rng.integers(0, 60, (10, 10, 3), dtype=np.uint8) + np.uint8(120 * shade)
            Image.fromarray(pixels).save(folder / name / f"{number:02}.png")
    return folder


def test_a_folder_of_images_becomes_a_model_and_broken_ones_are_named(tmp_path: Path) -> None:
    folder = folder_of_images(tmp_path / "pets")
    whole = (folder / "cat" / "00.png").read_bytes()
    (folder / "cat" / "broken.png").write_bytes(whole[: len(whole) // 2])
    (folder / "dog" / "text.png").write_text("no image")
    words = {"initial": 4, "iterations": 3, "pool": 40, "features": "pixels"}
    code, said = invoke(*small(folder, tmp_path / "run", **words))
    assert code == 0, said
    assert "2 images skipped" in said
    assert "cat/broken.png (truncated)" in said
    assert json.loads((tmp_path / "run" / RUN_FILE).read_text())["data"]["classes"] == ["cat", "dog"]
    code, said = invoke(*small(folder, tmp_path / "strict", **words), "--strict")
    assert code == 2
    assert "dog/text.png" in said
    assert not (tmp_path / "strict").exists()


BadInput = Callable[[Path], list[object]]


def arrays(path: Path, **given: Any) -> Path:
    rng = np.random.default_rng(0)
    np.savez(path, **{"X": rng.normal(size=(60, 3)), "y": np.arange(60) % 2, **given})
    return path


def with_nan(path: Path) -> Path:
    X = np.zeros((60, 3))
    X[17, 2] = np.nan
    return arrays(path, X=X)


def ragged(path: Path) -> Path:
    X = np.empty(60, dtype=object)
    X[:] = [np.zeros(3 + number % 2) for number in range(60)]
    np.savez(path, X=X, y=np.arange(60) % 2)
    return path


def short_idx(folder: Path) -> Path:
    folder.mkdir()
    for part, count in (("train", 60), ("t10k", 20)):
        images = b"\x00\x00\x08\x03" + np.array([count, 4, 4], ">i4").tobytes() + bytes(16 * count)
        labels = b"\x00\x00\x08\x01" + np.array([count], ">i4").tobytes() + bytes(n % 2 for n in range(count))
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images[:-5] if part == "train" else images))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    return folder


def empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


WRONG_CALLS: dict[str, tuple[BadInput, str]] = {
    "no data": (lambda tmp: ["run"], "deepbass run DATA"),
    "unknown data": (lambda tmp: ["run", "mnits"], "Did you mean 'mnist'"),
    "unknown policy": (lambda tmp: ["run", "toy", "--acquire", "bold"], "Did you mean 'bald'"),
    "unknown admission": (lambda tmp: ["run", "toy", "--admit", "stepwise"], "Did you mean 'step-wise'"),
    "unknown preset": (lambda tmp: ["run", "toy", "--preset", "fast"], "auto, paper"),
    "unknown device": (lambda tmp: ["run", "toy", "--device", "tpu"], "auto, cpu, cuda, mps"),
    "absent device": (lambda tmp: ["run", "toy", "--device", "mps"], "not available here"),
    "unknown model": (lambda tmp: ["run", "toy", "--model", "vgg"], "auto, cnn, small-cnn, mlp"),
    "unknown setting": (lambda tmp: ["run", "toy", "--set", "sed=1"], "Did you mean 'seed'"),
    "no setting": (lambda tmp: ["run", "toy", "--set", "seed"], "name=value"),
    "no share": (lambda tmp: ["run", "digits", "--validation", "much"], "2% or 0.02"),
    "no settings file": (lambda tmp: ["run", "toy", "--config", tmp / "none.toml"], "Cannot read the configuration"),
    "a class with no initial label": (
        lambda tmp: ["run", "digits", "--initial", 9, "--start", "balanced"],
        "class with no initial label",
    ),
    "fewer samples than labels": (lambda tmp: ["run", "toy", "--initial", 5000], "only 1000"),
    "labels outside the classes": (
        lambda tmp: ["run", arrays(tmp / "a.npz", X_val=np.zeros((2, 3)), y_val=np.array([0, 7]))],
        "7",
    ),
    "negative labels": (lambda tmp: ["run", arrays(tmp / "a.npz", y=np.full(60, -2))], "-2"),
    "NaN": (lambda tmp: ["run", with_nan(tmp / "a.npz")], "sample 17"),
    "ragged shapes": (lambda tmp: ["run", ragged(tmp / "a.npz")], "ragged"),
    "unlike lengths": (lambda tmp: ["run", arrays(tmp / "a.npz", y=np.zeros(59, int))], "59"),
    "an empty folder": (lambda tmp: ["run", empty(tmp / "nothing")], "has no images"),
    "a truncated IDX file": (lambda tmp: ["run", short_idx(tmp / "idx")], "train-images-idx3-ubyte"),
    "no run": (lambda tmp: ["resume", tmp / "none"], "does not exist"),
    "no run to report": (lambda tmp: ["report", tmp], "is not a run"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_bad_input_gets_a_clear_error_and_exit_code_2(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words, says = WRONG_CALLS[name]
    code, said = invoke(*words(tmp_path))
    assert code == 2, said
    assert said.startswith("Error: ")
    assert says in said
    assert not (tmp_path / "runs").exists()


def test_an_error_is_machine_readable_too() -> None:
    done = CliRunner().invoke(app, ["run", "mnits", "--json"])
    assert done.exit_code == 2
    assert json.loads(done.stdout)["kind"] == "DataError"


def test_a_directory_that_exists_is_not_touched(finished: Path, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in finished.rglob("*") if file.is_file()}
    code, said = invoke(*small("toy", finished))
    assert code == 2
    assert f"deepbass resume {finished}" in said
    assert {file: file.read_bytes() for file in finished.rglob("*") if file.is_file()} == before
    (tmp_path / "notes.txt").write_text("mine")
    assert invoke(*small("toy", tmp_path))[0] == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_run_of_another_version_is_refused(finished: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(finished, tmp_path / "run")
    about = json.loads((copy / RUN_FILE).read_text())
    (copy / RUN_FILE).write_text(json.dumps({**about, "format": 99, "deepbass": "9.0"}))
    for verb in ("resume", "report"):
        code, said = invoke(verb, copy)
        assert code == 2
        assert "made by deepbass 9.0" in said


def test_a_run_locked_by_a_live_process_is_refused_and_named(tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = run_words("digits", out, iterations=500)
    with warm(words) as process:
        while not list((out / CHECKPOINTS_FOLDER).glob("0*")):
            time.sleep(0.02)
            assert process.poll() is None
        done = warm_call(command("resume", out))
        reported = warm_call(command("report", out))  # reading is always possible
    assert done.returncode == 2
    assert str(process.pid) in done.stderr
    assert reported.returncode == 0, reported.stderr


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    """A limit on the size of files makes the write fail in the kernel, as a full disk does."""
    out = tmp_path / "run"
    done = warm_call(run_words("digits", out, iterations=3), largest=90_000)
    assert done.returncode == 2, done.stderr
    assert "deepbass resume" in done.stderr
    assert "Traceback" not in done.stderr
    whole = warm_call(command("resume", out))  # with room again, the run goes on
    assert whole.returncode == 0, whole.stderr
    assert "iteration 3/3" in whole.stderr


def test_the_pool_may_run_out_of_questions(tmp_path: Path) -> None:
    code, said = invoke(*small("toy", tmp_path / "run", pool=30, ask_count=5, ask_every=1, acquire="random"))
    assert code == 0, said
    assert "with 30 labels" in said


def test_the_live_display_in_a_terminal(tmp_path: Path) -> None:
    """In a real terminal of 80 columns the block shows iteration, time left, accuracy, counts and entropy."""
    import pty

    words = run_words("toy", tmp_path / "run", iterations=3)
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(COLUMNS="80", LINES="24", TERM="xterm")
        os.execv(words[0], words)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    assert os.waitpid(child, 0)[1] == 0
    text = shown.decode(errors="replace")
    for fact in ("Iteration 3 of 3", "validation", "known", "pseudo-labelled", "mean entropy", "time left", "Report:"):
        assert fact in text
