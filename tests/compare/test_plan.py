"""What is compared: every label counted, nothing asked for that there is not, and wrong words refused early."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepbass.compare.methods import METHODS, OURS, PLAIN, SET_HERE, check_method, choose_methods, run_settings
from deepbass.compare.plan import (
    EVERY_LABEL,
    Comparison,
    DataFacts,
    file_name,
    look_at_data,
    make_plan,
    plain_budgets,
    read_budgets,
    read_settings,
    with_methods,
)
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.presets import AUTO, suited
from deepbass.runs.configure import configure
from tests.compare.made_up import comparison

FACTS = DataFacts("made up", 400, 100, 10, 0.2, "table", ())


def plan_for(labels: tuple[int, ...]) -> Comparison:
    return make_plan("made-up.csv", FACTS, labels, METHODS.values(), 2, 0, {})


@pytest.mark.parametrize("labels", [1, 7, 50, 100, 1_000])
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.settings is not None])
def test_no_method_is_given_more_labels_than_it_is_said_to_have(name: str, labels: int) -> None:
    method = METHODS[name]
    made = run_settings(method, labels, "made-up.csv", {"seed": 3, "pool": 2_000, "dropout": 0.2}, "words")
    config = configure("made-up.csv", method.preset, made)
    assert config.initial <= labels
    assert (config.seed, config.pool) == (3, 2_000)
    if method.asks:
        assert config.budget == labels
        asked = config.iterations // config.ask_every * config.ask_count
        assert config.initial + asked >= labels  # all of them could be asked for
    else:
        assert (config.initial, config.iterations, config.start) == (labels, 0, "random")
    assert (config.dropout == 0.2) == (name != "paper")
    if name == "paper":
        assert config.features == "words"  # the same as all others see


@pytest.mark.parametrize("labels", [10, 200, 1_000, 4_000])
def test_the_plain_network_sees_its_labels_as_often_as_is_said_whatever_the_default_does(labels: int) -> None:
    made = run_settings(METHODS["supervised"], labels, "pictures.npz", {"seed": 0}, "pixels")
    config = configure("pictures.npz", AUTO, suited("pixels", (1, 28, 28), 12_000, made), made)
    assert config.teacher  # the network and the views of the default
    assert config.initial * config.copies * config.initial_epochs == min(2_000 * labels, max(400_000, 200 * labels))


def test_the_preset_auto_takes_any_budget() -> None:
    for budget in (1, 10, 99, 100, 5_000):
        config = configure("digits", AUTO, {"budget": budget})
        assert config.initial <= budget <= config.initial + config.iterations // config.ask_every * config.ask_count


def test_plain_is_run_with_fewer_and_with_more_labels() -> None:
    assert plain_budgets((50, 100), 10_000) == (25, 50, 100, 200, 400)
    assert plain_budgets((50, 100), 250) == (25, 50, 100, 200, 250)
    assert plain_budgets((2,), 2) == (2,)


def test_cells_are_distinct_and_the_runs_of_a_method_share_their_seeds() -> None:
    cells = comparison(seed=7).cells()
    assert len({cell.key for cell in cells}) == len(cells)
    for run in range(2):
        assert {cell.settings["seed"] for cell in cells if cell.run == run} == {7 + run}
    assert {cell.tier for cell in cells if cell.row == "all-labels"} == {EVERY_LABEL}
    assert {cell.tier for cell in cells if cell.row == OURS} == {"50", "100"}
    for name in PLAIN:
        assert {cell.tier for cell in cells if cell.row == name} == {"25", "50", "100", "200", "400"}


def test_a_budget_that_the_pool_has_no_room_for_is_left_out_and_that_is_said() -> None:
    plan = plan_for((50, 300, 500, 1_000))
    assert plan.labels == (50, 300)
    assert "500, 1,000 labels are left out" in plan.notes[0]
    with pytest.raises(DataError, match=r"has 400 labels to give.*500,600"):
        plan_for((500, 600))


def test_fewer_labels_than_classes_are_said_to_be_few() -> None:
    few = plan_for((5, 50))
    assert "5 labels are fewer than the 10 classes" in few.notes[0]
    assert "paper begins with a label of every class" in few.notes[1]
    assert (few.tiers("paper"), few.tiers(OURS)) == (["50"], ["5", "50"])
    assert not plan_for((10, 50)).notes


def test_a_plan_comes_back_as_it_was_written() -> None:
    import json

    plan = comparison(notes=("a note",), settings={"pool": 10, "text": None})
    assert Comparison.of(json.loads(json.dumps(plan.as_dict()))) == plan


def test_an_earlier_call_with_the_same_settings_is_shown_beside() -> None:
    before = comparison(methods=("svm", OURS), labels=(30,)).as_dict()
    both = with_methods(comparison(methods=("logistic-regression",), labels=(50,)), before)
    assert both.methods == ("logistic-regression", "svm", OURS)
    assert both.labels == (30, 50)
    other = comparison(settings={"pool": 10})
    assert with_methods(other, before) == other


@pytest.mark.parametrize("text", ["", "0", "-5", "ten", "50,x", "1.5"])
def test_numbers_of_labels_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--labels"):
        read_budgets(text)


def test_numbers_of_labels_are_read_in_any_order() -> None:
    assert read_budgets("300, 50,100,50") == (50, 100, 300)


def test_settings_are_checked_and_what_a_comparison_sets_is_refused() -> None:
    assert read_settings({"validation": "30%", "ask-count": 5}) == {"validation": 0.3, "ask_count": 5}
    with pytest.raises(ConfigError, match="Did you mean 'ask_count'"):
        read_settings({"ask_cuont": 5})
    for name in SET_HERE:
        with pytest.raises(ConfigError, match=f"sets {name} itself"):
            read_settings({name: 1})


def test_methods_are_found_by_name_and_the_papers_is_asked_for_only_where_it_is_quick() -> None:
    assert [method.name for method in choose_methods(["deepbass,svm", "commonest"], 10**6)] == [
        "commonest",
        "svm",
        "deepbass",
    ]
    assert {method.name for method in choose_methods([], 100)} == set(METHODS)
    assert {method.name for method in choose_methods([], 10**6)} == set(METHODS) - {"paper"}
    with pytest.raises(ConfigError, match="Did you mean 'logistic-regression'"):
        check_method("logistic")


def test_names_of_data_make_names_of_files() -> None:
    assert file_name("my data/é*?") == "my-data-é"
    assert file_name("...") == "data"
    assert len(file_name("x" * 200)) <= 40


def write_npz(file: Path, X: np.ndarray, y: np.ndarray, X_val: np.ndarray, y_val: np.ndarray) -> str:
    np.savez(file, X=X, y=y, X_val=X_val, y_val=y_val)
    return str(file)


def test_data_from_which_nothing_can_be_told_is_said_to_be_such(tmp_path: Path) -> None:
    same = np.ones((40, 3), dtype=np.float32)
    source = write_npz(tmp_path / "same.npz", same, np.arange(40) % 2, same, np.zeros(40, dtype=np.int64))
    facts = look_at_data(source, {}, 0)
    assert (facts.pool, facts.validation, facts.classes, facts.commonest) == (40, 40, 2, 1.0)
    assert any("all samples look the same" in note for note in facts.notes)
    assert any("one class only ('0')" in note for note in facts.notes)
    with pytest.raises(DataError, match="one class only"):
        look_at_data(write_npz(tmp_path / "one.npz", same, np.zeros(40, np.int64), same, np.zeros(40, np.int64)), {}, 0)


def test_only_labels_that_could_be_had_count_as_a_pool(tmp_path: Path) -> None:
    y = np.arange(40) % 2
    y[:30] = -1
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    facts = look_at_data(write_npz(tmp_path / "few.npz", X, y, X, np.arange(40) % 2), {}, 0)
    assert facts.pool == 10
    assert not facts.notes


def test_settings_of_a_cell_are_a_configuration() -> None:
    for cell in comparison(settings={"pool": 100}).cells():
        assert isinstance(cell.config, Config)
