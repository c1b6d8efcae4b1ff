"""The trainer keeps what it has learned when classes are added, renamed, merged and removed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from deepbass.label.class_list import ClassChange
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.label.ranking import Ranking
from deepbass.store.names import LEARNER_FILE
from deepbass.store.rundir import RunDir
from deepbass.trainer import model_run
from deepbass.trainer.earlier_model import EarlierModel
from tests.trainer.labelling import QUICK, TAUGHT, Enough, World, truth, world

TRAINED = 4  # iterations


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a project with a model, which tests may copy."""
    with world(tmp_path_factory.mktemp("trained")) as made:
        made.begin(each=8)
        made.train(lambda iteration: iteration >= TRAINED)
        return made.project.path


@pytest.fixture
def here(trained: Path, tmp_path: Path) -> Iterator[World]:
    project = Project.open(shutil.copytree(trained, tmp_path / "project"))
    with closing(Journal.open(project.labels_db, mode="rw")) as journal:
        yield World(project, journal)


def right(ranking: Ranking, here: World, by: dict[int, int] | None = None) -> float:
    """Tell the share of audit images whose class is predicted rightly; ``by`` says what classes became."""
    meant = by or {}
    return float(np.mean([ranking.predicted[item] == meant.get(truth(item), truth(item)) for item in here.reserve]))


def notes(here: World) -> list[str]:
    return [what["note"] for what in here.said if "note" in what]


def test_an_empty_class_is_added_and_the_model_is_as_good_as_before_within_one_iteration(here: World) -> None:
    before = here.ranking()
    assert right(before, here) > 0.9
    here.journal.add_class("bottom", "ann")
    seen: list[float] = []

    def commit(iteration: int) -> bool:
        seen.append(right(here.ranking(), here))
        return iteration == 1

    here.train(commit)
    assert here.model().name == "0002"
    assert len(seen) == 2  # the ranking is there before any training, and after one iteration
    assert min(seen) >= right(before, here) - 0.02
    same = here.ranking().guess == before.guess
    assert same.mean() > 0.95
    assert notes(here) == ["The class 'bottom' was added: the model keeps what it has learned."]
    assert {"doing": "adapting to the classes"} in here.said
    assert not any(what.get("doing") == "initial training" for what in here.said)
    # labels given before go on to count for the question whether more of them help
    assert here.ranking().snapshot_labels.tolist() == before.snapshot_labels.tolist()


def test_a_rename_begins_no_new_model(here: World) -> None:
    here.journal.rename_class(1, "east", "ann")
    here.train(lambda iteration: iteration >= TRAINED + 2)
    assert here.model().name == "0001"
    assert [what["committed"] for what in here.said if "committed" in what] == [TRAINED + 1, TRAINED + 2]
    assert notes(here) == []


def test_what_is_merged_and_removed_leaves_the_others_as_they_were(here: World) -> None:
    here.journal.merge_class(2, 0, "ann")
    here.journal.add_class("bottom", "ann")
    seen: list[float] = []

    def commit(iteration: int) -> bool:
        assert 2 not in here.ranking().guess
        seen.append(right(here.ranking(), here, {2: 0}))
        return iteration >= 4

    here.train(commit)
    with RunDir.open(here.model(), lock=False) as run_dir:
        assert run_dir.about["data"]["class_ids"] == [0, 1, 3]
        assert run_dir.about["data"]["classes"] == ["left", "right", "bottom"]
    assert set(here.trained_on()[0].values()) == {0, 1}
    assert seen[-1] > 0.9
    assert "The class 'top' was merged into 'left'" in notes(here)[0]
    for item in here.first(1, 10)[-2:]:
        here.act(item, "label", 3)
    change = here.journal.remove_class(1, "ann")
    here.train(lambda iteration: True)
    assert set(here.ranking().guess.tolist()) <= {0, 3}
    assert not set(here.trained_on()[0]) & {act.item for act in here.journal.acts() if act.class_ == 1}
    here.journal.undo_class_change(change.id, "ann")
    here.train(lambda iteration: True)
    assert here.model().name == "0004"
    assert set(here.trained_on()[0].values()) == {0, 1, 2}  # by output: classes 0, 1 and 3


