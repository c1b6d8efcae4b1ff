"""The front door: what is chosen, computed, told and saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.raw_samples import Kind
from deepbass.features import choose, compute_features, open_features, pack_extractor, unpack_extractor
from tests.features.found import Found, pictures
from tests.features.test_tabular import ROWS

TEXTS = [f"text {number} of {['cats', 'dogs'][number % 2]}" for number in range(40)]


@pytest.mark.parametrize(
    ("kind", "samples", "chosen"),
    [
        ("image", pictures(3, (28, 28), "L"), "pixels"),
        ("image", pictures(3, (32, 32)), "imagenet-depths"),
        ("image", pictures(3, (300, 200), "L"), "imagenet-depths"),
        ("text", TEXTS, "sentences-words"),
        ("row", ROWS, "table"),
    ],
)
def test_auto_chooses_by_the_data(kind: Kind, samples: list[Any], chosen: str) -> None:
    choice = choose(Found(kind, samples), "auto")
    assert choice.name == chosen
    assert choice.why
    assert choice.gain is None


@pytest.mark.parametrize(
    ("lookup", "kind", "chosen", "extra"),
    [("network_weights", "image", "pixels", "photos"), ("language_model", "text", "words", "texts")],
)
def test_auto_tells_what_an_extra_would_gain(
    monkeypatch: pytest.MonkeyPatch, lookup: str, kind: Kind, chosen: str, extra: str
) -> None:
    monkeypatch.setattr(f"deepbass.features.choice.{lookup}", lambda: None)
    choice = choose(Found(kind, TEXTS if kind == "text" else pictures(2)), "auto")
    assert choice.name == chosen
    assert f"pip install 'deepbass[{extra}]'" in (choice.gain or "")


def test_features_that_do_not_fit_the_samples_are_refused() -> None:
    with pytest.raises(
        ConfigError, match="'imagenet' are for pictures, and these are texts: use sentences, sentences-words, words"
    ):
        compute_features(Found("text", TEXTS), None, "imagenet")
    with pytest.raises(ConfigError, match="nothing to compute"):
        compute_features(Found("image", pictures(1)), None, "pixels")


def test_both_parts_are_computed_and_fitted_on_the_first(cache: Path) -> None:
    told: list[tuple[int, int]] = []
    train, held = Found("row", ROWS), Found("row", [{"colour": "unheard of"}, ROWS[3]])
    found = compute_features(train, held, "table", progress=lambda *at: told.append(at), order=[7, 7])
    assert found.validation is not None
    assert found.train.shape == (60, 7)
    assert found.validation.shape == (2, 7)
    np.testing.assert_array_equal(found.train[3], found.validation[1])
    assert told[0] == (0, 62)
    assert told[-1] == (62, 62)
    assert train.read_rows[60] == 7  # after those that were fitted on


def test_what_is_opened_is_computed_as_it_is_needed(cache: Path) -> None:
    found = open_features(Found("row", ROWS), None, "table")
    assert not found.train.ready.any()
    found.train.compute([5])
    assert found.train.ready.sum() == 1


def test_if_every_sample_fails_that_is_an_error(cache: Path) -> None:
    with pytest.raises(DataError, match="None of the 2 samples has features; sample-0: cut off"):
        compute_features(Found("text", [None, None]), None, "sentences")


@pytest.mark.parametrize(
    ("choice", "kind", "samples"),
    [
        ("imagenet", "image", pictures(2)),
        ("imagenet-depths", "image", pictures(2)),
        ("sentences", "text", TEXTS[:3]),
        ("sentences-words", "text", TEXTS),
        ("sentences-words", "text", ["?", "!!", "..."]),
        ("words", "text", TEXTS),
        ("table", "row", ROWS),
    ],
)
def test_a_saved_extractor_computes_the_same(choice: str, kind: Kind, samples: list[Any], cache: Path) -> None:
    found = open_features(Found(kind, samples), None, choice)
    again = unpack_extractor(pack_extractor(found.extractor), "here")
    assert again.identity == found.extractor.identity
    assert (again.name, again.kind, again.width) == (choice, kind, found.extractor.width)
    np.testing.assert_array_equal(again.compute(samples[:2]), found.extractor.compute(samples[:2]))


def test_a_saved_extractor_of_ones_own_is_named_again(tmp_path: Path, cache: Path) -> None:
    path, moved = tmp_path / "own.py", tmp_path / "moved.py"
    path.write_text("def lengths():\n    return lambda texts: [[len(text), 1.0] for text in texts]\n")
    named = f"{path}:lengths"
    packed = pack_extractor(compute_features(Found("text", TEXTS), None, named, named=named).extractor)
    with pytest.raises(ConfigError, match=r"here names features of its own"):
        unpack_extractor(packed, "here")
    path.rename(moved)
    again = unpack_extractor(packed, "here", named=f"{moved}:lengths")
    assert again.compute(["four"]).tolist() == [[4, 1]]
    moved.write_text(moved.read_text() + "# changed\n")
    with pytest.raises(ConfigError, match="train again"):
        unpack_extractor(packed, "here", named=f"{moved}:lengths")


def test_another_version_than_a_model_was_trained_with_is_refused() -> None:
    packed = _packed({"name": "sentences", "identity": "all-MiniLM-L6-v2 of another time"})
    with pytest.raises(ConfigError, match="install the same versions, or train again"):
        unpack_extractor(packed, "here")


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x10\x00\x00\x00",
        safetensors.numpy.save({"idf": np.ones(2)}),
        *(
            safetensors.numpy.save({"facts": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)})
            for facts in (
                7,
                {"name": "clairvoyance"},
                {"name": "words", "version": 1, "terms": ["a"]},
                {"name": "table", "version": 1, "numbers": [[0, {"column": "a"}]], "categories": [], "left_out": {}},
                {"name": "imagenet", "identity": "x", "side": "large"},
                {"name": "imagenet", "identity": "x", "side": 10**9},
            )
        ),
    ],
)
def test_damaged_descriptions_are_refused(packed: bytes) -> None:
    with pytest.raises(DataError, match=r"here is not a readable description of features"):
        unpack_extractor(packed, "here")


def _packed(facts: dict[str, Any]) -> bytes:
    return safetensors.numpy.save({"facts": np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)})
