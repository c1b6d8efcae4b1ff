"""Ask and teach, step by step: from a notebook, a script or another tool, as often as one likes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deepbass.core.errors import ConfigError, DataError
from deepbass.core.label_names import NO_LABEL, LabelNames, is_no_label, name_of_label
from deepbass.core.labels import UNKNOWN, Answers, Ids
from deepbass.core.own_parts import PARTS, names_of, parts_of
from deepbass.core.presets import for_pixels, on_page
from deepbass.data.load import PIXELS
from deepbass.exchange.model_folder import fill_model_folder
from deepbass.exchange.targets import new_folder
from deepbass.learn.own_network import Networks
from deepbass.notebook.session_view import session_html
from deepbass.runs.fitted_model import FittedModel
from deepbass.runs.in_memory import look_again, look_at, predict, settings_for
from deepbass.runs.session_files import read_session, write_session
from deepbass.runs.stepwise import Stepwise, unknown_of
from deepbass.store.names import SESSION_FILE

Label = str | int | float | bool
_ROUND = 5  # iterations of training after a round of answers, for a network that learns from pictures


class Session:
    """A pool of samples, what is known of them, and a model that learns as labels come.

    ``ask`` says which rows of ``X`` to label next, ``teach`` takes labels of any rows, and ``predict`` goes by all that
    was taught so far. Nothing is written to disk before ``save``.
    """

    def __init__(
        self,
        X: Any,
        *,
        classes: Sequence[Label] | None = None,
        y: Any = None,
        features: str = "auto",
        model: Any = "auto",
        acquire: Any = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        """Begin with samples, in whatever holds them (see `DeepBASSClassifier`), and with labels ``y`` if there are.

        ``classes`` are the labels that may be taught; without them, a label that is new is a new class. ``settings``
        are further fields of `deepbass.Config`, of which some may be functions of one's own: see docs/own-parts.md.
        """
        seen = look_at(X, features, model)
        for concern in seen.concerns:
            warnings.warn(concern, stacklevel=2)
        self._labels: list[Label] = [] if classes is None else [_plain(label) for label in classes]
        self._closed = classes is not None
        _check_names(self._labels)
        parts = {name: part for name, part in {**settings, "acquire": acquire}.items() if name in PARTS}
        chosen: dict[str, Any] = {**settings, "seed": seed, **names_of(parts)}
        if not (isinstance(model, str) and model == "auto"):
            chosen |= names_of({"model": model})
        if seen.features == PIXELS and for_pixels(seen.pool.shape, chosen):  # as on the page, people wait for it
            chosen = {**on_page(seen.pool.shape), "ask_every": _ROUND, **chosen}
        config = settings_for(seen, chosen)
        own = parts_of(config, parts)
        self._step = Stepwise(seen, config, len(self._labels), Networks(model, seen.pool.shape), own)
        if y is not None:
            listed = _listed(y)
            if len(listed) != len(self):
                raise DataError(
                    f"X has {len(self)} rows, but y has {len(listed)} labels: give one for each, None for none."
                )
            known = [row for row, label in enumerate(listed) if not is_no_label(label)]
            self.teach(known, [listed[row] for row in known])

    def __len__(self) -> int:
        return self._step.seen.pool.row_map.total

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels that there are, in the order of the probabilities."""
        return tuple(self._labels)

    @property
    def labels(self) -> list[Label | None]:
        """What was taught, by row; None where nothing was."""
        answer = self._step.seen.pool.row_map.labels(self._step.labels).answer
        return [None if class_ == UNKNOWN else self._labels[class_] for class_ in answer.tolist()]

    @property
    def waiting(self) -> Ids:
        """Rows that were asked for and not taught yet."""
        return self._step.seen.pool.rows[unknown_of(self._step.labels)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to know of how the samples are seen, and which of them cannot be read."""
        return self._step.seen.notes + self._step.seen.concerns

    def ask(self, count: int = 1) -> Ids:
        """Choose rows whose labels would help most: typical ones first, then those that the model is unsure of.

        A row is asked for once. Fewer come where fewer are left.
        """
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise DataError(f"ask({count!r}): say how many rows to ask for, as in ask(5).")
        return self._step.seen.pool.rows[self._step.choose(int(count))]

    def teach(self, rows: int | ArrayLike, labels: Any) -> None:
        """Tell the labels of some rows, asked for or not; the last word on a row counts, and None takes it back."""
        given, labels = (np.asarray([rows]), [labels]) if np.ndim(rows) == 0 else (np.asarray(rows), labels)
        if given.ndim != 1 or (given.dtype.kind not in "iu" and len(given)):
            raise DataError(f"Rows are whole numbers, not {given.dtype} of shape {given.shape}.")
        listed = _listed(labels)
        if len(listed) != len(given):
            raise DataError(f"{len(given)} rows came with {len(listed)} labels: give one for each.")
        found, times = np.unique(given, return_counts=True)
        if (times > 1).any():
            raise DataError(f"Row {found[times > 1][0]} is there {times.max()} times: give each row one label.")
        ids = self._step.seen.pool.row_map.ids(given)
        before = list(self._labels)
        try:
            numbers = [self._number(label, row) for row, label in zip(given.tolist(), listed, strict=True)]
        except DataError:
            self._labels = before
            raise
        self._step.take_up(Answers(ids, np.array(numbers, dtype=np.int64)), len(self._labels))

    def add_class(self, label: Label) -> None:
        """Add a class to those that may be taught."""
        _check_names([*self._labels, _plain(label)])
        self._labels.append(_plain(label))
        self._step.take_up(Answers(*np.empty((2, 0), dtype=np.int64)), len(self._labels))

    def train(self, iterations: int = 1) -> None:
        """Train for some iterations more, without new labels: a network may gain by it, a linear head is solved."""
        self._check_can_learn()
        self._step.train(iterations)

    def predict_proba(self, X: Any = None) -> NDArray[np.float64]:
        """Predict the probability of every class, for rows of the session, or for other samples."""
        self._check_can_learn()
        if X is not None:
            return predict(self._step.trained(), X, self._step.seen)
        rows, found = self._step.seen.pool.row_map, self._step.probabilities()
        whole = np.full((rows.total, found.shape[1]), np.nan)  # of what cannot be read
        whole[rows.rows] = found
        return whole

    def predict(self, X: Any = None) -> NDArray[Any]:
        """Predict the most probable class, for rows of the session, or for other samples."""
        probs_N_C = self.predict_proba(X)
        classes: NDArray[Any] = np.array(self._labels)[np.nan_to_num(probs_N_C).argmax(1)]
        return classes

    def append(self, X: Any) -> Ids:
        """Add samples at the end; their rows are returned. What was learned stays."""
        seen = self._step.seen
        more = look_again(X, seen)
        before = len(self)
        self._step.grow(replace(seen, pool=seen.pool.followed_by(more.pool), concerns=seen.concerns + more.concerns))
        return np.arange(before, len(self))

    def save(self, path: str | PathLike[str]) -> None:
        """Write labels, questions and model into a folder, in the place of an earlier save; samples are not in it.

        Once something was learned, `deepbass.load` opens it as a model, too.
        """
        step = self._step
        learner = step.trained() if step.can_learn else None
        with new_folder(Path(path), force=True, mark=SESSION_FILE) as folder:
            write_session(folder, step, self._labels, closed=self._closed)
            if learner is not None:
                model = FittedModel.of(
                    learner, step.config, step.seen, len(self._labels), step.networks.of(len(self._labels))
                )
                fill_model_folder(
                    folder,
                    step.config,
                    classes=[name_of_label(label) for label in self._labels],
                    shape=model.shape,
                    pixels=model.pixels,
                    labels=len(step.labels.known),
                    iteration=step.state.iteration,
                    weights=model.weights(),
                    extractor=model.extractor,
                )

    @classmethod
    def open(
        cls, path: str | PathLike[str], X: Any, *, model: Any = None, features: str | None = None, **parts: Any
    ) -> Self:
        """Go on with a session that was saved, on the same samples; rows may have been added at the end.

        A network and other ``parts`` of one's own, as in ``acquire=...``, are given again, and so is all that is code.
        """
        self = cls.__new__(cls)
        step, labels, closed = read_session(Path(path), X, model=model, features=features, parts=parts)
        self._step, self._labels, self._closed = step, list(labels), closed
        return self

    def __repr__(self) -> str:
        labels = self._step.labels
        return (
            f"Session({len(self)} rows, {len(labels.known)} labels of {len(self._labels)} classes, "
            f"{len(self.waiting)} questions open)"
        )

    def widget(self, batch: int = 5) -> Any:
        """Make a widget for a notebook, to label with by button or key; ``batch`` rows are asked for at a time.

        The model learns between two batches. It takes anywidget: ``pip install 'deepbass[notebook]'``.
        """
        if isinstance(batch, bool) or not isinstance(batch, int) or batch < 1:
            raise DataError(f"widget(batch={batch!r}): say how many rows to ask for at a time, as in widget(batch=5).")
        try:
            from deepbass.notebook.label_widget import LabelWidget
        except ImportError as error:
            raise ConfigError(
                f"The widget takes anywidget, which is missing ({error}): pip install 'deepbass[notebook]'. Without "
                "it, go on with ask and teach."
            ) from error
        return LabelWidget(self, self._step, batch, may_add=not self._closed)

    def _repr_html_(self) -> str:
        """Show in a notebook where it stands: labels by class, the curve, the last questions, some guesses."""
        return session_html(self._step, self._labels)

    def _check_can_learn(self) -> None:
        if not self._step.can_learn:
            raise DataError(
                f"Labels of {self._step.met} classes are known so far, and it takes two to tell apart: ask for rows, "
                "and teach their labels."
            )

    def _number(self, label: Any, row: int) -> int:
        """Number a label; one that is new becomes a class, unless the classes were named."""
        if is_no_label(label):
            return NO_LABEL
        names = [name_of_label(known) for known in self._labels]
        if self._closed:
            try:
                return LabelNames(names).number(label, row)
            except DataError as error:
                raise DataError(f"{error} If it is one, say add_class({label!r}) first.") from None
        if (name := name_of_label(label)) not in names:
            self._labels.append(_plain(label))
            names.append(name)
        return names.index(name)


def _plain(label: Any) -> Label:
    """Take a label as Python has it, so that any file can hold it."""
    plain = label.item() if hasattr(label, "item") else label
    if not isinstance(plain, str | int | float | bool):
        raise DataError(
            f"The label {label!r} is a {type(label).__name__}: labels are text, numbers, or true and false."
        )
    return plain


def _check_names(labels: Sequence[Label]) -> None:
    names = [name_of_label(label) for label in labels]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"There are two classes {twice!r}: name each once.")


def _listed(labels: Any) -> list[Any]:
    if isinstance(labels, str | bytes) or np.ndim(labels) != 1:
        raise DataError(f"Labels are a list, one for each row, not {labels!r}.")
    return list(labels.tolist()) if hasattr(labels, "tolist") else list(labels)
