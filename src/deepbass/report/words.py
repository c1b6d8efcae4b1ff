"""The run in plain words: numbers as people write them, and the sentences on top of the page."""

from __future__ import annotations

import shlex

from deepbass.core.config import OWN
from deepbass.core.own_parts import options_again
from deepbass.core.quality import is_uneven
from deepbass.report.facts import Facts

SPACE = "\N{NO-BREAK SPACE}"  # a number and its unit stay on one line
_MINUS = "\N{MINUS SIGN}"

_CHOICE = {
    "max-entropy": "the samples it was least certain of",
    "above-average": "samples drawn from those it was less certain of than on average",
    "above-quantile": "samples drawn from its least certain ones",
    "bald": "the samples its dropout passes disagreed about most",
    "variation-ratios": "the samples its dropout passes voted most differently on",
    "least-confidence": "the samples it was least confident of",
    "margin": "the samples most torn between two classes",
    "margin-draw": "samples drawn from those most torn between two classes",
    "batch-bald": "batches whose labels would tell most about the weights",
    "badge": "samples that it was in doubt about and that lay far apart",
    "regional": "samples that lay amid others it was in doubt about",
    "by-budget": "typical samples first, then such as were torn between two classes",
    "random": "samples drawn at random",
    OWN: "samples chosen by a rule passed in Python",
}

_WHO = {
    "simulated": "answered from the data's own labels",
    "replay": "answered from an earlier run",
    OWN: "answered by an oracle passed in Python",
}


def percent(share: float, digits: int = 1) -> str:
    """Write a share as in 98.1 %; only what is all is 100 %."""
    shown = f"{100 * share:.{digits}f}"
    if share < 1 and float(shown) == 100:
        shown = f"{100 - 10**-digits:.{digits}f}"
    return f"{shown}{SPACE}%"


def signed(points: float, digits: int = 2) -> str:
    """Write a difference with its sign; what rounds to nothing has none."""
    shown = f"{abs(points):.{digits}f}"
    return shown if float(shown) == 0 else f"{_MINUS if points < 0 else '+'}{shown}"


def counted(count: float, noun: str = "") -> str:
    """Write a count with its noun: 1 label, 59,700 labels."""
    return f"{count:,.0f}{SPACE}{noun}{'' if count == 1 else 's'}" if noun else f"{count:,.0f}"


def duration(seconds: float) -> str:
    """Write a time in the two units that matter."""
    if seconds < 59.5:
        return f"{seconds:.2g}{SPACE}s" if seconds < 10 else f"{seconds:.0f}{SPACE}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}{SPACE}min {rest}{SPACE}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{SPACE}h {minutes}{SPACE}min"


def shorten(name: str, length: int = 24) -> str:
    """Cut a long name, with a mark that it was cut."""
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


def headline(facts: Facts) -> str:
    """Say the result in one line."""
    if not facts.iterations:
        return "No result yet"
    known, accuracy = facts.last("known"), facts.last("validation_accuracy")
    labels = f" with {counted(known, 'label')}" if known is not None else ""
    if accuracy is None:
        return f"Trained{labels}; validation accuracy was not measured"
    result = f"{percent(accuracy)} validation accuracy{labels}"
    before = facts.first("validation_accuracy")
    if len(facts.iterations) == 1:
        return f"{result}: the initial model"
    if before is None:
        return result
    at_first = facts.first("known")
    with_fewer = f" with {counted(at_first)}" if at_first is not None and at_first != known else ""
    return f"{result} (initial model: {percent(before)}{with_fewer})"


def sentence(facts: Facts) -> str:
    """Say in one sentence what the network was given, what it asked for and what it guessed."""
    data, members = facts.data, facts.last("members")
    size = f" ({counted(data['samples'], 'sample')}, {len(facts.classes)} classes)" if "samples" in data else ""
    clauses = [
        f"The network started from {counted(len(facts.initial), 'label')} of {data.get('name', 'the data')}{size}",
        _asked(facts),
    ]
    if members and facts.last("guess_weight") != 0:  # else they were refused
        clauses.append(f"learned from {counted(members, 'pseudo-label')} of its own")
    return f"{', '.join(clauses[:-1])} and {clauses[-1]}."


def beside(facts: Facts) -> list[str]:
    """Say what always guessing the commonest class would reach, and how the classes fare where it is most of them."""
    commonest = facts.last("commonest")
    if commonest is None or not facts.classes:
        return []
    said = [f"Always guessing the commonest class would reach {percent(commonest)}."]
    balanced, macro_f1 = facts.last("balanced_accuracy"), facts.last("macro_f1")
    if is_uneven(commonest, len(facts.classes)) and balanced is not None and macro_f1 is not None:
        said.append(f"The classes are uneven: balanced accuracy {percent(balanced)}, macro F1 {macro_f1:.2f}.")
    return said


def _asked(facts: Facts) -> str:
    policy = str(facts.config.get("acquire"))
    if not facts.questions:
        return "never asked for more" if policy == "none" else "has not asked for more yet"
    choice = _CHOICE.get(policy, f"samples chosen by {policy}")
    who = _WHO.get(str(facts.config.get("oracle")), "answered")
    return f"asked for {counted(len(facts.questions))} more ({choice}, {who})"


def status(facts: Facts) -> tuple[str, str | None]:
    """Say how far the run is, and the command that carries on with it, if it is not at its end."""
    resume = f"deepbass resume {shlex.quote(facts.path.as_posix())}{options_again(facts.config)}"
    if facts.done is None:
        return "The initial model is not trained yet.", resume
    waiting = f" {counted(facts.waiting, 'question')} without an answer." if facts.waiting else ""
    if facts.ended or facts.planned is None or facts.done >= facts.planned:
        planned = facts.why_ended is None or facts.done == facts.planned
        why = "" if planned else f": {facts.why_ended}"
        return f"Finished after {counted(facts.done, 'iteration')}{why}.{waiting}", None
    return f"Not finished: iteration {facts.done:,} of {facts.planned:,}.{waiting}", resume
