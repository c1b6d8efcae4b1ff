"""The trainer of a labelling project: takes up what people say, trains, and leaves a ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.core.errors import ConfigError, StoreError
from deepbass.label.neighbours import Neighbours
from deepbass.label.project import Settings
from deepbass.store.lock import take_lock
from deepbass.store.names import CHECKPOINTS_FOLDER, LEARNER_FILE, RUN_LOCK_FILE
from deepbass.store.rundir import RunDir
from deepbass.trainer import model_run
from deepbass.trainer.trainer import RANKED, labelling_config
from tests.trainer.labelling import (
    BROKEN,
    QUICK,
    World,
    newest_of,
    truth,
    world,
)


def right(predicted: Any, items: list[int]) -> float:
    """Tell the share of items whose class is the true one."""
    return float(np.mean([predicted[item] == truth(item) for item in items]))


# what people say is taken up


def test_who_answers_the_top_of_the_ranking_gets_a_model_that_is_right_about_the_audit_reserve(here: World) -> None:
    here.begin()

    def answer(iteration: int) -> bool:
        ranking = here.ranking()
        assert ranking.known == len(here.trained_on()[0])
        here.label(*np.argsort(-ranking.score)[:3].tolist())
        return iteration >= 15

    here.train(answer)
    ranking = here.ranking()
    assert ranking.known >= 9 + 3 * 14
    assert right(ranking.predicted, here.reserve) > 0.9
    asked_for = np.isin(np.arange(150), here.reserve)
    assert (ranking.predicted >= 0).tolist() == asked_for.tolist()
    assert not (np.isfinite(ranking.score) & asked_for).any()


def test_an_answer_is_used_in_the_next_iteration_and_one_taken_back_is_gone(here: World) -> None:
    acts = here.begin()
    known = {act.item: truth(act.item) for act in acts}
    asked: list[int] = []

    def look(iteration: int) -> bool:
        answers, guesses = here.trained_on()
        assert not set(answers) & set(guesses)
        match iteration:
            case 0:
                assert answers == known
                asked.append(int(here.ranking().score.argmax()))
                acts.extend(here.label(asked[0]))
            case 1:
                assert answers == {**known, asked[0]: truth(asked[0])}
                assert here.ranking().score[asked[0]] == -np.inf
                here.act(asked[0], "label", (truth(asked[0]) + 1) % 3)  # thought better of it
            case 2:
                assert answers == {**known, asked[0]: (truth(asked[0]) + 1) % 3}
                here.act(asked[0], "flag")
            case 3:
                assert answers == known  # whatever is flagged is not trained on
                here.act(asked[0], "unflag")
                here.undo(acts[0])
            case 4:
                assert acts[0].item not in answers
                assert np.isfinite(here.ranking().score[acts[0].item])
                assert len(answers) == len(known)
        return iteration >= 4

    here.train(look)


def test_what_was_asked_and_not_answered_stays_askable(here: World) -> None:
    here.begin()
    here.train(lambda iteration: iteration >= 3)
    ranking = here.ranking()
    open_ = set(range(150)) - set(here.reserve) - set(here.trained_on()[0])
    assert set(np.flatnonzero(np.isfinite(ranking.score)).tolist()) == open_
    with RunDir.open(here.model(), lock=False) as run_dir:
        assert run_dir.events.questions() == []  # they would be five hundred in every iteration


def test_audit_items_are_never_trained_on(here: World) -> None:
    here.begin()
    here.label(*here.reserve[:5], why="audit")
    here.label(*here.reserve[5:8], why="import")
    here.label(*here.reserve[8:11], why="browse")

    def look(iteration: int) -> bool:
        answers, guesses = here.trained_on()
        assert not set(here.reserve) & (set(answers) | set(guesses))
        assert iteration == 0 or len(guesses) == 150 - len(here.reserve) - len(answers)
        here.label(here.reserve[20 + iteration], why="audit")
        return iteration >= 4

    here.train(look)
    with RunDir.open(here.model(), lock=False) as run_dir:
        assert [step.metrics["audit"] for step in run_dir.events.steps()] == [8, 9, 10, 11, 12]


def test_a_guess_that_was_vetoed_is_not_trained_on_and_stays_askable(here: World) -> None:
    here.begin()
    vetoed: dict[int, int] = {}

    def look(iteration: int) -> bool:
        _, guesses = here.trained_on()
        ranking = here.ranking()
        if iteration == 2:
            vetoed.update(list(guesses.items())[:20])
            for item, class_ in vetoed.items():
                here.act(item, "veto", class_, "guesses")
        for item, class_ in vetoed.items() if iteration > 2 else ():
            assert guesses.get(item) != class_
            assert ranking.member[item] == (item in guesses)
            assert (item in guesses) == (ranking.guess[item] != class_)  # what the model says now, it may learn from
            assert np.isfinite(ranking.score[item])
        return iteration >= 6

    here.train(look)
    still = [item for item, class_ in vetoed.items() if here.ranking().guess[item] == class_]
    assert still  # else nothing was seen


def test_ids_of_the_ranking_are_those_of_the_items_although_some_images_are_broken(tmp_path: Path) -> None:
    with world(tmp_path, broken=BROKEN) as here:
        here.begin(each=12)
        here.train(lambda iteration: iteration >= 8)
        ranking = here.ranking()
        names = [row.name for row in here.journal.items()]
        broken = [names.index(name) for name in BROKEN]
        there = [item for item in range(150) if item not in broken]
        assert len(ranking.guess) == 150
        assert ranking.guess[broken].tolist() == [-1] * 3
        assert np.isneginf(ranking.score[broken]).all()
        assert right(ranking.guess, there) > 0.9
        assert right(ranking.predicted, [item for item in here.reserve if item not in broken]) > 0.9
        assert any("3 of 150" in what.get("note", "") for what in here.said)
        neighbours = Neighbours.open(here.project.models / "0001")  # for the page to find others like one
        assert neighbours is not None
        assert [item for item in range(150) if not neighbours.has(item)] == sorted(broken)
        assert here.trained_on()[0] == {item: truth(item) for class_ in range(3) for item in here.first(class_, 12)}


@pytest.mark.parametrize(
    ("acquire", "admit"),
    [("bald", "step-wise"), ("above-average", "all-data"), ("random", "none"), ("none", "step-wise")],
)
def test_with_any_policy_all_that_may_be_asked_for_is_ranked(acquire: str, admit: str, tmp_path: Path) -> None:
    with world(tmp_path, acquire=acquire, admit=admit) as here:
        here.begin()
        here.train(lambda iteration: iteration >= 2)
        ranking, (answers, guesses) = here.ranking(), here.trained_on()
        assert np.isfinite(ranking.score).sum() == 150 - len(here.reserve) - len(answers)
        assert np.flatnonzero(ranking.member).tolist() == sorted(guesses)
        assert admit != "none" or not guesses


def test_without_an_audit_everything_may_be_asked_for_and_trained_on(tmp_path: Path) -> None:
    with world(tmp_path, audit=0.0) as here:
        here.begin()
        here.train(lambda iteration: iteration >= 1)
        assert np.isfinite(here.ranking().score).sum() == 150 - 9
        assert len(here.trained_on()[1]) == 150 - 9
        assert set(here.ranking().predicted.tolist()) == {-1}


def test_items_that_are_new_in_the_source_are_said_to_need_a_restart(here: World) -> None:
    here.begin()
    names = [row.name for row in here.journal.items()]

    def commit(iteration: int) -> bool:
        if iteration == 0:
            here.journal.update_items([*names, "150.png", "151.png"])
            here.act(151, "label", 0)
        return iteration >= 2

    here.train(commit)
    assert [what["note"] for what in here.said if "note" in what] == [
        "2 samples are new in the source: they are trained on after a restart."
    ]
    assert len(here.ranking().guess) == 150


# when it begins, rests and begins again


def test_it_waits_until_every_class_has_a_few_labels_and_says_what_is_missing(here: World) -> None:
    waited: list[object] = []

    def look(doing: str) -> bool:
        if doing == "waiting":
            waited.append(here.said[-1]["need"])
            if len(waited) == 1:
                here.begin(classes=2)
            if len(waited) == 2:
                here.label(*here.first(2, 3))
        return False

    here.train(lambda iteration: True, look)
    assert waited == [
        [{"class": name, "have": 0, "need": 3} for name in ("left", "right", "top")],
        [{"class": "top", "have": 0, "need": 3}],
    ]
    assert [what["doing"] for what in here.said if "doing" in what][:3] == ["waiting", "waiting", "loading"]


def test_labels_taken_back_are_done_without_as_long_as_two_classes_remain(here: World) -> None:
    acts = here.begin()
    seen: list[str] = []

    def commit(iteration: int) -> bool:
        if iteration == 1:
            for act in acts[:3]:  # all of the first class
                here.undo(act)
        if iteration == 3:
            assert set(here.trained_on()[0].values()) == {1, 2}
            for act in acts[3:6]:
                here.undo(act)
        if seen:
            assert set(here.trained_on()[0].values()) == {0, 2}
            return True
        assert iteration < 10
        return False

    def doing(what: str) -> bool:
        if what == "waiting":
            seen.append(what)
            here.label(*here.first(0, 1))
        return False

    here.train(commit, doing)
    assert seen == ["waiting"]
    assert here.model().name == "0001"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> int:
    """Make the trainer idle sooner."""
    monkeypatch.setattr(model_run, "PATIENCE", 5)
    return 5


def test_it_idles_after_a_while_without_change_until_a_label_comes(here: World, impatient: int) -> None:
    here.begin()
    idle_at: list[int] = []

    def commit(iteration: int) -> bool:
        return len(idle_at) == 2

    def doing(what: str) -> bool:
        if what == "idle":
            idle_at.append(here.newest().iteration)
            item = int(here.ranking().score.argmax())
            if len(idle_at) == 1:
                here.act(item, "skip")  # changes nothing
                here.act(item, "veto", int(here.ranking().guess[item]), "guesses")
            else:
                here.label(item)
        return False

    here.train(commit, doing)
    assert idle_at == [impatient, 2 * impatient + 1]


def test_an_audit_answer_is_scored_by_one_more_iteration_although_nothing_is_learned_from_it(
    here: World, impatient: int
) -> None:
    here.begin()
    idle_at: list[int] = []

    def doing(what: str) -> bool:
        if what == "idle" and (not idle_at or here.newest().iteration > idle_at[-1]):
            idle_at.append(here.newest().iteration)
            here.label(here.reserve[len(idle_at)], why="audit")
        return len(idle_at) == 3

    here.train(lambda iteration: False, doing)
    assert idle_at == [impatient, impatient + 1, impatient + 2]
    assert here.newest().info["audited"] == 2


def test_a_new_class_begins_a_new_model_at_once_with_all_labels_known(tmp_path: Path) -> None:
    with world(tmp_path, classes=("left", "right")) as here:
        here.begin(classes=2)
        models: list[str] = []

        def commit(iteration: int) -> bool:
            models.append(f"{here.model().name}/{iteration}")
            if models == ["0001/0", "0001/1", "0001/2"]:
                assert here.journal.add_class("top", "ann") == 2
                here.label(*here.first(2, 2))
            return len(models) == 5

        here.train(commit)
        assert models[3:] == ["0002/0", "0002/1"]
        with RunDir.open(here.model(), lock=False) as run_dir:
            assert run_dir.about["data"]["classes"] == ["left", "right", "top"]
        assert set(here.trained_on()[0].values()) == {0, 1, 2}
        assert newest_of(here.model().with_name("0001")).iteration == 2  # it stays as it was


# it can be stopped at any moment


def test_a_trainer_that_is_started_again_goes_on_from_the_last_commit(here: World) -> None:
    here.begin()
    here.train(lambda iteration: iteration >= 4)
    before = here.ranking()
    here.label(here.first(0, 9)[-1])
    here.said.clear()
    here.train(lambda iteration: True)
    (committed,) = [what for what in here.said if "committed" in what]
    assert (committed["committed"], committed["model"], committed["known"]) == (5, "0001", 10)
    assert here.ranking().snapshot_labels.tolist() == before.snapshot_labels.tolist() == [9]
    assert np.array_equal(here.ranking().snapshots, before.snapshots)


@pytest.mark.usefixtures("impatient")
def test_a_trainer_that_idled_idles_again_when_it_is_started_again(here: World) -> None:
    here.begin()
    here.act(here.first(0, 9)[-1], "veto", 1, "guesses")
    here.train(lambda iteration: False, lambda doing: doing == "idle")
    here.said.clear()
    here.train(lambda iteration: False, lambda doing: doing == "idle")
    assert not any("committed" in what for what in here.said)


@pytest.mark.parametrize("change", ["settings", "samples", "damage"])
def test_what_no_longer_fits_the_project_gives_way_to_a_new_model_and_it_is_said(here: World, change: str) -> None:
    here.begin()
    here.train(lambda iteration: iteration >= 1)
    (here.project.models / "0002").mkdir()
    (here.project.models / "0002" / RUN_LOCK_FILE).touch()  # its trainer was killed while making it
    match change:
        case "settings":
            here.project = here.project.change(settings=Settings(config={**QUICK, "dropout": 0.2}))
        case "samples":
            (Path(here.project.source) / "149.png").unlink()
        case "damage":
            for file in here.model().with_name("0001").glob(f"{CHECKPOINTS_FOLDER}/*/{LEARNER_FILE}"):
                file.write_bytes(b"")
    here.said.clear()
    here.train(lambda iteration: True)
    (committed,) = [what for what in here.said if "committed" in what]
    assert (committed["committed"], committed["model"]) == (0, "0003")
    said = "keeps what it has learned" if change == "samples" else "begun"
    assert any(said in what.get("note", "") for what in here.said)


def test_two_trainers_cannot_work_on_one_project(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.store.lock.PATIENCE", 0.3)
    here.project.models.mkdir(exist_ok=True)
    lock = take_lock(here.project.models)
    try:
        with pytest.raises(StoreError, match="in use by process"):
            here.train(lambda iteration: True)
    finally:
        lock.release()


# settings


def test_settings_that_the_trainer_decides_are_refused() -> None:
    with pytest.raises(ConfigError, match="budget, iterations"):
        labelling_config(Settings(config={"iterations": 5, "budget": 100}), 10)


def test_the_configuration_is_the_papers_but_for_what_labelling_asks_for() -> None:
    config = labelling_config(Settings(acquire="bald", admit="step-wise", seed=3, config={"dropout": 0.5}), 60)
    assert (config.acquire, config.admit, config.seed, config.dropout) == ("bald", "step-wise", 3, 0.5)
    assert (config.oracle, config.ask_every, config.ask_count, config.budget) == ("people", 1, RANKED, None)
    assert (config.passes_pool, config.passes_known, config.early_exit) == (10, 100, True)
    assert config.initial_epochs == 100


def test_small_pictures_have_a_network_with_a_teacher_unless_one_says_otherwise() -> None:
    config = labelling_config(Settings(), 30, shape=(1, 28, 28))
    assert (config.model, config.acquire, config.admit, config.predict_passes) == (
        "small-cnn",
        "margin-draw",
        "confident",
        0,
    )
    assert config.teacher > 0
    assert labelling_config(Settings(config={"model": "cnn"}), 30, shape=(1, 28, 28)).teacher == 0
    assert labelling_config(Settings(acquire="badge", admit="none"), 30, shape=(1, 28, 28)).acquire == "badge"
    large = labelling_config(Settings(), 30, shape=(3, 64, 64))  # an epoch takes as long
    assert large.shown is not None and config.shown is not None and large.shown < config.shown


def test_the_initial_training_does_not_grow_with_the_labels_known_beforehand() -> None:
    steps = [known * labelling_config(Settings(), known).initial_epochs for known in (100, 1000, 5000)]
    assert steps == [10_000] * 3
    assert labelling_config(Settings(), 50_000).initial_epochs == 1
    assert labelling_config(Settings(config={"initial_epochs": 7}), 50_000).initial_epochs == 7
