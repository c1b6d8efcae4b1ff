"""What a network has learned outlasts a change of its classes, tensor by tensor and row by row."""

from __future__ import annotations

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn

from deepbass.core.config import Config
from deepbass.core.errors import StoreError
from deepbass.core.labels import Answers, Labels
from deepbass.learn.carry_over import carry_over
from deepbass.learn.learner import LocalLearner
from tests.learn.arrays import Arrays

WIDTH = 4  # of the hidden layer: there are as many classes at times
POOL = Arrays(np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32))
CONFIG = Config.of({"device": "cpu", "batch_size": 8})


class Net(nn.Module):
    """Has a hidden layer with buffers, an output layer with a row per class, and a scale per class."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(6, WIDTH)
        self.norm = nn.BatchNorm1d(WIDTH)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(WIDTH, classes)
        self.scale = nn.Parameter(torch.rand(classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.out(self.drop(torch.relu(self.norm(self.hidden(x))))) * self.scale
        return logits


def learner(classes: int, seed: int, *, trained: bool = False) -> LocalLearner:
    torch.manual_seed(seed)
    made = LocalLearner(Net(classes), POOL, classes, CONFIG)
    if trained:
        ids = np.arange(len(POOL))
        labels = Labels.none(len(POOL), classes).answered(Answers(ids, ids % classes))
        made.train(labels, epochs=2, copies=1, seed=1)
    return made


def unpacked(of: LocalLearner) -> dict[str, torch.Tensor]:
    return safetensors.torch.load(of.state())


def carried(old: LocalLearner, then: int, outputs: list[int | None]) -> tuple[LocalLearner, dict[str, torch.Tensor]]:
    new = learner(len(outputs), 9)
    begun = unpacked(new)
    carry_over(old.state(), then, outputs, new, lambda: learner(len(outputs) + 1, 3).state())
    return new, begun


@pytest.mark.parametrize(
    ("then", "outputs"),
    [
        (3, [0, 1, 2, None]),  # added
        (3, [0, 2]),  # removed or merged
        (4, [2, None]),  # both, in another order
        (4, [0, None, 3, 1]),  # as many as before, and as many as the hidden layer is wide
        (WIDTH, [0, 1, 2, 3, None]),
        (3, [0, 1, 2]),  # nothing changed
    ],
)
def test_rows_of_classes_are_carried_and_all_else_is_copied(then: int, outputs: list[int | None]) -> None:
    old = learner(then, 5, trained=True)
    before = unpacked(old)
    new, begun = carried(old, then, outputs)
    now = unpacked(new)
    assert set(now) == set(before)
    names = new.weight_names()
    by_class = {"out.weight", "out.bias", "scale"}
    for key, tensor in now.items():
        part, _, rest = key.partition(".")
        name = rest if part == "model" else names[int(rest.partition(".")[0])]
        if tensor.ndim == 0 or name not in by_class:
            assert torch.equal(tensor, before[key]), key
            continue
        for row, output in enumerate(outputs):
            fresh = begun[key][row] if part == "model" else torch.zeros_like(tensor[row])
            assert torch.equal(tensor[row], fresh if output is None else before[key][output]), (key, row)


def test_the_same_classes_in_another_order_are_the_same_model() -> None:
    old = learner(3, 5, trained=True)
    new, _ = carried(old, 3, [2, 0, 1])
    np.testing.assert_allclose(new.probabilities(POOL), old.probabilities(POOL)[:, [2, 0, 1]], rtol=1e-6)


def test_it_can_be_trained_on_at_once() -> None:
    old = learner(3, 5, trained=True)
    new, _ = carried(old, 3, [0, 1, 2, None])
    ids = np.arange(len(POOL))
    new.train(Labels.none(len(POOL), 4).answered(Answers(ids, ids % 4)), epochs=1, copies=1, seed=1)
    steps = {key: tensor for key, tensor in unpacked(new).items() if key.endswith(".step")}
    assert {float(step) for step in steps.values()} == {15.0}  # ten of the old, five of its own


def test_what_cannot_be_read_is_an_error_that_says_so() -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        carry_over(b"no tensors", 2, [0, 1], learner(2, 0), lambda: b"")
