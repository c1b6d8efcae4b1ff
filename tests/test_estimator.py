"""The classifier is at home in scikit-learn, and learns from whatever samples and labels are held in."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from numpy.typing import NDArray
from PIL import Image
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from deepbass import DeepBASSClassifier
from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DataError
from deepbass.core.labels import Ids
from deepbass.data.initial import initial_labels
from deepbass.data.pool import Pool
from deepbass.learn.self_taught import SelfTaught
from deepbass.runs.besides_pixels import places_of
from tests.slow import SLOW

EXPECTED_FAILURES = {
    "check_classifiers_classes": "it has -1 for a class; here -1 marks a sample without a label, as all that is "
    "semi-supervised in scikit-learn has it",
}
# what check_classifiers_train(readonly_memmap=True) and check_estimator_sparse_array look at, too, and what has to fail
DEAR = ("X_dtype", "check_estimator_sparse_matrix", "check_classifiers_classes")
NETWORK: dict[str, Any] = {"initial_epochs": 3, "copies": 20, "passes_pool": 2, "passes_known": 2, "device": "cpu"}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [DeepBASSClassifier(random_state=0)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")  # of the checks' own strange arrays
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    if any(name in str(check) for name in DEAR) and not SLOW:
        pytest.skip("a part of make slow")
    check(estimator)


def blobs(count: int = 60, labelled: int = 15) -> tuple[Any, Any, Any]:
    """Make points of three classes, and labels of which most are not known."""
    rng = np.random.default_rng(0)
    truth = np.arange(count) % 3
    X = np.eye(4)[truth] * 3 + rng.normal(size=(count, 4)) / 2
    return X, truth, np.where(np.arange(count) < labelled, truth, -1)


def network(epochs: int = 3) -> DeepBASSClassifier:
    """Make a small network, for what has nothing to do with how the default learns."""
    settings = {**NETWORK, "initial_epochs": epochs}
    return DeepBASSClassifier(model="mlp", iterations=1, settings=settings, random_state=0)


NAMES = np.array(["ant", "bee", "cat"])


# labels


@pytest.mark.parametrize(
    "mark",
    [
        lambda y, known: np.where(known, y, -1),
        lambda y, known: np.where(known, y, np.nan),
        lambda y, known: [label if there else None for label, there in zip(y.tolist(), known, strict=True)],
        lambda y, known: np.where(known, NAMES[y], ""),
        lambda y, known: pd.Series(NAMES[y]).where(known, None),
        lambda y, known: pd.Series(np.where(known, y, np.nan)).astype("Int64"),
        lambda y, known: torch.tensor(np.where(known, y, -1)),
    ],
    ids=["-1", "NaN", "None", "no text", "series", "NA", "tensor"],
)
def test_any_type_of_label_and_any_mark_for_none(mark: Callable[[Any, Any], Any]) -> None:
    X, truth, y = blobs()
    given = mark(truth, y != -1)
    model = network(30).fit(X, given)
    assert len(model.classes_) == 3
    expected = model.classes_[truth]
    np.testing.assert_array_equal(model.transduction_[:15], expected[:15])
    assert (model.predict(X) == expected).mean() > 0.95
    np.testing.assert_array_equal(model.labeled_iter_ == 0, y != -1)


def test_all_labels_are_used_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    X, _, y = blobs()
    model = DeepBASSClassifier(random_state=0).fit(X, y)
    assert (model.labeled_iter_ == 0).sum() == 15
    assert list(tmp_path.iterdir()) == []
    assert (model.config_.admit, model.n_iter_) == ("weighed", 1)  # solved in one step
    assert set(model.labeled_iter_[15:]) == {1}  # and the others have their say in it
    assert DeepBASSClassifier(random_state=0).fit(X, np.arange(60) % 3).config_.admit == "none"  # nothing to guess


def test_guesses_that_are_trained_on_say_since_when() -> None:
    X, _, y = blobs()
    model = DeepBASSClassifier(random_state=0, admit="all-data", iterations=2).fit(X, y)
    assert model.n_iter_ == 2
    assert model.termination_condition_ == "2 iterations done"
    assert set(model.labeled_iter_[15:]) == {1}


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (np.full(60, -1), "not there: at least two classes"),
        (np.where(np.arange(60) < 5, 1, -1), r"one class only \('1'\)"),
        (np.zeros(59), "59 labels"),
        (np.array([*["a"] * 30, *[3] * 30], dtype=object), "unlike types"),
    ],
)
def test_labels_that_cannot_be_learned_from_are_refused(y: Any, says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        DeepBASSClassifier().fit(blobs()[0], y)


# questions


def test_an_oracle_is_asked_about_rows_until_the_budget_is_spent() -> None:
    X, truth, y = blobs()
    asked: list[int] = []

    def answer(rows: Ids) -> NDArray[Any]:
        asked.extend(rows.tolist())
        names: NDArray[Any] = NAMES[truth[rows]]
        return names

    model = DeepBASSClassifier(oracle=answer, budget=25, iterations=4, random_state=0).fit(
        X, np.where(y == -1, "", NAMES[truth])
    )
    assert model.asked_.tolist() == asked
    assert len(asked) == 10
    assert min(asked) >= 15
    np.testing.assert_array_equal(model.transduction_[asked], NAMES[truth[asked]])
    assert (model.labeled_iter_[asked] > 0).all()


def test_without_any_label_typical_rows_are_asked_for_first() -> None:
    X, truth, _ = blobs()
    settings = {"ask_count": 5}
    model = DeepBASSClassifier(oracle=NAMES[truth], classes=NAMES.tolist(), budget=20, iterations=3, settings=settings)
    model.fit(X, [None] * 60)
    assert model.classes_.tolist() == NAMES.tolist()
    assert len(set(model.asked_.tolist())) == len(model.asked_) == 20
    np.testing.assert_array_equal(model.transduction_[model.asked_], NAMES[truth[model.asked_]])
    assert model.score(X, NAMES[truth]) > 0.95


def test_a_network_that_taught_itself_tells_which_pictures_are_typical_and_does_so_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned: list[int] = []
    teach_itself = SelfTaught._learn

    def counted(self: SelfTaught) -> None:
        learned.append(len(self))
        teach_itself(self)

    monkeypatch.setattr("deepbass.learn.self_taught._PAIRS", 2_000)
    monkeypatch.setattr(SelfTaught, "_learn", counted)
    digits = load_digits()
    X, truth = np.kron(15 * digits.images[:90], np.ones((2, 2))).astype(np.uint8), digits.target[:90]
    settings = {"neighbours": "self-taught", "advice": "none", "ask_count": 5, "initial_epochs": 1, "copies": 2}
    model = DeepBASSClassifier(
        oracle=truth, classes=list(range(10)), budget=25, iterations=2, settings=settings, random_state=3
    ).fit(X, [None] * 90)
    assert learned == [90]
    config = Config(start="typical", teacher=0.9, neighbours="self-taught", seed=3)
    pool = Pool(X[:, None], "train")
    places = places_of(pool, config)
    first = initial_labels(
        replace(config, initial=20, budget=25), pool, truth, [str(name) for name in range(10)], None, places
    )
    assert sorted(model.asked_[:20].tolist()) == first.tolist()
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()


# samples


def test_frames_sparse_matrices_and_tensors_are_the_same_numbers() -> None:
    X, _, y = blobs()
    first = network().fit(X, y).predict_proba(X)
    for held in (pd.DataFrame(X, columns=list("abcd")), scipy.sparse.csr_array(X), torch.tensor(X), X.tolist()):
        model = network().fit(held, y)
        np.testing.assert_allclose(model.predict_proba(held), first, atol=1e-6)
        assert model.n_features_in_ == 4
    named = network().fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert named.feature_names_in_.tolist() == list("abcd")


def test_a_frame_with_words_and_holes_is_a_table() -> None:
    rng = np.random.default_rng(0)
    size = rng.normal(size=80)
    colour = np.where(rng.random(80) < 0.5, "red", "blue")
    y = np.where((size > 0) & (colour == "red"), "yes", "no")
    frame = pd.DataFrame({"size": np.where(rng.random(80) < 0.1, np.nan, size), "colour": colour})
    model = DeepBASSClassifier(random_state=0).fit(frame, np.where(np.arange(80) < 60, y, ""))
    assert model.feature_names_in_.tolist() == ["size", "colour"]
    assert model.score(frame, y) > 0.8
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"size": "weight"}))


def test_texts_are_read() -> None:
    kinds = {"praise": ("love", "great", "thanks"), "bug": ("crash", "broken", "error")}
    rng = np.random.default_rng(0)
    y = [("praise", "bug")[row % 2] for row in range(60)]
    texts = [
        f"the {rng.choice(kinds[kind])} of it number {row} {rng.choice(kinds[kind])}" for row, kind in enumerate(y)
    ]
    known = [kind if row < 20 else None for row, kind in enumerate(y)]
    model = DeepBASSClassifier(features="words", random_state=0).fit(texts, known)
    assert model.score(texts, y) > 0.9
    assert model.score(pd.Series(texts), y) > 0.9
    with pytest.raises(DataError, match="another kind"):
        model.predict(np.zeros((3, 2, 2)))


def test_series_over_time_are_features_too() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    steps = np.sin(np.arange(30) * np.where(y, 0.3, 0.8)[:, None])[:, :, None] + rng.normal(size=(40, 30, 3)) / 5
    model = DeepBASSClassifier(random_state=0).fit(steps[:30], np.where(np.arange(30) < 12, y[:30], -1))
    assert model.config_.features == "series"
    assert model.score(steps[30:], y[30:]) == 1


def test_pictures_are_read_from_paths_and_from_arrays(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pixels = [rng.integers(low, low + 120, (8, 8), dtype=np.uint8) for low in [0, 120] * 12]
    paths = [tmp_path / f"{number}.png" for number in range(24)]
    for path, values in zip(paths, pixels, strict=True):
        Image.fromarray(values).save(path)
    y = [("dark", "light")[row % 2] if row < 16 else "" for row in range(24)]
    model = DeepBASSClassifier(iterations=1, settings=NETWORK, random_state=0).fit(paths, y)
    array = DeepBASSClassifier(iterations=1, settings=NETWORK, random_state=0).fit(np.stack(pixels), y)
    np.testing.assert_array_equal(
        model.predict_proba([str(path) for path in paths]), array.predict_proba(np.stack(pixels))
    )
    paths[3].write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"Row 3, .*3\.png, cannot be read"):
        model.predict(paths)


# networks


class Own(nn.Module):
    """A network of one's own."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.inner = torch.nn.Sequential(
            torch.nn.Linear(shape[0], 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, classes)
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.inner(inputs)
        return logits


