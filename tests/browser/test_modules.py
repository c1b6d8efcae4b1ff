"""The page's own modules, one at a time: keys, words, the chart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from .conftest import Visit, serving, visiting

THIN = "\u202f"


@pytest.fixture(scope="module")
def ann(browser: Browser) -> Iterator[Visit]:
    """Open one page for all, for the modules that it brings: what it shows is nothing to them."""
    with serving() as serve, visiting(browser) as visit:
        yield visit(serve())


def call(visit: Visit, module: str, function: str, *arguments: Any) -> Any:
    """Call what a module exports."""
    return visit.page.evaluate(
        "async ([module, name, given]) => (await import(`/static/${module}.js`))[name](...given)",
        [module, function, list(arguments)],
    )


def key(key: str, code: str = "", **modifiers: bool) -> dict[str, Any]:
    """Describe a key press as the browser does."""
    held = {"ctrlKey": False, "metaKey": False, "altKey": False, "shiftKey": False}
    return {"key": key, "code": code, **held, **modifiers}


def test_keys_have_the_same_name_on_every_keyboard(ann: Visit) -> None:
    presses = {
        "1": [key("1"), key("&", "Digit1"), key("1", "Digit1", shiftKey=True), key("1", "Numpad1")],  # AZERTY
        "": [key("!", "Digit1", shiftKey=True), key("1", ctrlKey=True), key("z", metaKey=True, altKey=True)],
        "f": [key("f"), key("F"), key("а", "KeyF")],  # noqa: RUF001  (Caps Lock, Cyrillic)
        "shift+f": [key("F", shiftKey=True), key("А", "KeyF", shiftKey=True)],  # noqa: RUF001
        "ctrl+z": [key("z", ctrlKey=True), key("z", metaKey=True)],
        "?": [key("?", "Slash", shiftKey=True), key("?", "Minus", shiftKey=True)],
        "space": [key(" ")],
        "shift+arrowleft": [key("ArrowLeft", shiftKey=True)],
    }
    for name, same in presses.items():
        assert [call(ann, "keys", "keyName", press) for press in same] == [name] * len(same)


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["cat", "dog"], ["1", "2"]),
        ([f"kind {number}" for number in range(12)], [*"1234567890"]),
        ([*"0123456789"], [*"0123456789"]),
        (["3", "cat", "1", "3x"], ["3", "1", "2", "4"]),  # 1 was given away already: keys never change
    ],
)
def test_classes_keep_their_keys_when_others_are_added(ann: Visit, names: list[str], keys: list[str]) -> None:
    script = "async (classes) => [...(await import('/static/keys.js')).digitKeys(classes).keys()]"
    for some in range(1, len(names) + 1):
        classes = [{"id": id_, "name": name} for id_, name in enumerate(names[:some])]
        assert ann.page.evaluate(script, classes) == keys[:some]


@pytest.mark.parametrize(
    ("living", "keys"),
    [
        ({0: "cat", 2: "owl"}, {"1": 0, "3": 2}),  # the second is gone: its key rests
        ({1: "1", 2: "2", 3: "x"}, {"1": 1, "2": 2, "3": 3}),  # but not where another class is called so
        ({**{id_: f"kind {id_}" for id_ in range(12) if id_ not in (3, 5)}}, None),  # and not where keys are wanting
    ],
)
def test_classes_keep_their_keys_when_others_go(
    ann: Visit, living: dict[int, str], keys: dict[str, int] | None
) -> None:
    script = "async (classes) => Object.fromEntries((await import('/static/keys.js')).digitKeys(classes))"
    given = ann.page.evaluate(script, [{"id": id_, "name": name} for id_, name in living.items()])
    if keys is not None:
        assert given == keys
        return
    assert {key: id_ for key, id_ in given.items() if id_ < 10} == {
        key: id_ for id_, key in enumerate("1234567890") if id_ in living
    }
    assert {id_ for id_ in given.values() if id_ >= 10} == {10, 11}  # by the keys of the two that are gone


def test_numbers_are_put_into_words(ann: Visit) -> None:
    shares = [0, 0.0004, 0.02, 0.0421, 0.0996, 0.31, 1]
    said = [f"{number}{THIN}%" for number in ("0", "0", "2", "4.2", "10", "31", "100")]
    assert [call(ann, "words", "percent", share) for share in shares] == said
    assert call(ann, "words", "counted", 1, "answer") == "1 answer"
    assert call(ann, "words", "counted", 12345, "answer") == f"12{THIN}345 answers"
    assert call(ann, "words", "seconds", 75) == "1 min 15 s"
    assert call(ann, "words", "listed", ["a", "b", "c"], 2) == "a, b and 1 more"


@pytest.mark.parametrize("most", [0.01, 0.07, 0.31, 0.999, 1])
def test_ticks_begin_at_zero_and_reach_the_top(ann: Visit, most: float) -> None:
    ticks = call(ann, "chart", "niceTicks", most, 4)
    steps = {round(after - before, 9) for before, after in pairwise(ticks)}
    assert ticks[0] == 0
    assert ticks[-1] >= most - 1e-9
    assert len(steps) == 1
    assert 3 <= len(ticks) <= 6


def test_a_chart_stays_inside_its_frame_and_says_what_it_shows(ann: Visit) -> None:
    points = [{"labels": n, "estimate": 1 / n, "low": 0.5 / n, "high": min(1, 3 / n)} for n in (2, 5, 30, 90)]
    for some in (points, points[:1]):
        ann.page.evaluate(
            """async (points) => {
                const { drawChart } = await import("/static/chart.js");
                document.querySelector("main").replaceChildren(drawChart(points, 0.02));
            }""",
            some,
        )
        chart = ann.page.locator("main svg")
        box = chart.bounding_box()
        assert box is not None
        for part in chart.locator("text, polyline, polygon, line, circle").all():
            inner = part.bounding_box()
            assert inner is not None
            assert inner["x"] >= box["x"] - 1
            assert inner["x"] + inner["width"] <= box["x"] + box["width"] + 1
            assert inner["y"] >= box["y"] - 1
            assert inner["y"] + inner["height"] <= box["y"] + box["height"] + 1
    expect(ann.page.locator("main svg")).to_have_attribute(
        "aria-label",
        f"Estimated error against the number of labels: 50{THIN}% at 2 labels, between 25{THIN}% and 100{THIN}%. "
        f"The target is 2{THIN}%.",
    )
