"""How the run went, iteration by iteration: accuracy, pseudo-labels, entropy."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from deepbass.core.quality import is_uneven
from deepbass.report.canvas import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    RED,
    Drawing,
    blank,
    label_ends,
    percent_axis,
    whole_numbers,
)
from deepbass.report.facts import Facts
from deepbass.report.words import counted, percent


def accuracy_by_iteration(facts: Facts) -> Drawing | None:
    """Draw the paper's Figure 3: validation accuracy over the iterations, with the questions marked."""
    xs, ys = facts.series("validation_accuracy")
    if len(xs) < 2:
        return None
    figure = blank()
    axes = figure.subplots()
    axes.set_title("Validation accuracy")
    axes.plot(xs, ys, color=BLUE)
    others = _beside(facts, ys)
    for its, shares, colour, dashes in others.values():
        axes.plot(its, shares, dashes, color=colour, linewidth=1.4)
    percent_axis(axes, [*ys, *(share for _, shares, _, _ in others.values() for share in shares)])
    whole_numbers(axes, "iteration")
    ends = [(its[-1], shares[-1], name, colour) for name, (its, shares, colour, _) in others.items()]
    _label_both_ends(axes, xs, ys, percent(ys[0]) if ends else f"{percent(ys[0])} initial model", ends)
    _mark_asking(axes, facts)
    commonest = facts.last("commonest")
    reached = "" if commonest is None else f" Always guessing the commonest class: {percent(commonest)}."
    return Drawing(
        "accuracy",
        figure,
        f"Line chart: validation accuracy goes from {percent(ys[0])} in iteration {xs[0]} "
        f"to {percent(ys[-1])} in iteration {xs[-1]}; highest {percent(max(ys))}.{reached}",
        f"Highest: {percent(max(ys))} after iteration {xs[ys.index(max(ys))]:,}.{reached}",
    )


_Line = tuple[list[int], list[float], str, str]  # iterations, shares, colour, dashes


def _beside(facts: Facts, accuracy: list[float]) -> dict[str, _Line]:
    """Find what the accuracy is to be seen beside: balanced where classes are uneven, and the commonest class.

    The latter is left to the caption where it lies so far below that the curve would become a line.
    """
    lines: dict[str, _Line] = {}
    commonest, drawn = facts.last("commonest"), list(accuracy)
    if commonest is None or not facts.classes:
        return lines
    its, shares = facts.series("balanced_accuracy")
    if shares and is_uneven(commonest, len(facts.classes)):
        lines["balanced"] = (its, shares, GREEN, "-")
        drawn += shares
    if commonest > min(drawn) - 1.5 * max(max(drawn) - min(drawn), 0.05):
        its, shares = facts.series("commonest")
        lines["commonest"] = (its, shares, GREY, "--")
    return lines


def accuracy_by_labels(facts: Facts) -> Drawing | None:
    """Draw what each label bought: accuracy against the number of known labels."""
    known, accuracy = (dict(zip(*facts.series(metric), strict=True)) for metric in ("known", "validation_accuracy"))
    both = [(known[i], accuracy[i]) for i in known if i in accuracy]
    last = dict(sorted(dict(both).items()))  # dict keeps the last iteration with so many labels
    if len(last) < 2:
        return None
    xs, ys = list(last), list(last.values())
    figure = blank()
    axes = figure.subplots()
    axes.set_title("Validation accuracy by number of labels")
    axes.plot(*zip(*both, strict=True), ".", color=BLUE, alpha=0.25, markeredgewidth=0)
    axes.plot(xs, ys, "o-", color=BLUE, markersize=4)
    percent_axis(axes, [y for _, y in both])
    whole_numbers(axes, "known labels")
    _label_both_ends(axes, xs, ys, first=percent(ys[0]))
    return Drawing(
        "labels",
        figure,
        f"Line chart: {percent(ys[0])} validation accuracy with {counted(xs[0], 'label')}, "
        f"{percent(ys[-1])} with {counted(xs[-1])}.",
        "Faint: after every iteration. Line: after the last iteration with that many labels.",
    )


