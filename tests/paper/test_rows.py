"""The paper's tables are all there, and every row of them can be run."""

from __future__ import annotations

from collections import Counter

import pytest

from deepbass.bench.cells import Cell
from deepbass.bench.progress import MatrixProgress
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.paper.rows import EXPERIMENTS, ROWS, TIERS, Row, choose, plan


def row_cell(name: str, tier: str = "full", run: int = 0) -> Cell:
    return next(row for row in ROWS if row.name == name).cell(tier, run)


def test_every_row_of_the_paper_is_there() -> None:
    assert Counter(row.table for row in ROWS) == {"Table 1": 6, "Table 2": 15, "Table 3": 1, "text, Section 5": 2}
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_a_valid_configuration_and_ends_with_its_number_of_labels(row: Row, tier: str) -> None:
    config = row.cell(tier, 3).config
    assert config.seed == 3
    asked = 0 if config.acquire == "none" else -(-config.iterations // config.ask_every) * config.ask_count
    said = row.labels.replace(",", "")
    assert config.initial + asked == (10_000 if tier == "quick" and said == "60000" else int(said))


def test_the_full_tier_is_the_paper_to_the_letter() -> None:
    assert row_cell("all-data-max-entropy").config == Config()  # the defaults are the paper's
    assert row_cell("step-wise-above-average").config == Config(admit="step-wise", acquire="above-average")
    thousand = row_cell("all-data-max-entropy-1000").config
    assert (thousand.iterations, thousand.initial) == (900, 100)
    no_mc = row_cell("no-mc-100").config
    assert (no_mc.passes_pool, no_mc.passes_known, no_mc.iterations) == (0, 0, 200)
    augmented = row_cell("augmented-50").config
    assert (augmented.initial, augmented.rotate, augmented.stretch) == (50, 10.0, 0.05)


def test_the_quick_tier_has_ten_thousand_samples_and_fewer_iterations() -> None:
    for row in choose("mnist"):
        quick, full = row.cell("quick", 0).config, row.cell("full", 0).config
        assert quick.pool == 10_000
        assert quick.iterations <= full.iterations
        assert (quick.admit, quick.acquire) == (full.admit, full.acquire)


def test_rows_are_chosen_by_experiment_and_name() -> None:
    assert [row.name for row in choose("mnist", ["labels-300", "labels-100"])] == ["labels-100", "labels-300"]
    assert len(choose("all")) == len(ROWS) == sum(len(choose(name)) for name in EXPERIMENTS)
    with pytest.raises(ConfigError, match="Did you mean 'mnist'"):
        choose("mnits")
    with pytest.raises(ConfigError, match="Did you mean 'labels-100'"):
        choose("mnist", ["label-100"])


def test_a_plan_goes_run_by_run() -> None:
    cells = plan(choose("toy"), "full", 2)
    assert [cell.run for cell in cells] == [0] * 6 + [1] * 6
    assert len({cell.key for cell in cells}) == 12


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_time_left_follows_the_pace_and_the_share_reaches_one() -> None:
    cells = [row_cell("all-data-100", run=run) for run in range(2)]
    clock = Clock()
    progress = MatrixProgress.of(cells, finished_before=3)
    progress.clock = clock
    assert (progress.cells, progress.share, progress.seconds_left) == (5, 0.0, None)
    shares = []
    for cell in cells:
        progress.start(cell)
        for iteration in range(-1, 201):
            progress.report(cell, iteration, 0.5 if iteration < 0 else 0.0, accuracy=0.9)
            clock.now += 10.0
            shares.append(progress.share)
        progress.end(cell, finished=True)
    assert shares == sorted(shares)
    assert shares[202] == pytest.approx(0.5, abs=0.05)
    assert progress.share == pytest.approx(1.0)
    assert progress.seconds_left == pytest.approx(0.0)
    assert progress.finished == 2


def test_work_of_an_earlier_process_is_no_measure_of_the_pace() -> None:
    cell, clock = row_cell("all-data-100"), Clock()
    progress = MatrixProgress.of([cell], finished_before=0)
    progress.clock = clock
    progress.start(cell)
    progress.report(cell, 150)  # taken up there
    clock.now += 100.0
    progress.report(cell, 160)
    assert progress.seconds_left == pytest.approx(400.0)
