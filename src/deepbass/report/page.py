"""One page that tells a run: self-contained, without scripts, readable on a phone, in the dark and on paper."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from deepbass.core.config import Config
from deepbass.files import replace_file
from deepbass.report.class_quality import by_class, most_confused, quality_numbers
from deepbass.report.cluster_work import work_section
from deepbass.report.facts import Facts, read_facts
from deepbass.report.figures import draw
from deepbass.report.frame import card, folded, frame, pair, pairs, scrolling_table
from deepbass.report.markup import document, tag
from deepbass.report.questions import questions
from deepbass.report.words import beside, counted, headline, percent, sentence, status
from deepbass.store.names import REPORT_FILE

if TYPE_CHECKING:
    from deepbass.report.canvas import Drawing

_COLUMNS = {
    "known": "known labels",
    "members": "pseudo-labels",
    "validation_accuracy": "validation accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "ece": "calibration error (ECE)",
    "plain_accuracy": "plain learning, same labels",
    "held_back": "held-back labels",
    "held_back_right": "of these right with pseudo-labels",
    "held_back_plain": "of these right without",
    "guess_weight": "weight of pseudo-labels",
    "commonest": "always the commonest class",
    "pseudo_accuracy": "pseudo-label accuracy",
    "guess_accuracy": "accuracy of all guesses",
    "entropy_known": "entropy, known (θ)",
    "entropy_pool": "entropy, pool",
    "expected_error": "expected error",
    "moved": "guesses moved (1 - κ)",
    "passes": "passes a sample",
    "asked": "asked",
    "answered": "answered",
    "loss": "loss",
}


_SHARES = ("commonest", "ece", "plain_accuracy")
WIDEST = 6.0  # inches of a figure that fits beside another one


def write_report(path: str | PathLike[str]) -> Path:
    """Write ``report.html`` into a run directory, from what the directory holds."""
    report = Path(path) / REPORT_FILE
    replace_file(report, document(_page(read_facts(Path(path)))))
    return report


def _page(facts: Facts) -> Element:
    drawings = draw(facts)
    return frame(
        f"{facts.data.get('name', 'Run')}: {headline(facts)}",
        _top(facts),
        _figures("Result", drawings, "accuracy", "labels", "field"),
        _quality(facts, drawings),
        _figures("What it guessed", drawings, "pseudo-labels", "entropy"),
        questions(facts),
        _figures("Labels and time", drawings, "classes", "time", after=_class_table(facts)),
        work_section(facts.work),
        _settings(facts),
        _made_with(facts),
        _numbers(facts),
    )


def _top(facts: Facts) -> Element:
    said, resume = status(facts)
    more = tag("span", " Once it has stopped, go on with ", tag("code", resume), ".") if resume else None
    return tag(
        "header",
        tag("p", f"deepbass · {facts.data.get('name', 'run')}", class_="kicker"),
        tag("h1", headline(facts)),
        tag("p", " ".join([sentence(facts), *beside(facts)]), class_="lead"),
        *([tag("p", " ".join(facts.worth), class_="lead")] if facts.worth else []),
        tag("p", tag("strong", said), more, class_="status open" if resume else "status"),
    )


def _figures(title: str, drawings: dict[str, Drawing], *names: str, after: Element | None = None) -> Element | None:
    cards = [card(drawings[name]) for name in names if name in drawings]
    return tag("section", tag("h2", title), tag("div", *cards, class_="cards"), after) if cards else None


def _quality(facts: Facts, drawings: dict[str, Drawing]) -> Element | None:
    """Show how good the final model is, class by class; many classes have no room in a matrix, but in a table."""
    quality = facts.quality
    if quality is None:
        return None
    matrix, calibration = drawings.get("confusion"), drawings.get("reliability")
    wide = matrix is not None and matrix.figure.get_figwidth() > WIDEST
    cards = [card(matrix, wide=wide, own_size=wide)] if matrix else []
    cards += [card(calibration)] if calibration else []
    pairs_table = most_confused(facts, quality) if matrix is None else []
    note = f"The final model on {counted(quality.samples, 'validation sample')}, none of which it was trained on."
    return tag(
        "section",
        tag("h2", "How good it is"),
        tag("p", note, class_="note"),
        quality_numbers(quality),
        tag("div", *cards, class_="cards"),
        *by_class(facts, quality),
        *pairs_table,
        class_="quality",
    )


def _class_table(facts: Facts) -> Element:
    initial, asked = facts.class_counts()
    rows = [
        tag("tr", tag("th", name, scope="row"), tag("td", counted(initial[i])), tag("td", counted(asked[i])))
        for i, name in enumerate(facts.classes)
    ]
    return folded("All classes", _table(["class", "known at the start", "asked for"], rows))


def _settings(facts: Facts) -> Element:
    """List the configuration; what is not at its default stands out, and says what the default is."""
    defaults = Config().as_dict()
    changed = {name for name, value in facts.config.items() if name not in defaults or defaults[name] != value}
    items = []
    for name, value in facts.config.items():
        default = tag("small", f"default {_plain(defaults.get(name))}") if name in changed else None
        kind = "changed" if name in changed else ""
        items.append(pair(name, _plain(value), default, kind=kind))
    note = "Bold: what differs from the default." if changed else "Every setting is at its default."
    return tag("section", tag("h2", "Configuration"), tag("p", note, class_="note"), pairs(items))


def _made_with(facts: Facts) -> Element:
    data = facts.data
    known: dict[str, object] = {
        "data": data.get("source"),
        "samples": data.get("samples"),
        "validation samples": data.get("validation"),
        "classes": len(facts.classes),
        "shape": " x ".join(map(str, data.get("shape", []))),
        "network parameters": data.get("parameters"),
        "started": f"{facts.created_at[:16].replace('T', ' ')} UTC",
        **facts.versions,
    }
    items = [pair(name, _plain(value)) for name, value in known.items() if value not in (None, "")]
    notes = [tag("li", str(note)) for note in data.get("notes", [])]
    return tag(
        "section",
        tag("h2", "Data and versions"),
        tag("ul", *notes, class_="notes") if notes else None,
        pairs(items),
    )


def _numbers(facts: Facts) -> Element | None:
    """Table what the curves show, for those who want the numbers themselves."""
    seen = {
        name
        for iteration in facts.iterations
        for name, value in iteration.metrics.items()
        if value is not None and not isinstance(value, list | dict)
    }
    names = [name for name in _COLUMNS if name in seen] + sorted(seen - set(_COLUMNS))
    if not names:
        return None
    rows = [
        tag(
            "tr",
            tag("th", str(iteration.number), scope="row"),
            *(tag("td", _value(name, iteration.metrics.get(name))) for name in names),
        )
        for iteration in facts.iterations
    ]
    table = _table(["iteration", *(_COLUMNS.get(name, name) for name in names)], rows)
    return tag("section", tag("h2", "Numbers"), folded(counted(len(rows), "iteration"), table))


def _value(name: str, value: object) -> str:
    if value is None:
        return "–"
    if (name.endswith("accuracy") or name in _SHARES) and isinstance(value, float):
        return percent(value, 2)
    return f"{value:.4f}" if isinstance(value, float) else _plain(value)


def _table(heads: list[str], rows: list[Element]) -> Element:
    return scrolling_table([tag("th", name, scope="col") for name in heads], rows)


def _plain(value: object) -> str:
    """Write a value of the configuration as a person would."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
