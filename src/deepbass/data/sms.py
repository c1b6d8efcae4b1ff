"""The SMS Spam Collection: a line per message, its label and its text with a tab between."""

from __future__ import annotations

from pathlib import Path

from deepbass.core.errors import DataError
from deepbass.core.foreign import decoding
from deepbass.data.raw_rows import Texts
from deepbass.data.source import Part, Source


def from_sms(path: Path, name: str) -> Source:
    """Read the messages."""
    with decoding(path, "file of messages", "Delete it, and it is downloaded again.", DataError):
        rows = [line.split("\t", 1) for line in path.read_text("utf-8").split("\n") if line]
        labels, texts = [label for label, _ in rows], [text for _, text in rows]
    return Source(name, Part(Texts(texts), labels, str(path), "train"))
