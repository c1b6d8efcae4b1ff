"""Laws of what can be labelled: as data/ loads it, without a file being opened, and ids that keep their meaning."""

from __future__ import annotations

import builtins
import io
import os
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepbass.core.config import Config
from deepbass.core.errors import DataError
from deepbass.data.sources import open_source
from deepbass.label.items import Items, Unpicturable, load_pool, open_items
from tests.data.pictures import mixed_folder
from tests.label.test_pictures import RED, pixels, save

X = np.random.default_rng(0).integers(0, 256, (20, 6, 5), dtype=np.uint8)
y = np.arange(20) % 3 - 1


def labels_by_name(items: Items) -> dict[str, str]:
    return {items.names[place]: label for place, label in items.labels.items()}


def names_in_data(source: str) -> list[str]:
    """List the names that data/ gives to what it loads, training part first."""
    found = open_source(source, Config(), None, False)
    names: list[str] = []
    for part in (found.train, found.validation):
        if part is not None:
            count = len(np.asarray(part.X))
            names += [f"{part.names}/{i}" for i in range(count)] if isinstance(part.names, str) else part.names
    return names


def pets(folder: Path) -> Path:
    for name in ("cat/1.png", "cat/10.png", "cat/2.jpg", "dog/deep/er/1.png", "dog/B.png", "dog/a.png", "stray.png"):
        save(folder / name)
    return folder


def table(folder: Path, *rows: str, header: str = "path,label") -> str:
    (folder / "pets.csv").write_text("\n".join((header, *rows)), encoding="utf-8")
    return str(folder / "pets.csv")


