"""Notes: an act like others, only added, written once, taken back; the newest that stands is the item's."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepbass.label.acts import NewAct
from deepbass.label.journal import Journal, RefusedAct
from deepbass.label.ledger import Ledger
from deepbass.store.names import PROJECT_DB_FILE


def note(uid: str, text: str | None, by: str = "ann") -> NewAct:
    return NewAct(uid, 1, "note", by, "browse", note=text)


def test_the_newest_note_that_stands_is_the_items_whoever_wrote_it(tmp_path: Path) -> None:
    with Journal.create(tmp_path / PROJECT_DB_FILE, ["a", "b"]) as journal:
        journal.write([note("1", "blurred"), note("2", "ask Bob", by="cat"), note("2", "ask Bob", by="cat")])
        assert len(journal.acts()) == 2
        assert Ledger.of(journal.acts()).holds(1).note == "ask Bob"
        journal.write([NewAct("3", 1, "undo", "cat", "browse", undoes="2")])
        ledger = Ledger.of(journal.acts())
        assert ledger.holds(1).note == "blurred"
        assert not ledger.known(1) and not ledger.done_by("ann") and ledger.answered == {}
        journal.write([note("4", "")])
        assert Ledger.of(journal.acts()).holds(1).note == ""
        assert isinstance(journal.write([note("1", "other words")])[0], RefusedAct)


@pytest.mark.parametrize("text", [None, 5, "two\nlines", "x" * 501, "\ud800"])
def test_what_is_no_note_is_refused(tmp_path: Path, text: str | None) -> None:
    with Journal.create(tmp_path / PROJECT_DB_FILE, ["a", "b"], ["cat"]) as journal:
        assert isinstance(journal.write([note("1", text)])[0], RefusedAct)
        assert isinstance(journal.write([NewAct("2", 1, "label", "ann", "rank", 0, note="x")])[0], RefusedAct)
        assert journal.acts() == []
