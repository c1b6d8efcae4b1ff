"""What plain means: scikit-learn's classifiers on labels drawn at random and on the features that our network sees.

They are given the known labels and samples of the pool without labels, never the validation part. What there is to
choose is chosen by cross-validation on the known labels alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import DeepBassError
from deepbass.core.labels import UNKNOWN, Classes
from deepbass.learn.heads import folds_of

Rows = NDArray[np.float32]  # one sample each
Predict = Callable[[Rows], Classes]
T = TypeVar("T")

MOST_UNLABELLED = 10_000  # samples without a label that a method gets: its time must not grow with the pool
MOST_FOR_CHOICE = 1_000  # labels that take part in a cross-validation, as in our own head
_PENALTIES = tuple(float(10.0**power) for power in range(-4, 5))  # C, from the strongest on
_MARGINS = (0.1, 1.0, 10.0, 100.0)  # C of the SVM
_CLAMPS = (0.2, 0.8)  # alpha of LabelSpreading: how much of a label may come from the neighbours
_NEIGHBOURS = 7  # as is scikit-learn's default
_STEPS = 500  # of a solver


@dataclass(frozen=True, eq=False)
class PlainTask:
    """What a plain method may know."""

    X: Rows  # samples whose labels are known
    y: Classes
    others: Rows  # samples of the pool without a label
    seed: int

    def __post_init__(self) -> None:
        if len(self.X) != len(self.y) or not len(self.y):
            raise ValueError(f"{len(self.X)} samples and {len(self.y)} labels: there must be one each.")


@dataclass(frozen=True)
class PlainModel:
    """What a method made of its task."""

    predict: Predict
    chosen: Mapping[str, Any]  # by cross-validation
    notes: tuple[str, ...] = ()


class Scaling(NamedTuple):
    """How features are brought to a size that one range of penalties suits."""

    name: str
    centre: Rows
    scale: Rows

    def __call__(self, X: Rows) -> NDArray[np.float64]:
        """Centre and scale samples."""
        return ((X - self.centre) * self.scale).astype(np.float64)


def fit_plain(name: str, task: PlainTask) -> PlainModel:
    """Fit a method by its name; where one class only was drawn, that class is all it can say."""
    met = np.unique(task.y)
    if name == "commonest" or len(met) == 1:
        commonest = int(np.bincount(task.y).argmax())
        said = () if name == "commonest" else ("all labels drawn are of one class, which is all that it knows",)
        return PlainModel(lambda X: np.full(len(X), commonest, dtype=np.int64), {}, said)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers that were stopped, and classes too rare for every fold
        return _FITS[name](task)


def need_sklearn(name: str) -> None:
    """Import scikit-learn before anything is timed, or say what is missing."""
    try:
        import sklearn.linear_model
        import sklearn.semi_supervised
        import sklearn.svm  # noqa: F401
    except ImportError as error:
        raise DeepBassError(
            f"The method {name!r} is scikit-learn's, which is missing: pip install 'deepbass[sklearn]', or name other "
            "--methods."
        ) from error


def scalings(task: PlainTask) -> list[Scaling]:
    """Measure two ways to scale on all samples there are: every column by itself, or all by one number."""
    every = np.concatenate([task.X, task.others])
    centre = every.mean(0, dtype=np.float64)
    spread = every.std(0, dtype=np.float64)
    length = float(np.sqrt(np.square(every - centre).sum(1).mean()))
    by_column = np.divide(1.0, spread, out=np.ones_like(spread), where=spread > 1e-9)
    by_length = np.full_like(spread, 1.0 / length if length > 1e-9 else 1.0)
    return [Scaling("by column", centre, by_column), Scaling("by length", centre, by_length)]


def choose_by_folds(candidates: Sequence[T], judge: Callable[[T, Rows, Classes, Rows], Classes], task: PlainTask) -> T:
    """Choose what predicts best the known labels that were kept back; of equal ones the middle.

    ``judge`` fits a candidate to samples and labels, and predicts others.
    """
    rng = np.random.default_rng(task.seed)
    rows = rng.permutation(len(task.y))[:MOST_FOR_CHOICE]
    X, y = task.X[rows], task.y[rows]
    folds = folds_of(y, 5 if len(y) <= 300 else 3, rng)
    hits = np.zeros(len(candidates))
    for fold in np.unique(folds):
        kept_back = folds == fold
        if len(np.unique(y[~kept_back])) < 2:  # nothing to tell apart
            continue
        for place, candidate in enumerate(candidates):
            guess = judge(candidate, X[~kept_back], y[~kept_back], X[kept_back])
            hits[place] += np.count_nonzero(guess == y[kept_back])
    best = np.flatnonzero(hits == hits.max())
    return candidates[int(best[len(best) // 2])]


def _logistic(task: PlainTask) -> PlainModel:
    scaling, strength = _choose_logistic(task)
    model = _fit_logistic(scaling(task.X), task.y, strength)
    return PlainModel(lambda X: model(scaling(X)), {"scaling": scaling.name, "C": strength})


def _choose_logistic(task: PlainTask) -> tuple[Scaling, float]:
    def judge(candidate: tuple[Scaling, float], X: Rows, y: Classes, held: Rows) -> Classes:
        scaling, strength = candidate
        return _fit_logistic(scaling(X), y, strength, steps=100)(scaling(held))

    return choose_by_folds([(each, C) for each in scalings(task) for C in _PENALTIES], judge, task)


def _fit_logistic(
    X: NDArray[np.float64], y: Classes, strength: float, steps: int = _STEPS
) -> Callable[[NDArray[np.float64]], Classes]:
    """Fit in the space that the samples span, if it is the smaller one: the optimum lies in it."""
    from sklearn.linear_model import LogisticRegression

    basis = np.linalg.qr(X.T)[0] if len(X) < X.shape[1] else None
    model = LogisticRegression(C=strength, max_iter=steps).fit(X if basis is None else X @ basis, y)
    return lambda other: np.asarray(model.predict(other if basis is None else other @ basis), dtype=np.int64)


def _svm(task: PlainTask) -> PlainModel:
    from sklearn.svm import SVC

    def judge(candidate: tuple[Scaling, float], X: Rows, y: Classes, held: Rows) -> Classes:
        scaling, strength = candidate
        return np.asarray(SVC(C=strength).fit(scaling(X), y).predict(scaling(held)), dtype=np.int64)

    scaling, strength = choose_by_folds([(each, C) for each in scalings(task) for C in _MARGINS], judge, task)
    model = SVC(C=strength).fit(scaling(task.X), task.y)
    return PlainModel(
        lambda X: np.asarray(model.predict(scaling(X)), dtype=np.int64), {"scaling": scaling.name, "C": strength}
    )


def _self_training(task: PlainTask) -> PlainModel:
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import SelfTrainingClassifier

    scaling, strength = _choose_logistic(task)
    base = LogisticRegression(C=strength, max_iter=100, tol=1e-3)
    X, y = _with_others(task.X, task.y, task.others)
    model = SelfTrainingClassifier(base).fit(scaling(X), y)
    return PlainModel(
        lambda X: np.asarray(model.predict(scaling(X)), dtype=np.int64), {"scaling": scaling.name, "C": strength}
    )


def _label_spreading(task: PlainTask) -> PlainModel:
    def fit(candidate: tuple[Scaling, float], X: Rows, y: Classes, others: Rows) -> Any:
        from sklearn.semi_supervised import LabelSpreading

        scaling, alpha = candidate
        together, labels = _with_others(X, y, others)
        neighbours = min(_NEIGHBOURS, len(together))
        return LabelSpreading(kernel="knn", n_neighbors=neighbours, alpha=alpha).fit(scaling(together), labels)

    def judge(candidate: tuple[Scaling, float], X: Rows, y: Classes, held: Rows) -> Classes:
        model = fit(candidate, X, y, np.concatenate([held, task.others]))
        return np.asarray(model.transduction_[len(y) : len(y) + len(held)], dtype=np.int64)

    chosen = choose_by_folds([(each, alpha) for each in scalings(task) for alpha in _CLAMPS], judge, task)
    scaling, alpha = chosen
    model = fit(chosen, task.X, task.y, task.others)
    return PlainModel(
        lambda X: np.asarray(model.predict(scaling(X)), dtype=np.int64), {"scaling": scaling.name, "alpha": alpha}
    )


def _with_others(X: Rows, y: Classes, others: Rows) -> tuple[Rows, Classes]:
    """Put samples without a label behind those with one, as scikit-learn writes them."""
    return np.concatenate([X, others]), np.concatenate([y, np.full(len(others), UNKNOWN)])


_FITS: dict[str, Callable[[PlainTask], PlainModel]] = {
    "logistic-regression": _logistic,
    "svm": _svm,
    "self-training": _self_training,
    "label-spreading": _label_spreading,
}
