"""Labels as folders of texts, a file per text below its class: what `deepbass run` and most other tools read."""

from __future__ import annotations

from pathlib import Path

from deepbass.core.errors import DataError
from deepbass.exchange.class_folders import fill_folders
from deepbass.exchange.records import Records

SUFFIX = ".txt"


def write_texts(out: Path, records: Records) -> list[str]:
    """Write every labelled text into a file of UTF-8; note what could not be read."""
    read = records.read
    if read is None:
        raise DataError("The texts cannot be read, so there is nothing to write: put their source back.")

    def put(name: str, place: Path) -> None:
        place.write_bytes(read(name).text.encode(errors="replace"))

    files = all(record.path.lower().endswith(SUFFIX) for record in records.labelled())
    return fill_folders(out, records, put, "" if files else SUFFIX)
