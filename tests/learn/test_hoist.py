"""What comes before the first dropout is done once a batch, for any model, and never changes an answer."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from deepbass.core.belief import Belief, BeliefSum
from deepbass.core.config import Config
from deepbass.learn.dropout import dropout_on
from deepbass.learn.hoist import Hoist
from deepbass.learn.models import paper_cnn, paper_mlp
from deepbass.learn.torch_engine import TorchEngine
from tests.learn.arrays import Arrays

SAMPLES, CLASSES, BATCHES, PASSES = 24, 3, 2, 5


class Net(nn.Module):
    """A stem, something in the middle that is written out in each test, and a head."""

    def __init__(self, middle: Callable[[Net, Tensor], Tensor], inner: nn.Module | None = None) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(4, 8), nn.Linear(8, CLASSES)
        self.inner = inner
        self.middle = middle
        self.cache: Tensor | None = None
        self.steps: Tensor
        self.register_buffer("steps", torch.zeros(8))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.middle(self, self.stem(x)))
        return logits


def resnet() -> nn.Module:
    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(True))
            self.second = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width))

        def forward(self, x: Tensor) -> Tensor:
            y = self.second(self.first(x))
            y += x
            return F.relu(y, inplace=True)

    stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True))
    tail = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(8, CLASSES))
    return nn.Sequential(stem, Block(8), nn.MaxPool2d(2), Block(8), tail)


def recurrent(net: Net, x: Tensor) -> Tensor:
    assert net.inner is not None
    out: Tensor = net.inner(x.view(-1, 2, 4))[0]
    return out.flatten(1)


def attention(net: Net, x: Tensor) -> Tensor:
    assert net.inner is not None
    q = x.view(-1, 2, 4)
    out: Tensor = net.inner(q, q, q)[0]
    return out.flatten(1)


def residual_in_place(net: Net, x: Tensor) -> Tensor:
    x += F.dropout(x.tanh(), 0.5, net.training)
    return x


def view_in_place(net: Net, x: Tensor) -> Tensor:
    part = x[:, :4]
    dropped = F.dropout(x, 0.5, net.training)
    part.relu_()
    return dropped + x


def detached_in_place(net: Net, x: Tensor) -> Tensor:
    dropped = F.dropout(x, 0.5, net.training)
    x.data.add_(1)  # nothing counts that x is written to
    return dropped


def dropped_in_place_unused(net: Net, x: Tensor) -> Tensor:
    F.dropout(x, 0.5, net.training, inplace=True)  # its return value is not used
    return x


def dropped_view_in_place(net: Net, x: Tensor) -> Tensor:
    whole = x.view(-1, 8, 1)
    return F.dropout(whole.flatten(1), 0.5, net.training, inplace=True) + whole[:, :, 0]


def all_written_before(net: Net, x: Tensor) -> Tensor:
    x[:, 0] = x[:, 1]
    x = F.relu(x, inplace=True)
    x.mul_(2)
    return F.dropout(x, 0.5, net.training) + x


def own_noise(net: Net, x: Tensor) -> Tensor:
    return F.dropout(x + torch.randn_like(x), 0.5, net.training)


def noise_afterwards(net: Net, x: Tensor) -> Tensor:
    return F.dropout(x, 0.5, net.training) + torch.bernoulli(torch.full_like(x, 0.5))


def branch(net: Net, x: Tensor) -> Tensor:
    x = x.sin().cos() if x.mean() > 0 else x.tanh()
    return F.dropout(x, 0.5, net.training)


def sizes(net: Net, x: Tensor) -> Tensor:
    q, k = x.reshape(len(x), 2, -1).unbind(1)
    a, b = torch.stack([q, k])  # unpacked by the tensor's iterator
    length = (a * b).sum().item() * 0 + x.shape[1]
    return F.dropout(torch.cat([a, b], 1) / length, 0.5, net.training)


def cached(net: Net, x: Tensor) -> Tensor:
    if net.cache is None:
        net.cache = torch.arange(8.0)
    return F.dropout(x + net.cache, 0.5, net.training)


def counting(net: Net, x: Tensor) -> Tensor:
    net.steps += 1  # a state of the model's own
    return F.dropout(x + 0 * net.steps, 0.5, net.training)


def with_gradients(net: Net, x: Tensor) -> Tensor:
    with torch.enable_grad():
        inner = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(inner.sin().sum(), inner)
        dropped = F.dropout(slope, 0.5, net.training)
        assert torch.is_grad_enabled()
    assert not torch.is_grad_enabled()
    return dropped


def in_inference_mode(net: Net, x: Tensor) -> Tensor:
    with torch.inference_mode():
        x = x.sin()
    return F.dropout(x, 0.5, net.training)


def hooked() -> nn.Module:
    model = Net(lambda net, x: F.dropout(x, 0.5, net.training))
    model.stem.register_forward_hook(lambda module, args, output: output * 2)
    model.head.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    return model


@dataclass(frozen=True)
class Case:
    make: Callable[[], nn.Module]
    shape: tuple[int, ...] = (4,)
    hoisted: bool = True


def net(middle: Callable[[Net, Tensor], Tensor], inner: nn.Module | None = None, *, hoisted: bool = True) -> Case:
    return Case(lambda: Net(middle, inner), hoisted=hoisted)


ZOO = {
    "paper's CNN": Case(lambda: paper_cnn((1, 8, 8), CLASSES), (1, 8, 8)),
    "paper's MLP": Case(lambda: paper_mlp((4,), CLASSES)),
    "ResNet": Case(resnet, (3, 8, 8)),
    "F.dropout": net(lambda net, x: F.dropout(x.relu(), 0.5, net.training)),
    "torch.dropout": net(lambda net, x: torch.dropout(x.relu(), 0.5, net.training)),
    "Dropout1d": net(lambda net, x: F.dropout1d(x.view(-1, 4, 2), 0.5, net.training).flatten(1)),
    "AlphaDropout": net(lambda net, x: F.alpha_dropout(x.relu(), 0.5, net.training)),
    "LSTM": net(recurrent, nn.LSTM(4, 4, num_layers=2, dropout=0.5, batch_first=True)),
    "attention": net(attention, nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)),
    "dropout of rate 0 before": net(lambda net, x: F.dropout(F.dropout(x, 0.0, net.training), 0.5, net.training)),
    "hooks": Case(hooked),
    "residual in place": net(residual_in_place, hoisted=False),
    "view in place": net(view_in_place, hoisted=False),
    "detached in place": net(detached_in_place, hoisted=False),
    "first dropout in place": net(lambda net, x: F.dropout(x, 0.5, net.training, inplace=True)),
    "first dropout in place, unused": net(dropped_in_place_unused),
    "first dropout in place, of a view": net(dropped_view_in_place),
    "first dropout in place, by torch": net(lambda net, x: torch.dropout_(x, 0.5, net.training)),
    "all written before": net(all_written_before),
    "noise of its own": net(own_noise, hoisted=False),
    "noise after dropout": net(noise_afterwards),
    "branch": net(branch),
    "sizes and values": net(sizes),
    "cache": net(cached),
    "state": net(counting, hoisted=False),
    "gradients": net(with_gradients),
    "inference mode": net(in_inference_mode, hoisted=False),
    "dropout first": Case(lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(4, CLASSES)), hoisted=False),
    "dropout first, in place": Case(
        lambda: nn.Sequential(nn.Dropout(0.5, inplace=True), nn.Linear(4, CLASSES)), hoisted=False
    ),
    "dropout last, in place": Case(lambda: nn.Sequential(nn.Linear(4, CLASSES), nn.Dropout(0.5, inplace=True))),
}


class Uses(TorchFunctionMode):
    """Counts the calls that are really made with some tensor; below the engine's own modes, it sees no others."""

    def __init__(self, tensor: Tensor) -> None:
        super().__init__()
        self.count = 0
        self._tensor = tensor

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        work = getattr(func, "__name__", "") != "__get__"
        self.count += work and any(value is self._tensor for value in (*args, *kwargs.values()))
        return func(*args, **kwargs)


