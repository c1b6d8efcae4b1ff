"""Others like one: the nearest are offered, and only what nobody else has a claim on; no number is distorted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deepbass.data.pool import Pool
from deepbass.label.acts import Act
from deepbass.label.agreement import agreements
from deepbass.label.alike import Alike, find_alike, objection_to_alike
from deepbass.label.leases import Lease, Leases
from deepbass.label.ledger import Ledger
from deepbass.label.neighbours import DIMENSIONS, Neighbours, write_neighbours
from deepbass.label.second_opinions import SecondOpinions
from deepbass.label.settings import Settings
from deepbass.store.names import NEIGHBOURS_FILE
from deepbass.trainer.item_rows import ItemRows
from deepbass.trainer.placing import place_items

ITEMS = 30


def on_a_line(folder: Path) -> Neighbours:
    """Let every item lie at its own number; the trainer has not seen the last."""
    places = np.zeros((ITEMS, DIMENSIONS))
    places[:, 0] = np.arange(ITEMS)
    places[-1] = np.nan
    write_neighbours(folder, places)
    found = Neighbours.open(folder)
    assert found is not None
    return found


def act(number: int, kind: str, item: int, class_: int | None = None, by: str = "ann", why: str = "rank") -> Act:
    return Act(f"u{number}", item, kind, by, why, class_, id=number, at="2026-01-01T00:00:00+00:00")  # type: ignore[arg-type]


def alike_to(item: int, neighbours: Neighbours | None, ledger: Ledger, leases: Leases | None = None) -> Alike:
    return find_alike(neighbours, ledger, leases or Leases(), {12}, ITEMS, item, "ann", 6, 100.0)


def test_the_nearest_are_offered_but_none_that_somebody_else_has_a_claim_on(tmp_path: Path) -> None:
    leases = Leases([Lease(8, "bob", "rank", 200.0), Lease(7, "bob", "rank", 50.0), Lease(13, "ann", "rank", 200.0)])
    ledger = Ledger.of(
        [
            act(1, "label", 10, 1),
            act(2, "label", 11, 0, by="bob"),
            act(3, "flag", 14),
            act(4, "unsure", 15),
            act(5, "veto", 16, 1),
            act(6, "veto", 17, 0),
        ],
        reserve={9},
    )
    found = alike_to(10, on_a_line(tmp_path), ledger, leases)
    # not 8 (with bob), 9 (test question), 11 (labelled), 12 (gone), 14 (flagged), 15 (beyond ann), 16 (refused)
    assert found == Alike(1, [(7, 3.0), (13, 3.0), (6, 4.0), (5, 5.0), (4, 6.0), (3, 7.0)])
    assert objection_to_alike(ledger, leases, 8, "ann", 100.0) == "'bob' is just being asked about it"
    assert [objection_to_alike(ledger, leases, item, "ann", 100.0) is None for item in (9, 11, 7, 13)] == [
        False,
        False,
        True,
        True,
    ]


def test_nothing_is_offered_beside_a_test_question_or_what_has_no_label_or_no_place(tmp_path: Path) -> None:
    ledger = Ledger.of([act(1, "label", 9, 1, why="audit"), act(2, "label", ITEMS - 1, 0)], reserve={9})
    neighbours = on_a_line(tmp_path)
    assert "test question" in str(alike_to(9, neighbours, ledger).why_none)
    assert "no label" in str(alike_to(3, neighbours, ledger).why_none)
    assert "not seen it" in str(alike_to(ITEMS - 1, neighbours, ledger).why_none)
    assert "not seen it" in str(alike_to(ITEMS - 1, None, ledger).why_none)


def test_labels_given_at_one_look_are_trained_on_but_are_no_opinions(tmp_path: Path) -> None:
    settings = Settings(twice=1.0, audit=0.0)
    acts = [act(1, "label", 0, 1, why="alike"), act(2, "label", 1, 1), act(3, "label", 0, 0, by="bob", why="twice")]
    ledger = Ledger.of(acts, reserve={5})
    assert list(SecondOpinions(Ledger.of(acts[:2]), settings, ITEMS).waiting_for("bob")) == [1]
    assert agreements(ledger.labels_by_person()) == {}
    assert ledger.disagreements() == [0]  # all the same: whoever differs is heard
    assert Ledger.of(acts[:2]).training_labels() == {0: 1, 1: 1}
    assert Ledger.of(acts[:2]).answered == {"rank": 1}  # the pace of the audit goes by questions
    assert Ledger.of([act(1, "label", 5, 1, why="alike")], reserve={5}).audit_labels() == {}


def test_one_undo_takes_back_what_one_click_gave() -> None:
    def labelled(number: int, uid: str) -> Act:
        return Act(uid, number, "label", "ann", "alike", 1, id=number, at="now")

    ledger = Ledger.of([labelled(1, "a.0"), labelled(2, "g.0"), labelled(3, "g.1"), labelled(4, "g.2")])
    assert [one.uid for one in ledger.last_group_of("ann")] == ["g.0", "g.1", "g.2"]
    ledger.take(Act("x", 4, "undo", "ann", "alike", None, "g.2", id=5, at="now"))
    assert [one.uid for one in ledger.last_group_of("ann")] == ["g.0", "g.1"]
    ledger.take(labelled(6, "h"))
    assert [one.uid for one in ledger.last_group_of("ann")] == ["h"]
    assert ledger.last_group_of("bob") == []


@pytest.mark.parametrize("content", [b"", b"half a row", b"\0" * (DIMENSIONS * 2 - 1)])
def test_a_file_of_half_a_row_is_none(tmp_path: Path, content: bytes) -> None:
    assert Neighbours.open(tmp_path) is None
    (tmp_path / NEIGHBOURS_FILE).write_bytes(content)
    assert Neighbours.open(tmp_path) is None


def test_a_damaged_file_leads_to_wrong_neighbours_at_worst(tmp_path: Path) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        (tmp_path / NEIGHBOURS_FILE).write_bytes(rng.bytes(ITEMS * DIMENSIONS * 2))
        neighbours = Neighbours.open(tmp_path)
        assert neighbours is not None
        for item in range(ITEMS):
            assert all(np.isfinite(away) for _, away in neighbours.nearest(item, np.arange(ITEMS), 5))


def clusters(width: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    middles = rng.normal(0, 1e5, (3, width))  # more than 16 bits can hold
    return (middles[np.arange(90) % 3] + rng.normal(0, 1e3, (90, width))).astype(np.float32)


@pytest.mark.parametrize("width", [2, 300])
def test_what_the_trainer_lays_out_keeps_like_with_like(tmp_path: Path, width: int) -> None:
    items = np.arange(90) + 5  # the first five could not be read
    write_neighbours(tmp_path, place_items(Pool(clusters(width), "x"), ItemRows(items, 95), np.random.default_rng(0)))
    neighbours = Neighbours.open(tmp_path)
    assert neighbours is not None
    found = [item for item, _ in neighbours.nearest(5, np.arange(95), 30)]
    assert sorted(found) == [item for item in range(5, 95) if (item - 5) % 3 == 0]
    assert neighbours.nearest(2, np.arange(95), 30) == []