def pseudo_labels(facts: Facts) -> Drawing | None:
    """Draw how many pseudo-labels are trained on, and how many of them are right."""
    xs, members = facts.series("members")
    if len(xs) < 2 or not any(members):
        return None
    right = {
        "in training": (facts.series("pseudo_accuracy"), GREEN),
        "all guesses": (facts.series("guess_accuracy"), GREY),
    }
    shown = {name: (xy, colour) for name, (xy, colour) in right.items() if len(xy[0]) > 1}
    if len(shown) == 2 and right["in training"][0] == right["all guesses"][0]:
        shown = {"": (right["in training"][0], GREEN)}  # all guesses are trained on
    figure = blank(height=HEIGHT * (1.45 if shown else 1))
    panels = figure.subplots(2 if shown else 1, sharex=True, squeeze=False)[:, 0]
    if shown:
        axes = panels[0]
        axes.set_title("Accuracy of the pseudo-labels")
        for (its, shares), colour in shown.values():
            axes.plot(its, shares, color=colour)
        percent_axis(axes, [share for (_, shares), _ in shown.values() for share in shares])
        ends = [(its[-1], ys[-1], f"{percent(ys[-1])} {name}".strip(), c) for name, ((its, ys), c) in shown.items()]
        label_ends(axes, ends, line=0.15)
    axes = panels[-1]
    axes.set_title("Number of pseudo-labels in training")
    axes.fill_between(xs, members, color=GREEN, alpha=0.15, linewidth=0)
    axes.plot(xs, members, color=GREEN)
    axes.set_ylim(0, 1.12 * max(members))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    whole_numbers(axes, "iteration")
    label_ends(axes, [(xs[-1], members[-1], counted(members[-1]), GREEN)])
    said = [f"{percent(ys[-1])} of them right" for (_, ys), _ in list(shown.values())[:1]]
    return Drawing(
        "pseudo-labels",
        figure,
        f"Line chart: {', '.join([counted(members[-1], 'pseudo-label') + ' in the last iteration', *said])}.",
        "What the network guessed by itself and then learned from, against the data's own labels."
        if shown
        else "What the network guessed by itself and then learned from.",
    )


def entropies(facts: Facts) -> Drawing | None:
    """Draw how certain the network is: of what is known (the threshold theta) and of the pool."""
    lines = {
        "known (θ)": (facts.series("entropy_known"), BLUE),
        "pool": (facts.series("entropy_pool"), GREY),
    }
    lines = {name: (xy, colour) for name, (xy, colour) in lines.items() if len(xy[0]) > 1}
    if not lines:
        return None
    figure = blank()
    axes = figure.subplots()
    axes.set_title("Mean entropy")
    for (xs, ys), colour in lines.values():
        axes.plot(xs, ys, color=colour)
    axes.set_ylim(0, 1.08 * max(max(ys) for (_, ys), _ in lines.values()) or 1.0)
    whole_numbers(axes, "iteration")
    label_ends(axes, [(xs[-1], ys[-1], name, colour) for name, ((xs, ys), colour) in lines.items()])
    ends = [f"{name} from {ys[0]:.3f} to {ys[-1]:.3f}" for name, ((_, ys), _) in lines.items()]
    return Drawing(
        "entropy",
        figure,
        f"Line chart of the mean entropy: {'; '.join(ends)}.",
        "0: certain of one class. 1: every class equally likely. θ is the bar for “certain enough”." + _fewer(facts),
    )


def _fewer(facts: Facts) -> str:
    """Say that the pool's entropies are over fewer passes than planned, where early exit spared some."""
    planned, made = facts.config.get("passes_pool", 0), facts.series("passes")[1]
    if not made or min(made) >= planned:
        return ""
    return (
        f" The pool's is over the dropout passes made: {sum(made) / len(made):.1f} a sample on average, of {planned},"
        " for the rest could not have changed a decision."
    )


def _label_both_ends(
    axes: Axes,
    xs: list[float] | list[int],
    ys: list[float],
    first: str,
    others: Sequence[tuple[float, float, str, str]] = (),
) -> None:
    label_ends(axes, [(xs[-1], ys[-1], percent(ys[-1]), BLUE), *others])
    axes.plot(xs[0], ys[0], "o", color=BLUE, markersize=5, clip_on=False)
    # the curve mostly rises, so the room is to the right of its start, on the side it leaves free
    offset = -3 if ys[1] >= ys[0] else 5
    axes.annotate(first, (xs[0], ys[0]), xytext=(9, offset), textcoords="offset points", color=GREY, va="center")


def _mark_asking(axes: Axes, facts: Facts) -> None:
    """Mark the iterations that asked, on the ground: they are many in a long run."""
    if not facts.asking:
        return
    ground = axes.get_xaxis_transform()
    axes.plot(facts.asking, [0.03] * len(facts.asking), "|", color=RED, markersize=8, mew=1, transform=ground)
    axes.set_title("| labels asked for", loc="right", color=RED, fontsize=9, weight="normal")