def test_killed_before_its_first_commit_it_carries_over_again(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = here.ranking()
    here.journal.add_class("bottom", "ann")

    def dies(*_: object) -> None:
        raise Enough

    with monkeypatch.context() as patched:
        patched.setattr(model_run.ModelRun, "go", dies)
        here.train(lambda iteration: True)
    assert here.model().name == "0002"
    here.train(lambda iteration: True)
    assert here.model().name == "0002"
    assert right(here.ranking(), here) >= right(before, here) - 0.02
    here.journal.add_class("middle", "ann")  # and once more, before anything was committed
    with monkeypatch.context() as patched:
        patched.setattr(model_run.ModelRun, "go", dies)
        here.train(lambda iteration: True)
    here.journal.add_class("corner", "ann")
    here.train(lambda iteration: True)
    assert here.model().name == "0004"
    assert right(here.ranking(), here) >= right(before, here) - 0.02


def test_an_earlier_model_that_is_damaged_gives_way_to_a_new_one_and_it_is_said(here: World) -> None:
    for file in here.model().glob("checkpoints/*/learner.safetensors"):
        file.write_bytes(b"")
    here.journal.add_class("bottom", "ann")
    here.train(lambda iteration: True)
    assert here.model().name == "0002"
    assert "A new model is begun" in notes(here)[0]
    with RunDir.open(here.model(), lock=False) as run_dir:
        assert run_dir.about["config"]["initial_epochs"] == QUICK["initial_epochs"]


def test_with_one_class_left_it_waits_until_there_is_another(here: World) -> None:
    here.journal.remove_class(1, "ann")
    change = here.journal.remove_class(2, "ann")
    waited: list[str] = []

    def doing(what: str) -> bool:
        if what == "waiting":
            waited.append(what)
            here.journal.undo_class_change(change.id, "ann")
        return False

    here.train(lambda iteration: True, doing)
    assert waited == ["waiting"]
    assert set(here.trained_on()[0].values()) == {0, 1}  # by output: the second one is class 2
    assert set(here.ranking().guess.tolist()) <= {0, 2}


def test_a_class_goes_on_from_its_own_output_before_that_of_one_merged_into_it(here: World) -> None:
    earlier = EarlierModel.read(here.model())
    classes = here.journal.class_list()
    merged = classes.after(ClassChange(4, "merge", 0, into=2))
    assert earlier.outputs_for(merged) == [1, 2]
    renewed = classes.after(ClassChange(4, "add", 3, name="new")).after(ClassChange(5, "merge", 0, into=3))
    assert earlier.outputs_for(renewed) == [1, 2, 0]
    assert earlier.outputs_for(classes.after(ClassChange(4, "add", 3, name="new"))) == [0, 1, 2, None]


def test_a_network_with_a_teacher_keeps_what_it_has_learned_when_a_class_and_when_pictures_come(tmp_path: Path) -> None:
    """What it noted of samples is kept as long as these are the same; it never learns from the audit's."""
    with world(tmp_path, config=TAUGHT) as here:
        here.begin(each=8)
        here.train(lambda iteration: iteration >= 6)
        assert right(here.ranking(), here) > 0.9
        assert not set(here.trained_on()[1]) & set(here.reserve)
        learned = _held(here)
        here.journal.add_class("bottom", "ann")
        here.train(lambda iteration: iteration == 0)
        assert here.model().name == "0002"
        assert right(here.ranking(), here) > 0.9  # before it was trained any further
        assert _held(here) == learned
        (tmp_path / "pictures" / "149.png").unlink()
        here.said.clear()
        here.train(lambda iteration: iteration == 1)
        assert here.model().name == "0003"
        assert right(here.ranking(), here) > 0.9
        assert notes(here)[-1:] == ["The samples are not those of the last model: the model keeps what it has learned."]
        assert len(_held(here)) == 24  # what is known counts as learned: it says nothing of guesses any more


def _held(here: World) -> list[int]:
    learned: list[int] = safetensors.numpy.load(here.newest().files[LEARNER_FILE])["held.learned"].tolist()
    return learned
