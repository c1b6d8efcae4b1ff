"""The newest committed model is found at any moment, whatever the trainer is doing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from deepbass.core.error_law import scored
from deepbass.core.errors import StoreError
from deepbass.label.estimate import good_enough
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.label.trained_models import newest_checkpoint, newest_model
from deepbass.store.checkpoints import Checkpoint, Checkpoints
from deepbass.store.names import LEARNER_FILE, RANKING_FILE, RUN_DB_FILE
from deepbass.store.rundir import RunDir
from tests.label.projects import begin_model, commit, make_images, make_project, make_ranking

NAMES = [f"{i}.png" for i in range(6)]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path / "project", make_images(tmp_path / "images", NAMES))


def test_before_the_first_commit_there_is_no_model(project: Project) -> None:
    assert newest_model(project) is None
    shutil.rmtree(project.models)
    assert newest_model(project) is None
    (project.models / "0001").mkdir(parents=True)  # about to be made
    assert newest_model(project) is None
    with pytest.raises(StoreError, match="no trained model yet"):
        newest_checkpoint(project)


def test_a_model_counts_from_its_first_commit_on(project: Project) -> None:
    with begin_model(project) as run:
        assert newest_model(project) is None
        run.checkpoints.save(0, {RANKING_FILE: make_ranking([0] * 6).pack()}, {})
        assert newest_model(project) is None  # the checkpoint without its commit counts for nothing
        commit(run, 0, make_ranking([1] * 6, known=7), audit=30, audit_errors=2)
        model = newest_model(project)  # and the trainer holds its lock all the while
    assert model is not None
    assert (model.name, model.iteration, model.classes) == ("0001", 0, ("cat", "dog"))
    assert model.ranking.guess.tolist() == [1] * 6
    assert (model.metrics["known"], model.ranking.known) == (7, 7)
    assert [step.iteration for step in model.history()] == [0]
    assert model.created_at == model.history()[0].at
    assert model.estimates() == [scored(2, 30)]


def test_a_new_list_of_classes_takes_over_with_its_first_commit(project: Project) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6), audit=10)
        commit(run, 1, make_ranking([0] * 6), audit=20)
    old = newest_model(project)
    assert old is not None
    with begin_model(project, ("cat", "dog", "cow"), "0002") as run:
        assert newest_model(project, old) is old
        commit(run, 0, make_ranking([2] * 6), audit=30)
        new = newest_model(project, old)
        assert new is not None
        assert (new.name, new.classes) == ("0002", ("cat", "dog", "cow"))
        # the looks of "good enough" are those of the whole project
        assert [estimate.n for estimate in new.estimates()] == [10, 20, 30]
        commit(run, 1, make_ranking([2] * 6), audit=40)
        newer = newest_model(project, new)
    assert newer is not None
    assert [estimate.n for estimate in newer.estimates()] == [10, 20, 30, 40]
    fresh = newest_model(project)
    assert fresh is not None
    assert fresh.history() == newer.history()


def test_good_enough_can_be_told_from_what_was_committed(project: Project) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6), audit=100, audit_errors=0)
        commit(run, 1, make_ranking([0] * 6), audit=240, audit_errors=0)
    model = newest_model(project)
    assert model is not None
    assert "0 of 240" in (good_enough(model.estimates(), 0.02) or "")


def test_a_poll_reads_nothing_while_nothing_was_committed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6))
        first = newest_model(project)
        read: list[int] = []
        load = Checkpoints.load

        def noted(self: Checkpoints, iteration: int, only: Collection[str] | None = None) -> Checkpoint:
            read.append(iteration)
            return load(self, iteration, only)

        monkeypatch.setattr(Checkpoints, "load", noted)
        assert newest_model(project, first) is first
        assert not read
        commit(run, 1, make_ranking([1] * 6))
        second = newest_model(project, first)
        assert second is not None
        assert (second.iteration, read) == (1, [1])


def test_only_the_ranking_is_read_until_somebody_wants_the_weights(project: Project) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6))
        commit(run, 1, make_ranking([1] * 6))
        (run.checkpoints.folder / "000001" / LEARNER_FILE).unlink()
        model = newest_model(project)
        assert model is not None
        assert model.iteration == 1
        assert newest_checkpoint(project)[1].iteration == 0  # weights must be whole


def test_weights_are_taken_elsewhere_under_the_names_of_now(project: Project) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0, 1] * 3))
    with Journal.open(project.labels_db) as journal:
        journal.rename_class(0, "kitten", "ann")
        journal.merge_class(1, 0, "ann")
    model, _ = newest_checkpoint(project)
    assert (model.class_ids, model.classes) == ((0, 1), ("kitten", "dog"))
    assert model.ranking.predicted.tolist() == [0] * 6


def test_what_a_rewind_abandoned_is_not_part_of_the_history(project: Project) -> None:
    with begin_model(project) as run:
        for iteration in range(3):
            commit(run, iteration, make_ranking([0] * 6, known=iteration))
        before = newest_model(project)
        run.events.rewind(1)
        rewound = newest_model(project, before)
        commit(run, 2, make_ranking([1] * 6, known=20))
        again = newest_model(project, rewound)
    assert before is not None and rewound is not None and again is not None
    assert [before.iteration, rewound.iteration, again.iteration] == [2, 1, 2]
    assert [step.metrics["known"] for step in again.history()] == [0, 1, 20]


def test_a_damaged_checkpoint_is_passed_over(project: Project) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6))
        commit(run, 1, make_ranking([1] * 6))
        commit(run, 2, make_ranking([1] * 6))
        for iteration in (1, 2):
            file = run.checkpoints.folder / f"{iteration:06d}" / RANKING_FILE
            file.write_bytes(file.read_bytes()[:-1] + b"?")
        model = newest_model(project)
        assert model is not None
        assert model.iteration == 0
        assert newest_model(project, model) is model
        commit(run, 3, make_ranking([1] * 6))
        mended = newest_model(project, model)
    assert mended is not None
    assert mended.iteration == 3
    assert [step.iteration for step in mended.history()] == [0, 1, 2, 3]


def test_a_model_that_cannot_be_read_leaves_the_one_before(project: Project) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6))
    (project.models / "0002").mkdir()
    (project.models / "0002" / RUN_DB_FILE).write_bytes(b"no database")
    (project.models / "note.txt").touch()
    model = newest_model(project)
    assert model is not None
    assert model.name == "0001"


def test_while_the_trainer_commits_as_fast_as_it_can_every_look_finds_weights_ranking_and_numbers_of_one_step(
    project: Project,
) -> None:
    done = threading.Event()

    def train() -> None:
        try:
            with begin_model(project) as run:
                for iteration in range(150):
                    weights = {"w": np.full(2, iteration, np.float32)}
                    commit(run, iteration, make_ranking([0] * 6, known=iteration), weights)
        finally:
            done.set()

    trainer = threading.Thread(target=train)
    trainer.start()
    seen: list[int] = []
    model = None
    try:
        while not done.is_set() or not seen:
            model = newest_model(project, model)
            if model is None:
                continue
            assert model.ranking.known == model.metrics["known"] == model.iteration
            assert [step.iteration for step in model.history()][: model.iteration + 1] == list(
                range(model.iteration + 1)
            )
            seen.append(model.iteration)
            read, checkpoint = newest_checkpoint(project)
            assert read.iteration == checkpoint.iteration >= model.iteration
    finally:
        trainer.join()
    assert seen == sorted(seen)
    last = newest_model(project, model)
    assert last is not None
    assert last.iteration == 149


def test_checkpoints_pruned_between_listing_and_reading_are_tried_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6))
        newest = Checkpoints.newest

        def prune_first(self: Checkpoints, committed: Collection[int], only: Collection[str]) -> object:
            monkeypatch.setattr(Checkpoints, "newest", newest)
            for iteration in range(1, 8):
                commit(run, iteration, make_ranking([0] * 6))
            return newest(self, committed, only)

        monkeypatch.setattr(Checkpoints, "newest", prune_first)
        model = newest_model(project)
    assert model is not None
    assert model.iteration == 7


def test_a_run_of_another_kind_is_no_model(project: Project) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6))
    with begin_model(project, name="0002") as run:
        run.checkpoints.save(0, {"other": b"file"}, {})
        from deepbass.core.labels import NO_ANSWERS, NO_IDS

        run.events.commit_step(0, {}, {}, NO_IDS, NO_ANSWERS, "journal")
    model = newest_model(project)
    assert model is not None
    assert model.name == "0001"


def test_nothing_of_this_loads_torch() -> None:
    modules = ("label.trained_models", "label.guesses", "label.agreement", "exchange.exports", "exchange.imports")
    code = "import sys; " + "; ".join(f"import deepbass.{name}" for name in modules)
    code += "; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_reading_leaves_a_run_as_it_was(project: Project) -> None:
    with begin_model(project) as run:
        commit(run, 0, make_ranking([0] * 6))
    before = sorted(path.name for path in (project.models / "0001").rglob("*"))
    newest_model(project)
    after = sorted(path.name for path in (project.models / "0001").rglob("*"))
    assert [name for name in after if not name.endswith(("-shm", "-wal"))] == before
    with RunDir.open(project.models / "0001") as run:  # and unlocked
        assert run.events.steps()
