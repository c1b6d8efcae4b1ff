"""Numbers and lists as people say them. An item is called by its kind: image, text or row."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil


def number_of(count: int, thing: str) -> str:
    """Say how many: "1 image", "2,000 images"."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def a(thing: str) -> str:
    """Put the article before a word: "an image", "a text"."""
    return f"{'an' if thing[:1] in 'aeiou' else 'a'} {thing}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Name some: "ann", "ann and bob", "ann, bob, cat and 4 others"."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {number_of(len(names) - most, 'other')}"
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def span(seconds: float) -> str:
    """Say how long, rounded up: "40 seconds", "10 minutes"."""
    whole = max(1, ceil(seconds))
    return number_of(whole, "second") if whole < 90 else number_of(ceil(whole / 60), "minute")
