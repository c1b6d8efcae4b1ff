"""When to stop: what settles, what still moves, and what nobody may stop at."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import deepbass
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Answers, Labels
from deepbass.core.loop import Method, State, after
from deepbass.core.presets import preset
from deepbass.core.stop import SPAN, below_target, disagreement, gaining_little, is_still, settled, stopping
from deepbass.report.facts import read_facts
from deepbass.report.words import status
from tests.runs.small_runs import everything


def steps(moved: Sequence[float | None], answered: int = 10, **more: Any) -> list[dict[str, Any]]:
    """Make the numbers of iterations, of which each but the first has answers."""
    rows = [{"known": 10 + answered * i, "answered": answered, "moved": m, "unmet": 0} for i, m in enumerate(moved)]
    return [{**row, **{name: of(row["known"]) for name, of in more.items()}} for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_disagreement_is_one_minus_kappa_and_no_less_than_what_changed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = rng.choice(4, 500, p=[0.9, 0.05, 0.03, 0.02])
    now = np.where(rng.random(500) < 0.1, rng.integers(0, 4, 500), before)
    assert disagreement(before, now) == pytest.approx(1 - cohen_kappa_score(before, now))
    assert disagreement(before, now) >= (before != now).mean()


def test_guesses_that_stay_agree_wholly_even_if_all_are_of_one_class() -> None:
    same = np.zeros(5, dtype=np.int64)
    assert disagreement(same, same) == 0
    assert disagreement(same, np.array([0, 0, 0, 0, 1])) == pytest.approx(1.0)  # a new class is found: nothing is still


def test_predictions_are_settled_when_fifty_labels_moved_them_by_next_to_nothing() -> None:
    said = settled()(steps([None, 0.2, *[0.0004] * 5]))
    assert said == "predictions have settled: the last 50 labels changed at most 0.20% of them"
    assert settled()(steps([None, 0.2, *[0.0004] * 4])) is None  # forty are too few to tell
    assert settled()(steps([None, *[0.0006] * 9])) is None  # each moves little, all of them too much
    assert settled(0.02)(steps([None, *[0.0006] * 9])) is not None  # but not for who is content with 2 %


def test_many_small_steps_and_a_few_large_ones_are_judged_alike() -> None:
    small, large = steps([None, *[0.0004] * 20], answered=10), steps([None, *[0.0016] * 5], answered=40)
    assert settled()(small) is not None
    assert settled()(large) is None and settled(0.016)(large) is not None


def test_nothing_is_settled_while_a_class_was_never_met() -> None:
    history = [{**row, "unmet": 1} for row in steps([None, *[0.0] * 9], expected_error=lambda n: 0.1)]
    assert settled()(history) is None
    assert gaining_little()(history) is None


def test_iterations_without_questions_settle_nothing() -> None:
    """Training on may yet move what it likes: only labels that changed nothing tell that labels no longer help."""
    assert settled()(steps([None, *[0.0] * 30], answered=0)) is None


@pytest.mark.parametrize(("power", "least"), [(0.3, 0.004), (0.5, 0.004), (1.0, 0.0005)])
def test_the_expected_gain_is_that_of_the_curve(power: float, least: float) -> None:
    """An error of n^-p: the rule stops as soon as 50 more labels gain too little, and no sooner."""
    history = steps([0.001] * 100, expected_error=lambda n: max(n - 10, 1) ** -power)  # of the labels before
    known = next(rows[-1]["known"] for rows in _grown(history) if gaining_little(least)(rows))
    assert known**-power - (known + SPAN) ** -power == pytest.approx(least, rel=0.1)


def _grown(history: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    yield from (history[:done] for done in range(1, len(history) + 1))


def test_a_curve_that_scatters_is_given_the_benefit_of_the_doubt() -> None:
    rng = np.random.default_rng(0)
    flat = steps([0.001] * 40, expected_error=lambda n: 0.1)
    wild = [{**row, "expected_error": 0.1 * math.exp(0.3 * rng.normal())} for row in flat]
    assert gaining_little()(flat) is not None
    assert gaining_little()([{**row, "moved": 0.003} for row in flat]) is None  # it says one thing and does another
    assert gaining_little()(wild) is None


def test_a_target_is_reached_by_the_law_of_the_page() -> None:
    """228 labels without an error show an error below 2 %; fewer, or errors among them, do not."""
    rows = [{"unmet": 0, "held_back": n, "held_back_right": float(n)} for n in (100, 227)]
    assert below_target(0.02)(rows) is None
    said = below_target(0.02)([*rows, {"unmet": 0, "held_back": 228, "held_back_right": 228.0}])
    assert said is not None and "below the target of 2.00%" in said and "0 of 228" in said
    assert below_target(0.02)([*rows, {"unmet": 0, "held_back": 240, "held_back_right": 235.0}]) is None
    assert below_target(0.02)([{"unmet": 0, "held_back": None, "held_back_right": None}]) is None


def test_a_budget_that_is_spent_ends_the_run() -> None:
    labels = Labels.none(10, 2).answered(Answers(np.arange(4), np.array([0, 1, 0, 1])))
    stop = stopping(Config(stop="budget", budget=4, initial=2), [], after(9))
    assert stop(State(labels, 3)) == "all 4 labels were asked for"
    assert stop(State(labels, 0)) is None  # the first iteration is still to learn from the pool
    assert stopping(Config(stop="budget", budget=5, initial=2), [], after(9))(State(labels, 9)) == "9 iterations done"


def test_a_target_without_a_number_is_refused() -> None:
    with pytest.raises(ConfigError, match="target_error"):
        Config(stop="target")
    assert not is_still(0.0, SPAN - 1) and is_still(0.0, SPAN)


def _blobs() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    return rng.normal(size=(300, 3)).astype(np.float32) + 6 * np.eye(3, dtype=np.float32)[y], y


def test_killed_and_resumed_a_run_stops_at_the_same_place(tmp_path: Path) -> None:
    X, y = _blobs()
    settings: dict[str, Any] = {"budget": 200, "ask_count": 25, "ask_every": 1, "admit": "none", "stop": "settled"}
    settings |= {"model": "mlp", "initial_epochs": 30, "passes_pool": 3, "passes_known": 3, "device": "cpu"}
    whole = deepbass.run(X, y, out=tmp_path / "whole", **settings)
    assert whole.ended is not None and whole.ended.startswith("predictions have settled")
    done = len(whole.history) - 1
    assert done < 7  # sooner than the budget is spent
    with pytest.raises(KeyboardInterrupt):
        deepbass.run(X, y, out=tmp_path / "broken", watch=deepbass.Watch(on_metrics=_break_at(done - 2)), **settings)
    again = deepbass.resume(tmp_path / "broken", X, y)
    assert again.ended == whole.ended
    assert everything(tmp_path / "broken") == everything(tmp_path / "whole")
    assert whole.ended in status(read_facts(tmp_path / "whole"))[0]


def _break_at(iteration: int) -> Callable[[int, Any], None]:
    def on_metrics(done: int, metrics: Any) -> None:
        if done == iteration:
            raise KeyboardInterrupt

    return on_metrics


def test_the_paper_never_stops_early() -> None:
    assert Config.of(preset("paper", "mnist")).stop == "iterations"


def test_who_stops_by_the_gain_has_every_pass_made() -> None:
    labels = Labels.none(10, 2)
    for stop in ("iterations", "gain"):
        need = Method.of(Config(stop=stop)).need(labels, 0.1, 1)
        assert need.everything == (stop == "gain")
