"""Keras 3 on TensorFlow: compiled functions for inference, its own ``fit`` for training, each in its quickest way."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from deepbass.core.belief import Floats
from deepbass.core.labels import Ids
from speed.start import CLASSES, Start
from speed.task import Floats32, Task, curriculum, mnist, pixels
from speed.timed import Timed, clocked, quickest

# by name, so that types are checked alike whether they are installed or not
tf: Any = importlib.import_module("tensorflow")
keras: Any = importlib.import_module("keras")

Predict = Callable[[Floats32], Floats32]


class KerasSide:
    """Keras in its own process."""

    def __init__(self, task: Task, start: Start) -> None:
        self._task, self._weights = task, _keras_weights(start.weights)
        images = _channels_last(pixels(mnist(task)))
        self._images, self._known = images, images[start.known]
        self._presented, self._classes = curriculum(images, start.answer, start.guess, task.copies)
        few = images[: min(20, len(images) // task.batch) * task.batch]
        predictors, fitters = self._predictors(), self._fitters()
        self._how_predict, self._predict_tried = quickest(
            {name: partial(predict, few) for name, predict in predictors.items()}
        )
        self._how_fit, self._fit_tried = quickest(
            {name: partial(self._fit, model, len(few)) for name, model in fitters.items()}
        )
        self._predict, self._fitter = predictors[self._how_predict], fitters[self._how_fit]
        if np.allclose(self._predict(few), self._predict(few)):
            raise RuntimeError(f"Two passes of Keras by {self._how_predict} were the same: that is no Monte Carlo.")
        self._fresh = [variable.numpy() for variable in self._fitter.optimizer.variables]
        self._predict(images[: len(images) % task.batch + task.batch])  # the last, smaller batch is compiled as well
        self._fit(self._fitter, len(self._presented) % task.batch + task.batch)

    @property
    def about(self) -> dict[str, Any]:
        """Threads (0 is TensorFlow's word for all cores), and the quickest of its ways, with what each took."""
        return {
            "threads": tf.config.threading.get_intra_op_parallelism_threads(),
            "infer": self._how_predict,
            "fit": self._how_fit,
            "tried": {**self._predict_tried, **self._fit_tried},
        }

    @property
    def pieces(self) -> dict[str, Callable[[], Timed]]:
        """The parts of an iteration."""
        return {
            "pool": partial(self._passes, self._images, self._task.passes_pool),
            "known": partial(self._passes_over_known, self._task.passes_known),
            "epoch": self._epoch,
        }

    def answers(self, what: str, ids: Ids, passes: int) -> Floats:
        """Average the probabilities over passes; without any, ask the network with dropout off."""
        if passes:
            probs_T_N_C = [_softmax(self._predict(self._images[ids])) for _ in range(passes)]
            mean: Floats = np.mean(probs_T_N_C, axis=0, dtype=np.float64)
            return mean
        return _softmax(self._model().predict(self._images[ids], verbose=0)).astype(np.float64)

    def _model(self, kind: Any = None) -> Any:
        """Build the paper's network, as a ``keras.Model`` or a kind of it."""
        decay = partial(keras.regularizers.L2, 1e-3)
        layers = keras.layers
        inputs = x = keras.Input((28, 28, 1))
        for block in range(4):
            x = layers.Conv2D(16, 3, padding="same", kernel_regularizer=decay())(x)
            x = layers.LeakyReLU(negative_slope=0.1)(x)
            x = layers.Dropout(0.33)(x)
            if block in (1, 3):
                x = layers.MaxPooling2D(2)(x)
        outputs = layers.Dense(CLASSES, kernel_regularizer=decay())(layers.Flatten()(x))
        model = (kind or keras.Model)(inputs, outputs)
        model.set_weights(self._weights)
        return model

    def _predictors(self) -> dict[str, Predict]:
        """List the ways to make one Monte-Carlo pass.

        A model built with ``Dropout(...)(x, training=True)`` is not among them, although its predict() is quicker:
        Keras 3.15 then draws one mask and drops the same units in every batch and call.
        """
        batch, model, xla_model = self._task.batch, self._model(), self._model()
        call = tf.function(lambda images: model(images, training=True), reduce_retracing=True)
        compiled = tf.function(lambda images: xla_model(images, training=True), jit_compile=True)

        def over_batches(function: Any, images: Floats32) -> Floats32:
            return np.concatenate([function(part).numpy() for part in _parts(images, batch)])

        def over_dataset(images: Floats32) -> Floats32:
            parts = tf.data.Dataset.from_tensor_slices(images).batch(batch).prefetch(tf.data.AUTOTUNE)
            return np.concatenate([call(part).numpy() for part in parts])

        ways: dict[str, Predict] = {"tf.function of model(x, training=True)": partial(over_batches, call)}
        if self._task.quick:
            return ways
        return {
            **ways,
            "the same, fed by tf.data": over_dataset,
            "the same, XLA": partial(over_batches, compiled),
            "predict, with a predict_step of model(x, training=True)": partial(
                self._model(_dropout_on()).predict, batch_size=batch, verbose=0
            ),
        }

    def _fitters(self) -> dict[str, Any]:
        """List the ways to train."""
        ways: dict[str, dict[str, Any]] = {
            "fit": {},
            "fit, 8 steps per execution": {"steps_per_execution": 8},
            "fit, XLA": {"jit_compile": True},
        }
        fitters = {}
        for name, options in list(ways.items())[: 1 if self._task.quick else None]:
            fitters[name] = model = self._model()
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(optimizer=keras.optimizers.Adam(1e-3, epsilon=1e-7), loss=loss, **options)
            model.optimizer.build(model.trainable_variables)
        return fitters

    def _fit(self, model: Any, samples: int) -> None:
        images, classes = self._presented[:samples], self._classes[:samples]
        model.fit(images, classes, batch_size=self._task.batch, epochs=1, verbose=0)

    def _passes(self, images: Floats32, passes: int) -> Timed:
        """Time one pass of all: they are alike."""
        count = passes if self._task.whole else 1
        how = "in whole" if self._task.whole else f"1 of {passes} passes"

        def work() -> None:
            total = np.zeros((len(images), CLASSES), dtype=np.float32)
            for _ in range(count):
                total += _softmax(self._predict(images))

        return clocked(work, passes // count, how)

    def _passes_over_known(self, passes: int) -> Timed:
        """Repeat the few samples rather than the call, which costs more than the samples do."""
        times = 1 if self._task.whole else 10
        count = passes // times

        def work() -> None:
            probs = _softmax(self._predict(np.tile(self._known, (count, 1, 1, 1))))
            probs.reshape(count, len(self._known), CLASSES).mean(0)

        return clocked(work, times, "in whole" if times == 1 else f"{count} of {passes} passes")

    def _epoch(self) -> Timed:
        self._fitter.set_weights(self._weights)
        for variable, fresh in zip(self._fitter.optimizer.variables, self._fresh, strict=True):
            variable.assign(fresh)
        return clocked(partial(self._fit, self._fitter, len(self._presented)))


def _dropout_on() -> Any:
    """Make the kind of model whose predict() leaves dropout on."""

    class DropoutOn(keras.Model):  # type: ignore[misc]
        def predict_step(self, data: Any) -> Any:
            images, _, _ = keras.utils.unpack_x_y_sample_weight(data)
            return self(images, training=True)

    return DropoutOn


def _parts(images: Floats32, batch: int) -> list[Floats32]:
    return [images[first : first + batch] for first in range(0, len(images), batch)]


def _channels_last(images: Floats32) -> Floats32:
    return np.ascontiguousarray(np.moveaxis(images, 1, -1))


def _keras_weights(weights: dict[str, Floats32]) -> list[Floats32]:
    """Bring torch's weights into Keras's order: kernels height, width, in, out; features height, width, channel."""
    kernels = [name for name in weights if name.endswith(".weight")]
    kernels.sort(key=lambda name: int(name.split(".")[0]))
    ordered = []
    for name in kernels:
        kernel = weights[name]
        if kernel.ndim == 4:
            kernel = kernel.transpose(2, 3, 1, 0)
        else:
            kernel = kernel.reshape(CLASSES, 16, 7, 7).transpose(2, 3, 1, 0).reshape(-1, CLASSES)
        ordered += [kernel, weights[name.replace(".weight", ".bias")]]
    return ordered


def _softmax(logits_N_C: Floats32) -> Floats32:
    powers_N_C = np.exp(logits_N_C - logits_N_C.max(-1, keepdims=True))
    probs_N_C: Floats32 = powers_N_C / powers_N_C.sum(-1, keepdims=True)
    return probs_N_C
