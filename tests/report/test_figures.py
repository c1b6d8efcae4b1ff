"""The figures as files: for talks, in a style of their own."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import matplotlib as mpl
import pytest

from deepbass.core.errors import DeepBassError
from deepbass.report import write_figures

from .runs import add_field, make_run

NAMES = {"accuracy", "labels", "pseudo-labels", "entropy", "classes", "time", "questions", "field"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = make_run(tmp_path_factory.mktemp("drawn") / "run", classes=["benign", "$\\malignant_{"])
    add_field(path, 2)
    return path


@pytest.fixture(scope="module")
def drawn(run: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_figures(run, tmp_path_factory.mktemp("figures"), formats=["svg"])


def test_each_figure_is_written_in_each_format(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "figures"
    files = write_figures(run, folder)
    assert {file.name for file in files} == {f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")}
    assert set(folder.iterdir()) == set(files)
    for file in files:
        assert file.read_bytes().startswith(b"\x89PNG" if file.suffix == ".png" else b"<?xml")


def test_the_same_run_gives_the_same_bytes_and_leaves_matplotlib_as_it_was(
    run: Path, drawn: list[Path], tmp_path: Path
) -> None:
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.hashsalt": None}):
        before = dict(mpl.rcParams)
        loud = write_figures(run, tmp_path / "loud", formats=["svg"])
        assert dict(mpl.rcParams) == before
    for one, other in zip(loud, drawn, strict=True):
        assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest()
        assert "<dc:date>" not in one.read_text(encoding="utf-8")


def test_a_class_name_is_text_not_a_formula(drawn: list[Path]) -> None:
    (classes,) = [file for file in drawn if file.stem == "classes"]
    assert re.search(r">\$\\malignant_\{<", classes.read_text(encoding="utf-8"))


def test_a_run_with_one_step_draws_no_curve(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", done=0)
    assert {file.stem for file in write_figures(run, tmp_path / "figures", formats=["png"])} == {"classes", "time"}


def test_an_unknown_format_is_refused_before_anything_is_written(run: Path, tmp_path: Path) -> None:
    with pytest.raises(DeepBassError, match=r"'bmp'.*png, svg, pdf"):
        write_figures(run, tmp_path / "figures", formats=["png", "bmp"])
    assert not (tmp_path / "figures").exists()