def engine(model: nn.Module, shape: tuple[int, ...] = (4,), *, hoist: bool = True) -> TorchEngine:
    values = np.random.default_rng(0).normal(size=(SAMPLES, *shape)).astype(np.float32)
    values[SAMPLES // BATCHES :] += 1  # so that a branch may go another way in another batch
    config = Config(infer_batch=SAMPLES // BATCHES)
    return TorchEngine(model, Arrays(values), CLASSES, config, torch.device("cpu"), hoist=hoist)


def infer(subject: TorchEngine) -> Belief:
    ids, total = np.arange(SAMPLES), BeliefSum(SAMPLES, CLASSES)
    subject.passes(ids, ids, range(PASSES), 1, total, lambda share: None)
    return total.belief(ids)


@pytest.mark.parametrize("name", ZOO)
def test_hoisting_changes_no_bit_of_the_answer(name: str) -> None:
    torch.manual_seed(0)
    model = ZOO[name].make().eval()
    full = infer(engine(model, ZOO[name].shape, hoist=False))
    subject = engine(model, ZOO[name].shape)
    for _ in range(2):  # the second time without its rehearsal
        hoisted = infer(subject)
        np.testing.assert_array_equal(hoisted.mean_N_C, full.mean_N_C)
        np.testing.assert_array_equal(hoisted.expected_entropy, full.expected_entropy)


@pytest.mark.parametrize("name", ZOO)
def test_what_comes_before_the_first_dropout_is_done_once_a_batch_where_it_is_safe(name: str) -> None:
    torch.manual_seed(0)
    model = ZOO[name].make().eval()
    subject = engine(model, ZOO[name].shape)
    infer(subject)
    with torch.no_grad(), Uses(next(model.parameters())) as stem:
        infer(subject)
    assert stem.count == (BATCHES if ZOO[name].hoisted else BATCHES * PASSES)


def test_every_layer_of_a_resnet_but_its_head_is_run_once_a_batch() -> None:
    model = resnet().eval()
    subject = engine(model, (3, 8, 8))
    infer(subject)
    for weights in model.parameters():
        with torch.no_grad(), Uses(weights) as layer:
            infer(subject)
        assert layer.count == (BATCHES * PASSES if weights.shape[0] == CLASSES else BATCHES)


COIN, DICE = np.random.default_rng(0), torch.Generator()


@pytest.mark.parametrize(
    "noise",
    [
        lambda x: x + torch.from_numpy(COIN.normal(size=8).astype(np.float32)),
        lambda x: x * torch.from_numpy(COIN.choice([-1.0, 1.0], size=1)).float(),
        lambda x: x * COIN.choice([-1.0, 1.0]),
        lambda x: x * np.float32(COIN.choice([-1.0, 1.0])),
        lambda x: x[:, COIN.permutation(8).tolist()],
        lambda x: x.sin() if COIN.random() < 0.5 else x.cos(),
        lambda x: x * torch.randint(0, 2, (1,), generator=DICE),
    ],
)
def test_noise_from_elsewhere_is_drawn_in_every_pass_however_often_it_repeats_itself(
    noise: Callable[[Tensor], Tensor],
) -> None:
    model = Net(lambda net, x: F.dropout(noise(x), 0.5, net.training)).eval()
    subject = engine(model)
    for _ in range(3):
        infer(subject)
    with torch.no_grad(), Uses(model.stem.weight) as stem:
        infer(subject)
    assert stem.count == BATCHES * PASSES


@pytest.mark.filterwarnings("ignore")  # torch announces the end of torch.jit
def test_scripted_functions_are_not_overlooked() -> None:
    script: Callable[[Tensor], Tensor] = torch.jit.script(_wave)

    def through(net: Net, x: Tensor) -> Tensor:
        return F.dropout(script(x.tanh()).relu(), 0.5, net.training)

    def around(net: Net, x: Tensor) -> Tensor:
        aside = script(x.tanh())  # meets no other call before the dropout
        return F.dropout(x, 0.5, net.training) + aside

    for middle in (through, around):
        model = Net(middle).eval()
        np.testing.assert_array_equal(infer(engine(model)).mean_N_C, infer(engine(model, hoist=False)).mean_N_C)
    whole = nn.Sequential(torch.jit.script(nn.Linear(4, 8)), nn.Dropout(0.5), nn.Linear(8, CLASSES)).eval()
    np.testing.assert_array_equal(infer(engine(whole)).mean_N_C, infer(engine(whole, hoist=False)).mean_N_C)


def _wave(x: Tensor) -> Tensor:
    return x.sin() + 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["before", "around", "whole"])
def test_compiled_parts_give_the_answer_of_plain_ones(place: str) -> None:
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, CLASSES)).eval()
    plain = infer(engine(model, hoist=False))
    if place == "before":
        model[1] = torch.compile(model[1], backend="eager")
    elif place == "around":
        model[2].compile(backend="eager")
    else:
        model = torch.compile(model, backend="eager")
    np.testing.assert_allclose(infer(engine(model)).mean_N_C, plain.mean_N_C, atol=1e-6)


