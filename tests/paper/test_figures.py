"""Figures: the right runs, panels and curves, and the same bytes every time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from deepbass.bench.cells import FAILED, CellResult
from deepbass.core.config import Config
from deepbass.core.errors import DeepBassError, StoreError
from deepbass.data.built_in import toy
from deepbass.data.load import load
from deepbass.paper.draw_curves import LEFT, RIGHT, limits
from deepbass.paper.mean_curves import mean_curve
from deepbass.paper.paper_figures import draw, kind, write_figures
from deepbass.paper.summary import Summary, summarise
from deepbass.paper.tables import tables
from deepbass.paper.toy_runs import PANELS, decoded, easy, ill_posed, toy_runs
from deepbass.paper.verdict import NOT_RUN
from deepbass.report.canvas import style

from .made_up import matrix, read, record, runs, write


def four(seed: int, initial: float, semi: float) -> list[CellResult]:
    """Make one complete run of the toy."""
    accuracies = dict(zip(PANELS, (initial, semi, 90.0, 91.0), strict=True))
    return [record(name, seed, accuracy=accuracy) for name, accuracy in accuracies.items()]


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture
def toys() -> list[CellResult]:
    return [*four(0, 80, 84), *four(1, 88, 87.5), *four(2, 83, 79), *four(3, 85, 85)]


def test_the_figures_runs_follow_their_rules(toys: list[CellResult]) -> None:
    runs = toy_runs(summarise(toys))
    first, second = easy(runs), ill_posed(runs)
    assert first is not None
    assert second is not None
    assert (first.seed, second.seed) == (1, 2)
    drawings = draw(summarise(toys))
    assert plain(drawings["figure-1"].caption).startswith(
        "Figure 1. Of 4 runs, the one with the best initial model: seed 1, 88.0 %."
    )
    assert "lost most against its initial model: seed 2, \N{MINUS SIGN}4.00 points." in drawings["figure-2"].caption


def test_one_run_is_not_shown_twice() -> None:
    both_rules = [*four(0, 90, 80), *four(1, 85, 86)]  # seed 0 has the best start and loses most
    runs = toy_runs(summarise(both_rules))
    second = ill_posed(runs)
    assert second is not None
    assert second.seed == 1
    assert "gained least" in draw(summarise(both_rules))["figure-2"].caption
    assert set(draw(summarise(four(0, 90, 80)))) == {"figure-1"}


def test_a_run_without_all_panels_is_not_chosen(toys: list[CellResult]) -> None:
    easiest, no_field = toys[4], toys[9]
    assert (easiest.cell.run, no_field.cell.run) == (1, 2)
    toys[4] = replace(easiest, status=FAILED)
    toys[9] = replace(no_field, field_=None)
    assert [run.seed for run in toy_runs(summarise(toys))] == [0, 3]


def test_a_field_has_four_panels_with_all_points_and_says_each_accuracy(toys: list[CellResult]) -> None:
    drawing = draw(summarise(toys))["figure-1"]
    panels = drawing.figure.axes
    assert [plain(axes.get_title(loc="left")).split("\n")[1] for axes in panels] == [
        "8 labels: 88.0 %",
        "8 labels: 87.5 %",
        "80 labels: 90.0 %",
        "80 labels: 91.0 %",
    ]
    for axes, labels in zip(panels, (8, 8, 80, 80), strict=True):
        drawn = [len(np.asarray(dots.get_offsets())) for dots in axes.collections]
        assert drawn == [0, 500, 500, labels, 8]  # no class, red, blue, known, known at the start


def test_the_points_of_a_field_are_those_of_its_run() -> None:
    field = decoded(record("active", 3))
    data = load("toy", Config(seed=3, initial=8))
    np.testing.assert_allclose(data.pool.read(np.arange(len(data.pool))), field.points, rtol=1e-6)
    np.testing.assert_array_equal(data.truth, field.truth)
    np.testing.assert_array_equal(np.asarray(toy(3).train.X), field.points)
    np.testing.assert_allclose(field.probs.sum(-1), 1)


@pytest.mark.parametrize(
    "broken", [{"second": "!"}, {"second": "AAAA"}, {"side": 7}, {"known": [1000]}, {"x": None}, {"y": [1]}]
)
def test_a_damaged_field_is_named(broken: dict[str, object]) -> None:
    good = record("initial")
    with pytest.raises(StoreError, match=r"toy-full/initial\.00.*Delete the cell.s file"):
        decoded(replace(good, field_={**(good.field_ or {}), **broken}))


def curves_of(summary: Summary, tier: str = "full") -> list[int]:
    return [len(axes.lines) for axes in draw(summary)[f"figure-3-{tier}"].figure.axes]


@pytest.mark.parametrize("tier", ["full", "quick"])
def test_figure_3_has_a_curve_for_each_row(tmp_path: Path, tier: str) -> None:
    summary = read(tmp_path / "results", matrix(3, tier))
    assert curves_of(summary, tier) == [4, 3]
    drawing = draw(summary)[f"figure-3-{tier}"]
    assert [len(axes.collections) for axes in drawing.figure.axes] == [4, 3]  # the bands
    assert "Runs behind each curve: 3." in drawing.caption
    assert "The start is cut off" in drawing.caption
    assert "Left out" not in drawing.caption


def test_missing_rows_are_left_out_and_named(tmp_path: Path) -> None:
    some = ["all-data-max-entropy", "step-wise-max-entropy"]
    summary = read(tmp_path / "results", [*matrix(1, names=some), record("all-data-300", 0), record("all-data-300", 1)])
    drawing = draw(summary)["figure-3-full"]
    assert curves_of(summary) == [2, 2]
    assert [len(axes.collections) for axes in drawing.figure.axes] == [0, 1]  # one run has no band
    assert "all data, max. entropy 1" in drawing.caption
    assert "300 labels, no questions 2" in drawing.caption
    left_out = drawing.caption.partition("Left out, without a finished run: ")[2]
    assert left_out == "all data, above average; step-wise, above average; 100 labels, no questions."
    only = read(tmp_path / "other", matrix(1, names=["all-data-100"]))
    assert curves_of(only) == [1]


def test_the_ends_of_curves_are_labelled_without_overlap_and_inside_what_is_shown(tmp_path: Path) -> None:
    drawing = draw(read(tmp_path / "results", matrix(3)))["figure-3-full"]
    with style():
        drawing.figure.draw_without_rendering()
    for axes, looks in zip(drawing.figure.axes, (LEFT, RIGHT), strict=True):
        boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.y0)
        assert len(boxes) == len(looks)
        assert all(lower.y1 <= upper.y0 for lower, upper in pairwise(boxes))
        assert all(box.x1 <= drawing.figure.bbox.x1 for box in boxes)
        low, high = axes.get_ylim()
        assert all(low < np.asarray(line.get_ydata())[-1] < high for line in axes.lines)


def test_curves_are_averaged_over_runs_and_gaps_leave_a_run_out(tmp_path: Path) -> None:
    one, two, three = (
        record("all-data-100", run, curve={"validation_accuracy": values})
        for run, values in enumerate([[0.8, 0.9, 0.94], [0.82, 0.92, 0.98], [0.1, None, 0.9]])
    )
    curve = mean_curve(read(tmp_path / "results", [one, two, three]).line("full", "mnist", "all-data-100"))
    assert curve is not None
    np.testing.assert_allclose(curve.mean, [0.81, 0.91, 0.96])
    assert curve.runs == 2
    low, high = limits([curve])
    assert 0 <= low < 0.9
    assert 0.96 < high <= 1


def test_the_same_results_give_the_same_bytes(toys: list[CellResult]) -> None:
    made = [*toys, *matrix(2, names={**LEFT, **RIGHT})]
    once, again = draw(summarise(made)), draw(summarise(made))
    assert once.keys() == again.keys()
    for name, drawing in once.items():
        assert drawing.save(kind(name), 60) == again[name].save(kind(name), 60)


def test_without_results_nothing_is_drawn() -> None:
    assert draw(summarise([])) == {}


def test_each_figure_is_written_in_each_format(tmp_path: Path, toys: list[CellResult]) -> None:
    results = write(tmp_path / "results", [*toys, *matrix(1, "quick", {**LEFT, **RIGHT})])
    files = write_figures(results, tmp_path / "new" / "figures")
    names = {f"{name}.{kind}" for name in ("figure-1", "figure-2", "figure-3-quick") for kind in ("png", "svg")}
    assert {file.name for file in files} == names
    assert all(file.read_bytes().startswith(b"\x89PNG" if file.suffix == ".png" else b"<?xml") for file in files)
    with pytest.raises(DeepBassError, match="'bmp'"):
        write_figures(results, tmp_path / "none", ["bmp"])
    assert not (tmp_path / "none").exists()


def test_figure_and_table_round_the_same_way() -> None:
    # 96.715 on paper, but not as a float: its mean is a little more or less, by the order of sum and product
    lines = summarise([*runs("all-data-max-entropy", [96.55, 96.88]), *runs("all-data-300", [95.92, 94.57])])
    (table,) = [table for table in tables(lines, "full") if "Table 2" in table.title]
    means = [row[4] for row in table.rows if row[4] != NOT_RUN]
    assert len(means) == 2
    for mean in means:
        assert f"{mean} %" in plain(draw(lines)["figure-3-full"].alt)
