"""One name for one thing, in the whole house."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "deepbass"
FILES = sorted(SOURCE.rglob("*.py"))
PYTHONS_OWN = ("__init__.py", "__main__.py")


def test_no_two_files_have_one_name() -> None:
    names = Counter(file.name for file in FILES if file.name not in PYTHONS_OWN)
    assert {name for name, count in names.items() if count > 1} == set()


def test_no_two_classes_have_one_name() -> None:
    names = Counter(
        node.name
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1} == set()
