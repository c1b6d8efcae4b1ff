"""What experiments share that run a name and a seed at a time and keep what they found in one file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def fill_in(
    about: str | None,
    results: Path,
    names: Sequence[str],
    seeds: int,
    measured: Callable[[str, int, Path | None], Any],
    table: Callable[[dict[str, Any]], str],
) -> None:
    """Read the command line, run what is missing, write each down when it is done, and show the table.

    ``measured`` is given a name, a seed, and where files of named data sets lie.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(names))
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--folder", type=Path, help="where files of named data sets lie")
    parser.add_argument("--table", action="store_true", help="show what is there, and run nothing")
    given = parser.parse_args()
    found: dict[str, Any] = json.loads(results.read_text()) if results.exists() else {}
    for seed in range(0 if given.table else given.seeds):
        for name in given.names:
            runs = found.setdefault(name, {})
            if str(seed) not in runs:
                runs[str(seed)] = measured(name, seed, given.folder)
                results.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
