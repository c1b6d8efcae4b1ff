"""Why the model asked: what it made of an item when the question was handed out, for people to see after the answer.

Before the answer nobody is told: test questions would be told apart by having no such reason. What the model thinks by
the time that somebody looks is another thing, for it has learned from the answer meanwhile; so the reason is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from deepbass.label.ranking import Ranking

VETO = "veto"  # the rule by which what people refused a guess of comes before all else


@dataclass(frozen=True)
class Reason:
    """The rule that put an item first, and the two likeliest classes by the model of that moment."""

    rule: str  # the name of an acquisition, or VETO
    first: int
    first_share: float  # its probability
    second: int | None = None
    second_share: float | None = None


def reason_for(ranking: Ranking | None, item: int, rule: str) -> Reason | None:
    """Tell why an item is asked now, by a rule; None where the model has not seen it."""
    if ranking is None or item >= len(ranking.guess) or ranking.guess[item] < 0:
        return None
    first, share = int(ranking.guess[item]), round(float(ranking.confidence[item]), 4)
    if ranking.second[item] < 0:
        return Reason(rule, first, share)
    return Reason(rule, first, share, int(ranking.second[item]), round(float(ranking.second_confidence[item]), 4))
