"""From seconds to ratios: pure functions of the saved results."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from speed.plan import DEVICES, ENTRANTS, OURS, USERS

Results = dict[str, Any]

_PARTS = ("pool", "known", "epoch")
_LOOP_PARTS = {"pool": "infer pool", "known": "infer known", "epoch": "train"}  # the learner's own words


@dataclass(frozen=True)
class Row:
    """One comparison. Above 1 we are that many times faster; for the roofline, that many times slower than it."""

    what: str
    against: str
    ours: float
    theirs: float
    ratio: float  # median over the rounds of the ratio within a round
    lowest: float
    highest: float
    floor: float | None = None
    aim: float | None = None
    at_most: bool = False  # the ratio should be small

    @property
    def verdict(self) -> str:
        """Say which of floor and aim is reached."""
        if self.floor is None or self.aim is None:
            return ""
        sign = -1 if self.at_most else 1
        if sign * self.ratio >= sign * self.aim:
            return "aim reached"
        return "floor reached" if sign * self.ratio >= sign * self.floor else "floor missed"


def rows(results: Results) -> list[Row]:
    """Compute every comparison whose sides were measured."""
    pool = f"{results['task']['passes_pool']} passes over the pool"
    wanted = [
        ("one whole iteration", "plain", _iteration(results, OURS), _iteration(results, "plain"), 15, 30),
        ("one whole iteration", "keras", _iteration(results, OURS), _iteration(results, "keras"), 4, 8),
        (pool, "baal", _seconds(results, OURS, "pool"), _seconds(results, "baal", "pool"), 15, 50),
        (f"{pool}, early exit", "baal", _loop_part(results, "pool"), _seconds(results, "baal", "pool"), None, None),
        ("one training epoch", "keras", _seconds(results, OURS, "epoch"), _seconds(results, "keras", "epoch"), 1.7, 3),
        (
            "one training epoch",
            "plain",
            _seconds(results, OURS, "epoch"),
            _seconds(results, "plain", "epoch"),
            None,
            None,
        ),
    ]
    found = [
        _row(what, against, ours, theirs, floor, aim)
        for what, against, ours, theirs, floor, aim in wanted
        if ours and theirs
    ]
    passes, limit = _seconds(results, OURS, "pool"), _seconds(results, "roofline", "pass")
    if passes and limit:
        one = [seconds / results["task"]["passes_pool"] for seconds in passes]
        found.append(_row("one dropout pass", "roofline", one, limit, 1.6, 1.0, at_most=True))
    return found


def ratios(results: Results) -> list[dict[str, Any]]:
    """List all comparisons for the JSON file."""
    return [{**asdict(row), "verdict": row.verdict} for row in [*rows(results), *users_rows(results)]]


def users_rows(results: Results) -> list[Row]:
    """Compare users' models with the plain loop; there is no floor, it is just told."""
    titles = {"resnet": "small ResNet", "mlp": "MLP on 100 features"}
    parts = {"pool": f"{results['task']['passes_pool']} passes", "epoch": "one training epoch"}
    return [
        _row(f"{titles[name]}: {words}", "plain", ours, theirs, None, None)
        for name in USERS
        for part, words in parts.items()
        if (ours := _seconds(results, OURS, f"{name} {part}"))
        and (theirs := _seconds(results, "plain", f"{name} {part}"))
    ]


def parts(results: Results, side: str) -> dict[str, float] | None:
    """Take an iteration apart: median seconds of inference over the pool and the known, of training, and in all."""
    measured = results["seconds"].get(side, {})
    if "iteration" in measured:
        row = measured["iteration"]
        found = {part: median(facts["parts"][words] for facts in row["facts"]) for part, words in _LOOP_PARTS.items()}
        return {**found, "iteration": median(row["rounds"])}
    whole = _iteration(results, side)
    if whole is None:
        return None
    split = {part: median(_seconds(results, side, part) or [math.nan]) for part in _PARTS}
    return {**split, "iteration": median(whole)}


def devices(results: Results) -> list[tuple[str, dict[str, float], float]]:
    """List what each device brings: a title, the parts of an iteration, and how much faster than the slow way it is."""
    slow = parts(results, DEVICES[0])
    found = []
    for name in DEVICES:
        mine = parts(results, name)
        if mine and slow:
            found.append((ENTRANTS[name].title, mine, slow["iteration"] / mine["iteration"]))
    return found


def _row(
    what: str,
    against: str,
    ours: list[float],
    theirs: list[float],
    floor: float | None,
    aim: float | None,
    *,
    at_most: bool = False,
) -> Row:
    ratios = [a / b if at_most else b / a for a, b in zip(ours, theirs, strict=True)]
    return Row(
        what,
        ENTRANTS[against].title,
        median(ours),
        median(theirs),
        median(ratios),
        min(ratios),
        max(ratios),
        floor,
        aim,
        at_most,
    )


def _seconds(results: Results, side: str, piece: str) -> list[float] | None:
    """List the seconds of a piece, one a round, what was left out counted in."""
    row = results["seconds"].get(side, {}).get(piece)
    return [seconds * row["times"] for seconds in row["rounds"]] if row else None


def _iteration(results: Results, side: str) -> list[float] | None:
    """List the seconds of a whole iteration, timed as one or put together from its parts."""
    if whole := _seconds(results, side, "iteration"):
        return whole
    found = [_seconds(results, side, part) for part in _PARTS]
    there = [seconds for seconds in found if seconds]
    return [sum(of_round) for of_round in zip(*there, strict=True)] if len(there) == len(_PARTS) else None


def _loop_part(results: Results, part: str) -> list[float] | None:
    """List what a part took inside our whole iteration, where early exit is at work."""
    row = results["seconds"].get(OURS, {}).get("iteration")
    return [facts["parts"][_LOOP_PARTS[part]] for facts in row["facts"]] if row else None
