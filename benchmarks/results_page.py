"""Write docs/results.md from the files in results/. A test fails when the page and the files differ."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from paper_numbers import CHECKS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "results.md"

_TOP = """# Measured results

This page is written by `python benchmarks/results_page.py` from the files in `results/`, which hold every run that is
counted here: settings, seed, learning curve.
"""

_PAPER = """
## The paper's first numbers

Validation accuracy in percent, by `python benchmarks/paper_numbers.py`. The whole of the paper's tables is not
reproduced yet. MNIST's was planned with five seeds, whose mean was 80.56; five more were run after seeing that.

| experiment | paper | here | standard deviation | runs |
|---|---|---|---|---|
"""

_QUICK = """
## The quick preset

MNIST from 100 labels to 300, by `python benchmarks/quick_preset.py`: settings that take about the same work, from many
iterations over few samples to few iterations over many. One run each does not tell them apart: a curve moves by half a
point from one iteration to the next, and most still rise at the end. The preset has 12,000 samples because the run with
90 iterations came out best, which may be chance; it was then given 100, so that questions come evenly to the end.

| setting | accuracy | lowest and highest | runs |
|---|---|---|---|
"""


def page() -> str:
    """Make the text of the page."""
    paper, quick = _by_name("paper-numbers.json"), _by_name("quick-preset.json")
    lines = [_TOP, _PAPER]
    for name, (_, _, _, reported, _) in CHECKS.items():
        ours = paper[name]
        lines.append(
            f"| {name} | {reported:.2f} | {statistics.mean(ours):.2f} | {statistics.stdev(ours):.2f} | {len(ours)} |\n"
        )
    lines.append(_QUICK)
    for name, ours in sorted(quick.items(), key=lambda item: -statistics.mean(item[1])):
        lines.append(f"| {name} | {statistics.mean(ours):.2f} | {min(ours):.2f} to {max(ours):.2f} | {len(ours)} |\n")
    return "".join(lines)


def _by_name(file: str) -> dict[str, list[float]]:
    runs: list[dict[str, Any]] = json.loads((ROOT / "results" / file).read_text(encoding="utf-8"))["runs"]
    accuracies: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        accuracies[run["name"]].append(100 * run["accuracy"])
    return accuracies


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
