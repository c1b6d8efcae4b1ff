"""The numbers that the notes on MNIST speak of, looked up in results/."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from deepbass.bench.results import Results
from deepbass.paper.rows import choose
from deepbass.paper.verdict import judge

_RESULTS = Path(__file__).parents[1] / "results"
_ROWS = {  # in the notes' fields: the name in results/readings.json and the cells of results/paper
    "hundred": ("100 labels", "mnist-full/labels-100"),
    "three_hundred": ("300 labels", "mnist-full/labels-300"),
    "mc": ("100 labels and pseudo-labels, quick tier", "mnist-quick/all-data-100"),
    "no_mc": ("100 labels and pseudo-labels, no MC dropout, quick tier", "no-mc-quick/no-mc-100"),
}
_READINGS = {"swapped": "pooling, then dropout", "l2": "L2 on convolutions only", "same": "the same start"}

_DIGITS = ["zeros", "ones", "twos", "threes", "fours", "fives", "sixes", "sevens", "eights", "nines"]


def all_of_them() -> dict[str, str]:
    """Look up all fields of the notes on MNIST."""
    return {**_readings(), **_full(), **_keras(), **_stuck()}


def _readings() -> dict[str, str]:
    """Both readings of the text, side by side on the same seeds."""
    tried = _runs("readings.json")
    ours = {record.cell.key: record.accuracy for record in Results.open(_RESULTS / "paper").records()}
    found = {}
    for reading, said in _READINGS.items():
        for row, (name, cell) in _ROWS.items():
            runs = {run["settings"]["seed"]: run["accuracy"] for run in tried if run["name"] == f"{name}: {said}"}
            if not runs:
                continue
            field = f"{row}_{reading}"
            found[field] = _percent(statistics.mean(runs.values()))
            found[f"{field}_seeds"] = str(len(runs))
            found[f"{field}_before"] = _percent(statistics.mean(ours[f"{cell}.{seed:02d}"] or 0.0 for seed in runs))
            verdict = judge(
                [100 * accuracy for accuracy in runs.values()], choose("all", [cell.split("/")[1]])[0].paper
            )
            low, high = verdict.interval or (float("nan"),) * 2
            found[f"{field}_against_paper"] = f"{low:+.2f} to {high:+.2f}"
    return found


def _full() -> dict[str, str]:
    """The full tier's single runs, in the order of their seeds, and what the low ones confuse."""
    records = sorted(Results.open(_RESULTS / "paper").records(), key=lambda record: record.cell.run)
    ours = {record.cell.key: record.accuracy or 0.0 for record in records}
    asked, free, quick = (
        [accuracy for key, accuracy in ours.items() if key.startswith(f"{row}.")]
        for row in ("mnist-full/all-data-max-entropy", "mnist-full/all-data-100", "mnist-quick/all-data-max-entropy")
    )
    confusions = json.loads((_RESULTS / "confusions.json").read_text("utf-8"))
    two, seven = confusions["mnist-full/all-data-100.00"], confusions["mnist-full/all-data-max-entropy.02"]
    return {
        "asked_runs": ", ".join(map(_percent, asked)),
        "free_runs": ", ".join(map(_percent, free)),
        "first_asked": _percent(asked[0]),
        "quick_lowest": _percent(min(quick)),
        "quick_highest": _percent(max(quick)),
        "twos": f"{sum(two['counts'][2]):,}",
        "twos_for_threes": str(two["counts"][2][3]),
        "twos_sure": f"{two['sure'][2][3]:.2f}",
        "sevens": f"{sum(seven['counts'][7]):,}",
        "sevens_for_nines": str(seven["counts"][7][9]),
        "sevens_sure": f"{seven['sure'][7][9]:.2f}",
    }


