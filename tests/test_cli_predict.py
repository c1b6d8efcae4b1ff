"""deepbass predict: lines in, lines out, and what is said when something is wrong."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from deepbass.cli import app
from deepbass.runs.predictor import Predictor
from deepbass.store.names import FEATURES_FILE
from tests.runs.small_runs import command
from tests.runs.trained import make_rows, on_pictures, on_points, on_rows, on_texts


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs and of things to judge."""
    folder = tmp_path_factory.mktemp("predict")
    on_points(folder / "points")
    on_pictures(folder / "pictures", folder / "images")
    on_texts(folder / "texts", folder / "texts.csv")
    on_rows(folder / "rows", folder / "rows.csv")
    np.save(folder / "X.npy", np.random.default_rng(0).normal(size=(20, 2)))
    return folder


def predict(*words: object, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["predict", *map(str, words)], input=given)


def rows_of(result: Result) -> list[dict[str, str]]:
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_a_line_has_name_class_confidence_entropy_and_every_probability(here: Path) -> None:
    rows = rows_of(predict(here / "points", here / "X.npy"))
    expected = Predictor.load(here / "points").predict(np.load(here / "X.npy"))
    assert [row["name"] for row in rows] == [f"X.npy/{row}" for row in range(20)]
    for row, probabilities in zip(rows, expected, strict=True):
        told = [float(row[f"p_{class_}"]) for class_ in ("red", "blue")]
        np.testing.assert_allclose(told, probabilities, atol=1e-6)
        assert row["class"] == ("red", "blue")[int(probabilities.argmax())]
        assert float(row["confidence"]) == max(told)
        assert 0 <= float(row["entropy"]) <= 1


def test_json_lines_hold_the_same(here: Path) -> None:
    rows = rows_of(predict(here / "points", here / "X.npy"))
    lines = [
        json.loads(line)
        for line in predict(here / "points", here / "X.npy", "--format", "jsonl").stdout.split("\n")[:-1]
    ]
    assert [line["name"] for line in lines] == [row["name"] for row in rows]
    assert [str(line["probabilities"]["red"]) for line in lines] == [row["p_red"] for row in rows]
    top = predict(here / "points", here / "X.npy", "--format", "jsonl", "--top", "1").stdout.split("\n")
    assert json.loads(top[0])["probabilities"] == {lines[0]["class"]: lines[0]["confidence"]}
    assert list(rows_of(predict(here / "points", here / "X.npy", "--top", 2))[0])[4:] == [
        "class_1",
        "p_1",
        "class_2",
        "p_2",
    ]


def test_a_folder_is_walked_and_what_cannot_be_read_is_named_counted_and_no_success(here: Path, tmp_path: Path) -> None:
    assert len(rows_of(predict(here / "pictures", here / "images"))) == 40
    one = here / "images" / "dark" / "03.png"
    assert [row["name"] for row in rows_of(predict(here / "pictures", one))] == [str(one)]
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "a.png").write_bytes(one.read_bytes())
    (tmp_path / "b.png").write_bytes(b"I am a picture")
    result = predict(here / "pictures", tmp_path)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert f"Left out: {tmp_path / 'b.png'} (" in result.stderr.replace("\n", "")
    assert "1 of 2 could not be read" in result.stderr
    (tmp_path / "deep" / "er" / "a.png").unlink()
    result = predict(here / "pictures", tmp_path, "--out", tmp_path / "out.csv")
    assert result.exit_code == 2
    assert "none of 1 inputs could be read" in result.stderr
    assert not (tmp_path / "out.csv").exists()


def test_tables_of_texts_rows_and_images_and_standard_input_say_the_same(here: Path, tmp_path: Path) -> None:
    def classes(*words: object, given: str | None = None) -> list[str]:
        return [row["class"] for row in rows_of(predict(*words, given=given))]

    with (here / "texts.csv").open(newline="") as file:
        texts = [row["body"] for row in csv.DictReader(file)]
    by_table = classes(here / "texts", here / "texts.csv")
    assert len(by_table) == 60
    assert set(by_table) == {"bug", "praise"}
    assert classes(here / "texts", "-", given="\n".join(texts)) == by_table
    lines = "".join(json.dumps({"message": text}) + "\n" for text in texts)
    (tmp_path / "t.jsonl").write_text(lines)
    assert classes(here / "texts", tmp_path / "t.jsonl", "--text", "message") == by_table

    table = make_rows(tmp_path / "r.csv", target=False)
    by_table = classes(here / "rows", table)
    assert classes(here / "rows", "-", given=table.read_text()) == by_table
    comma = table.read_text().replace(",", ";").replace(".", ",")
    assert classes(here / "rows", "-", given=comma) == by_table

    paths = sorted(str(path) for path in (here / "images").rglob("*.png"))
    by_folder = classes(here / "pictures", here / "images")
    assert classes(here / "pictures", "-", given="\n".join(paths) + "\n") == by_folder
    (here / "list.csv").write_text("path\n" + "\n".join(path.removeprefix(f"{here}/") for path in paths))
    assert classes(here / "pictures", here / "list.csv") == by_folder


