"""A comparison in tables and in a few sentences."""

from __future__ import annotations

from typing import Any

from deepbass.bench.page_parts import counted_runs
from deepbass.bench.text_table import LEFT, RIGHT, Table
from deepbass.compare.methods import METHODS, OURS
from deepbass.compare.plan import EVERY_LABEL
from deepbass.compare.saving import ABOUT, Saving
from deepbass.compare.standing import ABOVE, ACCURACY, BALANCED, BELOW, MEASURES, ONE_RUN, Outcome, Spread, Standing
from deepbass.core.quality import is_uneven
from deepbass.report.words import SPACE, duration, percent, signed

NONE = "–"
NOTHING = "Nothing was run yet: deepbass compare fills this page."
READING = (
    "Plain is the better, by mean, of cross-validated logistic regression and our own network, both on labels drawn "
    "at random, the same for both in every run. Every label is counted, the first ones, too. ± is one standard error "
    "of the mean over runs; that of the difference is over runs with the same seed, hence the same samples and "
    "validation part. The saving factor says how many times as many labels plain needs for the same result, by "
    "interpolation of its mean curve in the logarithm of the number of labels; its standard error comes from leaving "
    "out one run after the other. “Worse” is below plain by more than one standard error, “better” above it by more."
)


def headline(outcome: Outcome) -> str:
    """Say in one line what the default is worth on this data."""
    standings = outcome.standings(main_measure(outcome))
    if not standings:
        return f"The default was not held against plain on {outcome.plan.data} yet"
    below = [standing for standing in standings if standing.verdict == BELOW]
    if below:
        where = " and ".join(f"{standing.labels:,}" for standing in below)
        return f"On {outcome.plan.data} plain does better with {where} labels"
    above = [standing for standing in standings if standing.verdict in (ABOVE, ONE_RUN)]
    best = max(above or standings, key=lambda standing: standing.saved.factor)
    measure = "balanced accuracy " if main_measure(outcome) == BALANCED else ""
    said = (
        f"with {best.labels:,} labels: {measure}{percent(best.ours.mean)}, where plain has {percent(best.theirs.mean)}"
    )
    if best.saved.factor <= 1 or not above:
        return f"On {outcome.plan.data} no better than plain; {said}"
    at_least = "at least " if best.saved.bound else ""
    return f"On {outcome.plan.data} {said} and needs {at_least}{best.saved.factor:.1f} times as many for the same"


def main_measure(outcome: Outcome) -> str:
    """Choose what is looked at first: balanced accuracy where classes are uneven."""
    return BALANCED if is_uneven(outcome.plan.commonest, outcome.plan.classes) else ACCURACY


def describe(outcome: Outcome) -> str:
    """Say what the data is, and what all methods saw of it."""
    plan = outcome.plan
    return (
        f"{plan.data}: {plan.pool:,} samples to choose from, {plan.classes} classes, {plan.validation:,} samples for "
        f"validation, of which the commonest class has {percent(plan.commonest)}. All methods see the same features: "
        f"{plan.features}."
    )


def status(outcome: Outcome) -> str:
    """Say how many cells there are, and what became of them."""
    finished = [record for runs in outcome.finished.values() for record in runs.values()]
    if not finished and not outcome.failed:
        return NOTHING
    spent = sum(sum(record.seconds.values()) for record in finished)
    return (
        f"{counted_runs(len(finished))} finished in {duration(spent)} of computing, {len(outcome.failed)} failed, "
        f"{outcome.missing} to be done."
    )


def worth(outcome: Outcome) -> list[Table]:
    """Hold the default against plain, budget by budget, first by what counts most on this data."""
    first = main_measure(outcome)
    measures = [first, *(each for each in (ACCURACY, BALANCED) if each != first)]
    return [table for measure in measures if (table := _worth(outcome, measure)) is not None]


def by_method(outcome: Outcome) -> list[Table]:
    """Set all methods side by side: each measure, labels spent and minutes."""
    tables = [_side_by_side(outcome, f"All methods: {words}, %", measure) for measure, words in MEASURES.items()]
    return [*tables, _spent(outcome), _minutes(outcome)]


