"""Everybody gets the most useful question that nobody else has, and the audit does not care what the model thinks."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepbass.label.acts import Act, Kind, Question, Why
from deepbass.label.journal import Journal
from deepbass.label.leases import Lease
from deepbass.label.ledger import Ledger
from deepbass.label.project import Project
from deepbass.label.queue import Queue
from deepbass.label.ranking import Ranking
from deepbass.label.settings import Settings
from tests.label.test_project import numbered

LEASE = 100.0


def ranking(scores: Sequence[float]) -> Ranking:
    count = len(scores)
    whole, real = np.zeros(count, np.int16), np.zeros(count, np.float32)
    return Ranking(
        guess=whole,
        confidence=real,
        second=whole - 1,
        second_confidence=real,
        entropy=real,
        score=np.array(scores, np.float32),
        member=np.zeros(count, np.bool_),
        predicted=whole,
        snapshots=np.zeros((0, count), np.int16),
        snapshot_labels=np.zeros(0, np.int32),
        known=0,
    )


class World:
    """A queue, people who answer, and a clock. Without an audit unless said otherwise; item 0 has the best score."""

    def __init__(
        self,
        count: int = 10,
        reserve: Iterable[int] = (),
        gone: Iterable[int] = (),
        *,
        ranked: bool = True,
        **chosen: Any,
    ) -> None:
        reserve, gone = list(reserve), set(gone)
        chosen = {"audit": 0.1 if reserve else 0.0, "lease_seconds": LEASE, **chosen}
        self.queue = Queue(Ledger(reserve), count, reserve, Settings(**chosen), gone=gone)
        if ranked:
            self.queue.ranking = ranking([float(count - item) for item in range(count)])
        self.now = 1000.0
        self.acts: list[Act] = []

    def next(self, by: str = "ann", count: int = 1, holding: Sequence[int] = ()) -> list[int]:
        return [question.item for question in self.ask(by, count, holding)]

    def ask(self, by: str = "ann", count: int = 1, holding: Sequence[int] = ()) -> list[Question]:
        return self.queue.next(by, count, self.now, holding)

    def act(
        self,
        kind: Kind,
        item: int,
        by: str = "ann",
        class_: int | None = None,
        why: Why | None = None,
        undoes: str | None = None,
    ) -> Act:
        number = len(self.acts) + 1
        why = why or self.queue.why(item, by)
        act = Act(f"u{number}", item, kind, by, why, class_, undoes, id=number)
        self.acts.append(act)
        self.queue.take(act, self.now)
        return act

    def label(self, item: int, by: str = "ann", class_: int = 0, why: Why | None = None) -> Act:
        return self.act("label", item, by, class_, why)

    def undo(self, by: str = "ann") -> Act:
        last = self.queue.ledger.last_of(by)
        assert last is not None
        return self.act("undo", last.item, by, undoes=last.uid)


# what comes first


def test_the_best_score_is_asked_first_and_what_is_known_leaves_at_once() -> None:
    world = World()
    assert world.next() == [0]
    world.label(0)
    world.label(1, by="bob")
    assert world.next() == [2]
    world.label(2)
    world.label(5, why="guesses")
    assert world.next(count=4) == [3, 4, 6, 7]


def test_a_new_ranking_counts_at_once_but_takes_nothing_out_of_anybodys_hand() -> None:
    world = World()
    assert world.next(count=2) == [0, 1]
    world.queue.ranking = ranking([float(item) for item in range(10)])
    assert world.next(count=4) == [0, 1, 9, 8]


def test_before_there_is_a_model_the_spread_is_asked_then_the_rest_at_random() -> None:
    world = World(ranked=False)
    world.queue.spread = [7, 3]
    questions = world.ask(count=10)
    assert [question.item for question in questions][:2] == [7, 3]
    assert sorted(question.item for question in questions) == list(range(10))
    assert {question.why for question in questions} == {"spread"}


def test_what_the_ranking_does_not_know_comes_last() -> None:
    world = World()
    world.queue.ranking = ranking([-np.inf, 2.0, np.nan, 1.0])
    order = world.next(count=10)
    assert order[:2] == [1, 3]
    assert sorted(order) == list(range(10))


def test_equal_scores_are_asked_in_random_order() -> None:
    world = World(100)
    world.queue.ranking = ranking([1.0] * 100)
    order = world.next(count=100)
    assert order != sorted(order)
    assert sorted(order) == list(range(100))


def test_guesses_that_people_refused_are_asked_first() -> None:
    world = World(reserve=[9], audit=0.01)
    world.act("veto", 6, class_=0, why="guesses")
    world.act("veto", 9, class_=0, why="guesses")  # of the reserve: its turn comes by lot only
    assert world.next(count=2) == [6, 0]


def test_what_is_gone_is_not_asked() -> None:
    world = World(gone=[0, 1], reserve=[1, 9], audit=0.5)
    assert set(world.next(count=10)) == set(range(2, 10))


# leases


def test_nobody_is_asked_what_another_has_in_hand_until_the_time_is_over() -> None:
    world = World()
    assert world.next("ann", 2) == [0, 1]
    assert world.next("bob", 2) == [2, 3]
    world.now += LEASE + 1
    assert world.next("cat", 3) == [0, 1, 2]
    assert world.next("ann", 2) == [3, 4]  # hers have gone to cat, and bob's time is over


def test_a_reload_gives_the_same_questions_back_also_after_a_restart() -> None:
    world = World()
    world.label(0)
    first = world.ask("ann", 4)
    assert world.ask("ann", 4) == first
    saved = world.queue.leases.unsaved()
    assert [saved[question.item] for question in first] == [
        Lease(question.item, "ann", question.why, question.until) for question in first
    ]
    again = Queue(
        Ledger.of(world.acts), 10, [], Settings(audit=0.0), [lease for lease in saved.values() if lease is not None]
    )
    assert [question.item for question in again.next("ann", 4, world.now)] == [question.item for question in first]
    assert not {question.item for question in again.next("bob", 4, world.now)} & {question.item for question in first}


def test_who_comes_back_late_finds_what_nobody_took() -> None:
    world = World()
    first = world.next("ann", 2)
    world.now += 10 * LEASE
    assert world.next("ann", 2) == first
    assert world.next("bob", 2) == [2, 3]


def test_what_is_handed_out_again_is_renewed() -> None:
    world = World()
    world.next("ann")
    world.now += LEASE - 1
    (renewed,) = world.ask("ann")
    assert renewed.until == world.now + LEASE
    world.now += LEASE - 1
    assert world.next("bob") == [1]


def test_what_a_page_holds_is_kept_first_and_new_questions_follow() -> None:
    world = World()
    assert world.next("ann", 4) == [0, 1, 2, 3]
    world.label(0)
    assert world.next("ann", 4, holding=[2, 1]) == [2, 1, 3, 4]
    assert world.next("ann", 1, holding=[4]) == [4]
    assert world.next("ann", 0) == []


def test_a_page_cannot_hold_what_it_was_never_given() -> None:
    world = World(reserve=[8, 9], audit=0.01)
    world.next("bob", 2)
    assert world.next("ann", 2, holding=[0, 8, 5, 99, -1]) == [2, 3]


def test_what_another_labelled_meanwhile_is_taken_out_of_the_hand() -> None:
    world = World()
    assert world.next("ann", 2) == [0, 1]
    world.label(0, by="bob", why="browse")
    assert world.next("ann", 2, holding=[0, 1]) == [1, 2]
    assert world.queue.leases.on(0) is None


def test_an_act_that_arrives_twice_does_not_end_a_later_lease() -> None:
    world = World(1)
    world.next("ann")
    skip = world.act("skip", 0)
    assert world.next("ann") == [0]  # nothing else is left
    world.queue.take(skip, world.now)
    assert world.queue.leases.taken(0, world.now)


def test_only_what_changed_is_to_be_saved() -> None:
    world = World()
    world.next("ann", 2)
    assert set(world.queue.leases.unsaved()) == {0, 1}
    assert world.queue.leases.unsaved() == {}
    world.label(0)
    assert world.queue.leases.unsaved() == {0: None}


# skip, cannot tell, undo


def test_what_is_skipped_comes_back_to_the_same_person_after_everything_else() -> None:
    world = World(4, reserve=[3], audit=0.01)
    for _ in range(2):
        world.act("skip", world.next("ann")[0])
    order = []
    for _ in range(2):
        order += world.next("ann")
        world.label(order[-1])
    assert order == [2, 3]  # the reserve comes before what was skipped
    assert world.next("ann") == [0]  # and the oldest skip first
    world.act("skip", 0)
    assert world.next("ann") == [1]
    world.label(1)
    assert world.next("ann") == [0]
    world.label(0)
    assert world.next("ann") == []


def test_what_one_skips_another_may_get_at_once() -> None:
    world = World()
    world.act("skip", world.next("ann")[0])
    assert world.next("bob") == [0]


def test_what_a_person_cannot_tell_is_never_asked_of_them_again_but_of_others() -> None:
    world = World(2)
    world.act("unsure", world.next("ann")[0])
    world.label(world.next("ann")[0])
    assert world.next("ann") == []
    assert world.next("bob") == [0]


def test_an_undo_gives_the_question_back_before_all_others_and_for_the_same_reason() -> None:
    world = World(10, reserve=[7, 8, 9], audit=0.99)
    (question,) = world.ask("ann")
    assert question.why == "audit"
    world.label(question.item)
    world.next("ann", 2)
    world.undo("ann")
    assert world.ask("ann", 1)[0].item == question.item
    assert world.ask("ann", 1)[0].why == "audit"
    assert question.item not in world.next("bob", 9)


def test_undo_upon_undo_gives_one_question_after_the_other_back() -> None:
    world = World()
    for _ in range(4):
        world.label(world.next("ann")[0])
    for expected in (3, 2, 1, 0):
        world.undo("ann")
        assert world.next("ann") == [expected]
    assert world.next("ann", 5) == [0, 1, 2, 3, 4]


def test_an_undone_change_of_an_earlier_answer_asks_nothing() -> None:
    world = World()
    world.label(world.next("ann")[0])
    world.label(0, class_=1, why="browse")
    world.undo("ann")
    assert world.next("ann") == [1]


# the audit


def answer_all(world: World, count: int, prefetch: int = 1, people: Sequence[str] = ("ann",)) -> list[Why]:
    """Let people answer in turn, with some questions ready in advance; tell why each was asked."""
    whys: list[Why] = []
    holding: dict[str, list[int]] = {person: [] for person in people}
    for number in range(count):
        person = people[number % len(people)]
        questions = world.ask(person, prefetch, holding[person])
        assert len(questions) == prefetch
        whys.append(questions[0].why)
        world.label(questions[0].item, by=person)
        holding[person] = [question.item for question in questions[1:]]
        world.now += 1
    return whys


@pytest.mark.parametrize("share", [0.05, 0.1, 0.25, 0.3, 0.5])
def test_after_every_answer_the_audit_has_its_share(share: float) -> None:
    world = World(1000, reserve=range(500, 1000), audit=share)
    whys = answer_all(world, 300)
    for done in range(1, 301):
        assert abs(whys[:done].count("audit") - share * done) <= 1


@pytest.mark.parametrize("people", [["ann"], [f"person {number}" for number in range(7)]])
def test_the_share_holds_with_questions_fetched_in_advance_and_many_people(people: list[str]) -> None:
    world = World(1000, reserve=range(500, 1000), audit=0.2)
    whys = answer_all(world, 300, prefetch=4, people=people)
    for done in range(1, 301):
        assert abs(whys[:done].count("audit") - 0.2 * done) <= 1 + 4 * len(people) * 0.2


def test_audit_questions_come_from_the_reserve_in_its_order_and_others_never() -> None:
    reserve = [70, 50, 90, 60, 80, 55]
    world = World(100, reserve=reserve, audit=0.3)
    asked: dict[str, list[int]] = {"audit": [], "rank": []}
    for _ in range(20):
        (question,) = world.ask()
        asked[question.why].append(question.item)
        world.label(question.item)
    assert asked["audit"] == reserve[: len(asked["audit"])]
    assert len(asked["audit"]) in (5, 6)
    assert asked["rank"] == list(range(20 - len(asked["audit"])))


def test_the_model_has_no_say_in_the_audit() -> None:
    def audited(scores: Sequence[float] | None, seed: int = 0) -> list[tuple[int, int]]:
        world = World(1000, reserve=range(500, 1000), audit=0.2, seed=seed)
        world.queue.ranking = None if scores is None else ranking(scores)
        found = []
        for number in range(100):
            (question,) = world.ask()
            if question.why == "audit":
                found.append((number, question.item))
            world.label(question.item, class_=number % 7)
        return found

    rng = random.Random(0)
    without = audited(None)
    assert without == audited([rng.random() for _ in range(1000)]) == audited([-float(i) for i in range(1000)])
    assert without != audited(None, seed=1)


def test_nobody_can_tell_an_audit_question_by_its_place() -> None:
    places: Counter[int] = Counter()
    for seed in range(30):
        world = World(1000, reserve=range(500, 1000), audit=0.1, seed=seed)
        places.update(place % 10 for place, why in enumerate(answer_all(world, 100)) if why == "audit")
    assert len(places) == 10
    assert max(places.values()) < 3 * 30  # of 300 in all


def test_abandoned_audit_questions_are_made_up_for() -> None:
    world = World(1000, reserve=range(500, 1000), audit=0.5)
    for number in range(20):
        world.next(f"visitor {number}", 4)
    world.now += LEASE + 1
    whys = answer_all(world, 100)
    assert abs(whys.count("audit") - 50) <= 1


def test_the_rest_of_the_reserve_is_asked_when_nothing_else_is_left() -> None:
    world = World(10, reserve=[5, 6, 7, 8, 9], audit=0.1)
    questions = world.ask(count=20)
    assert sorted(question.item for question in questions) == list(range(10))
    assert {question.item: question.why for question in questions} == {
        item: "audit" if item >= 5 else "rank" for item in range(10)
    }


def test_why_outlives_the_lease() -> None:
    world = World(10, reserve=[9], audit=0.99)
    assert world.ask("ann")[0].item == 9
    world.now += LEASE + 1
    assert world.ask("bob")[0].item == 9
    assert world.queue.why(9, "ann") == "audit"
    assert world.queue.why(3, "ann") == "rank"


# second opinions


def test_the_chosen_share_is_asked_twice_of_different_people() -> None:
    world = World(2000, twice=0.25)
    answer_all(world, 1200, people=["ann", "bob", "cat"])
    ledger = world.queue.ledger
    people = Counter(len(ledger.answers(item)) for item in range(2000))
    assert set(people) == {0, 1, 2}
    assert abs(people[2] / (people[1] + people[2]) - 0.25) < 0.05
    again = World(2000, twice=0.25)
    answer_all(again, 1200, people=["eve", "fay"])
    both = {item for item in range(2000) if len(again.queue.ledger.answers(item)) == 2}
    chosen = {item for item in range(2000) if len(ledger.answers(item)) == 2}
    assert len(both & chosen) > 0.8 * min(len(both), len(chosen))  # by item, whoever answers what


def test_one_person_alone_is_asked_nothing_twice() -> None:
    world = World(20, twice=1.0)
    assert set(answer_all(world, 20)) == {"rank"}
    assert world.next("ann") == []
    assert len(world.next("bob", 20)) == 20


def test_whoever_comes_late_gets_second_opinions_and_new_questions_in_turn() -> None:
    world = World(400, twice=0.5)
    answer_all(world, 200)
    whys = answer_all(world, 60, people=["bob"])
    assert 15 <= whys.count("twice") <= 45


def test_a_second_opinion_is_over_when_it_is_settled_or_given_by_another() -> None:
    world = World(3, twice=1.0)
    for item in range(3):
        world.label(item, by="ann", why="rank")
    assert sorted(world.next("bob", 3)) == [0, 1, 2]
    world.act("settle", 0, "cat", 1, "browse")
    world.label(1, by="cat", why="browse")
    world.undo("cat")
    world.act("unsure", 2, "bob")
    assert world.next("bob", 3) == [1]
    assert world.next("cat", 3) == [2]


def test_labels_that_were_brought_along_are_nobodys_first_opinion() -> None:
    world = World(3, twice=1.0)
    world.label(0, by="source", why="source")
    assert world.next("ann", 3) == [1, 2]


# nothing left


def test_an_empty_queue_says_why_in_words() -> None:
    world = World(4)
    assert World(2, gone=[0, 1]).queue.why_empty("ann", 0.0) == "There are no images to label."
    world.act("unsure", 0, "ann")
    world.label(1)
    assert world.next("bob", 3) == [0, 2, 3]
    world.now += 10
    assert world.next("ann") == []
    assert world.queue.why_empty("ann", world.now) == (
        "3 images are with bob; the first comes free in 2 minutes, unless it is answered. All others are labelled."
    )
    for item in (2, 3):
        world.label(item, by="bob")
    world.act("skip", 0, "bob")
    assert world.next("ann") == []
    assert world.queue.why_empty("ann", world.now) == (
        "1 image you could not tell; somebody else may label it. All others are labelled."
    )
    world.label(0, by="bob", why="rank")
    assert world.queue.why_empty("ann") == "All images are labelled."


# all together


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.5]))
def test_whatever_people_do_nobody_is_asked_what_is_known_or_in_anothers_hand(
    seed: int, audit: float, twice: float
) -> None:
    rng = random.Random(seed)
    reserve = rng.sample(range(25), 5) if audit else []
    world = World(25, reserve=reserve, gone=[3], audit=audit, twice=twice, seed=seed, ranked=rng.random() < 0.5)
    ledger, people = world.queue.ledger, ["ann", "bob", "cat"]
    for _ in range(80):
        by = rng.choice(people)
        in_hand = {lease.item for other in people if other != by for lease in world.queue.leases.of(other)}
        in_hand = {item for item in in_hand if world.queue.leases.taken(item, world.now)}
        questions = world.ask(by, rng.randrange(1, 4))
        for question in questions:
            assert question.item not in in_hand
            assert question.item != 3
            assert (question.item in reserve) == (question.why == "audit") or question.why == "twice"
            standing = ledger.standing(question.item, by)
            assert standing is None or standing.kind == "skip"
            if question.why != "twice":
                assert not ledger.known(question.item)
            elif ledger.known(question.item):
                assert len(ledger.answers(question.item)) == 1
        if not questions:
            assert world.queue.why_empty(by, world.now)
        choice = rng.random()
        if choice < 0.2 and ledger.last_of(by) is not None:
            world.undo(by)
        elif choice < 0.3:
            world.act("veto", rng.randrange(25), by, 0, "guesses")
        elif questions:
            kind: Kind = rng.choice(["label", "label", "label", "skip", "unsure"])
            world.act(kind, questions[0].item, by, rng.randrange(2) if kind == "label" else None)
        world.now += rng.choice([1.0, LEASE / 2])
        if rng.random() < 0.1:
            world.queue.ranking = ranking([rng.random() for _ in range(25)])
    fresh = Queue(
        Ledger.of(world.acts, reserve),
        25,
        reserve,
        Settings(audit=audit, twice=twice, seed=seed, lease_seconds=LEASE),
        [lease for by in people for lease in world.queue.leases.of(by)],
        gone=[3],
    )
    fresh.ranking = world.queue.ranking  # made anew from the journal it goes on in the same way
    for by in people:
        assert fresh.next(by, 3, world.now) == world.queue.next(by, 3, world.now)


def test_a_queue_is_made_from_a_project_and_its_leases_last(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project", "somewhere", ["cat", "dog"], items=numbered(200))
    with project.lock(), Journal.open(project.labels_db) as journal:
        queue = Queue.of(project, journal.item_count(), project.ledger(journal), journal.leases())
        questions = queue.next("ann", 4, 1000.0)
        journal.save_leases(queue.leases.unsaved())
    with Journal.open(project.labels_db, "ro") as journal:
        again = Queue.of(project, journal.item_count(), project.ledger(journal), journal.leases())
        assert again.next("ann", 4, 1000.0) == questions


def test_a_question_among_sixty_thousand_items_takes_milliseconds() -> None:
    world = World(60_000, reserve=range(0, 60_000, 6), audit=0.1, twice=0.1)
    for item in range(40_000):
        world.act("label", item, f"person {item % 50}", 0, "rank")
    people = [f"person {number}" for number in range(50)]
    start = time.process_time()
    for number in range(200):
        by = people[number % 50]
        questions = world.ask(by, 4)
        world.label(questions[0].item, by=by)
    assert (time.process_time() - start) / 200 < 0.02  # two milliseconds on an idle machine; this one may be busy
