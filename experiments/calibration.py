"""How sure the default for pictures from pixels is beside how often it is right: with its temperature and without.

    python experiments/calibration.py [DATA ...] [--table]     DATA: mnist, fashion-mnist

2,000 pictures of the training part, judged by 2,000 others of it (experiments/training_parts.py); 100 labels in all,
ten iterations, shorter than the default's, one seed. Written to results/calibration.json: what is there already is not
computed again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deepbass.core.quality import Quality
from deepbass.learn.teacher import TeacherLearner
from fill_in import fill_in
from training_parts import train, training_part

RESULTS = Path(__file__).parent.parent / "results" / "calibration.json"
ALL = ["mnist", "fashion-mnist"]
LABELS, ITERATIONS = 100, 10
LIGHT: dict[str, Any] = {
    "initial_epochs": 15,
    "copies": 10,
    "guesses": 1_500,
}  # a minute or two


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Train, and judge the same network with its temperature and without."""
    data = training_part(name, seed, folder=folder, features="pixels")
    learner, _ = train(data, seed, budget=LABELS, initial=50, iterations=ITERATIONS, **LIGHT)
    assert isinstance(learner, TeacherLearner)
    heat, found = learner.temperature, {}
    for when, used in (("before", 1.0), ("after", heat)):
        learner.temperature = used
        quality = Quality.of(learner.predict(data.validation), data.validation_labels)
        found[when] = {"accuracy": quality.accuracy, "ece": quality.ece}
    fair = learner.evidence.labels if learner.evidence else 0
    return {"temperature": heat, "fair_labels": fair, **found}


def table(found: dict[str, Any]) -> str:
    """Lay out the calibration error before and after."""
    lines = ["| data | accuracy | fair labels | temperature | ECE without | with |", "|---|---:|---:|---:|---:|---:|"]
    for name, runs in found.items():
        for one in runs.values():
            accuracy, before, after = one["after"]["accuracy"], one["before"]["ece"], one["after"]["ece"]
            lines.append(
                f"| {name} | {100 * accuracy:.1f} | {one['fair_labels']} | {one['temperature']:.2f} | "
                f"{before:.3f} | {after:.3f} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, ALL, 1, measured, table)
