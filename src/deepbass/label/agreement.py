"""How far people agree beyond what chance would give: Cohen's kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class Agreement:
    """What two people made of the same items."""

    n: int  # items that both labelled
    observed: float | None  # share of equal labels; None without items
    expected: float | None  # share that chance would give, with everyone's classes as frequent as they are
    kappa: (
        float | None
    )  # 1: always agree, 0: as by chance; None without items, or where both used one and the same class


def kappa(pairs: Iterable[tuple[int, int]]) -> Agreement:
    """Compare two people's classes, a pair per item (Cohen 1960)."""
    both = Counter(pairs)
    n = both.total()
    if n == 0:
        return Agreement(0, None, None, None)
    first, second = Counter[int](), Counter[int]()
    for (one, other), count in both.items():
        first[one] += count
        second[other] += count
    # whole numbers up to here, so that an expected share of one is one
    same, by_chance = sum(both[class_, class_] for class_ in first), sum(first[c] * second[c] for c in first)
    observed, expected = same / n, by_chance / n**2
    if by_chance == n**2:
        return Agreement(n, observed, expected, None)
    return Agreement(n, observed, expected, (same * n - by_chance) / (n**2 - by_chance))


def agreements(labels: Mapping[str, Mapping[int, int]]) -> dict[tuple[str, str], Agreement]:
    """Compare every two people that labelled an item both; ``labels`` has everyone's classes by item."""
    found = {}
    for one, other in combinations(sorted(labels), 2):
        common = labels[one].keys() & labels[other].keys()
        if common:
            found[one, other] = kappa((labels[one][item], labels[other][item]) for item in common)
    return found
