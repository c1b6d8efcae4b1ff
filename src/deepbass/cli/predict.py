"""Predict: a trained model on whatever it was made for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from deepbass.cli.output import INTERRUPTED, errors, say
from deepbass.cli.prediction_writer import FORMATS, PredictionWriter
from deepbass.cli.ray_option import Ray, Workers, cluster_or_none

if TYPE_CHECKING:
    from deepbass.runs.predictor import Prediction

SOME_FAILED = 1  # the exit code if some inputs could not be read: the others are in the output
_NAMED = 20  # unreadable inputs that are named one by one; all are counted


def predict(
    path: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The directory of a run, a labelling project or an exported model.")
    ],
    inputs: Annotated[
        list[str],
        typer.Argument(help="Folders or files of images, texts or rows, .npy or .npz arrays, or - : standard input."),
    ],
    out: Annotated[Path | None, typer.Option(help="The file to write. (default: standard output)")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="csv or jsonl. (default: as --out ends, else csv)")
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="The column that holds the texts. (default: as in the training)")
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="The column that names the rows of a table. (default: their place)")
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Only so many classes, the most probable first.")] = None,
    passes: Annotated[
        int | None, typer.Option(min=0, help="Dropout passes to take the mean of. (default: as the model was judged)")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="The model's own network again, as file.py:function: no code runs because a folder says so."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="The model's own features again, as file.py:function, for the same reason.")
    ] = None,
    ray: Ray = None,
    workers: Workers = None,
) -> None:
    """Tell the class of every sample, and how sure the model is: a line each, as they come."""
    with errors(as_json=False), ExitStack() as stack:
        from deepbass.core.config import one_of
        from deepbass.core.errors import DataError
        from deepbass.data.incoming import inputs_of
        from deepbass.data.progress_bars import track
        from deepbass.runs.configure import whole_reference
        from deepbass.runs.predictor import Predictor

        kind = format_ or ("jsonl" if out is not None and out.suffix.lower() in (".jsonl", ".ndjson") else "csv")
        one_of("format", kind, FORMATS)
        code = {
            "model": whole_reference(model) if model else None,
            "features": whole_reference(features) if features else None,
        }
        predictor = Predictor.load(path, passes=passes, **code)
        predictor.text = text or predictor.text
        opened = inputs_of(inputs, replace(predictor.wanted, id=id_, files=ray is not None))
        for note in [predictor.note, *(note for each in opened for note in each.notes)]:
            if note:
                say(f"Note: {note}", style="yellow")
        counts = [each.count for each in opened]
        total = None if None in counts else sum(filter(None, counts))
        items = (item for each in opened for item in each.items())
        shown = sys.stderr.isatty() and (out is not None or not sys.stdout.isatty())
        stream = predictor.stream
        cluster = stack.enter_context(cluster_or_none(ray, workers))  # last: what is wrong before need not wait for it
        if cluster is not None:
            from deepbass.runs.prediction_tasks import PredictionTasks

            stream = PredictionTasks(cluster, predictor, **code).stream
        predictions = track(stream(items), "Predicting", total, shown)
        with closing(predictions), _written_to(out, force) as file:
            writer = PredictionWriter(file, kind, predictor.classes, top)
            made, failed = _write(predictions, writer, None if out else file)
            if not made:
                why = f": none of {failed} inputs could be read" if failed else ": there are no samples in them"
                raise DataError(f"Nothing was predicted{why}.")
        if out is not None:
            say(f"Written: {out} ({made:,} predictions)", style="bold green")
        if failed:
            say(f"{failed:,} of {made + failed:,} could not be read and were left out.", style="yellow")
            raise typer.Exit(SOME_FAILED)


def _write(predictions: Iterable[Prediction], writer: PredictionWriter, pipe: TextIO | None) -> tuple[int, int]:
    """Write predictions, each at once to a pipe; count them, and those that failed, which are named."""
    made = failed = 0
    for prediction in predictions:
        if prediction.probs_C is None:
            failed += 1
            if failed <= _NAMED:
                say(f"Left out: {prediction.name} ({prediction.why})", style="yellow")
            continue
        made += 1
        writer.write(prediction)
        if pipe is not None:
            pipe.flush()
    return made, failed


@contextmanager
def _written_to(out: Path | None, force: bool) -> Iterator[TextIO]:
    """Open a file that is there whole or not at all, or standard output, whose reader may leave when it has enough."""
    if out is not None:
        from deepbass.exchange.targets import new_file

        with new_file(out, force=force) as file:
            yield file
        return
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain when it ends
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