def write_idx(path: Path, array: Any) -> None:
    values = np.asarray(array, dtype=np.uint8)
    header = struct.pack(">BBBB", 0, 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(header + values.tobytes())


def test_a_subfolder_is_a_label_and_names_are_those_of_data(tmp_path: Path) -> None:
    items = open_items(str(pets(tmp_path)))
    assert items.name == tmp_path.name
    assert items.names == names_in_data(str(tmp_path))
    assert len(items.names) == 7
    labels = labels_by_name(items)
    assert labels == {name: name.split("/")[0] for name in items.names if name != "stray.png"}


def test_a_flat_folder_has_no_labels(tmp_path: Path) -> None:
    save(tmp_path / "a.png")
    items = open_items(str(tmp_path))
    assert (items.names, items.labels) == (["a.png"], {})


@pytest.mark.parametrize("part", ["val", "validation", "test"])
def test_both_parts_of_a_folder_are_taken_with_the_class_for_a_label(part: str, tmp_path: Path) -> None:
    for folder in ("train", part):
        for class_ in ("cat", "dog"):
            save(tmp_path / folder / class_ / "0.png")
    save(tmp_path / "train" / "stray.png")
    items = open_items(str(tmp_path))
    assert items.names == names_in_data(str(tmp_path))
    assert items.names[-1] == f"{part}/dog/0.png"
    assert labels_by_name(items) == {name: name.split("/")[1] for name in items.names if name != "train/stray.png"}


def test_a_table_tells_labels_and_names_are_those_of_data(tmp_path: Path) -> None:
    folder = pets(tmp_path / "data")
    save(tmp_path / "other.png")
    rows = ["dog/a.png,Hund", "cat/2.jpg,", "cat/1.png,<b>", "../other.png,Hund", f"{folder}/dog/B.png,Katze"]
    source = table(
        folder, *(f"{row},{'val' if i % 2 else ''}" for i, row in enumerate(rows)), header="path,label,split"
    )
    items = open_items(source)
    assert items.name == "pets"
    assert items.names == names_in_data(source)
    assert labels_by_name(items) == {
        "dog/a.png": "Hund",
        "cat/1.png": "<b>",
        "../other.png": "Hund",
        f"{folder.as_posix()}/dog/B.png": "Katze",
    }
    for name in items.names:
        assert pixels(items, name).shape == (8, 8, 3)


def test_files_that_a_table_names_may_be_gone(tmp_path: Path) -> None:
    pets(tmp_path)
    source = table(tmp_path, "dog/a.png,Hund", "gone.png,Hund", "cat/1.png,Katze")
    items = open_items(source)
    assert items.names == ["cat/1.png", "dog/a.png"]
    assert "'gone.png' (line 3)" in items.notes[0]
    with pytest.raises(Unpicturable):
        items.picture("gone.png", 64)
    with pytest.raises(DataError, match=r"no images to label .*'lost\.png'"):
        open_items(table(tmp_path, "lost.png,a"))
    with pytest.raises(DataError, match="line 2: there is no file ''"):
        open_items(table(tmp_path, ",a"))


def test_a_link_that_a_table_names_may_lead_anywhere_but_not_be_turned_elsewhere(tmp_path: Path) -> None:
    folder = pets(tmp_path / "data")
    store, secret = save(tmp_path / "store" / "x.png"), save(tmp_path / "secret" / "x.png", colour=RED)
    (folder / "link.png").symlink_to(store)
    items = open_items(table(folder, "link.png,a", "cat/1.png,a", "../store/x.png,a"))
    assert all(pixels(items, name)[0, 0, 0] == 90 for name in items.names)
    for path in (folder / "link.png", folder / "cat" / "1.png", store):
        path.unlink()
        path.symlink_to(secret)
    for name in items.names:
        with pytest.raises(Unpicturable, match="leads out"):
            items.picture(name, 64)


def test_no_image_is_opened_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pets(tmp_path)
    source = table(tmp_path, "dog/a.png,Hund", "cat/1.png,Katze")
    opened: list[str] = []
    real = builtins.open, os.open

    def spy(which: int) -> Any:
        def open_(path: Any, *args: Any, **kwargs: Any) -> Any:
            opened.append(str(path))
            return real[which](path, *args, **kwargs)

        return open_

    for module in (builtins, io):  # pathlib asks io
        monkeypatch.setattr(module, "open", spy(0))
    monkeypatch.setattr(os, "open", spy(1))
    items = open_items(str(tmp_path))
    open_items(source)
    assert not [path for path in opened if path.endswith((".png", ".jpg"))]
    items.picture("dog/a.png", 64)
    assert [path for path in opened if path.endswith(".png")]


def test_links_that_lead_out_of_the_folder_are_not_listed(tmp_path: Path) -> None:
    folder = pets(tmp_path / "pets")
    save(tmp_path / "secret" / "x.png", colour=RED)
    (folder / "cat" / "out.png").symlink_to(tmp_path / "secret" / "x.png")
    (folder / "bird").symlink_to(tmp_path / "secret")
    items = open_items(str(folder))
    assert len(items.names) == 7
    assert "bird, cat/out.png" in items.notes[0]
    for name in ("cat/out.png", "bird/x.png"):
        with pytest.raises(Unpicturable):
            items.picture(name, 64)


@pytest.mark.parametrize("name", ["<script>alert(1)<", "a b%20c&d?e#f", "mö'öw", 'say "hi"', "new\nline", "-1"])
def test_names_and_labels_are_data(name: str, tmp_path: Path) -> None:
    save(tmp_path / "<script>" / f"{name}.png", colour=RED)
    items = open_items(str(tmp_path))
    assert items.names == [f"<script>/{name}.png"]
    assert items.labels == {0: "<script>"}
    assert (pixels(items, items.names[0]) == RED).all()


@pytest.mark.skipif(sys.platform != "linux", reason="names must be text here")
def test_names_that_are_no_text_are_left_out_and_noted(tmp_path: Path) -> None:
    save(tmp_path / "a.png")
    os.link(tmp_path / "a.png", os.path.join(os.fsencode(tmp_path), b"\xff.png"))  # noqa: PTH118
    items = open_items(str(tmp_path))
    assert items.names == ["a.png"]
    assert r"'\udcff.png'" in items.notes[0]


@pytest.mark.parametrize("kind", ["X.npy", "scans.npy", "folder", "some.npz", "keras.npz"])
@pytest.mark.parametrize("labelled", [True, False])
def test_arrays_need_no_labels(kind: str, labelled: bool, tmp_path: Path) -> None:
    labels: dict[str, Any] = {"y": y} if labelled else {}
    if kind == "keras.npz":
        np.savez(tmp_path / kind, x_train=X, **{f"{name}_train": array for name, array in labels.items()})
    elif kind.endswith("npz"):
        np.savez(tmp_path / kind, X=X, **labels)
    else:
        np.save(tmp_path / f"{kind.removesuffix('.npy') if kind != 'folder' else 'X'}.npy", X)
        if labelled:
            np.save(tmp_path / "y.npy", y)
    source = str(tmp_path if kind == "folder" else tmp_path / kind)
    items = open_items(source)
    assert items.names == [f"train/{i}" for i in range(20)]
    if labelled:
        assert items.names == names_in_data(source)
    assert items.labels == ({i: str(label) for i, label in enumerate(y) if label >= 0} if labelled else {})
    np.testing.assert_array_equal(pixels(items, "train/7"), X[7])


def test_text_labels_of_arrays_are_brought_along(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "some.npz", X=X[:3], y=np.array(["cat", "", "dög"]), X_val=X[3:5], y_val=np.array(["cat", "-1"])
    )
    items = open_items(str(tmp_path / "some.npz"))
    assert labels_by_name(items) == {"train/0": "cat", "train/2": "dög", "validation/0": "cat"}
    np.testing.assert_array_equal(pixels(items, "validation/1"), X[4])


@pytest.mark.parametrize("labelled", [True, False])
def test_idx_files_need_no_labels(labelled: bool, tmp_path: Path) -> None:
    write_idx(tmp_path / "train-images-idx3-ubyte", X)
    write_idx(tmp_path / "t10k-images-idx3-ubyte", X[:2])
    if labelled:
        write_idx(tmp_path / "train-labels-idx1-ubyte", np.arange(20) % 3)
        write_idx(tmp_path / "t10k-labels-idx1-ubyte", [2, 1])
    items = open_items(str(tmp_path))
    assert len(items.names) == 22
    assert items.labels == ({i: str(i % 3) for i in range(20)} | {20: "2", 21: "1"} if labelled else {})
    np.testing.assert_array_equal(pixels(items, "validation/1"), X[1])
    pool, ids = load_pool(str(tmp_path), items.names, Config())
    np.testing.assert_array_equal(ids, np.arange(22))
    np.testing.assert_array_equal(pool.picture(21), X[1])


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.linspace(0, 1, 30).reshape(1, 6, 5), np.round(np.linspace(0, 1, 30) * 255).reshape(6, 5)),
        (np.arange(30).reshape(1, 6, 5) - 10, np.round(np.arange(30) / 29 * 255).reshape(6, 5)),
        (np.full((1, 6, 5, 3), RED, dtype=np.uint8), np.full((6, 5, 3), RED)),
        (np.full((1, 6, 5, 4), (*RED, 9), dtype=np.uint8), np.full((6, 5, 3), RED)),
        (np.eye(6)[None] > 0, np.eye(6) * 255),
    ],
)
def test_arrays_of_any_kind_of_pixels_are_shown(array: Any, expected: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", array)
    np.testing.assert_array_equal(pixels(open_items(str(tmp_path)), "train/0"), expected)


def test_large_arrays_are_shown_small(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.full((1, 300, 600, 3), 77, dtype=np.uint8))
    picture = open_items(str(tmp_path)).picture("train/0", 100)
    assert picture.media_type == "image/jpeg"
    assert pixels(open_items(str(tmp_path)), "train/0", 100).shape == (50, 100, 3)


def test_what_is_no_image_can_be_labelled_but_not_shown(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.zeros((5, 4)))
    items = open_items(str(tmp_path))
    assert items.names == [f"train/{i}" for i in range(5)]
    with pytest.raises(Unpicturable, match="this sample is no image: it has the shape 4"):
        items.picture("train/0", 64)
    with pytest.raises(Unpicturable, match="not there"):
        items.picture("train/5", 64)
    with pytest.raises(Unpicturable, match="not there"):
        items.picture("train/-1", 64)
    pool, ids = load_pool(str(tmp_path), items.names, Config())
    assert (pool.shape, ids.tolist()) == ((4,), [0, 1, 2, 3, 4])


def test_a_sample_with_a_hole_is_neither_shown_nor_trained_on(tmp_path: Path) -> None:
    holes = np.zeros((5, 6, 5))
    holes[1, 2, 3], holes[3, 0, 0] = np.nan, 1e300
    np.save(tmp_path / "X.npy", holes)
    items = open_items(str(tmp_path))
    for name in ("train/1", "train/3"):
        with pytest.raises(Unpicturable, match="not a finite number"):
            items.picture(name, 64)
    _, ids = load_pool(str(tmp_path), items.names, Config())
    assert ids.tolist() == [0, 2, 4]


def test_unlike_parts_are_refused(tmp_path: Path) -> None:
    for other in (X[:, :3], X / 256):
        np.savez(tmp_path / "some.npz", X=X, X_val=other)
        with pytest.raises(DataError, match="bring both to one shape and type"):
            open_items(str(tmp_path / "some.npz"))


def test_named_data_sets_bring_no_labels(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    items = open_items("digits")
    assert (items.name, len(items.names), items.labels) == ("digits", 1797, {})
    assert items.names == names_in_data("digits")
    assert pixels(items, "train/3").shape == (8, 8)


def test_what_cannot_be_labelled_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="toy data set has points, not pictures"):
        open_items("toy")
    with pytest.raises(DataError, match="toy data set has points, not pictures"):
        load_pool("toy", [], Config())
    with pytest.raises(DataError, match=r"no data set and no file 'mnits'\. Did you mean 'mnist'"):
        open_items("mnits")
    with pytest.raises(DataError, match="has no images to label: add some"):
        open_items(str(tmp_path))


def test_a_pool_has_the_rows_of_the_project_in_its_order_without_the_gone_and_the_broken(tmp_path: Path) -> None:
    mixed_folder(tmp_path, 20)
    now = open_items(str(tmp_path)).names
    (tmp_path / now[0]).unlink()
    names = [*reversed(now), "a/never.png", "../b/000.png"]  # as the project has them, oldest first
    pool, ids = load_pool(str(tmp_path), names[4:], Config(image_size=16, strict=True))
    broken = {"a/cut.png", "b/cut.jpg", "a/empty.gif", "b/text.png"}
    expected = [i for i, name in enumerate(names[4:]) if name in set(now[1:]) - broken]
    assert ids.tolist() == expected
    assert ids.dtype == np.int64
    assert [pool.name(row) for row in range(len(pool))] == [names[4:][id_] for id_ in ids]
    assert pool.shape == (3, 16, 16)


def test_a_pool_of_all_is_what_a_run_loads(tmp_path: Path) -> None:
    mixed_folder(tmp_path, 20)
    pool, ids = load_pool(str(tmp_path), open_items(str(tmp_path)).names, Config())
    run = open_source(str(tmp_path), Config(), None, False).train
    assert [pool.name(row) for row in range(len(ids))] == run.names
    np.testing.assert_array_equal(pool.read(range(len(pool))) * 256, np.asarray(run.X))


def test_rows_of_arrays_follow_the_project_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "some.npz", X=X[:6], X_val=X[6:9])
    names = ["validation/2", "train/5", "train/99", "validation/0", "train/0"]
    pool, ids = load_pool(str(tmp_path / "some.npz"), names, Config())
    assert ids.tolist() == [0, 1, 3, 4]
    assert [pool.name(row) for row in range(4)] == [names[id_] for id_ in ids]
    np.testing.assert_array_equal(pool.read([0, 1, 2, 3]) * 256, X[[8, 5, 6, 0]][:, None])


def test_a_pool_of_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no")
    with pytest.raises(DataError, match=r"None of the 1 samples of .* can be read"):
        load_pool(str(tmp_path), ["a.png"], Config())
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(DataError, match=r"None of the 0 samples of .* can be read"):
        load_pool(str(tmp_path), [], Config())
