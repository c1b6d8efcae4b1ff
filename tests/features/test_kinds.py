"""Small grey pictures of signs stay pixels; those of things are seen through a network that knows photographs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.cbook import get_sample_data
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_digits, load_sample_images

from deepbass.data.raw_images import ArrayImages
from deepbass.features import choose
from deepbass.features.kinds import inception_score, kinds_seen
from tests.features.found import Found


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def letters(count: int, rng: np.random.Generator) -> list[Image.Image]:
    """Draw letters, dark on light, each where and as large as it happens to be."""
    pictures = []
    for _ in range(count):
        picture = Image.new("L", (28, 28), 255)
        font = ImageFont.load_default(int(rng.integers(14, 24)))
        where = tuple(rng.integers(0, 8, 2).tolist())
        ImageDraw.Draw(picture).text(where, "ABCDEFGHIJ"[rng.integers(10)], fill=0, font=font)
        pictures.append(picture.rotate(float(rng.uniform(-15, 15)), fillcolor=255))
    return pictures


def photographs(count: int, rng: np.random.Generator) -> list[Image.Image]:
    """Cut small grey pictures out of photographs of a temple, a flower and a person."""
    whole = [Image.fromarray(image) for image in load_sample_images().images]
    whole.append(Image.open(str(get_sample_data("grace_hopper.jpg", asfileobj=False))))
    pictures = []
    for number in range(count):
        of, side = whole[number % len(whole)], int(rng.integers(100, 300))
        left, top = int(rng.integers(of.width - side)), int(rng.integers(of.height - side))
        pictures.append(of.crop((left, top, left + side, top + side)).resize((32, 32)).convert("L"))
    return pictures


def test_the_score_is_the_number_of_kinds_where_every_picture_is_surely_of_one() -> None:
    assert inception_score(np.eye(7)[np.arange(70) % 7]) == pytest.approx(7)
    assert inception_score(np.eye(7)[np.zeros(70, dtype=int)]) == pytest.approx(1)
    assert inception_score(np.full((70, 7), 1 / 7)) == pytest.approx(1)


def test_the_score_is_that_of_five_lines(rng: np.random.Generator) -> None:
    probs = rng.dirichlet(np.ones(5), 30)
    divergences = [sum(p * np.log(p / q) for p, q in zip(row, probs.mean(0), strict=True)) for row in probs]
    assert inception_score(probs) == pytest.approx(np.exp(np.mean(divergences)))


def test_signs_stay_pixels_and_things_do_not(rng: np.random.Generator) -> None:
    signs, things = Found("image", letters(300, rng)), Found("image", photographs(300, rng))
    assert kinds_seen(signs.samples[:32]) < 4 < kinds_seen(things.samples[:32])
    stay, seen = choose(signs, "auto"), choose(things, "auto")
    assert (stay.name, seen.name) == ("pixels", "imagenet-depths")
    assert "small grey pictures (28 pixels)" in stay.why
    assert "kinds of things" in stay.why
    assert len(signs.read_rows) == 24 + 32  # a few are enough to tell that it knows none of them


def test_digits_and_noise_stay_pixels(rng: np.random.Generator) -> None:
    for array in (load_digits().images, rng.random((40, 8, 8)), np.zeros((40, 16, 16))):
        assert choose(ArrayImages(array), "auto").name == "pixels"


@pytest.mark.parametrize("network", ["cnn", "small-cnn", "own", "net.py:build"])
def test_a_network_that_reads_pictures_is_given_pictures(network: str, rng: np.random.Generator) -> None:
    things: Any = Found("image", photographs(40, rng))
    assert choose(things, "auto", network).name == "pixels"
    assert len(things.read_rows) <= 24  # nobody was asked what is in them


def test_photographs_in_colour_are_pixels_only_for_a_network_that_says_so() -> None:
    colour = Found("image", [Image.new("RGB", (32, 32), "red")])
    assert choose(colour, "auto", "small-cnn").name == "pixels"
    assert choose(colour, "auto", "own").name == "imagenet-depths"
