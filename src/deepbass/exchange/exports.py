"""Take a project's labels and its model elsewhere. Needs no server, and none that runs needs to stop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal, cast, get_args

from deepbass.core.config import one_of
from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.raw_samples import Kind
from deepbass.data.images import SUFFIXES
from deepbass.exchange.csv_table import write_csv
from deepbass.exchange.imagefolder import write_folder
from deepbass.exchange.jsonl import write_jsonl
from deepbass.exchange.label_studio import default_prefix, interface, write_studio
from deepbass.exchange.model_folder import write_model
from deepbass.exchange.records import Records, gather
from deepbass.exchange.targets import new_file, new_folder
from deepbass.exchange.textfiles import write_text_files
from deepbass.exchange.textfolder import write_texts
from deepbass.label.estimate import error_estimate
from deepbass.label.guesses import THRESHOLD
from deepbass.label.phrases import number_of
from deepbass.label.project import Project
from deepbass.label.trained_models import newest_checkpoint
from deepbass.store.names import CLASSES_FILE, MODEL_CONFIG_FILE

Format = Literal["csv", "jsonl", "imagefolder", "textfolder", "textfiles", "label-studio", "model"]

FORMATS: tuple[Format, ...] = get_args(Format)
_KIND: dict[str, Kind] = {
    "imagefolder": "image",
    "textfolder": "text",
    "textfiles": "text",
}  # of the items that a format is for


@dataclass(frozen=True)
class Exported:
    """What was written."""

    path: Path
    format: Format
    labels: int  # by people
    guesses: int  # labels by the model
    notes: tuple[str, ...] = ()  # what the user should be told


def export(
    project: Project,
    format: str,  # noqa: A002 (as the command calls it)
    out: str | PathLike[str],
    *,
    force: bool = False,
    guesses: float | None = THRESHOLD,
    link: bool = False,
    url_prefix: str | None = None,
    folder: Path | None = None,
) -> Exported:
    """Write labels, or the model, to a file or folder that is not there yet; with ``force`` it replaces an earlier one.

    ``guesses``: how sure the model must be for its guess to count as a label; None: people's labels only. ``link``:
    image folders hold hard links instead of copies. ``url_prefix``: what the addresses of images begin with in Label
    Studio. ``folder`` is where the user keeps files of named data sets.
    """
    one_of("format", format, FORMATS)
    if guesses is not None and not 0 <= guesses <= 1:
        raise ConfigError(f"guesses = {guesses} must lie between 0 and 1, as in {THRESHOLD}, or be none.")
    target = Path(out).expanduser()
    _check_kind(project, format)
    records = gather(project, guesses=guesses)
    labelled = records.labelled()
    own = sum(record.is_guess for record in labelled)
    notes: list[str] = []
    if project.kind != "image" and format != "model":
        records = _with_contents(records, project, folder, notes)
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
            if project.kind != "image":
                notes.append(f"Label Studio's labelling interface for it: {interface(project.kind, records.classes)}")
            elif not any(Path(record.path).suffix.lower() in SUFFIXES for record in records.items):
                notes.append(
                    "samples of arrays have no files that Label Studio could show: export them as an imagefolder, too"
                )
        case "imagefolder":
            _check_folder(project, target, records)
            with new_folder(target, force=force, mark=CLASSES_FILE) as place:
                notes += write_folder(place, records, project.source, link=link, folder=folder)
        case "textfolder":
            _check_folder(project, target, records)
            with new_folder(target, force=force, mark=CLASSES_FILE) as place:
                notes += write_texts(place, records)
        case "textfiles":
            _check_folder(project, target, records)
            with new_folder(target, force=force, mark=CLASSES_FILE) as place:
                notes += write_text_files(place, records)
        case "model":
            model, checkpoint = newest_checkpoint(project)
            with new_folder(target, force=force, mark=MODEL_CONFIG_FILE) as place:
                estimate = error_estimate(model.ranking.predicted, records.audit)
                write_model(place, model, checkpoint, estimate, project.source)
    if format != "model":
        notes += [*_on_guesses(records, own), *_on_flags(sum(record.flagged for record in labelled), project.kind)]
    return Exported(target, cast(Format, format), len(labelled) - own, own, tuple(notes))


def _check_kind(project: Project, format_: str) -> None:
    kind = _KIND.get(format_, project.kind)
    if kind != project.kind:
        fits = [each for each in FORMATS if _KIND.get(each, project.kind) == project.kind]
        raise ConfigError(
            f"{format_} is for {kind}s, and {project.path} has {project.kind}s: choose one of {', '.join(fits)}."
        )


def _with_contents(records: Records, project: Project, folder: Path | None, notes: list[str]) -> Records:
    """Add what texts and rows say: of rows all columns, also those that the page does not show."""
    settings = project.settings if project.kind == "text" else replace(project.settings, show=[])
    try:
        return replace(records, read=replace(project, settings=settings).open_items(folder).read)
    except DataError as error:
        notes.append(f"labels are exported without what they are about: {error}")
        return records


def _on_guesses(records: Records, count: int) -> list[str]:
    """Tell how many guesses are labels, and how often such guesses are wrong."""
    if records.model is None or records.threshold is None:
        return []
    kind = records.kind
    sure = f"{count:,} {'guess' if count == 1 else 'guesses'} at least {100 * records.threshold:g} % sure"
    error = records.guess_error()
    if error is None:
        return [f"{sure}; no audit {kind} that sure has an answer, so how often they are wrong is not known"]
    wrong = "1 was" if error.errors == 1 else f"{error.errors:,} were"
    shares = f"{_percent(error.estimate)}, at most {_percent(error.high)}"
    return [f"{sure}; of {number_of(error.n, f'audit {kind}')} that sure, {wrong} wrong: {shares}"]


def _on_flags(count: int, kind: Kind) -> list[str]:
    return (
        [f"{number_of(count, 'label')} of flagged {kind}s {'is' if count == 1 else 'are'} among those exported"]
        if count
        else []
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _check_folder(project: Project, out: Path, records: Records) -> None:
    if not records.labelled():
        raise DataError(f"{project.path} has no labels yet, so there is nothing to fill {out} with: give some first.")
    source = Path(project.source)
    if source.is_dir() and out.resolve().is_relative_to(source.resolve()):
        raise StoreError(
            f"{out} lies in the project's own source, {source}: its copies would become new {project.kind}s to "
            "label. Choose another place."
        )
