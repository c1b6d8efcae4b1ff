"""What the cost model says of many machines, from the constants of cluster.json: words and a picture."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from statistics import median
from typing import Any

from cluster.cost_model import Cluster, Costs, Design, Network, inference, iteration, most_machines, training_step

Results = dict[str, Any]

SAMPLES = (10**6, 10**7, 10**8, 10**9)
MACHINES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SHOWN = (1, 10, 100, 1000)  # in the table
WORKERS = 8  # of a machine
NETWORK = Network(1e-4, 1.25e9)
PASSES = 3
TODAY = Design(1024)
DESIGNS = {
    "as it is, batches of 1,024": TODAY,
    "batches of 16,384": Design(16_384),
    "batches of 1,024, a tree of sums": Design(1024, tree=True),
    "batches of 16,384, a tree of sums": Design(16_384, tree=True),
}
BEST = "batches of 16,384, a tree of sums"


def costs_of(found: Results) -> Costs:
    """Take the constants of a result file."""
    return Costs(**found["costs"])


def cluster_of(machines: int) -> Cluster:
    """Make a cluster like those of the table."""
    return Cluster(machines, WORKERS, NETWORK)


def measured(found: Results) -> str:
    """Tell of two workers against one."""
    lines = [
        "| two workers against one | one | two | efficiency | lost by slower work | lost by waiting |",
        "|---|---|---|---|---|---|",
    ]
    for what, of in found["two_against_one"].items():
        seconds, lost = of["seconds"], of.get("lost")
        told = f"{100 * lost['slower work']:.0f} % | {100 * lost['waiting']:.0f} %" if lost else "|"
        lines.append(f"| {what} | {seconds['1']:.2f} s | {seconds['2']:.2f} s | {of['efficiency']:.2f} | {told} |")
    settings, costs = found["settings"], costs_of(found)
    blocks = settings["batch"] // 32
    intro = (
        f"Measured by `make bench-ray` on {found['machine']['cores']} cores with a load of {found['load']:g} by other "
        f"work when it began: workers of one thread, MNIST's images and the paper's network, batches of "
        f"{settings['batch']:,}, {settings['passes']} passes over {settings['slabs']} slabs of {settings['slab']:,}; "
        f"features are those of {settings['texts']:,} texts by a language model. One worker and two take turns, and "
        f"medians of {settings['rounds']} rounds are compared ({settings['feature_rounds']} of features)."
    )
    training = found["two_against_one"]["training"]["of_two"]
    steps = settings["steps"]
    wire = (
        f"A training step of two workers sends {training['sent'] / steps / 1e6:.2f} MB (the weights to both) and gets "
        f"{training['received'] / steps / 1e6:.2f} MB back ({blocks} gradients); a message without work takes "
        f"{1000 * costs.message:.1f} ms there and back."
    )
    return "\n\n".join([intro, "\n".join(lines), wire])


def checked(found: Results) -> str:
    """Hold the model against what was measured over slowed networks."""
    lines = [
        "| network | workers | a step, measured | reckoned | a slab for every worker, measured | reckoned |",
        "|---|---|---|---|---|---|",
    ]
    off = []
    for row in found["slowed"]:
        off.append(abs(row["step"] / row["step_reckoned"] - 1))
        lines.append(
            f"| {row['network']} | {row['workers']} "
            f"| {1000 * row['step']:.0f} ms | {1000 * row['step_reckoned']:.0f} ms "
            f"| {row['inference']:.1f} s | {row['inference_reckoned']:.1f} s |"
        )
    words = (
        f"Delays are put in where messages are sent, and all workers share {found['machine']['cores']} cores, which "
        f"the model is told. Half of the steps are within {100 * median(off):.0f} % of what is reckoned, the worst is "
        f"{100 * max(off):.0f} % off."
    )
    return "\n\n".join(["\n".join(lines), words])


def constants(found: Results) -> str:
    """List the constants."""
    costs = costs_of(found)
    return "\n".join(
        [
            "| constant | measured |",
            "|---|---|",
            f"| the gradient of a block of 32, on one worker | {1000 * costs.block:.2f} ms |",
            f"| a sample in a pass, on one worker | {1e6 * costs.sample_pass:.1f} µs |",
            f"| the weights, and a block's gradient | {costs.weights / 1e6:.2f} MB |",
            f"| the driver in every step: optimiser, weights into the store | {1000 * costs.step:.1f} ms |",
            f"| the driver for every block: fetching and adding | {1000 * costs.add:.2f} ms |",
            f"| a message there and back | {1000 * costs.message:.2f} ms |",
            f"| the driver for a reduced slab | {1000 * costs.slab:.2f} ms |",
            f"| bytes of a sample in a reduced slab | {costs.column:g} |",
            f"| the driver's decisions on a sample | {1e9 * costs.decide:.0f} ns |",
        ]
    )


def table(found: Results) -> str:
    """Reckon iterations on many machines."""
    costs = costs_of(found)
    lines = [f"| samples | {' | '.join(_machines(count) for count in SHOWN)} |", "|---|" + "---|" * len(SHOWN)]
    for name in (next(iter(DESIGNS)), BEST):
        for samples in SAMPLES:
            cells = [
                _time(iteration(costs, cluster_of(count), DESIGNS[name], samples, PASSES).seconds) for count in SHOWN
            ]
            lines.append(f"| 10^{len(str(samples)) - 1}, {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def ends(found: Results) -> str:
    """Tell where adding machines stops to pay."""
    costs, lines = (
        costs_of(found),
        ["| training | machines of whose time half is put to use | a step there is mostly |", "|---|---|---|"],
    )
    for name, design in DESIGNS.items():
        most = most_machines(costs, cluster_of(1), design, 10**9, PASSES)
        step = training_step(costs, cluster_of(2 * most), design)
        few = design.blocks < cluster_of(2 * most).all_workers
        computing = f"computing: {design.blocks} blocks are too few" if few else "computing"
        parts = {computing: step.compute, "bytes": step.wire, "latency": step.latency, "the driver": step.driver}
        lines.append(f"| {name} | {most:,} | {max(parts, key=lambda part: parts[part])} |")
    alone = inference(costs, cluster_of(1), 10**9, PASSES)
    machines = 1
    while (
        machines < 1 << 20 and alone / (2 * machines * inference(costs, cluster_of(2 * machines), 10**9, PASSES)) >= 0.5
    ):
        machines *= 2
    return "\n".join([*lines, f"| inference over 10^9 samples, beside it | {machines:,} | |"])


def _machines(count: int) -> str:
    return f"{count:,} machine{'s' if count > 1 else ''}"


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def curves(found: Results) -> dict[str, dict[int, list[float]]]:
    """List what the picture shows: hours by design, samples and machines."""
    costs = costs_of(found)
    return {
        name: {
            samples: [
                iteration(costs, cluster_of(count), DESIGNS[name], samples, PASSES).seconds / 3600 for count in MACHINES
            ]
            for samples in SAMPLES
        }
        for name in (next(iter(DESIGNS)), BEST)
    }


def digest(found: Results) -> str:
    """Sum up what the picture shows; it is written into the picture, so that a test can tell an old one."""
    return hashlib.sha256(json.dumps(curves(found)).encode()).hexdigest()


def draw(found: Results, path: Path) -> None:
    """Draw the time of an iteration over the number of machines, as SVG or by the path's ending."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    colours = dict(zip(SAMPLES, ("#7fb2e5", "#3b6fb6", "#e08f3c", "#a8452a"), strict=True))
    with mpl.rc_context({"svg.hashsalt": "deepbass", "font.size": 11}):
        figure = Figure(figsize=(9, 5), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        for (name, by_samples), style in zip(curves(found).items(), ("-", "--"), strict=True):
            for samples, hours in by_samples.items():
                axes.plot(MACHINES, hours, style, color=colours[samples], linewidth=2)
                if style == "-":
                    power = f"$10^{len(str(samples)) - 1}$ samples"
                    axes.annotate(power, (1, hours[0]), (0, 6), textcoords="offset points", color=colours[samples])
            axes.plot([], [], style, color="#444", label=name)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(f"machines with {WORKERS} workers each, 10 Gbit/s")
        axes.set_ylabel("hours for one iteration")
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=2, frameon=False)
        described = {"Date": None, "Description": digest(found)} if path.suffix == ".svg" else {}
        figure.savefig(path, facecolor="white", metadata=described, dpi=110)
