"""Classes are what the changes made of them: ids are never used twice, and any change can be taken back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.label.class_list import ClassChange, ClassChangeError, ClassList, what_changed

BEGUN = ClassList.named(["cat", "dog", "cow"])


def change(classes: ClassList, kind: Any, class_: int | None = None, **more: Any) -> ClassList:
    return classes.after(ClassChange(1 + len(classes.changes), kind, class_, **more))


def test_a_class_keeps_its_id_whatever_it_is_called() -> None:
    renamed = change(BEGUN, "rename", 1, name="puppy")
    assert (renamed.ids, renamed.names) == ((0, 1, 2), ["cat", "puppy", "cow"])
    assert BEGUN.names == ["cat", "dog", "cow"]  # a value: nothing has happened to it
    assert (renamed.find("puppy"), renamed.find("dog")) == (1, None)
    assert renamed.meant_by("dog") == 1
    again = change(renamed, "add", 3, name="dog")
    assert (again.find("dog"), again.meant_by("dog"), again.names) == (3, 3, ["cat", "puppy", "cow", "dog"])


def test_what_was_merged_means_the_other_also_when_that_was_merged_later() -> None:
    merged = change(change(BEGUN, "merge", 0, into=1), "merge", 1, into=2)
    assert merged.ids == (2,)
    assert [merged.resolve(class_) for class_ in range(3)] == [2, 2, 2]
    assert merged.meant_by("cat") == 2
    assert change(merged, "undo", undoes=5).names == ["dog", "cow"]
    assert [change(merged, "undo", undoes=4).resolve(class_) for class_ in range(3)] == [0, 2, 2]


def test_what_was_removed_means_nothing_and_its_id_is_not_used_again() -> None:
    removed = change(BEGUN, "remove", 2)
    assert (removed.ids, len(removed), 2 in removed, removed.resolve(2)) == ((0, 1), 2, False, None)
    assert removed.name(2) == "cow"
    again = change(removed, "add", 3, name="cow")
    assert (again.ids, again.find("cow"), again.resolve(2)) == ((0, 1, 3), 3, None)


@pytest.mark.parametrize(
    ("kind", "class_", "more", "reason"),
    [
        ("rename", 0, {"name": "dog"}, "There is a class 'dog' already: merge the two"),
        ("add", 3, {"name": "dog"}, "There is a class 'dog' already"),
        ("merge", 0, {"into": 0}, "'cat' cannot be merged into itself"),
        ("merge", 0, {"into": 2}, "The class 'cow' is not there any more"),
        ("remove", 2, {}, "The class 'cow' is not there any more"),
        ("rename", 9, {"name": "x"}, "There is no class 9: there are 2"),
        ("undo", None, {"undoes": 99}, "There is no change 99"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(kind: Any, class_: int | None, more: Any, reason: str) -> None:
    classes = change(BEGUN, "remove", 2)
    with pytest.raises(ClassChangeError, match=reason):
        change(classes, kind, class_, **more)


def test_nothing_is_undone_twice_and_no_undo_is_undone() -> None:
    undone = change(change(BEGUN, "remove", 2), "undo", undoes=4)
    assert undone.names == BEGUN.names
    with pytest.raises(ClassChangeError, match="undone already"):
        change(undone, "undo", undoes=4)
    with pytest.raises(ClassChangeError, match="make the change again"):
        change(undone, "undo", undoes=5)


def test_a_change_that_others_build_on_is_undone_after_them() -> None:
    classes = change(BEGUN, "rename", 0, name="kitten")
    taken = change(classes, "add", 3, name="cat")
    with pytest.raises(ClassChangeError, match="Renaming a class to 'kitten' cannot be undone: a later change builds"):
        change(taken, "undo", undoes=4)
    assert change(change(taken, "undo", undoes=5), "undo", undoes=4).names == BEGUN.names
    with pytest.raises(ClassChangeError, match="Adding the class 'cat' cannot be undone"):
        change(classes, "undo", undoes=1)


def test_what_changed_is_said_in_words() -> None:
    classes = change(change(change(BEGUN, "add", 3, name="fish"), "merge", 0, into=1), "remove", 2)
    assert what_changed((0, 1, 2), change(BEGUN, "add", 3, name="fish")) == "The class 'fish' was added"
    assert what_changed((0, 1, 2), classes) == (
        "The class 'fish' was added; The class 'cat' was merged into 'dog'; The class 'cow' was removed"
    )


STEPS = st.tuples(
    st.sampled_from(["add", "rename", "merge", "remove", "undo"]), st.integers(0, 5), st.sampled_from("abcd"),
    st.integers(0, 5),
)  # fmt: skip


@given(st.lists(STEPS, max_size=25))
def test_whatever_is_done_names_are_unique_and_every_id_means_a_class_that_is_there_or_none(steps: list[Any]) -> None:
    classes = ClassList()
    seen = [classes]
    for kind, class_, name, other in steps:
        parts: dict[str, Any] = {
            "add": {"class_": classes.ever, "name": name}, "rename": {"class_": class_, "name": name},
            "merge": {"class_": class_, "into": other}, "remove": {"class_": class_}, "undo": {"undoes": other},
        }[kind]  # fmt: skip
        try:
            classes = classes.after(ClassChange(id=1 + len(classes.changes), kind=kind, **parts))
        except ClassChangeError:
            continue
        seen.append(classes)
        assert len(set(classes.names)) == len(classes.names) == len(classes.ids)
        assert list(classes.ids) == sorted(classes.ids)
        for each in range(classes.ever):
            assert classes.resolve(each) in (*classes.ids, None)
            assert (classes.resolve(each) == each) == (each in classes)
        folded = ClassList(classes.changes)  # step by step as all at once
        assert (folded.ids, folded.names, folded.ever) == (classes.ids, classes.names, classes.ever)
        assert [folded.resolve(i) for i in range(folded.ever)] == [classes.resolve(i) for i in range(classes.ever)]
    for before, after in pairwise(seen):
        assert after.ever >= before.ever
