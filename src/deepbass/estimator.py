"""The front door for those who know scikit-learn: a classifier that learns from few labels and many samples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deepbass.cluster.run_on_ray import computed_by
from deepbass.core.callbacks import Callback
from deepbass.core.config import WEIGHED, Config
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.label_names import name_of_label
from deepbass.core.labels import UNKNOWN, Labels
from deepbass.core.own_parts import PARTS, names_of, parts_of
from deepbass.core.row_map import RowMap
from deepbass.data.dataset_samples import DatasetArray, is_dataset, labels_of_dataset
from deepbass.data.given_labels import GivenLabels, given_labels
from deepbass.data.in_python import from_python, is_frame, is_sparse
from deepbass.data.source import is_raw
from deepbass.exchange.model_folder import fill_model_folder
from deepbass.exchange.targets import new_folder
from deepbass.learn.own_network import own_network
from deepbass.oracle import AnyOracle
from deepbass.runs.fitted_model import FittedModel
from deepbass.runs.in_memory import TABLE, Seen, look_at, settings_for
from deepbass.runs.whole_fit import NEVER, fit_whole
from deepbass.store.names import MODEL_CONFIG_FILE

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_feature_names,
        _check_n_features,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError as error:
    raise ConfigError(
        "DeepBASSClassifier takes scikit-learn 1.6 or newer, which is missing: pip install 'deepbass[sklearn]'."
    ) from error

QUESTIONS = 300  # that are asked where no budget is given


class DeepBASSClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from a few labels and many samples without one; -1, None, NaN or no text marks a sample without a label.

    Samples may be an array or tensor of numbers or of pictures, a data frame, a sparse matrix, a list of texts, of
    paths of pictures, or of rows (mappings). Network, features and loop are those that `deepbass.run` chooses by
    itself; all labels that are given are trained on, and nothing is held out or written to disk. With an ``oracle``,
    rows of ``X`` are asked for while it learns.

    Parameters
    ----------
    oracle : who answers, or None to ask nobody: a function of rows that returns labels, an array with a label for every
        row, a mapping of rows to labels, or an object with ``ask(rows)``.
    budget : labels in all, those that are given included, after which none is asked for; None: 300 more than are given.
    classes : the labels that there are, where ``y`` does not show them all.
    features : how a sample becomes what the network sees: see docs/features.md.
    model : the network: auto, cnn, mlp, linear, a ``torch.nn.Module`` with dropout, or a function of (shape, classes)
        that makes one.
    admit, acquire : which guesses are trained on, and what is asked for: a name, or a rule of one's own; None: what
        suits the data.
    iterations : of the algorithm; None: what suits the data.
    optimizer, schedule, loss : of a network that is trained: a name, or a function of the weights, of the optimiser, of
        logits and classes; None: Adam, no schedule, the cross-entropy.
    settings : further fields of `deepbass.Config`, by name; some may be functions of one's own: see docs/own-parts.md.
    callbacks : `deepbass.Callback`s, which hear of every iteration and may stop.
    engine : "ray" has the network trained by ``workers`` of the Ray cluster at ``address``, or of one that is started
        on this machine, while it is fitted; None: by this process. The results are the same.
    random_state : an int makes it the same every time.

    Attributes
    ----------
    classes_ : the labels that there are.
    transduction_ : a label for every row of ``X``: the one that is known, else the model's guess.
    labeled_iter_ : the iteration in which a row's label, or the guess in use, came to be trained on; 0 for labels that
        were given, -1 for rows without either.
    termination_condition_ : why it stopped.
    n_iter_ : how many iterations were made.
    asked_ : the rows that were asked for, in their order.
    n_features_in_, feature_names_in_ : of arrays and data frames.
    config_ : all settings, as they were chosen.
    """

    def __init__(
        self,
        *,
        oracle: AnyOracle | None = None,
        budget: int | None = None,
        classes: Sequence[Any] | None = None,
        features: str = "auto",
        model: Any = "auto",
        admit: Any = None,
        acquire: Any = None,
        iterations: int | None = None,
        optimizer: Any = None,
        schedule: Any = None,
        loss: Any = None,
        settings: Mapping[str, Any] | None = None,
        callbacks: Sequence[Callback] | Callback | None = None,
        engine: str | None = None,
        address: str | None = None,
        workers: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.oracle = oracle
        self.budget = budget
        self.classes = classes
        self.features = features
        self.model = model
        self.admit = admit
        self.acquire = acquire
        self.iterations = iterations
        self.optimizer = optimizer
        self.schedule = schedule
        self.loss = loss
        self.settings = settings
        self.callbacks = callbacks
        self.engine = engine
        self.address = address
        self.workers = workers
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from samples, one row each, and the labels that are known."""
        y = labels_of_dataset(X) if y is None and is_dataset(X) and not is_raw(X) else y
        if y is None:
            raise DataError("fit requires y to be passed, but the target y is None: give -1 where there is no label.")
        samples = self._checked(X, reset=True)
        given = self._labels(y, len(samples))
        seen = look_at(samples, self.features, self.model)
        for concern in seen.concerns:
            warnings.warn(concern, stacklevel=2)
        own = own_network(self.model, seen.pool.shape, len(given.classes))
        config = self._config(seen, len(given.rows))
        with computed_by(self.engine, self.address, self.workers):
            fitted = fit_whole(
                seen,
                given,
                config,
                own,
                oracle=self.oracle,
                own=parts_of(config, self._parts()),
                callbacks=self.callbacks,
            )
        rows, learner = seen.pool.row_map, fitted.learner
        self.classes_ = given.classes
        self.config_ = config
        self.n_iter_ = fitted.state.iteration
        self.termination_condition_ = fitted.state.ended
        self.labeled_iter_ = np.full(rows.total, NEVER, dtype=np.int64)
        self.labeled_iter_[rows.rows] = fitted.since
        self.asked_ = rows.rows[fitted.asked]
        self._known = len(fitted.state.labels.known)
        self._model = FittedModel.of(learner, config, seen, len(given.classes), own)
        self.transduction_ = self._transduced(fitted.state.labels, learner.predict(seen.pool), given, rows)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of every class, in the order of ``classes_``."""
        check_is_fitted(self)
        return self._model.predict(self._checked(X, reset=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class."""
        probs_N_C = self.predict_proba(X)
        classes: NDArray[Any] = self.classes_[probs_N_C.argmax(1)]
        return classes

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model into a new folder, which `deepbass.load` opens; nothing in it is pickled."""
        check_is_fitted(self)
        model = self._model
        with new_folder(Path(path), force=False, mark=MODEL_CONFIG_FILE) as folder:
            fill_model_folder(
                folder,
                model.config,
                classes=[name_of_label(class_) for class_ in self.classes_.tolist()],
                shape=model.shape,
                pixels=model.pixels,
                labels=self._known,
                iteration=self.n_iter_,
                weights=model.weights(),
                extractor=model.extractor,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.three_d_array = True
        return tags

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Have numbers in rows and columns checked by scikit-learn, in its words; all else is looked at later."""
        rows = not reset and self._model.features == TABLE
        held = X if is_sparse(X) else from_python(X, rows=rows)
        if is_raw(held) and (reset or rows or not is_frame(X)):
            if is_frame(X):
                _check_feature_names(self, X, reset=reset)
                _check_n_features(self, X, reset=reset)
            return held
        if isinstance(held, DatasetArray) or (isinstance(held, np.ndarray) and held.ndim > 2 and _is_numeric(held)):
            return held
        numbers = validate_data(
            self, X, reset=reset, accept_sparse=True, dtype="numeric", ensure_min_samples=2 if reset else 1
        )
        return from_python(numbers)

    def _labels(self, y: Any, samples: int) -> GivenLabels:
        labels = column_or_1d(y, warn=True)
        if len(labels) != samples:
            raise DataError(f"X has {samples} samples, but y has {len(labels)} labels: give one for each.")
        given = given_labels(labels, self.classes)
        if len(given.rows):
            known = labels[given.rows]
            check_classification_targets(known if known.dtype != object else np.array(known.tolist()))
        return given

    def _config(self, seen: Seen, known: int) -> Config:
        named = {"iterations": self.iterations, "budget": self.budget}
        chosen: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
        if not (isinstance(self.model, str) and self.model == "auto"):
            chosen |= names_of({"model": self.model})
        chosen |= names_of(self._parts())
        if self.oracle is not None and self.budget is None:
            chosen["budget"] = known + QUESTIONS
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        config = settings_for(seen, {**(self.settings or {}), **chosen, "seed": int(seed), "initial": max(1, known)})
        if self.oracle is None and known == len(seen.pool) and self.admit is None:  # there is nothing to guess
            config = replace(config, admit="none")
        if config.acquire == "none" and self.iterations is None:  # what is solved does not change any more
            if config.admit == "none":
                config = replace(config, iterations=0)
            elif config.admit == WEIGHED and config.model == "linear":
                config = replace(config, iterations=1)  # which learns from the pool
        return config

    def _parts(self) -> dict[str, Any]:
        """Collect what may be a function of the caller's own; who asks nobody needs no rule for it."""
        own = {name: getattr(self, name) for name in ("admit", "acquire", "optimizer", "schedule", "loss")}
        given = {**(self.settings or {}), **{name: part for name, part in own.items() if part is not None}}
        named = {name: part for name, part in given.items() if name in PARTS}
        return {**named, "acquire": "none"} if self.oracle is None else named

    def _transduced(
        self, labels: Labels, probs_N_C: NDArray[np.float64], given: GivenLabels, rows: RowMap
    ) -> NDArray[Any]:
        known = labels.answer != UNKNOWN
        numbers = np.where(known, labels.answer, probs_N_C.argmax(1))
        if rows.same:
            classes: NDArray[Any] = given.classes[numbers]
            return classes
        whole = np.full(rows.total, None, dtype=object)  # of what cannot be read, nothing is known
        whole[rows.rows] = given.classes[numbers]
        return whole


def _is_numeric(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "biuf"


__all__ = ["DeepBASSClassifier"]
