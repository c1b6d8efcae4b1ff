"""How good the final model is, in numbers and class by class, beside always guessing the commonest class."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from deepbass.core.quality import Quality
from deepbass.report.facts import Facts
from deepbass.report.frame import folded, pair, pairs, scrolling_table
from deepbass.report.markup import tag
from deepbass.report.words import counted, percent

AT_ONCE = 20  # rows in sight; the others unfold


def quality_numbers(quality: Quality) -> Element:
    """List the numbers that a model is judged by."""
    numbers = {
        "accuracy": percent(quality.accuracy),
        "always the commonest class": percent(quality.commonest),
        "at random by their shares": percent(quality.by_share),
        "balanced accuracy": percent(quality.balanced_accuracy),
        "macro F1": f"{quality.macro_f1:.3f}",
    }
    if quality.ece is not None:
        numbers["calibration error (ECE)"] = percent(quality.ece)
    main = {"accuracy", "balanced accuracy"} if quality.uneven else {"accuracy"}
    return pairs(pair(name, value, kind="changed" if name in main else "") for name, value in numbers.items())


def by_class(facts: Facts, quality: Quality) -> list[Element]:
    """Table recall and precision of every class, the worst first."""
    recall, precision, occurring = quality.recall, quality.precision, quality.occurring
    taken_for = {true: (guess, count) for true, guess, count in reversed(quality.confused())}  # the most frequent stays
    order = sorted(range(len(recall)), key=lambda i: (recall[i] is None, recall[i] or 0.0, precision[i] or 0.0, i))
    rows = [
        tag(
            "tr",
            tag("th", facts.class_name(i), scope="row"),
            tag("td", counted(int(occurring[i]))),
            tag("td", _share(recall[i])),
            tag("td", _share(precision[i])),
            tag("td", _mostly(facts, taken_for.get(i)), class_="words"),
        )
        for i in order
    ]
    heads = ["class", "validation samples", "found (recall)", "right when said (precision)", "most often taken for"]
    return [tag("h3", "Class by class, the worst first"), *_cut(heads, rows, "class", "classes")]


def most_confused(facts: Facts, quality: Quality) -> list[Element]:
    """Table which classes were taken for which, the most frequent first."""
    rows = [
        tag(
            "tr",
            tag("th", facts.class_name(true), scope="row"),
            tag("td", facts.class_name(guess), class_="words"),
            tag("td", counted(count)),
            tag("td", percent(count / int(quality.occurring[true]))),
        )
        for true, guess, count in quality.confused()[:200]
    ]
    if not rows:
        return []
    heads = ["what it is", "taken for", "times", "of its samples"]
    return [tag("h3", "Most confused"), *_cut(heads, rows, "pair", "pairs")]


def _cut(heads: Sequence[str], rows: list[Element], one: str, many: str) -> list[Element]:
    """Show the first rows, and unfold the others."""
    words = {i for i in range(1, len(heads)) if rows[0][i].get("class") == "words"}

    def table(some: list[Element]) -> Element:
        cells = [
            tag("th", head, scope="col", class_="words") if i in words else tag("th", head, scope="col")
            for i, head in enumerate(heads)
        ]
        return scrolling_table(cells, some, whole=len(some) <= AT_ONCE)

    rest = rows[AT_ONCE:]
    more = folded(f"{len(rest):,} more {one if len(rest) == 1 else many}", table(rest)) if rest else None
    return [part for part in (table(rows[:AT_ONCE]), more) if part is not None]


def _mostly(facts: Facts, taken: tuple[int, int] | None) -> str:
    return f"{facts.class_name(taken[0])} ({counted(taken[1])})" if taken else "–"


def _share(share: float | None) -> str:
    return "–" if share is None else percent(share)