def test_rows_are_called_as_a_column_of_theirs_has_it(here: Path, tmp_path: Path) -> None:
    texts = tmp_path / "t.csv"
    texts.write_text("key,body\nA-1,it crashes\nA-2,lovely\n")
    assert [row["name"] for row in rows_of(predict(here / "texts", texts, "--id", "key"))] == ["A-1", "A-2"]
    lines = make_rows(tmp_path / "r.csv", target=False).read_text().splitlines()[:4]
    rows = "".join(f"{cell},{line}\n" for cell, line in zip(("key", "x", "y", "z"), lines, strict=True))
    (tmp_path / "k.csv").write_text(rows)
    assert [row["name"] for row in rows_of(predict(here / "rows", tmp_path / "k.csv", "--id", "key"))] == [
        "x",
        "y",
        "z",
    ]
    assert [row["name"] for row in rows_of(predict(here / "rows", "-", "--id", "key", given=rows))] == ["x", "y", "z"]
    texts.write_text("key,body\n,it crashes\nA-2,lovely\n")
    some = predict(here / "texts", texts, "--id", "key")
    assert some.exit_code == 1
    assert "Left out: row 1 (nothing in 'key', which names the rows)" in some.output
    assert predict(here / "texts", texts, "--id", "no").exit_code == 2


@pytest.mark.parametrize(
    ("model", "words", "error"),
    [
        ("points", ["{here}/images"], "is a folder, but the model was trained on arrays of numbers"),
        ("points", ["{here}/nothing.npy"], "There is no file or folder"),
        ("points", ["-"], "not read from standard input"),
        ("points", ["{here}/wide.npy"], r"samples of shape \(3,\), but the model takes samples of shape \(2,\)"),
        ("texts", ["{here}/images"], "has images, and no texts in it"),
        ("texts", ["{here}/images/dark/00.png"], "is an image file, but the model was trained on texts"),
        ("texts", ["{here}/rows.csv"], "has no column 'body'"),
        ("rows", ["{here}/narrow.csv"], "has no column 'colour'.*trained with 'width', 'colour'"),
        ("rows", ["{here}/X.npy"], "is an array, but the model was trained on rows of a table"),
        ("pictures", ["{here}/texts.csv"], "has no column 'path'"),
        ("points", ["{here}/X.npy", "--format", "xml"], "format"),
        ("images", ["{here}/X.npy"], "neither a run nor a labelling project nor a model"),
        ("points", ["{here}/empty.npz"], "empty"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(here: Path, model: str, words: list[str], error: str) -> None:
    np.save(here / "wide.npy", np.zeros((2, 3)))
    np.savez(here / "empty.npz", X=np.zeros((0, 2)))
    (here / "narrow.csv").write_text("width,height\n1,2\n")
    result = predict(here / model, *(word.format(here=here) for word in words))
    assert result.exit_code == 2
    assert not result.stdout
    assert re.search(error, " ".join(result.stderr.split())), result.stderr


def test_a_file_is_written_whole_and_never_over_another_unless_told_to(here: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert predict(here / "points", here / "X.npy", "--out", out).exit_code == 0
    before = out.read_text()
    assert len([json.loads(line) for line in before.splitlines()]) == 20
    assert predict(here / "points", here / "X.npy", "--out", out).exit_code == 2
    (tmp_path / "broken.csv").write_text('body\ngreat\n"open')  # breaks off after the first row
    assert predict(here / "texts", tmp_path / "broken.csv", "--out", out, "--force").exit_code == 2
    assert out.read_text() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_an_answer_comes_when_it_is_waited_for_and_a_reader_may_leave(here: Path) -> None:
    words = command("predict", here / "texts", "-")
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for text in ("great thanks", "crash error"):
            process.stdin.write(f"{text}\n")
            process.stdin.flush()
            line = process.stdout.readline()
            line = process.stdout.readline() if line.startswith("name,") else line
            assert line.split(",")[1] in ("bug", "praise")
        process.stdout.close()
        process.stdin.write("great\n" * 1000)
        process.stdin.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


MEASURE = """
import os, resource, sys
from deepbass.cli import app
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
for file in sys.argv[2:]:
    app(["predict", sys.argv[1], file, "--passes", "2"], standalone_mode=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, file=sys.stderr)
"""


def test_a_hundred_times_as_many_rows_need_no_more_memory(here: Path, tmp_path: Path) -> None:
    files = []
    for count in (2_000, 200_000):
        files.append(tmp_path / f"{count}.npy")
        np.save(files[-1], np.random.default_rng(0).normal(size=(count, 2)).astype(np.float32))
    words = [command()[0], "-c", MEASURE, *map(str, (here / "points", *files))]
    made = subprocess.run(words, capture_output=True, text=True, check=True)
    few, many = map(int, made.stderr.split())  # the most memory so far, in MB
    assert many - few < 30


def test_a_model_of_other_features_than_are_there_is_refused(here: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(here / "texts", tmp_path / "copy"))
    (copied / FEATURES_FILE).unlink()
    result = predict(copied, here / "texts.csv")
    assert result.exit_code == 2
    assert "train again" in result.stderr
