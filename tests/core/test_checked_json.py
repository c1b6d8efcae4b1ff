"""Laws of JSON that deepbass wrote: what is as described comes back, and for anything else the place is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepbass.core.checked_json import Kind, read_json

KIND = {"name": str, "size?": float, "shape": [int], "parts": {"*": {"on": bool}}, "source": (str, type(None))}
WHOLE = {"name": "a", "size": 1, "shape": [1, 2], "parts": {"x": {"on": True}}, "source": None, "more": [{}]}
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**200), 10**200) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)  # fmt: skip


@given(plain)
def test_what_was_written_comes_back(value: Any) -> None:
    assert read_json(json.dumps(value), object) == value
    assert read_json(json.dumps(value).encode(), object) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "name = 3 is not text"),
        ({"name": None}, "name = None is not text"),
        ({"size": True}, "size = True is not a number"),
        ({"shape": 3}, "shape = 3 is not a list"),
        ({"shape": [1, 2.5]}, r"shape\[1\] = 2\.5 is not a whole number"),
        ({"shape": [True]}, r"shape\[0\] = True is not a whole number"),
        ({"parts": []}, r"parts = \[\] is not an object"),
        ({"parts": {"x": {}}}, r"parts\.x\.on is missing"),
        ({"source": 3}, "source = 3 is not text or null"),
    ],
)
def test_what_is_not_as_described_is_named(change: dict[str, Any], message: str) -> None:
    assert read_json(json.dumps(WHOLE), KIND) == WHOLE
    with pytest.raises(ValueError, match=message):
        read_json(json.dumps({**WHOLE, **change}), KIND)


def test_what_may_be_missing_may_be_missing_and_nothing_else() -> None:
    for name in WHOLE:
        less = json.dumps({field: value for field, value in WHOLE.items() if field != name})
        if name in ("size", "more"):
            read_json(less, KIND)
        else:
            with pytest.raises(ValueError, match=f"{name} is missing"):
                read_json(less, KIND)


@pytest.mark.parametrize(
    "text", ["NaN", "-Infinity", "1e999", "9" * 400, "9" * 5000, '"\\ud800"', '{"\\udfff": 1}', "["]
)
@pytest.mark.parametrize("kind", [object, (int, float, str, dict)])
def test_what_no_file_of_ours_holds_is_refused(text: str, kind: Kind) -> None:
    with pytest.raises(ValueError):
        read_json(text, kind)
