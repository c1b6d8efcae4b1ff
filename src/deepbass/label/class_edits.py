"""Changes of the classes that cost labels: made by who knows how many, or not at all."""

from __future__ import annotations

from deepbass.label.class_list import ClassChange, ClassChangeError
from deepbass.label.journal import Journal
from deepbass.label.ledger import Ledger
from deepbass.label.phrases import number_of


class LabelsChangedError(ClassChangeError):
    """A class has other labels than whoever wants to remove it believes."""

    def __init__(self, name: str, labels: int) -> None:
        super().__init__(f"The class {name!r} has {number_of(labels, 'label')} by now: say whether to remove it still.")
        self.labels = labels


def merge_class(journal: Journal, ledger: Ledger, class_: int, into: int, by: str) -> tuple[ClassChange, int]:
    """Let the labels of a class count for another; tell how many they are."""
    labels = ledger.by_class.get(class_, 0)
    return journal.merge_class(class_, into, by), labels


def remove_class(journal: Journal, ledger: Ledger, class_: int, labels: int, by: str) -> ClassChange:
    """Let a class be no more, if it has as many labels as whoever wants it believes: these stop counting."""
    classes, have = journal.class_list(), ledger.by_class.get(class_, 0)
    if class_ in classes and have != labels:
        raise LabelsChangedError(classes.name(class_), have)
    return journal.remove_class(class_, by)


def undo_class_change(journal: Journal, ledger: Ledger, change: int, by: str) -> ClassChange:
    """Take a change of the classes back; a class that was added and has labels by now is not lost that way."""
    for one in journal.class_list().changes:
        if one.id == change and one.kind == "add" and one.class_ is not None and (used := ledger.uses(one.class_)):
            raise ClassChangeError(
                f"The class {one.name!r} has {number_of(used, 'label')} by now, which would be lost: remove it instead."
            )
    return journal.undo_class_change(change, by)
