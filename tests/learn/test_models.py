"""The paper's networks and the hook for others."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from deepbass.core.config import OWN, Config
from deepbass.core.errors import ConfigError
from deepbass.core.setting import settings_of
from deepbass.learn.kernel.stages import stages_of
from deepbass.learn.models import BUILT_IN, build, paper_cnn, paper_mlp, parameters


def test_the_mnist_network_has_14970_parameters() -> None:
    assert parameters(paper_cnn((1, 28, 28), 10)) == 14_970


def test_the_toy_network_has_three_hidden_layers_of_fifty() -> None:
    assert parameters(paper_mlp((2,), 2)) == 2 * 50 + 50 + 2 * (50 * 50 + 50) + 50 * 2 + 2


@pytest.mark.parametrize("shape", [(1, 4, 4), (3, 7, 9), (2, 32, 30)])
@pytest.mark.parametrize("name", ["cnn", "small-cnn"])
def test_the_cnns_take_any_image_size_and_number_of_channels(name: str, shape: tuple[int, ...]) -> None:
    assert build(Config(model=name), shape, 5)(torch.rand(3, *shape)).shape == (3, 5)


@pytest.mark.parametrize("side", [8, 28, 64, 224])
def test_in_the_small_cnn_dropout_follows_pooling_and_its_last_layer_stays_small(side: int) -> None:
    layers = list(build(Config(model="small-cnn"), (3, side, side), 10).children())
    kinds = [type(layer) for layer in layers]
    assert nn.Dropout in kinds
    assert all(kinds[place - 1] is nn.MaxPool2d for place, kind in enumerate(kinds) if kind is nn.Dropout)
    assert parameters(layers[-1]) < 25_000
    assert stages_of(nn.Sequential(*layers), (3, side, side)) is not None  # the kernel can run it


@pytest.mark.parametrize(
    ("shape", "kind"), [((1, 28, 28), nn.Conv2d), ((7,), nn.Flatten), ((4, 3), nn.Flatten), ((1, 3, 3), nn.Flatten)]
)
def test_auto_picks_the_cnn_for_images_and_the_mlp_for_all_else(shape: tuple[int, ...], kind: type) -> None:
    model = build(Config(), shape, 2)
    assert isinstance(next(model.children()), kind)
    assert model(torch.rand(2, *shape)).shape == (2, 2)


def test_weights_start_as_keras_starts_them() -> None:
    model = paper_cnn((1, 28, 28), 10)
    inner = model[3]
    assert isinstance(inner, nn.Conv2d)
    limit = (6 / (16 * 9 + 16 * 9)) ** 0.5  # Glorot uniform
    assert 0.95 * limit < inner.weight.abs().max() <= limit
    assert all(
        not layer.bias.any() for layer in model if isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is not None
    )


def test_initial_weights_depend_on_the_seed_alone_and_leave_the_callers_generator() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = build(Config(seed=1), (2,), 2)
    assert torch.equal(torch.rand(3), expected)
    same, other = build(Config(seed=1), (2,), 2), build(Config(seed=2), (2,), 2)
    assert torch.equal(first[1].weight, same[1].weight)  # type: ignore[index]
    assert not torch.equal(first[1].weight, other[1].weight)  # type: ignore[index]


def test_a_model_of_the_users_own_comes_from_a_file_or_a_module(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from torch import nn\n"
        "def net(shape, classes):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(shape[0], classes))\n"
        "def wrong(shape, classes):\n"
        "    return 'no module'\n"
    )
    for reference in (f"{file}:net", "deepbass.learn.models:paper_mlp"):
        model = build(Config(model=reference), (6,), 3, named=reference)
        assert model(torch.rand(2, 6)).shape == (2, 3)
    for reference, says in [
        (f"{file}:wrong", "returned a str"),
        (f"{file}:absent", "no function 'absent'"),
        (f"{tmp_path}/none.py:net", "no file"),
        ("no.such.module:net", "cannot import"),
        (":net", "cannot import"),
        (".relative:net", "cannot import"),
    ]:
        with pytest.raises(ConfigError, match=says):
            build(Config(model=reference), (6,), 3, named=reference)


def test_code_is_run_only_where_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise RuntimeError('run')")
    with pytest.raises(ConfigError, match="not run because a folder names it"):
        build(Config(model=f"{file}:net"), (6,), 3)
    with pytest.raises(RuntimeError, match="run"):
        build(Config(model=f"{file}:net"), (6,), 3, named=f"{file}:net")
    build(Config(model="mlp"), (6,), 3, named=f"{file}:net")  # what is named is what may be run, not what must be
    with pytest.raises(ConfigError, match="pass the model itself"):
        build(Config(model=OWN), (6,), 3)


def test_every_built_in_model_can_be_chosen_and_every_choice_is_built_in() -> None:
    model, _ = settings_of(Config)["model"]
    assert list(model.choices) == ["auto", *BUILT_IN]


def test_an_unknown_model_is_refused_early() -> None:
    with pytest.raises(ConfigError, match=r"auto, cnn, small-cnn, mlp, linear, or name your own as 'file\.py:"):
        Config(model="resnet")
    with pytest.raises(ConfigError, match="at least 4 x 4"):
        build(Config(model="cnn"), (2,), 2)
