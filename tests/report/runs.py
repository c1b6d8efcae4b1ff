"""Runs that never happened, written with the real store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.core.labels import NO_ANSWERS, NO_IDS, Answers
from deepbass.core.quality import Quality
from deepbass.store.names import FIELD_FILE, QUALITY_FILE
from deepbass.store.rundir import RunDir

DIGITS = tuple("0123456789")
METRICS = (
    *("known", "members", "validation_accuracy", "pseudo_accuracy", "guess_accuracy"),
    *("balanced_accuracy", "macro_f1", "ece", "recall", "commonest"),
    *("entropy_known", "entropy_pool", "passes", "asked", "answered", "loss"),
)


def make_run(
    path: Path,
    *,
    classes: Sequence[str] = DIGITS,
    done: int | None = 12,
    waiting: int = 0,
    picture: tuple[int, ...] | None = (28, 28),
    without: Sequence[str] = (),
    commonest: float = 0.1,
    name: str = "digits",
    sample_name: str = "digit",
    notes: Sequence[str] = (),
    **settings: Any,
) -> Path:
    """Write a run of ``done`` iterations, or one that has not even trained its initial model for None."""
    rng = np.random.default_rng(7)
    config = Config.of({"initial": len(classes), "iterations": 12, "ask_count": 3, "ask_every": 4, **settings})
    samples = 5000
    truth = rng.integers(0, len(classes), samples)
    data = {
        "name": name,
        "source": name,
        "samples": samples,
        "classes": list(classes),
        "validation": 1000,
        "shape": [1, 28, 28],
        "notes": list(notes),
        "parameters": 14970,
    }
    versions = {"python": "3.11.7", "torch": "2.4.0", "deepbass": "0.1.0"}
    with RunDir.create(path, config=config.as_dict(), data=data, versions=versions) as run:
        initial = np.arange(len(classes))
        run.events.add_initial(initial, np.arange(len(classes)))
        known = fresh = len(classes)
        for iteration in range(0 if done is None else done + 1):
            asked, answers = NO_IDS, NO_ANSWERS
            if iteration > 0 and (iteration - 1) % config.ask_every == 0 and config.acquire != "none":
                asked = np.arange(fresh, fresh + config.ask_count)
                fresh += len(asked)
                answered = asked[: len(asked) - waiting]
                answers = Answers(answered, truth[answered])
                known += len(answered)
                run.events.describe_many((int(id_), f"{sample_name}-{id_}", _picture(rng, picture)) for id_ in asked)
            metrics = _metrics(iteration, known, samples, len(asked), len(answers.ids), commonest)
            metrics = {key: value for key, value in metrics.items() if key not in without}
            seconds = {"infer pool": 3.0, "infer known": 0.5, "train": 40.0 if iteration == 0 else 2.0, "save": 0.01}
            run.events.commit_step(iteration, metrics, seconds, asked, answers, "simulated")
    return path


def add_quality(path: Path, classes: int, *, uneven: bool = False, samples: int = 1000) -> Quality:
    """Give a run what its final model took for what."""
    rng = np.random.default_rng(2)
    share = 0.75 ** np.arange(classes) if uneven else np.ones(classes)
    truth = rng.choice(classes, size=samples, p=share / share.sum())
    logits = rng.normal(size=(samples, classes)) + 4 * np.eye(classes)[truth] + 2 * np.eye(classes)[truth // 2]
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    quality = Quality.of(probabilities, truth)
    (path / QUALITY_FILE).write_text(json.dumps({"iteration": 12, **quality.as_dict()}))
    return quality


def add_field(path: Path, classes: int) -> None:
    """Give a run the decision field of two-dimensional data."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 2))
    xs, ys = np.linspace(-3, 3, 20), np.linspace(-2, 2, 15)
    probs = rng.dirichlet(np.ones(classes), size=(15, 20))
    truth = np.arange(60) % classes
    truth[:5] = -1
    np.savez(
        path / FIELD_FILE,
        xs=xs,
        ys=ys,
        probs=probs,
        points=points,
        truth=truth,
        known=np.arange(9),
        initial=np.arange(4),
    )


def _metrics(
    iteration: int, known: int, samples: int, asked: int, answered: int, commonest: float
) -> dict[str, object]:
    guessing = iteration > 0
    rise = float(1 - np.exp(-iteration / 5))
    return {
        "known": known,
        "members": samples - known if guessing else 0,
        "validation_accuracy": 0.823 + 0.158 * rise,
        "balanced_accuracy": 0.6 + 0.3 * rise,
        "macro_f1": 0.61 + 0.3 * rise,
        "ece": 0.1 - 0.05 * rise,
        "recall": [1.0, 0.5, None],
        "commonest": commonest,
        "pseudo_accuracy": 0.82 + 0.15 * rise if guessing else None,
        "guess_accuracy": 0.81 + 0.15 * rise if guessing else None,
        "entropy_known": 0.12 - 0.1 * rise if guessing else None,
        "entropy_pool": 0.3 - 0.25 * rise if guessing else None,
        "passes": 10.0 - 4 * rise if guessing else None,
        "asked": asked,
        "answered": answered,
        "loss": 1.5 - rise,
    }


def _picture(rng: np.random.Generator, shape: tuple[int, ...] | None) -> NDArray[np.uint8] | None:
    return None if shape is None else rng.integers(0, 256, shape, dtype=np.uint8)
