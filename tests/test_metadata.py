"""What the package says of itself is said once, or the same everywhere."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

from typer.testing import CliRunner

import deepbass
from deepbass.cli import app

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_has_one_place() -> None:
    assert importlib.metadata.version("deepbass") == deepbass.__version__
    assert "version" in PROJECT["dynamic"]
    said = re.escape(f'"{deepbass.__version__}"')
    places = [file for file in (ROOT / "src").rglob("*.py") if re.search(said, file.read_text(encoding="utf-8"))]
    assert places == [ROOT / "src" / "deepbass" / "__init__.py"]


def test_what_it_is_for_is_told_in_the_same_words_everywhere() -> None:
    told = PROJECT["description"]
    assert deepbass.__doc__ is not None
    assert deepbass.__doc__.lower() == f"deepbass: {told}".lower()
    assert told in CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, ["--help"]).output
    assert f"abstract: {told}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_lowest_versions_that_are_promised_are_the_lowest_that_are_tested() -> None:
    extras = PROJECT["optional-dependencies"]
    named = ("plot", "images", "sklearn", "photos", "texts", "web", "notebook")
    asked = [*PROJECT["dependencies"], *(line for name in named for line in extras[name])]
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    promised = dict(re.findall(r"^([\w-]+)>=([\d.]+)", "\n".join(asked), flags=re.MULTILINE))
    assert set(promised) == {re.split(r"[<>=]", line)[0] for line in asked if not line.startswith("deepbass[")}
    assert {name: _padded(version) for name, version in promised.items()} == {
        name: tested.get(name) for name in promised
    }


def _padded(version: str) -> str:
    """Spell a version with three numbers: 4 is 4.0.0."""
    return ".".join([*version.split("."), "0", "0"][:3])
