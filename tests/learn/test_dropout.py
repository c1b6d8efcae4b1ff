"""Monte-Carlo dropout: random where it should be, frozen elsewhere, and everything as it was afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepbass.learn.dropout import QuickDropout, dropout_on, training


class Functional(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, 0.5, training=self.training)


class FunctionalInPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x.clone()
        F.dropout(x, 0.5, training=self.training, inplace=True)  # its return value is not used
        return x


class Low(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.dropout(x, 0.5, self.training)


class Recurrent(nn.Module):
    def __init__(self, kind: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.inner = kind(6, 6, num_layers=2, dropout=0.5, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)[0]
        return out


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(6, 2, dropout=0.5, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x, x, x)[0]
        return out


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "Dropout": (lambda: nn.Dropout(0.5), (6,)),
    "Dropout in place": (lambda: nn.Sequential(nn.Identity(), nn.Dropout(0.5, inplace=True)), (6,)),
    "Dropout1d": (lambda: nn.Dropout1d(0.5), (6, 5)),
    "Dropout2d": (lambda: nn.Dropout2d(0.5), (6, 5, 4)),
    "Dropout3d": (lambda: nn.Dropout3d(0.5), (6, 3, 3, 3)),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.5), (6,)),
    "FeatureAlphaDropout": (lambda: nn.FeatureAlphaDropout(0.5), (6, 5)),
    "functional": (Functional, (6,)),
    "functional in place": (FunctionalInPlace, (6,)),
    "torch.dropout": (Low, (6,)),
    "LSTM": (lambda: Recurrent(nn.LSTM), (4, 6)),
    "GRU": (lambda: Recurrent(nn.GRU), (4, 6)),
    "RNN": (lambda: Recurrent(nn.RNN), (4, 6)),
    "attention": (Attention, (4, 6)),
    "transformer": (lambda: nn.TransformerEncoderLayer(6, 2, 8, 0.5, batch_first=True), (4, 6)),
}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_dropout_is_random_during_inference_and_only_then(name: str, shared: bool) -> None:
    make, shape = MODELS[name]
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(8, *shape) + 2
    with torch.inference_mode():
        plain = model(x.clone())
        with dropout_on(model, shared=shared) as mode:
            mode.batch = 8
            passes = [model(x.clone()) for _ in range(5)]
        assert torch.equal(model(x.clone()), plain)
    assert any(not torch.equal(passes[0], other) for other in passes[1:])


def with_batch_norm() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))


def test_batch_norm_stays_in_evaluation_mode() -> None:
    torch.manual_seed(0)
    model = with_batch_norm()
    model(torch.randn(64, 6))  # some running statistics
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    x = torch.randn(5, 6)
    with torch.inference_mode(), dropout_on(model):
        assert not any(module.training for module in model.modules())
        alone, together = model[:3](x[:1]), model[:3](x)
    torch.testing.assert_close(alone[0], together[0])  # a sample does not depend on its neighbours
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("context", [dropout_on, training])
def test_every_modules_mode_is_back_as_it_was_also_after_an_exception(context) -> None:  # type: ignore[no-untyped-def]
    model = with_batch_norm().train()
    model[1].eval()  # a user froze this one
    modes = [module.training for module in model.modules()]
    with context(model):
        pass
    assert [module.training for module in model.modules()] == modes
    with pytest.raises(ZeroDivisionError), context(model):
        model[3].train()
        raise ZeroDivisionError
    assert [module.training for module in model.modules()] == modes


def test_shared_masks_are_shared_by_the_batch_and_fresh_in_every_pass() -> None:
    model, x = nn.Dropout(0.4), torch.ones(16, 50)
    with torch.inference_mode(), dropout_on(model, shared=True) as mode:
        mode.batch = 16
        first, second = model(x), model(x)
    assert (first == first[0]).all()
    assert not torch.equal(first, second)
    # a tensor that is no batch of samples, such as a dropped weight matrix, is never shared
    with torch.inference_mode(), dropout_on(model, shared=True) as mode:
        mode.batch = 4
        assert not (model(x) == model(x)[0]).all()


@pytest.mark.parametrize("kind", [nn.Dropout1d, nn.Dropout2d, nn.Dropout3d])
def test_dropped_channels_are_shared_as_well(kind: Callable[[float], nn.Module]) -> None:
    model = kind(0.4)
    x = torch.ones(6, 200, *[3] * int(kind.__name__[-2]))
    with torch.inference_mode(), dropout_on(model, shared=True) as mode:
        mode.batch = 6
        first, second = model(x), model(x)
    assert (first == first[0]).all()
    assert (first.flatten(2) == first.flatten(2)[:, :, :1]).all()  # all of a channel, or nothing
    assert not torch.equal(first, second)
    assert 0.25 < (first == 0).float().mean() < 0.55
    torch.testing.assert_close(first[first != 0], torch.full_like(first[first != 0], 1 / 0.6))


def test_dropped_weights_are_never_shared() -> None:
    class DropConnect(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.Parameter(torch.ones(16, 50))

        def forward(self, x: Tensor) -> Tensor:
            return F.linear(x, F.dropout(self.weights, 0.5, self.training))

    with torch.inference_mode(), dropout_on(model := DropConnect(), shared=True) as mode:
        mode.batch = 16  # the weights are as long as the batch
        out = model(torch.ones(16, 50))
    assert not (out == out[:, :1]).all()


def test_shared_masks_have_a_generator_of_their_own_and_do_not_depend_on_layout() -> None:
    model, x = nn.Dropout(0.4), torch.ones(4, 5, 6, 7)
    masks, before = torch.Generator(), torch.get_rng_state()
    drawn = []
    for layout in (torch.contiguous_format, torch.channels_last):
        masks.manual_seed(3)
        with torch.inference_mode(), dropout_on(model, shared=True, generator=masks) as mode:
            mode.batch = 4
            drawn.append(model(x.to(memory_format=layout)))
        assert drawn[-1].is_contiguous(memory_format=layout)
    assert torch.equal(*drawn)
    assert torch.equal(torch.get_rng_state(), before)


def test_active_dropout_is_counted_wherever_it_is_hidden() -> None:
    x = torch.ones(4, 3, 6)
    for model, calls in [
        (nn.Dropout(0.0), 0),
        (nn.Dropout(0.1), 1),
        (Low(), 1),
        (Recurrent(nn.GRU), 1),
        (Attention(), 1),
        (nn.TransformerEncoderLayer(6, 2, 8, 0.5), 4),
        (nn.TransformerEncoderLayer(6, 2, 8, 0.0), 0),
    ]:
        with torch.inference_mode(), dropout_on(model) as mode:
            model(x)
        assert mode.calls == calls


@pytest.mark.parametrize("shared", [False, True])
def test_arguments_may_be_named(shared: bool) -> None:
    x = torch.ones(8, 20)
    with torch.inference_mode(), dropout_on(nn.Identity(), shared=shared) as mode:
        mode.batch = 8
        assert (F.dropout(input=x, p=0.5, training=False) == 0).any()
        assert (torch.dropout(input=x, p=0.5, train=False) == 0).any()
        assert F.dropout(input=x, p=0.5, training=False, inplace=True) is x
    assert (x == 0).any()
    with QuickDropout(0):
        assert (F.dropout(input=torch.ones(8, 20), p=0.5) == 0).any()


@pytest.mark.parametrize("shared", [False, True])
def test_the_mean_over_passes_has_the_same_distribution_with_shared_masks(shared: bool) -> None:
    """One sample's passes are draws of the same network: mean and spread agree within Monte-Carlo error."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.33), nn.Linear(32, 3)).eval()
    x, passes = torch.randn(6, 4), 4_000

    def draw(share: bool) -> Tensor:
        with torch.inference_mode(), dropout_on(model, shared=share) as mode:
            mode.batch = 6
            return torch.stack([model(x).softmax(1) for _ in range(passes)])

    reference, drawn = draw(False), draw(shared)
    error = (reference.var(0) / passes + drawn.var(0) / passes).sqrt()
    assert ((reference.mean(0) - drawn.mean(0)).abs() < 5 * error).all()
    assert ((reference.std(0) / drawn.std(0)).log().abs() < 0.1).all()


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("p", [0.1, 0.33, 0.5, 0.9])
def test_quick_dropout_has_the_right_rate_and_keeps_the_mean(p: float, layout: torch.memory_format) -> None:
    x = torch.ones(64, 16, 20, 20).to(memory_format=layout)
    with QuickDropout(7):
        y = F.dropout(x, p, training=True)
    assert y.is_contiguous(memory_format=layout)
    count, dropped = x.numel(), int((y == 0).sum())
    chi_square = (dropped - count * p) ** 2 / (count * p * (1 - p))
    assert chi_square < 15  # one in 10,000 by chance, and the seed is fixed
    kept = y[y != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)), rtol=1e-3, atol=0)
    # every place is dropped as often as any other, whatever its channel or sample
    assert (y == 0).float().mean((0, 2, 3)).sub(p).abs().max() < 0.02


