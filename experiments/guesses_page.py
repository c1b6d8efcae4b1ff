"""Draw the figures of docs/pseudo-labels.md and write its tables, from the files in results/; a test compares them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from deepbass.bench.results import Results
from deepbass.compare.compare_tables import main_measure
from deepbass.compare.standing import Spread, read_outcome
from deepbass.report.canvas import BLUE, GREEN, GREY, PURPLE, RED, Drawing, blank, draw_band, label_ends, style

ROOT = Path(__file__).parents[1]
PAGE, IMAGES, RESULTS = ROOT / "docs" / "pseudo-labels.md", ROOT / "docs" / "images", ROOT / "results"
MNIST_LABELS = (100, 300, 600, 1000, 3000)
COMPARED = {"cifar-10": BLUE, "newsgroups": GREEN, "imbalanced": RED}
METHODS = {"DeepBASSClassifier": BLUE, "SelfTrainingClassifier": PURPLE, "LabelSpreading": RED}
MINUS = "\N{MINUS SIGN}"
_LOW, _HIGH = "mnist-full/all-data-100.00", "mnist-full/all-data-100.01"

Runs = Mapping[int, float]  # percent right, by number of the run
Points = Sequence[tuple[int, Spread]]  # by number of labels


@cache
def _ends() -> dict[tuple[str, str, str], Runs]:
    """Look up how all runs of the paper's rows ended, by row, experiment and tier."""
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for record in Results.open(RESULTS / "paper").records():
        if record.accuracy is not None:
            key = record.cell.row, record.cell.experiment, record.cell.tier
            found.setdefault(key, {})[record.cell.run] = 100 * record.accuracy
    return dict(found)


def accuracies(row: str, experiment: str, tier: str) -> Runs:
    """Look up how the runs of a row of the paper ended."""
    return _ends()[row, experiment, tier]


def gain(without: Runs, with_guesses: Runs) -> Spread:
    """Average what guesses add, over runs that start from the same labels."""
    found = Spread.of(with_guesses[run] - without[run] for run in sorted(without.keys() & with_guesses.keys()))
    assert found is not None, "no run has both"
    return found


def mnist() -> dict[int, tuple[Runs, Runs]]:
    """Look up MNIST's runs without and with guesses, by the number of labels."""
    return {
        labels: (accuracies(f"labels-{labels}", "mnist", "quick"), accuracies(f"all-data-{labels}", "mnist", "quick"))
        for labels in MNIST_LABELS
    }


def same_labels() -> dict[str, dict[str, list[tuple[int, Spread]]]]:
    """Look up what each method gains over logistic regression on the same labels, by data set and method."""
    gains: dict[str, dict[str, list[tuple[int, Spread]]]] = {}
    for row, found in json.loads((RESULTS / "beside-scikit.json").read_text("utf-8")).items():
        data, labels = row.removesuffix(" labels").rsplit(", ", 1)
        plain = found["logistic regression"]
        for method in METHODS:
            apart = Spread.of(100 * (ours - theirs) for ours, theirs in zip(found[method], plain, strict=True))
            assert apart is not None
            gains.setdefault(data, {}).setdefault(method, []).append((int(labels), apart))
    return gains


def default_gains() -> dict[str, list[tuple[int, Spread]]]:
    """Look up how far the whole default is above plain, in percent, by data set."""
    gains = {}
    for name in COMPARED:
        outcome = read_outcome(Results.open(RESULTS / "compare" / name))
        standings = outcome.standings(main_measure(outcome))
        gains[name] = [
            (
                each.labels,
                Spread(100 * each.difference.mean, 100 * (each.difference.error or 0.0), each.difference.runs),
            )
            for each in standings
        ]
    return gains


def facts() -> list[str]:
    """List the sentences of the page that name numbers, as the files have them."""
    curves = {name: _curve(name) for name in (_LOW, _HIGH)}
    first = _confused(json.loads((RESULTS / "stuck.json").read_text("utf-8"))["runs"], 2, 3)
    counts = json.loads((RESULTS / "confusions.json").read_text("utf-8"))[_LOW]["counts"][2]
    return [
        *(f"begins at {curve[0]:.1f} % and ends at {curve[-1]:.1f} %" for curve in curves.values()),
        f"took {first['count']} of {sum(counts):,} twos for threes, {100 * first['sure']:.1f} % sure on average; after "
        f"learning from its guesses it took {counts[3]}",
    ]


def _curve(name: str) -> list[float]:
    """Read how the accuracy of a run went, in percent."""
    record = json.loads((RESULTS / "paper" / "cells" / f"{name}.json").read_text("utf-8"))
    return [100 * share for share in record["curve"]["validation_accuracy"]]


def _confused(runs: Sequence[Mapping[str, Any]], true: int, answer: int) -> Any:
    """Look up how often the initial model of the low run takes one class for another, and how sure it is."""
    (start,) = (run for run in runs if run["name"] == "labels-100, as it is" and run["settings"]["seed"] == 0)
    return next(each for each in start["confusions"] if (each["true"], each["answer"]) == (true, answer))


