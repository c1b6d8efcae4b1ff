"""Run the comparisons that docs/compare.md shows, each into results/compare/NAME, and write their tables into it.

    python experiments/compare_all.py [NAME ...] [--workers 2] [--runs 5] [--page]

What is finished is not run again; it can be killed at any moment. With --page nothing is run: tables and curves alone
are written. Run it from the repository's root.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import imbalanced
from deepbass.bench.results import Results, is_results
from deepbass.bench.text_table import Table, markdown
from deepbass.compare.compare_tables import by_method, headline, main_measure, worth
from deepbass.compare.draw_comparison import draw_comparison
from deepbass.compare.standing import MEASURES, Outcome, read_outcome
from deepbass.report.canvas import Drawing

ROOT = Path(__file__).parent.parent
PAGE, IMAGES, RESULTS = ROOT / "docs" / "compare.md", ROOT / "docs" / "images", ROOT / "results" / "compare"
BEGIN, END = "<!-- comparisons -->\n", "<!-- end of comparisons -->\n"
FOUR = {"commonest", "logistic-regression", "supervised", "deepbass"}  # that are always run
NOTHING = "None of them is finished yet.\n"

TASKS: dict[str, list[str]] = {
    "digits": ["digits", "--labels", "50,100,300"],
    "imbalanced": [str(imbalanced.FILE), "--target", "label", "--labels", "50,100,300"],
    "newsgroups": ["newsgroups", "--features", "sentences-words", "--labels", "100,300,1000"],  # what auto takes
    "newsgroups-sentences": ["newsgroups", "--features", "sentences", "--labels", "100,300,1000"],
    "newsgroups-words": ["newsgroups", "--features", "words", "--labels", "100,300,1000"],
    "cifar-10": ["cifar-10", "--features", "imagenet-depths", "--pool", "12000", "--labels", "50,100,300,1000"],
    "fashion-mnist": [
        *("fashion-mnist", "--features", "imagenet-depths"),  # which is what auto takes
        *("--pool", "12000", "--labels", "100,300,1000"),
    ],
    "fashion-mnist-pixels": [
        *("fashion-mnist", "--features", "pixels", "--set", "advice=none"),
        *("--pool", "12000", "--labels", "100,300,1000"),
    ],
    "mnist": ["mnist", "--labels", "10,20,100,300"],
}


def main() -> None:
    """Run what was named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TASKS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--methods", help="only some methods")
    parser.add_argument("--redo", help="methods to run again although they are finished")
    parser.add_argument("--page", action="store_true", help="run nothing, write the tables")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in TASKS]:
        parser.error(f"{unknown[0]} is none of {', '.join(TASKS)}")
    failed = []
    for name in [] if given.page else given.names or TASKS:
        if name == "imbalanced":
            imbalanced.write(ROOT / imbalanced.FILE)
        words = ["--workers", str(given.workers), "--runs", str(given.runs), "--out", f"results/compare/{name}"]
        words += ["--methods", given.methods] if given.methods else []
        words += ["--redo", given.redo] if given.redo else []
        print(f"== {name}", flush=True)
        done = subprocess.run(
            [sys.executable, "-m", "deepbass", "compare", *TASKS[name], *words], cwd=ROOT, check=False
        )
        if done.returncode:
            failed.append(name)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")
    for name, outcome in outcomes(RESULTS).items():
        if drawing := curves(outcome):
            (IMAGES / f"compare-{name}.svg").write_bytes(drawing.save("svg"))
    if failed:
        sys.exit(f"not finished: {', '.join(failed)}; the same command goes on")


def page(text: str, results: Path) -> str:
    """Put the tables of all results into a page, in the place of those that are there."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{tables(results)}{END}{after}"


def tables(results: Path) -> str:
    """Write what the results say of the default beside plain, data set by data set."""
    parts = [_section(name, outcome) for name, outcome in outcomes(results).items()]
    return "\n".join(parts) if parts else NOTHING


def outcomes(results: Path) -> dict[str, Outcome]:
    """Read the results of all comparisons that there are."""
    return {name: read_outcome(Results.open(results / name)) for name in TASKS if is_results(results / name)}


def curves(outcome: Outcome) -> Drawing | None:
    """Draw what is looked at first, by numbers of labels."""
    return draw_comparison(outcome).get(f"{main_measure(outcome).replace('_', '-')}-by-labels")


def _section(name: str, outcome: Outcome) -> str:
    drawing = curves(outcome)
    picture = [] if drawing is None else [f"![{drawing.alt}](images/compare-{name}.svg)\n"]
    beside = side_by_side(outcome) if set(outcome.plan.methods) - FOUR else []
    shown = [markdown(table, 4) for table in [*map(_short, worth(outcome)), *beside]]
    return "\n".join([f"### {name}\n", f"{headline(outcome)}.\n", *picture, *shown])


def side_by_side(outcome: Outcome) -> list[Table]:
    """Show all methods by what is looked at first."""
    words = MEASURES[main_measure(outcome)]
    return [table for table in by_method(outcome) if table.title == f"All methods: {words}, %"]


def _short(table: Table) -> Table:
    """Take the title's question for said."""
    return Table(table.title.removeprefix("Is it worth it? "), table.columns, table.rows, table.notes)


if __name__ == "__main__":
    main()
