"""Is it the framework? The quick tier's run without questions, written again in Keras; results/keras.json.

    ../.venv-bench/bin/python keras_check.py --seeds 0 1      (`make bench` makes that environment)

Of deepbass only the data, the settings and the draw of the initial labels take part: network, loss, optimiser,
dropout, loop and random numbers are Keras' own. To be compared with the same iterations of the cells in results/paper.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from deepbass.core.config import Config
from deepbass.core.labels import Classes
from deepbass.data.initial import choose_initial
from deepbass.data.load import load
from deepbass.paper.rows import choose

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # twice as fast where TensorFlow would not choose it by itself
tf: Any = importlib.import_module("tensorflow")
keras: Any = importlib.import_module("keras")

RESULTS = Path(__file__).parents[1] / "results" / "keras.json"


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are cores")
    options = parser.parse_args()

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(options.threads)
    versions = {"keras": keras.__version__, "tensorflow": tf.__version__}
    for seed in map(str, options.seeds):
        settings = choose("mnist", ["all-data-100"])[0].cell("quick", int(seed)).settings
        if len(_done().get(seed, [])) <= options.iterations:
            found = {seed: curve(Config.of(settings), options.iterations)}
            text = json.dumps({"versions": versions, "curves": _done() | found}, sort_keys=True)
            RESULTS.write_text(text + "\n", encoding="utf-8")


def curve(config: Config, iterations: int) -> list[float]:
    """Train on the initial labels, then guess and train on all, again and again; list the validation accuracies."""
    data = load("mnist", config)
    images = np.moveaxis(data.pool.read(np.arange(len(data.truth))), 1, -1)
    test = np.moveaxis(data.validation.read(np.arange(len(data.validation_labels))), 1, -1)
    known = choose_initial(data.truth, data.classes, config.initial, config.seed)
    copied, others = np.repeat(known, config.copies), np.setdiff1d(np.arange(len(images)), known)
    rows, labels = np.concatenate([copied, others]), data.truth.copy()
    rng = np.random.default_rng(config.seed)

    keras.utils.set_random_seed(config.seed)
    model = network(config)
    model.fit(images[copied], labels[copied], batch_size=config.batch_size, epochs=config.initial_epochs, verbose=0)
    accuracies = [_accuracy(model, test, data.validation_labels)]
    for _ in range(iterations):
        labels[others] = _guesses(model, images[others], config)
        rng.shuffle(rows)  # for with a seed of its own Keras takes the same order in every call
        model.fit(images[rows], labels[rows], batch_size=config.batch_size, shuffle=False, verbose=0)
        accuracies.append(_accuracy(model, test, data.validation_labels))
        print(f"{config.seed}: {accuracies[-1]:.4f}", flush=True)
    return accuracies


def network(config: Config) -> Any:
    """Build the paper's network: four blocks, dropout before pooling, L2 on all kernels."""
    l2 = keras.regularizers.L2(config.l2)
    layers: list[Any] = [keras.Input((28, 28, 1))]
    for block in range(4):
        layers += [
            keras.layers.Conv2D(16, 3, padding="same", kernel_regularizer=l2),
            keras.layers.LeakyReLU(negative_slope=0.1),
            keras.layers.Dropout(config.dropout),
        ]
        if block in (1, 3):
            layers.append(keras.layers.MaxPooling2D(2))
    layers += [keras.layers.Flatten(), keras.layers.Dense(10, activation="softmax", kernel_regularizer=l2)]
    model = keras.Sequential(layers)
    model.compile(optimizer=keras.optimizers.Adam(config.learning_rate), loss="sparse_categorical_crossentropy")
    return model


def _done() -> dict[str, list[float]]:
    curves: dict[str, list[float]] = json.loads(RESULTS.read_text("utf-8"))["curves"] if RESULTS.exists() else {}
    return curves


def _guesses(model: Any, images: Any, config: Config) -> Classes:
    """Average the probabilities of dropout passes and take the likeliest class."""
    one_pass = tf.function(lambda some: model(some, training=True), reduce_retracing=True)
    parts = np.array_split(images, len(images) // config.batch_size)
    return np.concatenate([sum(one_pass(part).numpy() for _ in range(config.passes_pool)).argmax(1) for part in parts])


def _accuracy(model: Any, images: Any, labels: Classes) -> float:
    answers = model.predict(images, batch_size=1000, verbose=0).argmax(1)
    return float((answers == labels).mean())


if __name__ == "__main__":
    main()
