"""The masks of a pass belong to the chunk and the pass: whoever else is asked about, and however many at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbass.core.belief import BeliefSum
from deepbass.core.config import Config
from deepbass.core.errors import NoDropoutError
from deepbass.core.labels import Ids
from deepbass.learn import torch_engine
from deepbass.learn.learner import engine_for
from deepbass.learn.models import paper_cnn, paper_mlp
from deepbass.learn.torch_engine import TorchEngine
from tests.learn.arrays import Arrays

SAMPLES, CLASSES, CHUNK = 50, 3, 16


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_engine, "CHUNK", CHUNK)


class Passes(BeliefSum):
    """Keeps every pass apart, by row, in the order they come."""

    def __init__(self) -> None:
        super().__init__(SAMPLES, CLASSES)
        self.probs: dict[int, list[NDArray[np.floating]]] = {}

    def add(self, rows: slice | Ids, probs_B_C: NDArray[np.floating]) -> None:
        assert not isinstance(rows, slice)
        for row, probs_C in zip(rows.tolist(), probs_B_C, strict=True):
            self.probs.setdefault(row, []).append(probs_C)

    def of(self, rows: Ids) -> NDArray[np.floating]:
        return np.array([self.probs[row] for row in rows.tolist()])


class Apply(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class First(nn.Module):
    """Passes on the first of several outputs."""

    def __init__(self, inner: nn.Module, inputs: int = 1) -> None:
        super().__init__()
        self.inner, self.inputs = inner, inputs

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(*[x] * self.inputs)[0]
        return out


def with_channels() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.Dropout2d(0.5), nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Dropout(0.3), nn.Linear(64, CLASSES)
    )


def with_tokens() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(2), nn.Linear(64, 8), nn.Dropout(0.2), nn.LayerNorm(8), nn.Flatten(), nn.Linear(8, CLASSES)
    )


def pool(values: NDArray[np.float32] | None = None) -> Arrays:
    return Arrays(
        np.random.default_rng(0).normal(size=(SAMPLES, 1, 8, 8)).astype(np.float32) if values is None else values
    )


def engine(model: nn.Module, samples: Arrays | None = None, **settings: object) -> TorchEngine:
    config = Config.of({"infer_batch": 8, **settings})
    return TorchEngine(model.eval(), samples or pool(), CLASSES, config, torch.device("cpu"))


def passes(
    subject: TorchEngine, rows: Ids | None = None, *whiches: range, seed: int = 1, ids: Ids | None = None
) -> NDArray[np.floating]:
    total, rows = Passes(), np.arange(SAMPLES) if rows is None else rows
    for which in whiches or [range(10)]:
        subject.passes(np.arange(SAMPLES) if ids is None else ids, rows, which, seed, total, lambda share: None)
    return total.of(rows)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "CNN": lambda: paper_cnn((1, 8, 8), CLASSES),
    "MLP": lambda: paper_mlp((1, 8, 8), CLASSES),
    "channels": with_channels,
    "tokens": with_tokens,
}
ODD = np.array([3, 4, 9, 15, 16, 30, 31, 33, 47, 48, 49])


@pytest.mark.parametrize("name", MODELS)
def test_a_pass_is_the_same_whichever_rows_and_passes_are_asked_for(name: str) -> None:
    torch.manual_seed(0)
    subject = engine(MODELS[name]())
    assert subject.exits
    whole_N_T_C = passes(subject)
    for rows in (ODD, ODD[::-1].copy(), ODD[:1]):
        np.testing.assert_allclose(passes(subject, rows), whole_N_T_C[rows], atol=1e-6)
        np.testing.assert_allclose(passes(subject, rows, range(6), range(6, 10)), whole_N_T_C[rows], atol=1e-6)
        stages = [range(6), *(range(t, t + 1) for t in range(6, 10))]
        np.testing.assert_allclose(passes(subject, rows, *stages), whole_N_T_C[rows], atol=1e-6)
    np.testing.assert_allclose(passes(subject, ODD, range(4, 7)), whole_N_T_C[ODD, 4:7], atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("size", [1, 5, 16, 1000])
def test_a_pass_is_the_same_whatever_the_size_of_batches(name: str, size: int) -> None:
    torch.manual_seed(0)
    model = MODELS[name]()
    np.testing.assert_allclose(passes(engine(model, infer_batch=size)), passes(engine(model)), atol=1e-6)


def test_masks_differ_by_chunk_pass_and_seed_and_by_nothing_else() -> None:
    torch.manual_seed(0)
    subject = engine(paper_mlp((1, 8, 8), CLASSES), pool(np.ones((SAMPLES, 1, 8, 8), dtype=np.float32)))
    probs_N_T_C = passes(subject)
    chunks = np.split(probs_N_T_C, range(CHUNK, SAMPLES, CHUNK))
    for chunk in chunks:
        np.testing.assert_allclose(chunk, chunk[:1].repeat(len(chunk), 0), atol=1e-6)
    draws = np.concatenate([chunk[0] for chunk in chunks] + [passes(subject, np.arange(1), seed=2)[0]])
    assert len(np.unique(draws.round(5), axis=0)) == len(draws) == 50


def test_chunks_are_of_positions_among_the_ids_not_of_ids() -> None:
    torch.manual_seed(0)
    subject = engine(paper_mlp((1, 8, 8), CLASSES))
    ids = np.arange(SAMPLES)[::-1].copy()
    some, others = passes(subject, np.arange(3)), passes(subject, np.arange(3), ids=ids)
    same = passes(engine(subject._model, pool(pool().read(ids))), np.arange(3))
    np.testing.assert_allclose(others, same, atol=1e-6)
    assert np.abs(some - others).max() > 1e-3


def test_fresh_masks_are_those_of_nn_dropout_to_the_bit() -> None:
    torch.manual_seed(0)
    model = paper_cnn((1, 8, 8), CLASSES)
    subject = engine(model, masks="fresh")
    assert not subject.exits
    torch.manual_seed(5)
    drawn = passes(subject)
    torch.manual_seed(5)
    model.train()  # it has no BatchNorm
    expected: list[NDArray[np.floating]] = []
    with torch.no_grad():
        for start in range(0, SAMPLES, 8):
            x = torch.from_numpy(pool().read(np.arange(start, min(start + 8, SAMPLES))))
            expected.append(torch.stack([model(x).softmax(1) for _ in range(10)], 1).numpy())
    np.testing.assert_array_equal(drawn, np.concatenate(expected))


def weights_dropped(x: Tensor) -> Tensor:
    return x @ F.dropout(torch.ones(64, CLASSES), 0.5, training=False)


def time_first(inner: nn.Module) -> nn.Module:
    """Turn samples into sequences of the length 2 that begin with time."""
    return nn.Sequential(nn.Flatten(), nn.Unflatten(1, (2, 32)), Apply(lambda x: x.transpose(0, 1)), inner)


EXITS: dict[str, tuple[Callable[[], nn.Module], bool]] = {
    **{name: (make, True) for name, make in MODELS.items()},
    "half the work before": (
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.Dropout(0.5), nn.Linear(8, CLASSES)),
        False,
    ),
    "no dropout": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, CLASSES)), False),
    "recurrent": (
        lambda: nn.Sequential(
            nn.Flatten(1, 2),
            First(nn.LSTM(8, 4, 2, dropout=0.5, batch_first=True)),
            nn.Flatten(),
            nn.Linear(32, CLASSES),
        ),
        False,
    ),
    "attention": (
        lambda: nn.Sequential(
            nn.Flatten(1, 2),
            First(nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True), 3),
            nn.Flatten(),
            nn.Linear(64, CLASSES),
        ),
        False,
    ),
    "alpha": (
        lambda: nn.Sequential(nn.Flatten(), nn.AlphaDropout(0.5), nn.Linear(64, 8), nn.SELU(), nn.Linear(8, CLASSES)),
        False,
    ),
    "own noise": (
        lambda: nn.Sequential(
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, CLASSES), Apply(lambda x: x + torch.bernoulli(x.sigmoid()))
        ),
        False,
    ),
    "time first": (
        lambda: nn.Sequential(
            time_first(nn.Dropout(0.5)),
            Apply(lambda x: x.transpose(0, 1)),
            nn.Flatten(),
            nn.Tanh(),
            nn.Linear(64, CLASSES),
        ),
        False,
    ),
    "dropped weights": (
        lambda: nn.Sequential(nn.Flatten(), Apply(weights_dropped), nn.Tanh(), nn.Tanh(), nn.Tanh()),
        False,
    ),
}


@pytest.mark.parametrize("name", EXITS)
def test_early_exit_is_offered_where_all_masks_are_shared_and_little_precedes_them(name: str) -> None:
    make, exits = EXITS[name]
    torch.manual_seed(0)
    model = make().eval()
    torch.manual_seed(9)
    expected = torch.rand(2)
    torch.manual_seed(9)
    assert engine(model).exits == exits
    assert not engine(model, masks="fresh").exits
    assert torch.equal(torch.rand(2), expected)  # the caller's generator is as it was
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(3).add_(0.1)
    assert engine(model).exits == exits  # whatever the weights: a resumed run decides the same


@pytest.mark.parametrize("name", EXITS)
def test_whatever_the_model_the_same_seed_draws_the_same_passes(name: str) -> None:
    if name == "no dropout":
        return
    torch.manual_seed(0)
    model = EXITS[name][0]()
    first, again = passes(engine(model)), passes(engine(model))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first[:, 0] - first[:, 1]).max() > 1e-4


def test_identical_passes_are_refused_in_the_first_batch() -> None:
    subject = engine(nn.Sequential(nn.Flatten(), nn.Linear(64, CLASSES)))
    with pytest.raises(NoDropoutError, match="no active dropout"):
        passes(subject, None, range(3))
    dead = engine(nn.Sequential(nn.Flatten(), nn.Dropout(0.5), Apply(lambda x: 0 * x), nn.Linear(64, CLASSES)))
    with pytest.raises(NoDropoutError, match="no effect"):
        passes(dead, None, range(3))
    passes(dead, None, range(1))  # a single pass tells nothing


@pytest.mark.parametrize("masks", ["shared", "fresh"])
def test_progress_grows_from_nothing(masks: str) -> None:
    shares: list[float] = []
    rows = np.arange(5, 45)
    engine(paper_mlp((1, 8, 8), CLASSES), masks=masks).passes(
        np.arange(SAMPLES), rows, range(2), 0, BeliefSum(SAMPLES, CLASSES), shares.append
    )
    assert shares[0] == 0
    assert shares == sorted(set(shares))
    assert shares[-1] < 1


def test_no_rows_are_no_error() -> None:
    subject = engine(paper_mlp((1, 8, 8), CLASSES))
    subject.passes(np.arange(SAMPLES), np.arange(0), range(3), 0, BeliefSum(SAMPLES, CLASSES), lambda share: None)


@pytest.mark.parametrize("kernel", ["auto", "off"])
def test_each_of_the_passes_that_a_prediction_is_the_mean_of_can_be_had(kernel: str) -> None:
    pool = Arrays(np.random.default_rng(0).normal(size=(SAMPLES, 1, 8, 8)).astype(np.float32))
    config = Config(kernel=kernel, infer_batch=7)
    engine = engine_for(paper_cnn((1, 8, 8), CLASSES), pool, CLASSES, config, torch.device("cpu"))
    inputs = pool.read(np.arange(SAMPLES))
    probs_T_N_C = engine.each(inputs.copy(), 5)
    assert probs_T_N_C.shape == (5, SAMPLES, CLASSES)
    np.testing.assert_allclose(probs_T_N_C.mean(0), engine.mean(inputs.copy(), 5), atol=1e-6)
    alone = engine.each(inputs[3:4].copy(), 5)  # a pass is one network, whoever else is asked about
    np.testing.assert_allclose(alone[:, 0], probs_T_N_C[:, 3], atol=1e-6)
    assert (probs_T_N_C[0] != probs_T_N_C[1]).any()