class Fickle(nn.Module):
    """Does something else from some call on: what no rehearsal can foresee."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Linear(4, 8), nn.Linear(8, CLASSES)
        self.how: Callable[[Tensor], Tensor] = torch.tanh
        self.scale = 1.0

    def forward(self, x: Tensor) -> Tensor:
        x = self.how(self.stem(x)) * self.scale
        logits: Tensor = self.head(F.dropout(x, 0.5, self.training))
        return logits


@pytest.mark.parametrize(
    "change", [{"how": torch.sin}, {"scale": 2.0}, {"how": lambda x: x.tanh().tanh()}, {"how": lambda x: x}]
)
def test_a_pass_that_begins_otherwise_is_made_in_full(change: dict[str, Any]) -> None:
    model, inputs = Fickle().eval(), torch.randn(5, 4)

    def forward(x: Tensor) -> Tensor:
        torch.default_generator.manual_seed(3)
        logits: Tensor = model(x)
        return logits

    with torch.no_grad(), dropout_on(model):
        hoist = Hoist(inputs)
        before = hoist.run(forward)
        assert torch.equal(hoist.run(forward), before)
        on_before = hoist.on
        for name, value in change.items():
            setattr(model, name, value)
        after = hoist.run(forward)
        assert (on_before, hoist.on) == (True, False)
        assert torch.equal(after, forward(inputs))
        assert torch.equal(hoist.run(forward), after)
    assert not torch.equal(before, after)


def test_an_error_of_the_model_in_a_later_pass_is_raised() -> None:
    def middle(net: Net, x: Tensor) -> Tensor:
        x = F.dropout(x, 0.5, net.training)
        if net.cache is not None:
            raise ZeroDivisionError
        return x

    model, inputs = Net(middle).eval(), torch.randn(5, 4)
    with torch.no_grad(), dropout_on(model):
        hoist = Hoist(inputs)
        hoist.run(model)
        model.cache = torch.ones(1)
        with pytest.raises(ZeroDivisionError):
            hoist.run(model)


def test_only_what_is_needed_later_is_held_and_only_for_the_batch() -> None:
    seen: list[weakref.ref[Tensor]] = []

    def watch(module: nn.Module, args: Any, output: Tensor) -> None:
        if len(seen) < 3:
            seen.append(weakref.ref(output))

    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, CLASSES)).eval()
    for layer in list(model)[:3]:
        layer.register_forward_hook(watch)
    with torch.no_grad(), dropout_on(model):
        hoist = Hoist(torch.randn(5, 4))
        for _ in range(3):
            hoist.run(model)
        assert hoist.on
        assert [tensor() is not None for tensor in seen] == [False, False, True]
        del hoist
    assert all(tensor() is None for tensor in seen)


def test_the_samples_are_as_they_were() -> None:
    model, inputs = nn.Sequential(nn.ReLU(inplace=True), nn.Dropout(0.5, inplace=True)).eval(), torch.randn(5, 4)
    before = inputs.clone()
    with torch.no_grad(), dropout_on(model):
        hoist = Hoist(inputs)
        passes = [hoist.run(model) for _ in range(3)]
        assert hoist.on
    assert torch.equal(inputs, before)
    assert not torch.equal(passes[0], passes[1])  # a result is not written to by the next pass
    for each in passes:
        kept = each != 0
        torch.testing.assert_close(each[kept], 2 * before[kept])