def test_quick_dropout_is_fresh_for_every_sample_and_step() -> None:
    x = torch.ones(50, 100)
    with QuickDropout(3):
        first, second = F.dropout(x, 0.5), F.dropout(x, 0.5)
    assert not torch.equal(first, second)
    assert len({tuple(row.tolist()) for row in first}) == 50
    with QuickDropout(3):
        assert torch.equal(F.dropout(x, 0.5), first)  # and the same again from the same seed


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_the_gradient_of_quick_dropout_is_that_of_the_same_mask(layout: torch.memory_format) -> None:
    x = torch.randn(3, 4, 5, 6, dtype=torch.float64).to(memory_format=layout).requires_grad_()
    weights = torch.randn(3, 4, 5, 6, dtype=torch.float64)
    with QuickDropout(5):
        y = F.dropout(x, 0.4, training=True)
    (y * weights).sum().backward()  # type: ignore[no-untyped-call]
    mask = (y / x).detach()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, mask * weights)


def test_quick_dropout_leaves_the_odd_cases_to_torch() -> None:
    x = torch.ones(10, 10)
    with QuickDropout(0):
        assert F.dropout(x, 0.5, training=False) is x
        assert F.dropout(x, 0.0) is x
        assert (F.dropout(x, 1.0) == 0).all()
        assert (F.dropout(x.T[::2], 0.5) == 0).any()  # a view with gaps
        assert (nn.Dropout(0.5, inplace=True)(x) == 0).any()
        assert (x == 0).any()
