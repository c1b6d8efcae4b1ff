"""The paper's tables with our numbers beside its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deepbass.bench.cells import CellResult
from deepbass.bench.page_parts import counted_runs
from deepbass.bench.results import Results
from deepbass.bench.text_table import LEFT, RIGHT, Table
from deepbass.paper.rows import OTHERS, RUNS
from deepbass.paper.summary import APART, Line, Summary, order, summarise
from deepbass.paper.verdict import NOT_RUN
from deepbass.paper.wording import NONE, data_in_d, describe, experiment, labels, reported
from deepbass.report.words import signed

_NO_SPREAD = "¹ The paper gives no spread here: ours was taken for both."
_IN_PASSING = "² Said in passing: “around 85 %”; “similar results” to the 89.51 % that another paper has."
_ROUGHLY = " Within half a point counts as agreement."
_SAME = "This has no quick version: it is the paper's protocol, with fewer runs planned."
_FEW = 5  # pairs that are listed one by one
_ENOUGH = 5  # rows whose signs are worth a count
_BEST = ("all-data-max-entropy", 98.33)  # the best single run that the paper mentions

# what the README shows, and under which name
_README = {
    ("toy", "initial"): "toy, 8 labels",
    ("toy", "active-semi-supervised"): "toy, 8 labels, pseudo-labels, asking up to 80",
    ("mnist", "labels-100"): "MNIST, 100 labels",
    ("mnist", "all-data-100"): "MNIST, 100 labels and pseudo-labels",
    ("mnist", "labels-300"): "MNIST, 300 labels",
    ("mnist", "all-data-300"): "MNIST, 300 labels and pseudo-labels",
    ("mnist", "all-data-max-entropy"): "MNIST, 100 labels, pseudo-labels, asking up to 300",
    ("mnist", "all-data-max-entropy-1000"): "MNIST, 100 labels, pseudo-labels, asking up to 1,000",
    ("mnist", "labels-60000"): "MNIST, all 60,000 labels",
}


def tables(summary: Summary, tier: str) -> list[Table]:
    """Make all tables of a tier: those with a run, and in the full tier also those without any."""
    wanted = [
        ("Table 1: the toy", _in_table(summary, tier, "Table 1")),
        ("Table 2: MNIST", _in_table(summary, tier, "Table 2")),
        ("Said in the text", _in_table(summary, tier, "Table 3", "text, Section 5")),
    ]
    made = [compared(title, lines) for title, lines in wanted if tier == "full" or any(line.records for line in lines)]
    return [*made, table_3(summary)] if tier == "full" else made


def compared(title: str, lines: Sequence[Line]) -> Table:
    """Set our accuracies beside the paper's; a verdict is given where the tier is the paper's protocol."""
    protocol = all(line.protocol for line in lines)
    heads = ["data in D", "policy", "labels", "paper (sd), %", "ours, %", "sd", "runs", "difference"]
    sides = [LEFT, LEFT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT]
    if protocol:
        heads[-1:], sides = ["difference (95 % interval)", "verdict"], [*sides, LEFT]
    rows = tuple(_compared(line, protocol) for line in lines)
    notes = [
        _SAME if protocol and any(line.tier == "quick" for line in lines) else "",
        *_footnotes(lines, protocol),
        *([_signs(lines), _best(lines)] if protocol else [_order(lines)]),
        _not_counted(lines),
    ]
    return Table(title, tuple(zip(heads, sides, strict=True)), rows, tuple(note for note in notes if note))


def table_3(summary: Summary) -> Table:
    """Compare test errors with 1,000 labels, those that the paper collected and ours."""
    cited = "as the paper reports it"
    rows = [(kind, method, "1,000", f"{error:.2f}", NONE, cited) for kind, method, error in OTHERS]
    for tier in ("full", "quick"):
        line, kind = summary.line(tier, "mnist", "all-data-max-entropy-1000"), "active + semi-supervised"
        if tier == "full":
            rows.append((kind, "DeepBASS", "1,000", f"{100 - line.row.paper.accuracy:.2f}", NONE, cited))
        verdict, where = line.verdict, "measured here" if tier == "full" else "measured here, quick tier"
        if verdict.mean is not None:
            error = f"{100 - verdict.mean:.2f}"
            spread = NONE if verdict.sd is None else f"{verdict.sd:.2f}"
            rows.append((kind, "DeepBASS", labels(line), error, spread, f"{where}, {counted_runs(verdict.runs)}"))
        elif tier == "full":
            rows.append((kind, "DeepBASS", labels(line), NOT_RUN, NONE, where))
    heads = ("kind", "method", "labels", "test error, %", "sd", "source")
    sides = (LEFT, LEFT, RIGHT, RIGHT, RIGHT, LEFT)
    return Table("Table 3: other methods, 1,000 labels", tuple(zip(heads, sides, strict=True)), tuple(rows))


def progress(summary: Summary) -> Table:
    """Say what was run and what not."""
    rows = [
        (
            experiment(part.experiment),
            part.tier,
            f"{part.measured} of {part.rows}",
            f"{part.finished} of {part.planned}",
            f"{part.failed}",
            f"{part.unfinished}",
            f"{part.hours:,.1f}",
        )
        for part in summary.progress()
    ]
    heads = ("experiment", "tier", "rows measured", "runs finished", "failed", "unfinished", "hours of computing")
    sides = (LEFT, LEFT, *[RIGHT] * 5)
    notes = (
        f"Planned: {RUNS['full']} runs a row in the full tier, which is the paper's protocol, and {RUNS['quick']} in "
        "the quick one. Only finished runs count anywhere; the hours are theirs.",
    )
    return Table("What was run", tuple(zip(heads, sides, strict=True)), tuple(rows), notes)


def readme_table(results: Results) -> str:
    """Make the few lines that stand in the README."""
    summary = summarise(results.records())
    lines = ["| validation accuracy, % | paper | ours, its protocol | ours, quick tier |", "|---|---:|---:|---:|"]
    for (experiment_, row), name in _README.items():
        ours = [summary.line(tier, experiment_, row) for tier in ("full", "quick")]
        cells = [name, f"{ours[0].row.paper.accuracy:.2f}", *map(_in_readme, ours)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _in_readme(line: Line) -> str:
    verdict = line.verdict
    if verdict.mean is None:
        return NOT_RUN
    spread = "" if verdict.sd is None else f" ± {verdict.sd:.2f}"
    return f"{verdict.mean:.2f}{spread} ({counted_runs(verdict.runs)})"


def _in_table(summary: Summary, tier: str, *names: str) -> list[Line]:
    return [line for line in summary.of(tier) if line.row.table in names]


def _compared(line: Line, protocol: bool) -> tuple[str, ...]:
    verdict, row = line.verdict, line.row
    first = (data_in_d(row), row.policy, labels(line), f"{reported(row.paper)}{'²' if row.paper.about else ''}")
    if verdict.mean is None or verdict.difference is None:
        rest = [NOT_RUN, NONE, f"{len(line.runs)}", NONE]
        return (*first, *rest, *([NOT_RUN] if protocol else []))
    spread = NONE if verdict.sd is None else f"{verdict.sd:.2f}"
    rest = [f"{verdict.mean:.2f}", spread, f"{len(line.runs)}", signed(verdict.difference)]
    if not protocol:
        return (*first, *rest)
    if verdict.interval is not None:
        low, high = verdict.interval
        rest[-1] += f" ({signed(low)} to {signed(high)}){'¹' if verdict.borrowed else ''}"
    return (*first, *rest, verdict.words)


def _not_counted(lines: Iterable[Line]) -> str:
    parts = [
        f"{describe(line)}: {' and '.join(_counts({'failed': line.failed, 'unfinished': line.unfinished}))}"
        for line in lines
        if line.failed or line.unfinished
    ]
    return f"Not counted: {'; '.join(parts)}." if parts else ""


def _counts(records: Mapping[str, Sequence[CellResult]]) -> list[str]:
    return [f"{len(some)} {what}" for what, some in records.items() if some]


def _footnotes(lines: Iterable[Line], protocol: bool) -> list[str]:
    borrowed = protocol and any(line.verdict.borrowed for line in lines)
    about = any(line.row.paper.about for line in lines)
    return [_NO_SPREAD if borrowed else "", f"{_IN_PASSING}{_ROUGHLY if protocol else ''}" if about else ""]


def _order(lines: Iterable[Line]) -> str:
    """Say whether rows stand above one another as in the paper: what a reduced protocol can show."""
    found = order(lines)
    if not found.pairs:
        return ""
    said = (
        f"{found.pairs - len(found.swapped)} of {found.pairs} pairs of rows that differ by more than {APART:g} points "
        "in the paper stand in the same order here"
    )
    if not 0 < len(found.swapped) <= _FEW:
        return f"{said}."
    swapped = "; ".join(f"{describe(lower)} above {describe(higher)}" for higher, lower in found.swapped)
    return f"{said}. The other way round: {swapped}."


def _signs(lines: Iterable[Line]) -> str:
    """Count on which side the rows came out: many small differences to one side say more than each of them."""
    differences = [line.verdict.difference for line in lines]
    judged = [difference for difference in differences if difference is not None]
    if len(judged) < _ENOUGH:
        return ""
    below = sum(difference < 0 for difference in judged)
    return (
        f"{below} of {len(judged)} differences are below 0. Rows share their data and initial labels run by run, "
        "so they tend to come out on the same side."
    )


def _best(lines: Iterable[Line]) -> str:
    name, best = _BEST
    ours = [line for line in lines if line.row.name == name and line.runs]
    if not ours:
        return ""
    return f"Best single run of {describe(ours[0])}: {best:.2f} in the paper, {max(ours[0].accuracies):.2f} here."
