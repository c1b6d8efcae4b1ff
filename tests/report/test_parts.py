"""The small parts: markup, pictures, words."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from matplotlib.image import imread

from deepbass.report.canvas import spread
from deepbass.report.markup import document, tag
from deepbass.report.png import Picture, encode_png, shrink
from deepbass.report.words import SPACE, counted, duration, percent, shorten

from .parsed import Page

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1)
shapes = st.one_of(st.tuples(st.integers(1, 40), st.integers(1, 40)), st.tuples(*[st.integers(1, 40)] * 2, st.just(3)))
pictures = hnp.arrays(np.uint8, shapes)


@given(words, words)
def test_any_text_comes_back_as_text(text: str, attribute: str) -> None:
    page = Page(document(tag("p", tag("b", "x"), text, title=attribute)).decode())
    assert page.elements == [("p", {"title": attribute}), ("b", {})]
    assert "".join(data for inside, data in page.texts if inside == "p") == (text if text.strip() else "")


@given(pictures)
def test_a_picture_comes_back_pixel_by_pixel(picture: Picture) -> None:
    read = imread(io.BytesIO(encode_png(picture)))
    np.testing.assert_array_equal(np.round(read * 255).astype(np.uint8), picture)


@given(pictures, st.integers(1, 50))
def test_a_shrunken_picture_fits_and_stays_between_its_darkest_and_brightest(picture: Picture, side: int) -> None:
    small = shrink(picture, side)
    assert max(small.shape[:2]) <= side
    assert small.shape[2:] == picture.shape[2:]
    assert picture.min() <= small.min()
    assert small.max() <= picture.max()


def test_a_picture_that_fits_stays_as_it_is() -> None:
    picture = np.arange(64, dtype=np.uint8).reshape(8, 8)
    assert shrink(picture, 8) is picture


@given(st.floats(0, 1))
def test_only_all_is_a_hundred_percent(share: float) -> None:
    assert (percent(share) == f"100.0{SPACE}%") == (share == 1)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.051, "0.051 s"), (3.14, "3.1 s"), (9.99, "10 s"), (59.7, "1 min 0 s"), (125, "2 min 5 s"), (7322, "2 h 2 min")],
)
def test_a_time_is_said_in_units_that_matter(seconds: float, said: str) -> None:
    assert duration(seconds).replace(SPACE, " ") == said


def test_counts_agree_with_their_noun() -> None:
    assert [counted(n, "label") for n in (0, 1, 59700)] == [f"0{SPACE}labels", f"1{SPACE}label", f"59,700{SPACE}labels"]


@given(st.text(), st.integers(2, 30))
def test_a_shortened_name_is_short_and_says_so(name: str, length: int) -> None:
    short = shorten(name, length)
    assert len(short) <= length
    assert short == name or short.endswith("…")


@given(st.lists(st.floats(0, 1), max_size=6), st.floats(0.01, 0.3))
def test_places_are_spread_no_further_than_needed(wanted: list[float], gap: float) -> None:
    places = spread(wanted, gap)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    apart = np.diff([places[i] for i in order])
    assert (apart >= gap - 1e-9).all()  # apart, in the same order
    assert sum(places) == pytest.approx(sum(wanted))  # and centred on where they belong
    if (np.diff(sorted(wanted)) >= gap).all():
        assert places == pytest.approx(wanted)
