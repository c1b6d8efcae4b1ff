"""The command. Thin: torch and the rooms are imported inside the commands, so that --help is instant."""

from __future__ import annotations

from typing import Annotated

import typer

from deepbass import __version__
from deepbass.cli.compare import compare
from deepbass.cli.data import data_app
from deepbass.cli.exchange import export, import_
from deepbass.cli.label import label
from deepbass.cli.onnx import onnx
from deepbass.cli.people import people_app
from deepbass.cli.predict import predict
from deepbass.cli.ray_option import WithRay
from deepbass.cli.report import report
from deepbass.cli.reproduce import reproduce
from deepbass.cli.run import resume, run

app = typer.Typer(
    help="The most model from the fewest labels, and the truth about what it is worth.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (run, resume, predict, compare, reproduce, report, label, export, onnx):
    app.command(cls=WithRay)(command)
app.command("import")(import_)
app.add_typer(data_app, name="data")
app.add_typer(people_app, name="people")


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"deepbass {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command."""
    app()
