"""Laws of the spread: unlike ones first, every cluster early, by seed alone, and nothing twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from deepbass.label import spread as spread_module
from deepbass.label.items import Items, open_items
from deepbass.label.pictures import Sight, Unpicturable
from deepbass.label.spread import spread


def made_of(levels: list[int | None]) -> Items:
    """Make samples that are even grey; None cannot be shown."""

    def see(name: str, side: int) -> Sight:
        level = levels[int(name)] if name.isdecimal() else None
        if level is None:
            raise Unpicturable("none")
        return Sight(Image.new("L", (20, 10), level), True)

    return Items("made", [str(i) for i in range(len(levels))], {}, (), see)


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 255)), max_size=30),
    st.data(),
    st.integers(0, 40),
    st.integers(0, 5),
)
@settings(max_examples=40)
def test_it_is_an_order_of_some_of_the_ids(
    levels: list[int | None], data: st.DataObject, count: int, seed: int
) -> None:
    items = made_of(levels)
    ids = data.draw(st.lists(st.sampled_from(range(len(levels))), unique=True)) if levels else []
    chosen = spread(items, ids, count, seed)
    assert len(chosen) == min(count, len(ids))
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= set(ids)
    assert chosen == spread(items, ids[::-1], count, seed)
    assert chosen == spread(items, ids, 40, seed)[:count]
    blind = [levels[id_] is None for id_ in spread(items, ids, 40, seed)]
    assert blind == sorted(blind)  # what cannot be seen comes last


@pytest.mark.parametrize("seed", range(5))
def test_every_cluster_is_met_before_any_is_met_twice(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    centres = rng.permutation(np.kron(np.eye(7), np.ones(4))[:, :, None] * np.ones(28) * 200)
    of = rng.integers(0, 7, 200)
    images = centres[of] + rng.integers(0, 5, (200, 28, 28))
    np.save(tmp_path / "X.npy", images.astype(np.uint8))
    chosen = spread(open_items(str(tmp_path)), range(200), 7, seed)
    assert len({of[id_] for id_ in chosen}) == len(np.unique(of))


def test_seeds_draw_unlike_orders_and_types_of_ids_do_not_matter() -> None:
    items = made_of(list(range(100)))
    orders = {tuple(spread(items, range(100), 5, seed)) for seed in range(10)}
    assert len(orders) > 5
    chosen = spread(items, np.arange(100), 5, 3)
    assert chosen == spread(items, list(range(100)), 5, 3)
    assert all(type(id_) is int for id_ in chosen)


def test_twins_come_after_what_differs() -> None:
    chosen = spread(made_of([7, 7, 7, 200, 7, 7]), range(6), 6, 0)
    assert 3 in chosen[:2]
    assert sorted(chosen) == list(range(6))


def test_only_a_part_is_looked_at_and_what_was_not_comes_before_what_cannot_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spread_module, "LOOKED_AT", 10)
    items = made_of([None if i % 2 else i for i in range(50)])
    looked: list[str] = []
    real = items.see

    def see(name: str, side: int) -> Sight:
        looked.append(name)
        return real(name, side)

    chosen = spread(Items("", items.names, {}, (), see), range(50), 50, 1)
    assert sorted(chosen) == list(range(50))
    assert len(looked) == 10
    blind = [id_ for id_ in map(int, looked) if id_ % 2]
    assert blind
    assert set(chosen[-len(blind) :]) == set(blind)
    assert set(chosen[: 10 - len(blind)]) == set(map(int, looked)) - set(blind)


def test_ids_may_be_places_in_a_list_of_the_project() -> None:
    items = made_of([0, 250, 10])
    chosen = spread(items, [5, 7, 9], 3, 0, names=["gone"] * 5 + ["2", "gone", "0", "gone", "1"])
    assert {chosen[0], chosen[1]} in ({9, 5}, {9, 7})
    assert sorted(chosen) == [5, 7, 9]
    assert spread(items, [0, 9, 1], 3, 0, names=["gone"] * 9 + ["1"])[0] == 9


def test_broken_images_of_a_folder_come_last(tmp_path: Path) -> None:
    for i in range(6):
        Image.new("RGB", (90, 60), (40 * i, 0, 0)).save(tmp_path / f"{i}.jpg")
    (tmp_path / "0.jpg").write_text("no")
    assert spread(open_items(str(tmp_path)), range(6), 6, 0)[-1] == 0
