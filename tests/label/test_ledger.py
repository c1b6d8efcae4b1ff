"""What holds follows from the acts alone: what was taken back never was, and people's last words count."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.label.acts import Act, Kind, Why
from deepbass.label.ledger import Ledger

RESERVE = frozenset({3, 4})


class Acts(list[Act]):
    """A list of acts to which one is added by a call."""

    def __call__(
        self,
        kind: Kind,
        item: int = 0,
        class_: int | None = None,
        by: str = "ann",
        why: Why = "rank",
        undoes: Act | None = None,
        seconds: float | None = None,
    ) -> Act:
        number = len(self) + 1
        item = item if undoes is None else undoes.item
        uid = None if undoes is None else undoes.uid
        act = Act(f"u{number}", item, kind, by, why, class_, uid, seconds, id=number, at="2026-01-01T00:00:00+00:00")
        self.append(act)
        return act


@pytest.fixture
def acts() -> Acts:
    return Acts()


def test_an_act_taken_back_never_was_and_what_was_said_before_holds_again(acts: Acts) -> None:
    first = acts("label", 0, 1)
    second = acts("label", 0, 2, why="browse")
    assert Ledger.of(acts).label(0) == 2
    acts("undo", undoes=second)
    assert Ledger.of(acts).label(0) == 1
    assert Ledger.of(acts).standing(0, "ann") == first
    acts("undo", undoes=first)
    assert Ledger.of(acts).label(0) is None
    assert Ledger.of(acts).standing(0, "ann") is None


def test_undo_goes_back_without_limit_and_leaves_other_people_and_what_was_brought_along_alone(acts: Acts) -> None:
    acts("label", 9, 0, by="ann", why="import")
    mine = [acts("label", item, 1) for item in range(5)]
    acts("label", 7, 1, by="bob")
    ledger = Ledger.of(acts)
    for expected in reversed(mine):
        assert ledger.last_of("ann") == expected
        ledger.take(acts("undo", undoes=expected))
    assert ledger.last_of("ann") is None
    assert ledger.labels == 2
    again = acts("label", 1, 0)
    ledger.take(again)
    assert ledger.last_of("ann") == again


def test_a_label_where_people_agree_none_where_they_differ_and_the_settlement_beats_all(acts: Acts) -> None:
    acts("label", 0, 1, by="ann")
    acts("label", 0, 1, by="bob")
    assert Ledger.of(acts).label(0) == 1
    acts("label", 0, 2, by="cat")
    assert Ledger.of(acts).label(0) is None
    assert Ledger.of(acts).disagreements() == [0]
    assert Ledger.of(acts).training_labels() == {}
    settled = acts("settle", 0, 3, by="ann")
    acts("label", 0, 5, by="bob", why="browse")  # a later label does not unsettle it
    assert Ledger.of(acts).label(0) == 3
    assert Ledger.of(acts).disagreements() == []
    acts("settle", 0, 4, by="bob")
    assert Ledger.of(acts).label(0) == 4
    assert Ledger.of(acts).answers(0) == {"ann": 1, "bob": 5, "cat": 2}
    acts("undo", undoes=acts[-1], by="bob")
    assert Ledger.of(acts).label(0) == 3
    acts("undo", undoes=settled)
    assert Ledger.of(acts).disagreements() == [0]


def test_people_who_cannot_tell_do_not_disagree(acts: Acts) -> None:
    acts("unsure", 0, by="ann")
    acts("skip", 0, by="bob")
    assert not Ledger.of(acts).known(0)
    acts("label", 0, 1, by="cat")
    assert Ledger.of(acts).label(0) == 1
    acts("unsure", 0, by="cat", why="browse")
    assert Ledger.of(acts).label(0) is None
    assert Ledger.of(acts).disagreements() == []


@pytest.mark.parametrize("why", ["source", "import"])
def test_a_label_brought_along_gives_way_to_what_a_person_says(acts: Acts, why: Why) -> None:
    acts("label", 0, 1, by="source", why=why)
    assert Ledger.of(acts).training_labels() == {0: 1}
    corrected = acts("label", 0, 2, why="browse")
    assert Ledger.of(acts).training_labels() == {0: 2}
    assert Ledger.of(acts).disagreements() == []
    assert Ledger.of(acts).labels_by_person() == {"ann": {0: 2}}
    acts("undo", undoes=corrected)
    assert Ledger.of(acts).training_labels() == {0: 1}


def test_an_audit_item_stays_one_for_ever_also_when_its_answer_is_changed(acts: Acts) -> None:
    acts("label", 0, 1, why="audit")
    assert Ledger.of(acts).audit_labels() == {0: 1}
    acts("label", 0, 2, why="browse")
    acts("label", 1, 2, why="rank")
    ledger = Ledger.of(acts)
    assert ledger.audit_labels() == {0: 2}
    assert ledger.training_labels() == {1: 2}


def test_an_item_that_was_trained_on_never_becomes_an_audit_item(acts: Acts) -> None:
    acts("label", 0, 1, why="rank")
    acts("label", 0, 1, by="bob", why="audit")
    assert Ledger.of(acts).audit_labels() == {}
    assert Ledger.of(acts).training_labels() == {0: 1}


@pytest.mark.parametrize(
    ("why", "counts"),
    [("source", True), ("import", True), ("audit", True), ("twice", True), ("guesses", False), ("browse", False)],
)
def test_nothing_of_the_reserve_is_trained_on_and_what_the_model_may_have_led_to_is_no_audit(
    acts: Acts, why: Why, counts: bool
) -> None:
    acts("label", 3, 1, why=why)
    ledger = Ledger.of(acts, RESERVE)
    assert ledger.training_labels() == {}
    assert ledger.audit_labels() == ({3: 1} if counts else {})
    assert ledger.label(3) == 1


def test_an_audit_question_first_skipped_then_looked_up_is_an_audit_answer(acts: Acts) -> None:
    acts("unsure", 3, why="audit")
    acts("label", 3, 1, why="browse")
    assert Ledger.of(acts, RESERVE).audit_labels() == {3: 1}


def test_a_flag_keeps_an_item_out_of_training_but_not_out_of_the_audit(acts: Acts) -> None:
    acts("label", 0, 1)
    acts("label", 3, 1, why="audit")
    flag = acts("flag", 0)
    acts("flag", 3)
    ledger = Ledger.of(acts, RESERVE)
    assert ledger.flags() == {0, 3}
    assert (ledger.training_labels(), ledger.audit_labels()) == ({}, {3: 1})
    acts("unflag", 0, by="bob")  # a mark on the item, whoever made it
    assert Ledger.of(acts).flags() == {3}
    acts("undo", undoes=acts[-1], by="bob")
    assert Ledger.of(acts).flags() == {0, 3}
    acts("undo", undoes=flag)
    assert Ledger.of(acts).training_labels() == {0: 1}


def test_vetoes_hold_until_there_is_a_label(acts: Acts) -> None:
    acts("veto", 0, 1, why="guesses")
    acts("veto", 0, 2, by="bob", why="guesses")
    acts("skip", 0)
    assert Ledger.of(acts).vetoes() == {0: {1, 2}}
    label = acts("label", 0, 3)
    assert Ledger.of(acts).vetoes() == {}
    acts("undo", undoes=label)
    assert Ledger.of(acts).vetoes() == {0: {1, 2}}


def test_an_act_taken_twice_counts_once(acts: Acts) -> None:
    acts("label", 0, 1, seconds=2.0)
    ledger = Ledger.of([*acts, *acts])
    assert (ledger.labels, ledger.by_annotator, ledger.last) == (1, {"ann": 1}, 1)


def test_history_lists_what_was_not_taken_back_newest_first_a_page_at_a_time(acts: Acts) -> None:
    for item in range(4):
        acts("label", item, 1, by="ann" if item % 2 else "bob")
    acts("undo", undoes=acts[1])
    flag = acts("flag", 3)
    unsure = acts("unsure", 5)
    skip = acts("skip", 6, by="bob")
    acts("skip", 7)
    acts("label", 7, 0)  # so it is skipped no longer
    ledger = Ledger.of(acts)
    everything = [act.id for act in ledger.history()]
    assert everything == [10, 9, 8, 7, 6, 4, 3, 1]
    assert [act.id for act in ledger.history(before=8, limit=3)] == everything[3:6]
    assert [act.id for act in ledger.history(annotator="bob")] == [8, 3, 1]
    assert [act.id for act in ledger.history(before=4, annotator="bob")] == [3, 1]
    assert ledger.history(only="flagged") == [flag]
    assert ledger.history(only="unsure") == [unsure]
    assert ledger.history(only="skipped") == [skip]
    assert ledger.history(only="skipped", annotator="ann") == []


def test_questions_are_counted_by_why_they_were_asked(acts: Acts) -> None:
    acts("label", 0, 1, why="rank")
    acts("unsure", 1, why="audit")
    acts("skip", 2, why="audit")  # no answer
    acts("label", 0, 2, why="browse")  # no question
    gone = acts("label", 5, 2, why="twice")
    acts("undo", undoes=gone)
    assert Ledger.of(acts).answered == {"rank": 1, "audit": 1}


# any acts at all, against the plain way to compute the same

KINDS_WITHOUT_CLASS: list[Kind] = ["skip", "unsure", "flag", "unflag"]
KINDS_WITH_CLASS: list[Kind] = ["label", "label", "label", "veto", "settle"]
REASONS: list[Why] = ["spread", "rank", "audit", "twice", "browse", "guesses", "source", "import"]
ITEMS, CLASSES, PEOPLE = st.integers(0, 4), st.integers(0, 2), st.sampled_from(["ann", "bob"])


@st.composite
def some_acts(draw: st.DrawFn) -> Acts:
    acts = Acts()
    for _ in range(draw(st.integers(0, 25))):
        by, why = draw(PEOPLE), draw(st.sampled_from(REASONS))
        match draw(st.sampled_from(["class", "class", "none", "undo", "undo any"])):
            case "class":
                seconds = draw(st.none() | st.sampled_from([0.5, 1.0, 1.0, 2.0]))
                acts(draw(st.sampled_from(KINDS_WITH_CLASS)), draw(ITEMS), draw(CLASSES), by, why, seconds=seconds)
            case "none":
                acts(draw(st.sampled_from(KINDS_WITHOUT_CLASS)), draw(ITEMS), None, by, why)
            case "undo":
                if (last := Ledger.of(acts).last_of(by)) is not None:
                    acts("undo", by=by, undoes=last)
            case "undo any":
                if acts:
                    acts("undo", by=by, undoes=draw(st.sampled_from(acts)))  # also one undone before, or an undo
    return acts


def kept(acts: list[Act]) -> list[Act]:
    """Leave out undos and what they undo."""
    undone = {act.undoes for act in acts if act.kind == "undo"}
    return [act for act in acts if act.kind != "undo" and act.uid not in undone]


def naive(acts: list[Act], item: int) -> dict[str, Any]:
    """Fold what is kept about one item in the plainest way."""
    about = [act for act in kept(acts) if act.item == item]
    answers = [act for act in about if act.kind in ("label", "skip", "unsure")]
    last = {act.annotator: act for act in answers}
    labels = [act for act in last.values() if act.kind == "label"]
    opinions = {act.class_ for act in labels if act.why not in ("source", "import")} or {act.class_ for act in labels}
    settled = [act.class_ for act in about if act.kind == "settle"]
    label = settled[-1] if settled else opinions.pop() if len(opinions) == 1 else None
    first_label = next((act.why for act in answers if act.kind == "label"), None)
    led_to = not answers or answers[0].why in ("guesses", "browse")
    audit = first_label == "audit" or (item in RESERVE and not led_to)
    flagged = [act.kind for act in about if act.kind in ("flag", "unflag")][-1:] == ["flag"]
    known = bool(labels or settled)
    return {
        "last": last,
        "label": label,
        "audit": label if audit else None,
        "training": None if audit or flagged or item in RESERVE else label,
        "flagged": flagged,
        "known": known,
        "disputed": not settled and len(opinions) > 1,
        "vetoed": set() if known else {act.class_ for act in about if act.kind == "veto"},
    }


def check(ledger: Ledger, acts: list[Act]) -> None:
    """Compare everything a ledger can tell with the naive fold."""
    facts = {item: naive(acts, item) for item in range(5)}
    stands = [act for fact in facts.values() for act in fact["last"].values()]
    for item, fact in facts.items():
        assert ledger.label(item) == fact["label"]
        assert ledger.known(item) == fact["known"]
        for person in ("ann", "bob"):
            assert ledger.standing(item, person) == fact["last"].get(person)

    some = {name: {item: fact[name] for item, fact in facts.items() if fact[name] is not None} for name in facts[0]}
    assert ledger.training_labels() == some["training"]
    assert ledger.audit_labels() == some["audit"]
    assert ledger.by_class == Counter(some["label"].values())
    assert ledger.training_by_class == Counter(some["training"].values())
    assert ledger.labels == len(some["label"])
    truly = {name: {item for item, fact in facts.items() if fact[name]} for name in ("flagged", "known", "disputed")}
    assert ledger.flags() == truly["flagged"]
    assert ledger.known_items() == truly["known"]
    assert ledger.disagreements() == sorted(truly["disputed"])
    assert ledger.vetoes() == {item: fact["vetoed"] for item, fact in facts.items() if fact["vetoed"]}

    remaining = kept(acts)
    assert ledger.history(limit=1000) == remaining[::-1]
    for person in ("ann", "bob"):
        theirs = [act for act in remaining if act.annotator == person]
        undoable = [act for act in theirs if act.why not in ("source", "import")]
        assert ledger.last_of(person) == (undoable[-1] if undoable else None)
        assert ledger.history(limit=1000, annotator=person) == theirs[::-1]
        assert ledger.done_by(person) == {item for item, fact in facts.items() if person in fact["last"]}
    assert ledger.by_annotator == Counter(act.annotator for act in stands if act.kind == "label")
    assert ledger.by_kind == +(
        Counter(act.kind for act in stands)
        + Counter(
            flag=len(truly["flagged"]),
            veto=len(ledger.vetoes()),
            settle=len({act.item for act in remaining if act.kind == "settle"}),
        )
    )
    seconds = [act.seconds for act in remaining if act.kind == "label" and act.seconds is not None]
    assert ledger.median_seconds == (median(seconds) if seconds else None)
    asked = [act.why for act in remaining if act.kind in ("label", "unsure")]
    assert ledger.answered == Counter(why for why in asked if why in ("spread", "rank", "audit", "twice"))


@given(some_acts())
def test_any_acts_fold_to_what_the_plain_way_gives_after_every_one_of_them(acts: Acts) -> None:
    ledger = Ledger(RESERVE)
    for done, act in enumerate(acts, 1):
        ledger.take(act)
        check(ledger, acts[:done])


@given(some_acts())
def test_what_was_taken_back_leaves_no_trace(acts: Acts) -> None:
    check(Ledger.of(kept(acts), RESERVE), acts)
