"""Take a project's labels and its model elsewhere. Needs no server, and none that runs needs to stop."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal, cast, get_args

from deepbass.core.config import one_of
from deepbass.core.errors import DataError, StoreError
from deepbass.data.images import SUFFIXES
from deepbass.label import export_folder, export_model
from deepbass.label.estimate import error_estimate
from deepbass.label.export_folder import write_folder
from deepbass.label.export_model import write_model
from deepbass.label.export_studio import default_prefix, write_studio
from deepbass.label.export_tables import write_csv, write_jsonl
from deepbass.label.models import newest_checkpoint
from deepbass.label.project import Project
from deepbass.label.records import Records, gather
from deepbass.label.targets import new_file, new_folder

Format = Literal["csv", "jsonl", "imagefolder", "label-studio", "model"]

FORMATS: tuple[Format, ...] = get_args(Format)


@dataclass(frozen=True)
class Exported:
    """What was written."""

    path: Path
    format: Format
    labels: int  # by people
    pseudo: int  # by the model
    notes: tuple[str, ...] = ()  # what the user should be told


def export(
    project: Project,
    format: str,  # noqa: A002 (as the command calls it)
    out: str | PathLike[str],
    *,
    force: bool = False,
    pseudo: bool = True,
    link: bool = False,
    url_prefix: str | None = None,
    folder: Path | None = None,
) -> Exported:
    """Write labels, or the model, to a file or folder that is not there yet; with ``force`` it replaces an earlier one.

    ``pseudo``: labels that the model gave as well. ``link``: image folders hold hard links instead of copies.
    ``url_prefix``: what the addresses of images begin with in Label Studio. ``folder`` is where the user keeps files of
    named data sets.
    """
    one_of("format", format, FORMATS)
    target = Path(out).expanduser()
    records = gather(project, pseudo=pseudo)
    notes: list[str] = []
    match format:
        case "csv":
            with new_file(target, force=force) as file:
                write_csv(file, records)
        case "jsonl":
            with new_file(target, force=force) as file:
                write_jsonl(file, records)
        case "label-studio":
            with new_file(target, force=force) as file:
                write_studio(file, records, default_prefix(project.source) if url_prefix is None else url_prefix)
            if not any(Path(record.path).suffix.lower() in SUFFIXES for record in records.items):
                notes.append(
                    "samples of arrays have no files that Label Studio could show: export them as an imagefolder, too"
                )
        case "imagefolder":
            _check_folder(project, target, records)
            with new_folder(target, force=force, mark=export_folder.MARK) as place:
                notes += write_folder(place, records, project.source, link=link, folder=folder)
        case "model":
            model, checkpoint = newest_checkpoint(project)
            with new_folder(target, force=force, mark=export_model.MARK) as place:
                estimate = error_estimate(model.ranking.predicted, records.audit)
                write_model(place, model, checkpoint, estimate, project.source)
    own = sum(record.is_pseudo for record in records.items)
    return Exported(target, cast(Format, format), len(records.labelled()) - own, own, tuple(notes))


def _check_folder(project: Project, out: Path, records: Records) -> None:
    if not records.labelled():
        raise DataError(f"{project.path} has no labels yet, so there is nothing to fill {out} with: give some first.")
    source = Path(project.source)
    if source.is_dir() and out.resolve().is_relative_to(source.resolve()):
        raise StoreError(
            f"{out} lies in the project's own source, {source}: its copies would become new images to label. Choose "
            "another place."
        )