def test_a_network_of_ones_own_is_left_as_it_was() -> None:
    X, _, y = blobs()
    torch.manual_seed(0)
    own = Own((4,), 3).train()
    before = {name: tensor.clone() for name, tensor in own.state_dict().items()}
    model = DeepBASSClassifier(model=own, iterations=1, settings=NETWORK, random_state=0).fit(X, y)
    assert own.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in own.state_dict().items())
    made = DeepBASSClassifier(model=Own, iterations=1, settings=NETWORK, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == made.predict_proba(X).shape == (60, 3)
    with pytest.raises(ConfigError, match="returned a int"):
        DeepBASSClassifier(model=lambda shape, classes: 3).fit(X, y)


# at home in scikit-learn


def test_pipelines_searches_clones_and_pickles() -> None:
    X, truth, y = blobs()
    pipeline = make_pipeline(StandardScaler(), network(30))
    assert pipeline.fit(X, y).score(X, truth) > 0.95
    assert cross_val_score(pipeline, X, truth, cv=2, n_jobs=1).mean() > 0.9
    grid = {"deepbassclassifier__admit": ["none", "all-data"], "deepbassclassifier__iterations": [1]}
    assert GridSearchCV(pipeline, grid, cv=2).fit(X, truth).best_score_ > 0.9
    model = pipeline[-1]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "classes_")
