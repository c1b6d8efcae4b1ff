"""Texts and rows in memory, as a source would hand them out, and projects of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deepbass.core.raw_samples import Kind, Row, UnreadableSample
from deepbass.label.items import Items, from_samples
from deepbass.label.project import Project, Settings

TEXTS = (
    "The export button does nothing.\nI clicked it twice.",
    "How do I add a second person?",
    "Thank you, this saved my week! 🎉👩‍👩‍👧",
    "الزر لا يعمل في الصفحة الأولى",
    "<script>document.title = 'owned'</script><img src=x onerror=alert(1)>",
    "word " * 60_000,
)
ROWS: tuple[Row, ...] = (
    {"age": 42.0, "city": "Köln", "income": None, "note": "first <b>customer</b>"},
    {"age": 31.5, "city": "", "income": 51_000.25, "note": None},
)


@dataclass
class Samples:
    """Texts or rows, some of which cannot be read."""

    kind: Kind
    values: Sequence[Any]
    others: Sequence[Row] = ()
    broken: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def name(self, row: int) -> str:
        return f"row {row + 1}"

    def read(self, row: int) -> Any:
        if row in self.broken:
            raise UnreadableSample(self.broken[row])
        return self.values[row]

    def key(self, row: int) -> bytes:
        return repr(self.values[row]).encode()

    def beside(self, row: int) -> Row:
        return self.others[row] if self.others else {}


def text_items(values: Sequence[str] = TEXTS, show: Sequence[str] = (), **more: Any) -> Items:
    """Make items of texts; each has a title and stars beside it."""
    others: list[Row] = [{"title": f"Ticket {row}", "stars": float(row)} for row in range(len(values))]
    samples = Samples("text", values, others, more.pop("broken", {}))
    return from_samples("tickets", samples, more.pop("labels", {}), show=show)


def row_items(values: Sequence[Row] = ROWS, show: Sequence[str] = ()) -> Items:
    """Make items of rows."""
    return from_samples("customers", Samples("row", values), {}, show=show)


def make_text_project(path: Path, items: Items, **settings: Any) -> Project:
    """Make a project of items in memory; its source is a file that holds nothing else."""
    source = path.parent / f"{items.name}.csv"
    source.write_text("in memory\n")
    chosen = Settings(**{"audit": 0.0, **settings})
    return Project.create(path, str(source), ("bug", "question"), chosen, items=items)