def as_plain_values(outcome: Outcome) -> dict[str, Any]:
    """List everything for programs."""
    return {
        "data": outcome.plan.data,
        "headline": headline(outcome),
        "notes": list(outcome.plan.notes),
        "worth": {
            measure: [_as_dict(standing) for standing in outcome.standings(measure)] for measure in (ACCURACY, BALANCED)
        },
        "methods": {
            method: {
                tier: {
                    **{
                        measure: spread.mean
                        for measure in MEASURES
                        if (spread := outcome.spread(method, tier, measure)) is not None
                    },
                    "labels": spent.mean if (spent := outcome.labels_spent(method, tier)) is not None else None,
                    "seconds": took.mean if (took := outcome.seconds(method, tier)) is not None else None,
                    "runs": len(outcome.runs(method, tier)),
                }
                for tier in outcome.plan.tiers(method)
                if outcome.runs(method, tier)
            }
            for method in outcome.plan.methods
        },
    }


def _as_dict(standing: Standing) -> dict[str, Any]:
    return {
        "labels": standing.labels,
        "plain": standing.theirs.mean,
        "plain_method": standing.plain,
        OURS: standing.ours.mean,
        "difference": standing.difference.mean,
        "standard_error": standing.difference.error,
        "runs": standing.difference.runs,
        "saving": standing.saved.factor,
        "saving_bound": standing.saved.bound,
        "saving_error": standing.saved.error,
        "verdict": standing.verdict,
    }


def _worth(outcome: Outcome, measure: str) -> Table | None:
    standings = outcome.standings(measure)
    if not standings:
        return None
    rows = tuple(
        (
            f"{standing.labels:,}",
            _percent(standing.theirs),
            standing.plain,
            _percent(standing.ours),
            _difference(standing.difference),
            _times(standing.saved),
            f"{standing.difference.runs}",
            standing.verdict,
        )
        for standing in standings
    )
    heads = ("labels", "plain, %", "which", f"{OURS}, %", "difference", "saving factor", "runs", "verdict")
    sides = (RIGHT, RIGHT, LEFT, RIGHT, RIGHT, RIGHT, RIGHT, LEFT)
    notes = (f"Always guessing the commonest class: {percent(outcome.plan.commonest)}.",) if measure == ACCURACY else ()
    return Table(f"Is it worth it? By {MEASURES[measure]}", tuple(zip(heads, sides, strict=True)), rows, notes)


def _side_by_side(outcome: Outcome, title: str, measure: str) -> Table:
    return _by_labels(outcome, title, lambda method, tier: _percent(outcome.spread(method, tier, measure)))


def _spent(outcome: Outcome) -> Table:
    def spent(method: str, tier: str) -> str:
        found = outcome.labels_spent(method, tier)
        return NONE if found is None else f"{found.mean:,.0f}"

    return _by_labels(outcome, "All methods: labels spent", spent)


def _minutes(outcome: Outcome) -> Table:
    def minutes(method: str, tier: str) -> str:
        found = outcome.seconds(method, tier)
        return NONE if found is None else f"{found.mean / 60:.2f}"

    table = _by_labels(outcome, "All methods: minutes", minutes)
    said = "Training and choosing, without loading the data and computing its features; several cells may have shared "
    return Table(table.title, table.columns, table.rows, (f"{said}the cores.",))


def _by_labels(outcome: Outcome, title: str, cell: Any) -> Table:
    plan = outcome.plan
    tiers = [*(str(labels) for labels in sorted({*plan.labels, *plan.plain_labels})), EVERY_LABEL]
    shown = [tier for tier in tiers if any(outcome.runs(method, tier) for method in plan.methods)]
    methods = [name for name in METHODS if name in plan.methods]
    rows = tuple((name, *(cell(name, tier) for tier in shown)) for name in methods)
    heads = ["method", *(f"{int(tier):,}" if tier != EVERY_LABEL else f"all {plan.pool:,}" for tier in shown)]
    return Table(title, tuple(zip(heads, (LEFT, *[RIGHT] * len(shown)), strict=True)), rows)


def _percent(spread: Spread | None) -> str:
    if spread is None:
        return NONE
    return f"{100 * spread.mean:.1f}" + ("" if spread.error is None else f" ± {100 * spread.error:.1f}")


def _difference(spread: Spread) -> str:
    return signed(100 * spread.mean, 1) + ("" if spread.error is None else f" ± {100 * spread.error:.1f}")


def _times(saved: Saving) -> str:
    bound = "" if saved.bound == ABOUT else f"{saved.bound}{SPACE}"
    return f"{bound}{saved.factor:.2f}" + ("" if saved.error is None else f" ± {saved.error:.2f}")
