"""ONNX: a trained model for other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from deepbass.cli.output import errors, say


def onnx(
    path: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The directory of a run, a labelling project or an exported model.")
    ],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, as in model.onnx.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    model: Annotated[
        str | None,
        typer.Option(help="The model's own network again, as file.py:function: no code runs because a folder says so."),
    ] = None,
) -> None:
    """Write a model as ONNX, dropout off, for programs without deepbass; it is checked before it is written."""
    with errors(as_json=False):
        from deepbass.core.errors import StoreError
        from deepbass.runs.configure import whole_reference
        from deepbass.runs.onnx_model import write_onnx
        from deepbass.runs.predictor import Predictor

        if os.path.lexists(out) and not force:
            raise StoreError(f"{out} is there already: choose another name, or use --force.")
        if not out.parent.is_dir():
            raise StoreError(f"{out.parent} is no folder: make it, or choose another place.")
        predictor = Predictor.load(path, model=whole_reference(model) if model else None)
        if predictor.note:
            say(f"Note: {predictor.note}", style="yellow")
        worst = write_onnx(predictor, out)
        if predictor.passes:
            say(
                f"Note: this model was judged as the mean over {predictor.passes} dropout passes, and ONNX has dropout "
                "off: its predictions differ a little from those of `deepbass predict`.",
                style="yellow",
            )
        say(f"Written: {out} (probabilities agree to {worst:.1g})", style="bold green")