def _keras() -> dict[str, str]:
    """The same runs in Keras and here, after the same iterations, with the same initial labels."""
    curves: dict[str, list[float]] = json.loads((_RESULTS / "keras.json").read_text("utf-8"))["curves"]
    records = {record.cell.key: record for record in Results.open(_RESULTS / "paper").records()}
    after = min(map(len, curves.values())) - 1
    theirs = [curve[after] for curve in curves.values()]
    ours = [records[f"mnist-quick/all-data-100.{int(seed):02d}"].curve["validation_accuracy"][after] for seed in curves]
    return {
        "keras_iterations": str(after),
        "keras_seeds": str(len(curves)),
        "keras_means": _percent(statistics.mean(theirs)),
        "keras_ours": _percent(statistics.mean(ours)),
        "keras_runs": ", ".join(map(_percent, theirs)),
        "keras_our_runs": ", ".join(map(_percent, ours)),
    }


def _stuck() -> dict[str, str]:
    """What the initial models confuse most, by seed and by labels, and the low runs with pooling before dropout."""
    runs = {(run["name"], run["settings"]["seed"]): run for run in _runs("stuck.json")}
    initial = {seed: run["confusions"][0] for (name, seed), run in runs.items() if name == "labels-100, as it is"}
    first, third = initial.pop(0), initial.pop(2)
    found = {
        "first_count": str(first["count"]),
        "first_sure": f"{first['sure']:.2f}",
        "third_count": str(third["count"]),
        "third_sure": f"{third['sure']:.2f}",
        "others_count": _range([str(confusion["count"]) for confusion in initial.values()]),
        "others_sure": _range([f"{confusion['sure']:.2f}" for confusion in initial.values()]),
    }
    for field, labels, true, answer in (("first_again", 0, 2, 3), ("third_again", 2, 7, 9)):
        again = [
            str(confusion["count"])
            for (name, _), run in runs.items()
            if name == f"labels-100, labels of seed {labels}"
            for confusion in run["confusions"]
            if (confusion["true"], confusion["answer"]) == (true, answer)
        ]
        found[field], found[f"{field}_times"] = _range(again), str(len(again))
    records = {record.cell.key: record for record in Results.open(_RESULTS / "paper").records()}
    for field, row, seed in (("free_swapped", "all-data-100", 0), ("asked_swapped", "all-data-max-entropy", 2)):
        run = runs[f"{row}, pooling, then dropout", seed]
        after = run["settings"]["iterations"]
        as_it_is = records[f"mnist-full/{row}.{seed:02d}"].curve["validation_accuracy"]
        found |= {
            field: _percent(run["accuracy"]),
            f"{field}_before": _percent(as_it_is[after]),
            f"{field}_what": _what(run),
        }
        found["swapped_iterations"] = str(after)
    third, fourth = (runs["all-data-100, as it is", seed] for seed in (2, 3))
    curves = [records[f"mnist-full/all-data-100.{seed:02d}"].curve["validation_accuracy"] for seed in (0, 1)]
    curves += [third["curve"], fourth["curve"]]
    for field, curve in zip(("first", "second", "third", "fourth"), curves, strict=True):
        found[f"{field}_at_fifty"] = _percent(curve[50])
    no_mc, exchanged = runs["no-mc-100, as it is", 0], runs["all-data-100, labels of seed 0", 1]
    after = exchanged["settings"]["iterations"]
    return found | {
        "exchanged": _percent(exchanged["accuracy"]),
        "exchanged_at": str(after),
        "exchanged_first": _percent(curves[0][after]),
        "exchanged_second": _percent(curves[1][after]),
        "no_mc_full_start": _percent(no_mc["initial_accuracy"]),
        "no_mc_full_end": _percent(no_mc["accuracy"]),
        "no_mc_full_iterations": str(no_mc["settings"]["iterations"]),
        "third_later": _percent(third["accuracy"]),
        "third_later_at": str(third["settings"]["iterations"]),
        "third_later_what": _what(third),
        "fourth_later_what": _what(fourth),
    }


def _what(run: dict[str, Any]) -> str:
    """Say what a model confuses most: how many, and how sure of it."""
    worst = run["confusions"][0]
    return f"{worst['count']} {_DIGITS[worst['true']]} for {_DIGITS[worst['answer']]} ({worst['sure']:.2f})"


def _range(numbers: list[str]) -> str:
    return f"{min(numbers, key=float)} to {max(numbers, key=float)}"


def _runs(file: str) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((_RESULTS / file).read_text("utf-8"))["runs"]
    return runs


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"
