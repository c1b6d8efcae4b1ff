"""What the workers of a cluster have done for a run, as a table: who, how fast, and what the wire took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from deepbass.report.frame import scrolling_table
from deepbass.report.markup import tag
from deepbass.report.words import counted, duration

_KINDS = {
    "blocks": "training",
    "part": "training",
    "passes": "dropout passes",
    "slab": "dropout passes, by slab",
    "predictions": "predictions",
}
_HEADS = ("worker", "work", "messages", "samples", "samples a second", "at work", "wire a message", "sent", "received")


def work_section(work: Mapping[str, Any] | None) -> Element | None:
    """Show who computed the run; nothing where this was one process."""
    if work is None:
        return None
    rows = [
        _row(worker, _KINDS.get(kind, kind), tally)
        for worker, kinds in sorted(work["workers"].items())
        for kind, tally in sorted(kinds.items())
    ]
    said = [
        f"{counted(len(work['workers']), 'worker')} of a Ray cluster computed this run, since it was last started; "
        f"{_bytes(work['handed_out'])} of weights and samples were handed out to them."
    ]
    if work["lost"]:
        said.append(f"{counted(work['lost'], 'worker')} died, and others did their work again.")
    said += [f"{worker} is slow: {share:.0%} of the median speed." for worker, share in sorted(work["slow"].items())]
    heads = [tag("th", head, scope="col") for head in _HEADS]
    table = scrolling_table(heads, rows, whole=True)
    return tag("section", tag("h2", "Workers"), tag("p", " ".join(said), class_="note"), table)


def _row(worker: str, kind: str, tally: Mapping[str, float]) -> Element:
    messages, seconds = tally["messages"], tally["seconds"]
    cells = (
        kind,
        counted(messages),
        counted(tally["samples"]),
        f"{tally['samples'] / seconds:,.0f}" if seconds else "–",
        duration(seconds),
        f"{1000 * tally['waited'] / messages:.1f} ms" if messages else "–",
        _bytes(tally["sent"]),
        _bytes(tally["received"]),
    )
    return tag("tr", tag("th", worker, scope="row"), *(tag("td", cell) for cell in cells))


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} GB"
