"""What the model is worth, in plain words: against always saying the commonest class, and on the way to the target."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from deepbass.core.error_law import Estimate, answers_to_show
from deepbass.label.estimate import good_enough
from deepbass.label.phrases import number_of
from deepbass.label.settings import Settings

Verdict = Literal["unknown", "not useful yet", "useful", "good enough"]

TARGETS = (0.01, 0.02, 0.05, 0.1, 0.2)  # that people may choose from


@dataclass(frozen=True)
class Worth:
    """A verdict, why, and what is still to do."""

    verdict: Verdict
    why: str
    way: str | None  # to the target; None where there is nothing left to do, or no target
    commonest: float | None  # the error of always saying the commonest class, by the audit answers


def judge(
    estimates: Sequence[Estimate],
    now: Estimate | None,
    audit_labels: Mapping[int, int],
    names: Mapping[int, str],
    settings: Settings,
    *,
    reserve: int,
    seconds: float | None,
    enough: bool,
    kind: str = "image",
) -> Worth:
    """Judge a model by the audit.

    It is useful once the upper bound of its error lies below the error of always saying the commonest class.
    ``estimates`` are those that were committed, ``now`` that of the newest model, ``reserve`` how many items, which are
    of a ``kind``, are kept for the audit, ``seconds`` what an answer takes, ``enough`` whether the law of "good enough"
    (estimate.py) is met.
    """
    way = None if enough else way_to_target(estimates, now, settings, reserve=reserve, seconds=seconds, kind=kind)
    if now is None or not audit_labels:
        why = "Nothing is known of its error yet: test questions measure it, once there is a model."
        return Worth("unknown", why, way, None)
    class_, most = Counter(audit_labels.values()).most_common(1)[0]
    dummy = 1 - most / len(audit_labels)
    always = f"Always saying “{names.get(class_, class_)}”, the commonest class, would be wrong in {_percent(dummy)}"
    if enough or now.high < dummy:
        return Worth("good enough" if enough else "useful", f"{always}: the model is better than that.", way, dummy)
    can_tell = f"as far as {number_of(now.n, 'test question')} can tell"
    return Worth("not useful yet", f"{always}: {can_tell}, the model may be no better.", way, dummy)


def way_to_target(
    estimates: Sequence[Estimate],
    now: Estimate | None,
    settings: Settings,
    *,
    reserve: int,
    seconds: float | None,
    kind: str = "image",
) -> str | None:
    """Say how many more answers the target takes, and how long that is; or which target can be shown at all."""
    target, given = settings.target_error, now.n if now else 0
    if target is None or settings.audit == 0:
        return None
    better = now is None or now.low <= target  # else no number of further answers would do
    errors = now.errors if now is not None and better else 0
    total = answers_to_show(target, estimates, errors=errors)
    if total > reserve:
        return _out_of_reach(target, reserve, total, errors, kind)
    left = max(total - given, 1)
    answers = math.ceil(left / settings.audit)
    minutes = "" if not seconds else f", {_time(answers * seconds)}"
    how = f"{number_of(left, 'test question')} without {'a' if not errors else 'another'} mistake"
    far = f"about {number_of(answers, 'more answer')}{minutes}, every {_nth(settings.audit)} a test question"
    if better:
        return f"To show an error below {_percent(target)}: {how}; {far}."
    return f"It has to get better first. Then, to show an error below {_percent(target)}: {how}; {far}."


def targets_that_fit(reserve: int) -> list[tuple[float, int]]:
    """List targets that so many audit items can show, each with the answers that it takes without a mistake."""
    found = [(target, answers_to_show(target)) for target in TARGETS]
    return [(target, answers) for target, answers in found if answers <= reserve]


@dataclass(frozen=True)
class TargetChoice:
    """A target that people may choose, and what it takes."""

    target: float | None  # None: no target
    takes: int | None  # audit answers, if the model makes no mistake in any of them
    fits: bool  # whether so many items are kept for the audit
    way: str  # what is left to do until it is shown


def target_choices(
    estimates: Sequence[Estimate],
    now: Estimate | None,
    settings: Settings,
    *,
    reserve: int,
    seconds: float | None,
    kind: str = "image",
) -> list[TargetChoice]:
    """List what people may choose instead of their target, itself among it, the strictest first and none last."""
    found = []
    for target in sorted({*TARGETS, *([] if settings.target_error is None else [settings.target_error])}):
        chosen, takes = replace(settings, target_error=target), answers_to_show(target)
        way = "The test questions given so far show it."
        if good_enough(estimates, target) is None:
            told = way_to_target(estimates, now, chosen, reserve=reserve, seconds=seconds, kind=kind)
            way = told or "This project has no test questions (--audit 0%), so nothing can be shown."
        found.append(TargetChoice(target, takes, takes <= reserve, way))
    none = "The error is measured all the same, and nothing is called good enough."
    return [*found, TargetChoice(None, None, True, none)]


def _out_of_reach(target: float, reserve: int, total: int, errors: int, kind: str) -> str:
    mistakes = "without a mistake" if not errors else f"with {number_of(errors, 'mistake')}"
    said = (
        f"To show an error below {_percent(target)} takes {number_of(total, 'test question')} {mistakes}, and "
        f"only {number_of(reserve, kind)} {'is' if reserve == 1 else 'are'} kept for them."
    )
    if answers_to_show(target) <= reserve:
        return f"{said} It has to get better first."
    fitting = targets_that_fit(reserve)
    if not fitting:
        return f"{said} There are too few {kind}s to show any error; the interval still holds."
    target, answers = fitting[0]
    return (
        f"{said} A target of {_percent(target)} takes {answers:,}: choose it on the page, or start with "
        f"--target-error {100 * target:g}%."
    )


def _nth(share: float) -> str:
    every = round(1 / share)
    return {1: "one", 2: "second", 3: "third"}.get(every, f"{every}th")


def _time(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1.5:
        return "a minute"
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours".replace(".0 ", " ")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + " %"
