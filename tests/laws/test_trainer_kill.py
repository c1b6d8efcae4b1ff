"""A trainer that is killed at any moment and started again takes up every label, and its commits are whole."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from deepbass.store.names import RUN_FILE
from deepbass.store.rundir import RunDir
from tests.runs.warm import WarmProcess, warm
from tests.trainer.labelling import TAUGHT, newest_of, trainer_words, truth, world

SEEDS = int(os.environ.get("DEEPBASS_SEEDS", "1"))


@pytest.mark.parametrize("seed", range(1, 1 + SEEDS))
def test_killed_and_started_again_it_takes_up_all_labels_and_every_commit_is_whole(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    with world(tmp_path, config={**TAUGHT, "initial_epochs": 3}) as here:
        here.begin()
        for round_ in range(3):
            open_ = [item for class_ in range(3) for item in here.first(class_, 99)]
            here.label(*rng.sample(open_, 2))
            if round_ == 2:
                here.journal.add_class("bottom", "ann")
            with warm(trainer_words(here.project.path)) as process:
                if rng.random() < 0.3:  # about the beginning, while a model may be half made
                    _wait_for(process, '"loading"')
                    time.sleep(rng.uniform(0, 0.5))
                else:
                    _wait_for(process, '"committed"')
                    time.sleep(rng.uniform(0, 0.3))
                process.kill()
                assert process.wait() == -signal.SIGKILL
            for model in sorted(here.project.models.glob("[0-9]*")):
                _check_newest(model)
        with warm(trainer_words(here.project.path)) as process:
            _wait_for(process, '"committed"')
            process.kill()
        acts = here.journal.acts()
        assert here.trained_on()[0] == {act.item: truth(act.item) for act in acts}
        with RunDir.open(here.model(), lock=False) as run_dir:
            assert len(run_dir.about["data"]["classes"]) == 4
            iterations = [row.iteration for row in run_dir.events.steps()]
        assert iterations == list(range(len(iterations)))


def _wait_for(process: WarmProcess, word: str) -> None:
    """Wait until the trainer says something."""
    assert any(word in line for line in process.lines()), process.done()


def _check_newest(model: Path) -> None:
    """Read the newest commit of a model, if it has one: what is damaged raises."""
    if not (model / RUN_FILE).exists():
        return
    with RunDir.open(model, lock=False) as run_dir:
        steps = run_dir.events.steps()
    if steps:
        assert newest_of(model).iteration == steps[-1].iteration
