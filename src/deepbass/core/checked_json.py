"""Read JSON that deepbass wrote, and refuse what it would not have written: what has other hands in it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from deepbass.core.foreign import excerpt

# What a value must be: a type or several, [what every entry must be], {name: what it must be}. A name that ends in "?"
# may be missing, "*" stands for every name, and others than those named may be there. A whole number counts as a
# float, a bool counts as neither.
Kind = type | tuple[type, ...] | list[Any] | Mapping[str, Any]

LARGEST = 10**300  # what no float has room for, so that nobody can reckon with it


def read_json(content: bytes | str, kind: Kind) -> Any:
    """Parse JSON and check what it holds; a ValueError says what is wrong, and where in it."""
    value = json.loads(content, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    json.dumps(value, ensure_ascii=False).encode()  # halves of characters, which could not be written to any file
    check(value, kind)
    return value


def check(value: object, kind: Kind, name: str = "it") -> None:
    """Raise a ValueError that names the first value that is not what it must be."""
    if isinstance(kind, Mapping):
        fields = value if isinstance(value, dict) else _refuse(name, value, dict)
        named = dict.fromkeys(fields, kind["*"]) if "*" in kind else kind
        for field, of_field in named.items():
            plain = field if "*" in kind else field.removesuffix("?")
            inner = plain if name == "it" else f"{name}.{plain}"
            if plain in fields:
                check(fields[plain], of_field, inner)
            elif plain == field:
                raise ValueError(f"{inner} is missing")
    elif isinstance(kind, list):
        entries = value if isinstance(value, list) else _refuse(name, value, list)
        for number, entry in enumerate(entries):
            check(entry, kind[0], f"{name}[{number}]")
    else:
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if float in kinds:
            kinds = (*kinds, int)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds and object not in kinds):
            _refuse(name, value, *kinds)


def _refuse(name: str, value: object, *kinds: type) -> Any:
    words = " or ".join(_WORDS.get(kind, kind.__name__) for kind in kinds)
    raise ValueError(f"{name} = {excerpt(repr(value))} is not {words}")


_WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bool: "true or false",
}
_WORDS[type(None)] = "null"


def _whole(digits: str) -> int:
    number = int(digits)
    if abs(number) >= LARGEST:
        raise ValueError(f"{excerpt(digits)} is too large a number")
    return number


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{excerpt(digits)} is no number")
    return number
