"""Training parts of data sets, split once more into a pool and samples to judge by, and runs on them in memory.

What is chosen is chosen on these: no test part is ever read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from deepbass.core.config import Config
from deepbass.core.labels import Answers, Labels
from deepbass.core.loop import Method, State, Step, run
from deepbass.core.presets import suited
from deepbass.data.initial import initial_labels
from deepbass.data.load import Data, load
from deepbass.data.pool import Pool
from deepbass.learn.choose_learner import learner_for
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import build
from deepbass.oracle.simulated import Simulated
from deepbass.runs.besides_pixels import places_of
from deepbass.runs.configure import reconfigure
from deepbass.runs.featurise import Featuriser
from deepbass.runs.measure import Metrics, measure

POOL, JUDGED_BY = 2_000, 2_000


def training_part(
    name: str,
    seed: int,
    *,
    folder: Path | None = None,
    pool: int = POOL,
    judged_by: int = JUDGED_BY,
    features: str = "auto",
) -> Data:
    """Take the training part of a data set apart, by seed; -words after a name asks for these features."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        whole, truth, features, classes = (X / 16).astype(np.float32), y, "table", tuple("0123456789")
    else:
        config = Config(features="words" if name.endswith("-words") else features)
        found = load(name.removesuffix("-words"), config, folder=folder, featurise=Featuriser(config.features))
        truth, features, classes = found.truth, found.features, found.classes
        whole = np.empty((0,))  # read below, as far as needed
    order = np.random.default_rng(seed).permutation(len(truth))
    judged_by = min(judged_by, len(order) // 3)
    held, some = np.sort(order[:judged_by]), np.sort(order[judged_by : judged_by + pool])

    def part(rows: Any) -> Pool:
        return Pool(whole[rows] if name == "digits" else found.pool.read(rows), "train")

    return Data(name, part(some), truth[some], classes, part(held), truth[held], (), features)


def simulate(data: Data, seed: int, **settings: Any) -> list[Metrics]:
    """Run the default on data, with some settings of its own, and return the numbers of every iteration."""
    return train(data, seed, **settings)[1]


def train(data: Data, seed: int, **settings: Any) -> tuple[LocalLearner, list[Metrics]]:
    """Run the default on data, and return the learner, too."""
    given = {"seed": seed, **settings}
    fitting = suited(data.features, data.pool.shape, len(data.pool), given)
    config = reconfigure({**Config(features=data.features).as_dict(), **fitting}, given)
    places = places_of(data.pool, config)
    first = initial_labels(config, data.pool, data.truth, data.classes, places=places)
    labels = Labels.none(len(data.pool), len(data.classes)).answered(Answers(first, data.truth[first]))
    network = build(config, data.pool.shape, len(data.classes))
    learner = learner_for(network, data.pool, len(data.classes), config, places=places)
    history: list[Metrics] = []

    def on_step(step: Step) -> None:
        quality = learner.evaluate(data.validation, data.validation_labels)
        history.append(measure(step, data.truth, quality, evidence=learner.evidence))

    oracle = Simulated(data.truth, len(data.classes))
    run(learner, oracle, Method.of(config, data.pool), State(labels), on_step)
    return learner, history
