"""Features of the user's own: run for who names them, and what they return is checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepbass.core.errors import ConfigError, DataError
from deepbass.features import Computed, compute_features
from tests.features.found import Found, pictures

CODE = """
import numpy as np
import torch
from torch import nn

def module():
    return nn.Sequential(nn.AdaptiveAvgPool2d(2))  # N x 3 x 2 x 2

def sized():
    made = module()
    made.side = 40
    return made

def prepared():
    made = nn.Linear(4, 2)
    made.preprocess = lambda picture: torch.tensor([*picture.size, 1.0, 2.0])
    return made

def plain():
    return lambda texts: np.array([[len(text), 1.0] for text in texts])

def nan():
    return lambda texts: np.array([[np.nan if text == "bad" else 1.0] for text in texts])

def other_width():
    return lambda texts: np.ones((len(texts), 3 if "bad" in texts else 2))

def nothing():
    return lambda texts: None

def fewer():
    return lambda texts: np.ones((1, 2))

def raises():
    def compute(texts):
        if "bad" in texts:
            raise RuntimeError("cannot read this")
        return np.ones((len(texts), 2))
    return compute

def always_raises():
    return lambda texts: 1 / 0

def number():
    return 7

def fails():
    raise RuntimeError("no weights")
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(CODE)
    return path


def computed(code: Path, function: str, samples: Found) -> Computed:
    return compute_features(samples, None, f"{code}:{function}", named=f"{code}:{function}")


def test_a_module_is_given_normalised_pictures(code: Path, cache: Path) -> None:
    samples = Found("image", pictures(3, (50, 30)))
    found = computed(code, "module", samples)
    assert found.train[:].shape == (3, 12)
    assert "224 x 224" in found.notes[0]
    assert abs(found.train[:]).max() < 3
    assert "40 x 40" in computed(code, "sized", samples).notes[0]


def test_a_module_may_prepare_samples_itself(code: Path, cache: Path) -> None:
    assert computed(code, "prepared", Found("image", pictures(3))).train[:].shape == (3, 2)


def test_a_function_is_given_samples_as_they_were_found(code: Path, cache: Path) -> None:
    found = computed(code, "plain", Found("text", ["a", "bcd"]))
    assert found.train[:].tolist() == [[1, 1], [3, 1]]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("nan", r"own.py:nan' returned numbers that are not finite .* for sample-40"),
        ("other_width", r"own.py:other_width' returned 3 numbers a sample, beginning with sample-32, but 2 before"),
        ("nothing", r"own.py:nothing' returned nothing for sample-0"),
        ("fewer", r"own.py:fewer' returned an array of shape \(1, 2\) for 32 samples, beginning with sample-0"),
        ("always_raises", r"own.py:always_raises' fail on sample-0: division by zero"),
    ],
)
def test_what_is_returned_is_checked_and_the_sample_named(code: Path, cache: Path, function: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        computed(code, function, Found("text", [*map(str, range(40)), "bad", "good"]))


def test_samples_that_fail_are_named_skipped_and_counted(code: Path, cache: Path) -> None:
    found = computed(code, "raises", Found("text", [*map(str, range(40)), "bad", None, "good"]))
    assert found.train.failed == {40: "cannot read this", 41: "cut off"}
    assert np.flatnonzero(~found.train.ready).tolist() == [40, 41]
    assert "2 of 43 samples have no features and are left out: sample-4" in found.notes[-1]


@pytest.mark.parametrize(
    ("function", "message"),
    [("number", "returned a int"), ("fails", "no weights"), ("absent", "no function 'absent'")],
)
def test_what_is_no_extractor_is_refused(code: Path, function: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        computed(code, function, Found("text", ["a"]))


def test_code_is_not_run_because_a_configuration_names_it(tmp_path: Path) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    with pytest.raises(ConfigError, match="names features of its own"):
        compute_features(Found("text", ["a"]), None, f"{trap}:make", named=None)
    assert not (tmp_path / "sprung").exists()
