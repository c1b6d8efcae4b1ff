"""The name of a file that deepbass writes stands in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from deepbass.store import names

ROOT = Path(__file__).parents[2]
NAMES = {value for name, value in vars(names).items() if name.isupper()}
OTHERS = {"README.md", "compare.md"}  # the project itself, or its docs, have one
FOREIGN = ROOT / "src" / "deepbass" / "features" / "installed.py"  # names the files of other packages
FILES = [path for room in ("src", "tests", "benchmarks", "experiments") for path in (ROOT / room).rglob("*.py")]


def spelled(code: str, *, folders: bool) -> list[str]:
    """List the names that code spells out: any text that is a file's name, and maybe folders where a path is made."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
            found.append(str(node.right.value))
        elif isinstance(node, ast.Constant) and "." in str(node.value):
            found.append(str(node.value))
    return [text for text in found if text in NAMES - OTHERS and (folders or "." in text)]


def test_no_two_things_have_one_name() -> None:
    assert len(NAMES) == sum(name.isupper() for name in vars(names))


@pytest.mark.parametrize("code", ['path / "checkpoints"', 'open("run.json")', 'X = "run.db"'])
def test_a_name_that_is_spelled_out_is_found(code: str) -> None:
    assert spelled(code, folders=True)


def test_no_name_is_spelled_out_anywhere_else() -> None:
    home = Path(names.__file__)
    found = {
        str(path.relative_to(ROOT)): there
        for path in FILES
        if path not in (home, FOREIGN, Path(__file__))
        # tests and the like make folders of their own, and may call them by any word
        and (there := spelled(path.read_text(encoding="utf-8"), folders=path.is_relative_to(ROOT / "src")))
    }
    assert found == {}