def tables() -> dict[str, str]:
    """Write the page's tables, by the names of their marks."""
    moons = accuracies("initial", "toy", "full"), accuracies("semi-supervised", "toy", "full")
    rows = {f"MNIST, {labels:,} labels": pair for labels, pair in mnist().items()} | {"half moons, 8 labels": moons}
    paper = ["| | labels alone, % | with guesses, % | difference | runs |", "|---|---:|---:|---:|---:|"]
    for name, pair in rows.items():
        means = " | ".join(f"{sum(runs.values()) / len(runs):.2f}" for runs in pair)
        apart = gain(*pair)
        paper.append(f"| {name} | {means} | {_signed(apart)} | {apart.runs} |")
    same = [f"| points above logistic regression | {' | '.join(METHODS)} |", f"|---|{'---:|' * len(METHODS)}"]
    for data, by_method in same_labels().items():
        for place, (labels, _) in enumerate(by_method["LabelSpreading"]):
            cells = " | ".join(_signed(by_method[method][place][1]) for method in METHODS)
            same.append(f"| {data}, {labels} labels | {cells} |")
    return {"paper": "\n".join(paper), "same labels": "\n".join(same)}


def _signed(value: Spread) -> str:
    return f"{value.mean:+.1f} ± {value.error:.1f}".replace("-", MINUS)


def page(text: str) -> str:
    """Put the tables into the page, between their marks."""
    for name, table in tables().items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}{table}\n{end}{rest.partition(end)[2]}"
    return text


def drawings() -> list[Drawing]:
    """Draw the figures."""
    with style():
        return [_draw_mnist(), _draw_two_runs(), _draw_same_labels(), _draw_default()]


def _draw_mnist() -> Drawing:
    figure = blank()
    axes = figure.add_subplot()
    ends = []
    for side, (name, colour) in enumerate([("labels alone", GREY), ("with guesses", BLUE)]):
        means = [sum(pair[side].values()) / len(pair[side]) for pair in mnist().values()]
        axes.plot(MNIST_LABELS, means, color=colour, marker="o", markersize=4)
        ends.append((MNIST_LABELS[0], means[0], name, colour))
    _labels_axis(axes, MNIST_LABELS)
    axes.set_ylim(78, 100)
    for x, y, name, colour in ends:
        place = (-4, 26) if colour == BLUE else (10, -12)
        axes.annotate(name, (x, y), xytext=place, textcoords="offset points", color=colour, weight="bold")
    axes.set_title("MNIST: accuracy, %")
    return Drawing("guesses-mnist", figure, "Accuracy on MNIST by the number of labels, with and without guesses.")


def _draw_two_runs() -> Drawing:
    figure = blank()
    axes = figure.add_subplot()
    ends = []
    for name, colour in ((_HIGH, BLUE), (_LOW, RED)):
        curve = _curve(name)
        draw_band(axes, range(len(curve)), curve, colour)
        ends.append((len(curve) - 1, curve[-1], f"{curve[-1]:.1f} %", colour))
    axes.set_xlabel("iteration")
    axes.set_ylim(75, 100)
    label_ends(axes, ends)
    axes.set_title("Two draws of 100 labels: accuracy, %")
    return Drawing("guesses-two-runs", figure, "Two runs on MNIST with 100 labels: one climbs, the other stays low.")


def _draw_same_labels() -> Drawing:
    gains = same_labels()
    figure = blank(width=7.2)
    for axes, data in zip(figure.subplots(1, len(gains), sharey=True), gains, strict=True):
        axes.axhline(0, color=GREY, linewidth=1)
        for shift, (method, colour) in enumerate(METHODS.items()):
            _points(axes, gains[data][method], colour, method, factor=1 + 0.06 * (shift - 1))
        _labels_axis(axes, [labels for labels, _ in gains[data]["LabelSpreading"]])
        axes.set_title(f"{data}: points above")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return Drawing("guesses-same-labels", figure, "Points above logistic regression on the same labels, by method.")


def _draw_default() -> Drawing:
    figure = blank()
    axes = figure.add_subplot()
    axes.axhline(0, color=GREY, linewidth=1)
    for shift, (name, points) in enumerate(default_gains().items()):
        _points(axes, points, COMPARED[name], name, factor=1 + 0.05 * (shift - 1))
    _labels_axis(axes, (50, 100, 300, 1000))
    axes.legend(frameon=False, fontsize=9)
    axes.set_title("The default: points above plain")
    return Drawing("guesses-default", figure, "How far the default is above the better plain method, by data set.")


def _points(axes: Axes, points: Points, colour: str, name: str, factor: float) -> None:
    """Draw means with a standard error to each side, moved a little so that none hides another."""
    xs = [labels * factor for labels, _ in points]
    means, errors = [each.mean for _, each in points], [each.error or math.nan for _, each in points]
    axes.errorbar(xs, means, errors, color=colour, marker="o", markersize=4, capsize=2, linewidth=1.2, label=name)


def _labels_axis(axes: Axes, labels: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(list(labels), [f"{each:,}" for each in labels])
    axes.minorticks_off()
    axes.set_xlabel("labels")


if __name__ == "__main__":
    for drawing in drawings():
        (IMAGES / f"{drawing.name}.svg").write_bytes(drawing.save("svg"))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print("\n".join(facts()))
