"""One page that tells a whole comparison, in HTML and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from deepbass.bench.page_parts import failures_section, first_line, table_parts, versions_section
from deepbass.bench.results import Results
from deepbass.bench.text_table import escape, markdown
from deepbass.compare.compare_tables import NOTHING, READING, by_method, describe, headline, status, worth
from deepbass.compare.methods import METHODS
from deepbass.compare.standing import Outcome, read_outcome
from deepbass.files import replace_file
from deepbass.report.figures import check_formats, needs_matplotlib, save_all
from deepbass.report.frame import card, frame, pair, pairs
from deepbass.report.markup import document, tag
from deepbass.store.names import COMPARE_FILE, COMPARE_TEXT_FILE

if TYPE_CHECKING:
    from deepbass.report.canvas import Drawing


def write_comparison(folder: Path, outcome: Outcome | None = None) -> tuple[Path, Path]:
    """Write ``compare.html`` and ``compare.md`` into a results folder, from what the folder holds."""
    outcome = outcome or read_outcome(Results.open(folder))
    html, text = folder / COMPARE_FILE, folder / COMPARE_TEXT_FILE
    replace_file(html, document(_page(outcome)))
    replace_file(text, as_markdown(outcome).encode())
    return html, text


def write_comparison_figures(folder: Path, to: Path, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Write the figures of a results folder, a file for each figure and format, and list the files."""
    check_formats(formats)
    return save_all(_drawn(read_outcome(Results.open(folder))), to, formats)


def as_markdown(outcome: Outcome) -> str:
    """Write the comparison as text."""
    parts = [
        f"# {escape(headline(outcome))}\n",
        f"{escape(describe(outcome))} {status(outcome)}\n",
        *([_list([escape(note) for note in outcome.plan.notes])] if outcome.plan.notes else []),
        "## The default beside plain\n",
        f"{READING}\n",
        *map(markdown, worth(outcome)),
        "## All methods\n",
        _list([f"**{name}**: {METHODS[name].about}" for name in outcome.plan.methods]),
        *map(markdown, by_method(outcome)),
    ]
    if outcome.failed:
        failed = [f"{record.cell.key}: {escape(first_line(record))}" for record in outcome.failed]
        parts += ["## Failures\n", _list(failed)]
    if noted := _noted(outcome):
        parts += ["## Notes of single runs\n", _list([escape(note) for note in noted])]
    return "\n".join(parts)


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) + "\n"


def _page(outcome: Outcome) -> Element:
    said = status(outcome)
    top = tag(
        "header",
        tag("p", "deepbass · comparison", class_="kicker"),
        tag("h1", headline(outcome)),
        tag("p", describe(outcome), class_="lead"),
        tag("p", tag("strong", said), class_="status open" if said == NOTHING or outcome.missing else "status"),
    )
    tables = [part for table in worth(outcome) for part in table_parts(table)]
    beside = [part for table in by_method(outcome) for part in table_parts(table)]
    about = pairs(pair(name, METHODS[name].about) for name in outcome.plan.methods)
    return frame(
        f"{outcome.plan.data}: is it worth it?",
        top,
        _bullets("To be told of the data", outcome.plan.notes),
        tag("section", tag("h2", "The default beside plain"), tag("p", READING, class_="note"), *tables)
        if tables
        else None,
        _figures(outcome),
        tag("section", tag("h2", "All methods"), about, *beside),
        _bullets("Notes of single runs", _noted(outcome)),
        failures_section(outcome.failed),
        versions_section(record for runs in outcome.finished.values() for record in runs.values()),
    )


def _figures(outcome: Outcome) -> Element | None:
    cards = [card(drawing, "svg", wide=True, own_size=True) for drawing in _drawn(outcome).values()]
    return tag("section", tag("h2", "Curves"), tag("div", *cards, class_="cards")) if cards else None


def _drawn(outcome: Outcome) -> dict[str, Drawing]:
    with needs_matplotlib():
        from deepbass.compare.draw_comparison import draw_comparison
    return draw_comparison(outcome)


def _bullets(title: str, lines: Sequence[str]) -> Element | None:
    if not lines:
        return None
    return tag("section", tag("h2", title), tag("ul", *(tag("li", line) for line in lines), class_="notes"))


def _noted(outcome: Outcome) -> list[str]:
    """List what single runs have to say, once for all runs that say the same."""
    said: dict[str, list[str]] = {}
    for (method, tier), runs in outcome.finished.items():
        for run, record in runs.items():
            for note in record.notes:
                said.setdefault(f"{method}, {tier} labels: {note}", []).append(f"{run}")
    return [f"{what} (run {', '.join(runs)})" for what, runs in said.items()]
