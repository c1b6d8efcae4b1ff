"""Make a notebook of every tutorial page, in docs/notebooks; with --run FOLDER, run them there instead, or some.

python experiments/notebooks.py

The pages are the source. Python blocks become cells of code; all else is text, with links that lead back to the pages.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = DOCS / "notebooks"
PAGES = ["tutorial", "own-pictures", "own-texts", "own-tables", "own-model", "own-backbone"]

_CODE = re.compile(r"^```python\n(.*?)^```\n", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#)")
_SELF = re.compile(r" ?\(?This page is also\s+\[a notebook\]\([^)]*\)\.\)?")


def notebook(page: str) -> dict[str, Any]:
    """Make the notebook of a page."""
    parts = _CODE.split(_SELF.sub("", page))
    cells = []
    for number, part in enumerate(parts):
        if number % 2:
            cells.append(_code(number, part))
        elif part.strip():
            cells.append(_cell("markdown", number, _LINK.sub("](../", part)))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def written(name: str) -> str:
    """Write the notebook of a page as the file should be."""
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


def _code(number: int, source: str) -> dict[str, Any]:
    return _cell("code", number, source) | {"execution_count": None, "outputs": []}


def _cell(kind: str, number: int, source: str) -> dict[str, Any]:
    lines = source.strip("\n").splitlines(keepends=True)
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": lines}


def run(folder: Path, names: Sequence[str] = PAGES) -> None:
    """Run notebooks in a folder, in one kernel, each without the variables of the one before; an error is raised.

    A kernel's start and its imports take longer than the cells do.
    """
    import nbformat
    from jupyter_client.manager import KernelManager
    from nbclient import NotebookClient

    kernel = KernelManager(kernel_name="python3")
    kernel.start_kernel(cwd=str(folder))
    try:
        for name in names:
            began = time.monotonic()
            made = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
            made["cells"].insert(0, _code(-1, "%reset -f"))
            cells = nbformat.reads(json.dumps(made), as_version=4)  # type: ignore[no-untyped-call]
            NotebookClient(cells, km=kernel, timeout=300).execute()
            print(f"{name}: {time.monotonic() - began:.1f} s")
    finally:
        kernel.shutdown_kernel(now=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="run the notebooks, with this as their directory")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of the notebooks to run (default: all)")
    words = parser.parse_args()
    if words.run:
        run(words.run, words.names or PAGES)
    else:
        NOTEBOOKS.mkdir(exist_ok=True)
        for name in PAGES:
            (NOTEBOOKS / f"{name}.ipynb").write_text(written(name), encoding="utf-8")
