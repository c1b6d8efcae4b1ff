"""A network that was built without dropout gets it, and stays the network that it was."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import deepbass
from deepbass.core.errors import ConfigError


@pytest.mark.parametrize(
    "model",
    [
        nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)),
        nn.Sequential(nn.Linear(3, 5), nn.Sequential(nn.ReLU(), nn.Linear(5, 2))),
        nn.Linear(3, 2),
    ],
    ids=["chain", "nested", "a layer"],
)
def test_dropout_comes_before_the_last_layer_and_nothing_else_changes(model: nn.Module) -> None:
    made = deepbass.with_dropout(model, 0.5)
    inputs = torch.rand(64, 3)
    assert torch.equal(made.eval()(inputs), model.eval()(inputs))
    assert not torch.equal(made.train()(inputs), made(inputs))
    assert torch.equal(model.train()(inputs), model(inputs))  # the one given has none
    assert list(made.state_dict()) == list(model.state_dict())
    model.load_state_dict(made.state_dict())


def test_what_cannot_get_dropout_says_so() -> None:
    with pytest.raises(ConfigError, match="no linear layer"):
        deepbass.with_dropout(nn.Conv2d(1, 2, 3))
    with pytest.raises(ConfigError, match="no rate of dropout"):
        deepbass.with_dropout(nn.Linear(2, 2), 0)
