"""One page that tells the whole reproduction, in HTML and in Markdown."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from deepbass.bench.page_parts import failures_section, first_line, table_parts, versions_section
from deepbass.bench.results import Results
from deepbass.bench.text_table import escape, markdown
from deepbass.files import replace_file
from deepbass.paper.overview import NOTHING, OTHER_SETTINGS, QUICK, READING, WHAT, headline, status
from deepbass.paper.paper_figures import DOTS, draw, kind
from deepbass.paper.summary import Summary, summarise
from deepbass.paper.tables import progress, tables
from deepbass.report.frame import card, frame
from deepbass.report.markup import document, tag
from deepbass.store.names import REPORT_FILE, REPORT_TEXT_FILE

_TIERS = {"full": ("The paper's protocol", READING), "quick": ("The quick tier", QUICK)}


def write_matrix_report(folder: Path) -> tuple[Path, Path]:
    """Write ``report.html`` and ``report.md`` into a results folder, from what the folder holds."""
    summary = summarise(Results.open(folder).records())
    html, text = folder / REPORT_FILE, folder / REPORT_TEXT_FILE
    replace_file(html, document(_page(summary)))
    replace_file(text, _markdown(summary).encode())
    return html, text


def docs_page(results_folder: Path, images_folder: Path, notes: Path | None = None) -> str:
    """Make the Markdown of docs/results.md, and write its figures into a folder beside that page.

    ``notes`` is a Markdown file that is appended as it is; by default ``results-notes.md`` beside the images' folder.
    """
    summary = summarise(Results.open(results_folder).records())
    images_folder.mkdir(parents=True, exist_ok=True)
    pictures = ["## Figures\n"]
    for name, drawing in draw(summary).items():
        file = images_folder / f"{name}.{kind(name)}"
        replace_file(file, drawing.save(kind(name), DOTS))
        pictures.append(f"![{escape(drawing.alt)}]({images_folder.name}/{file.name})\n\n{escape(drawing.caption)}\n")
    notes = notes or images_folder.parent / "results-notes.md"
    prose = notes.read_text(encoding="utf-8") if notes.exists() else f"<!-- {notes.name} is appended here -->\n"
    return "\n".join([_markdown(summary), *(pictures if len(pictures) > 1 else []), prose])


def _markdown(summary: Summary) -> str:
    parts = [f"# The paper's experiments, measured again\n\n{WHAT}\n", f"**{headline(summary)}.** {status(summary)}\n"]
    parts.append(f"{markdown(progress(summary), 2)}")
    for tier, (title, reading) in _TIERS.items():
        shown = tables(summary, tier)
        if shown:
            parts += [f"## {title}\n", f"{reading}\n", *map(markdown, shown)]
    if summary.failures():
        failed = [f"- {record.cell.key}: {escape(first_line(record))}" for record in summary.failures()]
        parts += ["## Failures\n", "\n".join(failed) + "\n"]
    if summary.strangers:
        keys = ", ".join(escape(record.cell.key) for record in summary.strangers)
        parts.append(f"{OTHER_SETTINGS}: {keys}.\n")
    return "\n".join(parts)


def _page(summary: Summary) -> Element:
    return frame(
        "DeepBASS, measured again",
        _top(summary),
        tag("section", tag("h2", "What was run"), *table_parts(progress(summary), titled=False)),
        *(_tier(summary, tier) for tier in _TIERS),
        _figures(summary),
        failures_section(summary.failures()),
        _strangers(summary),
        versions_section(record for line in summary.lines for record in line.runs),
    )


def _top(summary: Summary) -> Element:
    said = status(summary)
    return tag(
        "header",
        tag("p", "deepbass · reproduction", class_="kicker"),
        tag("h1", headline(summary)),
        tag("p", WHAT, class_="lead"),
        tag("p", tag("strong", said), class_="status open" if said == NOTHING else "status"),
    )


def _tier(summary: Summary, tier: str) -> Element | None:
    shown = tables(summary, tier)
    if not shown:
        return None
    title, reading = _TIERS[tier]
    parts = [part for table in shown for part in table_parts(table)]
    return tag("section", tag("h2", title), tag("p", reading, class_="note"), *parts)


def _figures(summary: Summary) -> Element | None:
    cards = [card(drawing, kind(name), DOTS, wide=True) for name, drawing in draw(summary).items()]
    return tag("section", tag("h2", "Figures"), tag("div", *cards, class_="cards")) if cards else None


def _strangers(summary: Summary) -> Element | None:
    keys = [tag("li", tag("code", record.cell.key)) for record in summary.strangers]
    if not keys:
        return None
    return tag("section", tag("h2", "Not counted"), tag("p", f"{OTHER_SETTINGS}:", class_="note"), tag("ul", *keys))
