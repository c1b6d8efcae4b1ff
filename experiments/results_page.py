"""Write docs/results.md, its figures and the README's table from the files in results/; a test compares them."""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import mnist_numbers
from deepbass.bench.results import Results
from deepbass.paper.results_page import docs_page
from deepbass.paper.tables import readme_table

ROOT = Path(__file__).parents[1]
PAGE, IMAGES, README = ROOT / "docs" / "results.md", ROOT / "docs" / "images", ROOT / "README.md"
PAPER = ROOT / "results" / "paper"


def page(images: Path = IMAGES) -> str:
    """Make the text of the page, and its figures in a folder."""
    template = Path(__file__).with_name("results_notes.md")
    notes = (
        docs_page(PAPER, images, template)
        .rstrip("\n")
        .format(**_toy(), **_augmentation(), **mnist_numbers.all_of_them())
    )
    return f"{notes}\n"


def readme(before: str) -> str:
    """Put the table of results into the README's text, between its two marks."""
    table = readme_table(Results.open(PAPER)).strip()
    marked = re.compile(r"(<!-- results -->\n).*?(\n<!-- end of results -->)", flags=re.DOTALL)
    return marked.sub(lambda found: f"{found[1]}{table}{found[2]}", before)


def _toy() -> dict[str, str]:
    """Look up the numbers that the notes on the toy speak of."""
    limit = json.loads((ROOT / "results" / "toy-limit.json").read_text("utf-8"))
    rows = [record for record in Results.open(PAPER).records() if record.cell.experiment == "toy"]
    ours = {(record.cell.row, record.cell.run): 100 * (record.accuracy or 0.0) for record in rows}
    runs = sorted(run for row, run in ours if row == "1000-labels")
    here = statistics.mean(limit["by_seed"][run] for run in runs)
    gap = here - statistics.mean(ours["1000-labels", run] for run in runs)
    gains = [ours["semi-supervised", run] - ours["initial", run] for run in runs]
    return {
        "toy_here": f"{here:.2f}",
        "toy_limit": f"{limit['limit']:.2f}",
        "toy_gap": f"{gap:.2f}",
        "toy_loss": f"{-statistics.mean(gains):.2f}",
        "toy_worst": f"{-min(gains):.1f}",
        "toy_best": f"{max(gains):.1f}",
    }


def _augmentation() -> dict[str, str]:
    """Look up the numbers that the notes on augmentation speak of."""
    records = [record for record in Results.open(PAPER).records() if record.cell.key.startswith("augmentation-full/")]
    names = {
        "aug_said": "as the text says",
        "aug_shifted": "as the published code does",
        "aug_none": "without augmentation",
        "aug_longer": "three times the epochs",
        "aug_more": "twice the turning and stretching",
        "aug_hundred": "100 labels",
    }
    tried = _by_name("augmentation.json")
    means = {key: f"{statistics.mean(tried[name]):.2f}" for key, name in names.items()}
    means["aug_seeds"] = str(min(len(tried[name]) for name in names.values()))
    return {**means, "augmented": f"{statistics.mean(100 * (record.accuracy or 0.0) for record in records):.2f}"}


def _by_name(file: str) -> dict[str, list[float]]:
    runs: list[dict[str, Any]] = json.loads((ROOT / "results" / file).read_text("utf-8"))["runs"]
    accuracies: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        accuracies[run["name"]].append(100 * run["accuracy"])
    return accuracies


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
