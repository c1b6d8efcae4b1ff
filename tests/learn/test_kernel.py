"""The compiled kernel does what torch does, with masks of its own."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepbass.core.belief import BeliefSum
from deepbass.core.config import Config
from deepbass.core.errors import DeepBassError
from deepbass.learn import kernel
from deepbass.learn.kernel import native
from deepbass.learn.kernel.kernel_engine import KernelEngine
from deepbass.learn.kernel.native import Chain
from deepbass.learn.kernel.stages import stages_of
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import paper_cnn, paper_mlp
from deepbass.learn.torch_engine import TorchEngine
from tests.learn.arrays import Arrays

SOURCE = Path(kernel.__file__).with_name("chain.cpp")
pytestmark = pytest.mark.skipif(not native.widths(), reason="deepbass was installed without a C++ compiler")

Shape = tuple[int, ...]


def colour() -> nn.Module:
    """Odd sizes, channels that fill no block, dropout after pooling, a layer without bias, nesting."""
    block = nn.Sequential(nn.Conv2d(5, 24, 3, padding="same", bias=False), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.5))
    return nn.Sequential(
        *(nn.Conv2d(3, 5, 3, padding=1), nn.LeakyReLU(0.2), nn.Identity(), block),
        *(nn.Conv2d(24, 17, 3, padding=1), nn.Dropout(0.1), nn.MaxPool2d((2, 2), 2), nn.Dropout(0.6)),
        *(nn.Flatten(), nn.Linear(17 * 3 * 2, 33), nn.ReLU(), nn.Dropout(0.25), nn.Linear(33, 4)),
    )


def late_dropout() -> nn.Module:
    """Two stages to hoist, and one dropout before the head."""
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU()),
        *(nn.Flatten(), nn.Dropout(0.4), nn.Linear(32 * 16, 5)),
    )


ZOO: dict[str, tuple[Callable[[], nn.Module], Shape, int]] = {
    "paper cnn": (lambda: paper_cnn((1, 28, 28), 10), (1, 28, 28), 10),
    "paper cnn, small and in colour": (lambda: paper_cnn((3, 9, 6), 3, 0.5), (3, 9, 6), 3),
    "paper mlp": (lambda: paper_mlp((100,), 7), (100,), 7),
    "mlp on images": (lambda: paper_mlp((1, 8, 8), 10), (1, 8, 8), 10),
    "colour": (colour, (3, 13, 11), 4),
    "late dropout": (late_dropout, (1, 8, 8), 5),
}


@pytest.fixture(params=["base", "avx2", "avx512"])
def library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    build = native.build(request.param)
    if build is None or request.param not in native.widths():
        pytest.skip(f"no build for {request.param}, or no processor that can run it")
    return build


@pytest.fixture(params=list(ZOO))
def case(request: pytest.FixtureRequest) -> tuple[nn.Module, Shape, int]:
    make, shape, classes = ZOO[request.param]
    torch.manual_seed(3)
    model = make()
    for name, weights in model.named_parameters():
        if name.endswith("bias"):
            nn.init.uniform_(weights, -0.1, 0.1)
    return model, shape, classes


def chain_of(model: nn.Module, shape: Shape, library: ctypes.CDLL | None = None, threads: int = 1) -> Chain:
    found = stages_of(model, shape)
    assert found is not None
    library = library or native.build(native.widths()[0])
    assert library is not None
    chain = Chain(library, found[0], threads)
    flat = [
        part.detach().reshape(-1)
        for layer in found[1]
        for part in (layer.weight, layer.bias if layer.bias is not None else torch.zeros(len(layer.weight)))
    ]
    chain.load(torch.cat(flat).numpy())
    return chain


def engine_of(model: nn.Module, pool: Arrays, classes: int, **settings: object) -> KernelEngine:
    engine = KernelEngine.of(model, pool, classes, Config.of(settings))
    assert engine is not None
    return engine


def samples(shape: Shape, count: int = 7) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(8).normal(size=(count, *shape)).astype(np.float32)


def with_masks(model: nn.Module, inputs: Tensor, masks_B_M: Tensor) -> Tensor:
    """Run a chain in torch with masks that are given, one row a sample, for all its dropouts one after the other."""
    used, x = 0, inputs
    for layer in _flat(model):
        if isinstance(layer, nn.Dropout):
            size = x[0].numel()
            x = x * masks_B_M[:, used : used + size].view(x.shape)
            used += size
        else:
            x = layer(x)
    assert used == masks_B_M.shape[1]
    return x


def _flat(model: nn.Module) -> Iterator[nn.Module]:
    for layer in model.children():
        if isinstance(layer, nn.Sequential):
            yield from _flat(layer)
        else:
            yield layer


def test_without_dropout_it_is_torch(case: tuple[nn.Module, Shape, int], library: ctypes.CDLL) -> None:
    model, shape, _ = case
    inputs = samples(shape)
    logits = chain_of(model, shape, library).infer(inputs, np.arange(len(inputs)), 0, None)[:, 0]
    np.testing.assert_allclose(logits, model.eval()(torch.from_numpy(inputs)).detach(), rtol=1e-4, atol=2e-5)


def test_a_dropout_pass_is_torch_with_the_same_masks(case: tuple[nn.Module, Shape, int], library: ctypes.CDLL) -> None:
    model, shape, _ = case
    inputs, ids = samples(shape), np.array([5, 3, 900, 4, 0, 77, 12])
    chain = chain_of(model, shape, library)
    logits = chain.infer(inputs, ids, 6, range(2, 5))
    for place, number in enumerate(range(2, 5)):
        masks = torch.from_numpy(np.stack([chain.masks(6, int(id_), number) for id_ in ids]))
        expected = with_masks(model, torch.from_numpy(inputs), masks).detach()
        np.testing.assert_allclose(logits[:, place], expected, rtol=1e-4, atol=2e-5)


def test_gradients_are_torchs_with_the_same_masks(case: tuple[nn.Module, Shape, int], library: ctypes.CDLL) -> None:
    model, shape, classes = case
    inputs, labels = samples(shape, 70), np.random.default_rng(1).integers(0, classes, 70)  # three blocks
    chain = chain_of(model, shape, library, threads=2)
    found = stages_of(model, shape)
    assert found is not None
    sizes = [size for layer in found[1] for size in (layer.weight.numel(), len(layer.weight))]
    flat, logits = chain.gradients(inputs, labels, 4, 9, sum(sizes))

    masks = torch.from_numpy(np.stack([chain.masks(4, row, 9) for row in range(len(inputs))]))
    expected = with_masks(model, torch.from_numpy(inputs), masks)
    F.cross_entropy(expected, torch.from_numpy(labels)).backward()  # type: ignore[no-untyped-call]
    np.testing.assert_allclose(logits, expected.detach(), rtol=1e-4, atol=2e-5)
    parts = iter(np.split(flat, np.cumsum(sizes)[:-1]))
    for layer in found[1]:
        for weights in (layer.weight, layer.bias):
            gradient = next(parts)
            if weights is not None:
                assert weights.grad is not None
                largest = float(weights.grad.abs().max())
                np.testing.assert_allclose(
                    gradient, weights.grad.reshape(-1), rtol=1e-3, atol=max(1e-7, 2e-5 * largest)
                )


def test_a_gradient_at_zero_is_torchs() -> None:
    """Black borders and biases of zero make activations of exactly zero, and ties in every pool."""
    torch.manual_seed(0)
    model, inputs = paper_cnn((1, 8, 8), 3), np.zeros((2, 1, 8, 8), dtype=np.float32)
    pool = Arrays(inputs)
    engine = engine_of(model, pool, 3)
    with engine.training(5):
        engine.backward(inputs, np.array([0, 2]))
    ours = [weights.grad.clone() for weights in model.parameters() if weights.grad is not None]
    model.zero_grad()
    chain = chain_of(model, (1, 8, 8))
    masks = torch.from_numpy(np.stack([chain.masks(5, row, 0) for row in range(2)]))
    F.cross_entropy(with_masks(model, torch.from_numpy(inputs), masks), torch.tensor([0, 2])).backward()  # type: ignore[no-untyped-call]
    for gradient, weights in zip(ours, model.parameters(), strict=True):
        assert weights.grad is not None
        torch.testing.assert_close(gradient, weights.grad, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("p", [0.01, 0.33, 0.5, 0.9])
def test_units_are_dropped_at_the_rate_asked_for(p: float, library: ctypes.CDLL) -> None:
    model = nn.Sequential(nn.Linear(2, 64), nn.Dropout(p), nn.Linear(64, 2))
    chain = chain_of(model, (2,), library)
    masks_N_U = np.stack([chain.masks(11, sample, 0) for sample in range(4000)])
    assert set(np.unique(masks_N_U)) <= {np.float32(0), np.float32(65536 / (65536 - round(p * 65536)))}
    kept_U = (masks_N_U > 0).sum(0)
    chi_square = ((kept_U - 4000 * (1 - p)) ** 2).sum() / (4000 * p * (1 - p))  # 64 degrees of freedom, one a unit
    assert 28 < chi_square < 118  # 1 in 100,000 on either side
    neighbours = (masks_N_U[:, :-1] > 0) == (masks_N_U[:, 1:] > 0)
    expected = p**2 + (1 - p) ** 2
    assert abs(neighbours.mean() - expected) < 6 * np.sqrt(expected * (1 - expected) / neighbours.size)


def test_masks_are_fresh_for_every_sample_pass_and_seed() -> None:
    chain = chain_of(paper_cnn((1, 28, 28), 10), (1, 28, 28))
    masks = [chain.masks(*key) > 0 for key in ((1, 1, 1), (1, 2, 1), (1, 1, 2), (2, 1, 1))]
    for i, one in enumerate(masks):
        for other in masks[:i]:
            agree = (one == other).mean()  # of independent masks: p^2 + (1 - p)^2
            assert abs(agree - (0.33**2 + 0.67**2)) < 6 * 0.5 / np.sqrt(len(one))
    np.testing.assert_array_equal(masks[0], chain.masks(1, 1, 1) > 0)


def test_steps_of_training_draw_masks_of_their_own() -> None:
    model, pool = paper_mlp((100,), 3), Arrays(samples((100,), 40))
    engine, gradients = engine_of(model, pool, 3), []
    for seed in (1, 1, 2):
        with engine.training(seed):
            for _ in range(2):
                engine.backward(pool.read(np.arange(40)), np.zeros(40, dtype=np.int64))
                gradients.append(next(model.parameters()).grad.clone())  # type: ignore[union-attr]
    assert torch.equal(gradients[0], gradients[2])  # the same seed and step
    assert torch.equal(gradients[1], gradients[3])
    assert not torch.equal(gradients[0], gradients[1])  # another step
    assert not torch.equal(gradients[0], gradients[4])  # another seed


def count_parameters(model: nn.Module, shape: Shape) -> int:
    """Count what the kernel has a gradient for: a layer without a bias has one of zeros there."""
    found = stages_of(model, shape)
    assert found is not None
    return sum(layer.weight.numel() + len(layer.weight) for layer in found[1])


def test_results_do_not_depend_on_threads(case: tuple[nn.Module, Shape, int]) -> None:
    model, shape, classes = case
    inputs, labels = samples(shape, 100), np.random.default_rng(1).integers(0, classes, 100)
    parameters = count_parameters(model, shape)
    chains = [chain_of(model, shape, threads=threads) for threads in (1, 2, 5)]
    beliefs = [chain.infer(inputs, np.arange(100), 1, range(3)) for chain in chains]
    gradients = [chain.gradients(inputs, labels, 1, 0, parameters)[0] for chain in chains]
    for i in (1, 2):
        np.testing.assert_array_equal(beliefs[0], beliefs[i])
        np.testing.assert_array_equal(gradients[0], gradients[i])


def test_blocks_of_a_batch_are_the_same_wherever_they_are_computed(case: tuple[nn.Module, Shape, int]) -> None:
    """A part of a batch has the masks and the weight it has in the whole; the gradient is the blocks' sum in order."""
    model, shape, classes = case
    inputs, labels = samples(shape, 150), np.random.default_rng(1).integers(0, classes, 150)
    parameters = count_parameters(model, shape)
    chain = chain_of(model, shape)
    whole, logits = chain.block_gradients(inputs, labels, 3, 7, parameters)
    parts = [
        chain.block_gradients(inputs[rows], labels[rows], 3, 7, parameters, first=rows.start, whole=150)
        for rows in (slice(0, 64), slice(64, 96), slice(96, 150))
    ]
    np.testing.assert_array_equal(whole, np.concatenate([blocks for blocks, _ in parts]))
    np.testing.assert_array_equal(logits, np.concatenate([part for _, part in parts]))
    in_order = whole[0].copy()
    for block in whole[1:]:
        in_order += block
    np.testing.assert_array_equal(chain.gradients(inputs, labels, 3, 7, parameters)[0], in_order)


def test_a_pass_over_some_samples_is_that_pass_over_all() -> None:
    torch.manual_seed(0)
    model, pool = paper_cnn((1, 8, 8), 3), Arrays(samples((1, 8, 8), 50))
    engine, ids = engine_of(model, pool, 3), np.arange(50)[::-1].copy()
    whole, staged = BeliefSum(50, 3), BeliefSum(50, 3)
    engine.passes(ids, np.arange(50), range(10), 5, whole, lambda share: None)
    engine.passes(ids, np.arange(50), range(6), 5, staged, lambda share: None)
    some = np.array([3, 30, 49])
    for number in range(6, 10):
        engine.passes(ids, some, range(number, number + 1), 5, staged, lambda share: None)
    np.testing.assert_allclose(whole.belief(ids).mean_N_C[some], staged.belief(ids).mean_N_C[some], rtol=1e-12)


def test_means_agree_with_torchs_reference_within_monte_carlo_error(case: tuple[nn.Module, Shape, int]) -> None:
    model, shape, classes = case
    pool, ids, passes = Arrays(samples(shape, 20)), np.arange(20), 200
    sums = [BeliefSum(20, classes), BeliefSum(20, classes)]
    reference = TorchEngine(model, pool, classes, Config(masks="fresh"), torch.device("cpu"))
    torch.manual_seed(0)
    reference.passes(ids, ids, range(passes), 0, sums[0], lambda share: None)
    engine_of(model, pool, classes).passes(ids, ids, range(passes), 0, sums[1], lambda share: None)
    ours = chain_of(model, shape).infer(pool.read(ids), ids, 0, range(passes))
    spread_N_C = torch.from_numpy(ours).softmax(-1).std(1).numpy()
    difference = sums[0].belief(ids).mean_N_C - sums[1].belief(ids).mean_N_C
    z_N_C = difference / (spread_N_C * np.sqrt(2 / passes))
    assert np.abs(z_N_C).max() < 5.5
    assert 0.75 < np.sqrt((z_N_C**2).mean()) < 1.3  # neither too far apart, nor too close for chance


def test_the_wide_build_is_right_even_where_it_cannot_run(tmp_path: Path) -> None:
    """The code for 16 lanes, compiled for whatever registers this processor has; and no warning in any build."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler here")
    target = tmp_path / "wide.so"
    flags = ["-std=gnu++17", "-O2", "-shared", "-fPIC", "-DLANES=16", "-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    subprocess.run([compiler, *flags, "-o", str(target), str(SOURCE)], check=True)
    wide = ctypes.CDLL(str(target))
    model, inputs = colour(), samples((3, 13, 11), 40)
    outcomes = []
    for library in (wide, native.build("base")):
        chain = chain_of(model, (3, 13, 11), library)
        found = stages_of(model, (3, 13, 11))
        assert found is not None
        parameters = sum(layer.weight.numel() + len(layer.weight) for layer in found[1])
        logits = chain.infer(inputs, np.arange(40), 1, range(2))
        outcomes.append((logits, chain.gradients(inputs, np.zeros(40, dtype=np.int64), 1, 1, parameters)[0]))
    np.testing.assert_allclose(outcomes[0][0], outcomes[1][0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outcomes[0][1], outcomes[1][1], rtol=1e-3, atol=1e-5)


class Residual(nn.Module):
    """No chain."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        inner: Tensor = self.inner(x)
        return x + inner


def _hooked() -> nn.Module:
    model = paper_mlp((4,), 2)
    model[1].register_forward_hook(lambda module, args, out: out * 2)
    return model


def _overridden() -> nn.Module:
    model = paper_mlp((4,), 2)
    model[1].forward = lambda x: x
    return model


def _with_parameter() -> nn.Module:
    model = paper_mlp((4,), 2)
    model.register_parameter("temperature", nn.Parameter(torch.ones(1)))
    return model


def _tied() -> nn.Module:
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.Dropout(), layer, nn.Linear(4, 2))


OTHERS: dict[str, Callable[[], nn.Module]] = {
    "own forward": lambda: nn.Sequential(Residual(), nn.Dropout(), nn.Linear(4, 2)),
    "batch norm": lambda: nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 2)),
    "another activation": lambda: nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Dropout(), nn.Linear(4, 2)),
    "a steep leak": lambda: nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(2.0), nn.Dropout(), nn.Linear(4, 2)),
    "dropout first": lambda: nn.Sequential(nn.Dropout(), nn.Linear(4, 2)),
    "dropout before activation": lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.ReLU(), nn.Linear(4, 2)),
    "dropout last": lambda: nn.Sequential(nn.Linear(4, 2), nn.Dropout()),
    "everything dropped": lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(1.0), nn.Linear(4, 2)),
    "a hook": _hooked,
    "a forward put in its place": _overridden,
    "tied weights": _tied,
    "double precision": lambda: paper_mlp((4,), 2).double(),
    "wide linear layers": lambda: nn.Sequential(
        nn.Linear(4, 128), nn.Linear(128, 128), nn.Dropout(), nn.Linear(128, 2)
    ),
    "a parameter of its own": _with_parameter,
}
OTHER_IMAGES: dict[str, Callable[[], nn.Module]] = {
    "5x5": lambda: nn.Conv2d(1, 4, 5, padding=2),
    "a stride": lambda: nn.Conv2d(1, 4, 3, padding=1, stride=2),
    "no padding": lambda: nn.Conv2d(1, 4, 3),
    "reflected borders": lambda: nn.Conv2d(1, 4, 3, padding=1, padding_mode="reflect"),
    "very many channels": lambda: nn.Sequential(nn.Conv2d(1, 129, 3, padding=1), nn.Conv2d(129, 129, 3, padding=1)),
    "dilation": lambda: nn.Conv2d(1, 4, 3, padding=2, dilation=2),
    "another pool": lambda: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.MaxPool2d(3)),
    "an average pool": lambda: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.AvgPool2d(2)),
    "channel dropout": lambda: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.Dropout2d()),
    "pooled, then activated": lambda: nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.MaxPool2d(2), nn.ReLU()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_are_left_to_torch(name: str) -> None:
    assert stages_of(OTHERS[name](), (4,)) is None


@pytest.mark.parametrize("name", OTHER_IMAGES)
def test_other_image_models_are_left_to_torch(name: str) -> None:
    model = nn.Sequential(OTHER_IMAGES[name](), nn.Dropout(), nn.Flatten(), nn.LazyLinear(2))
    model(torch.zeros(1, 1, 8, 8))
    assert stages_of(model, (1, 8, 8)) is None


def test_linear_layers_on_images_that_are_not_flattened_are_left_to_torch() -> None:
    model = nn.Sequential(nn.Linear(8, 4), nn.Dropout(), nn.Flatten(), nn.Linear(32, 2))
    assert stages_of(model, (1, 8, 8)) is None


def test_the_learner_takes_the_kernel_when_it_can_and_torch_when_told_to() -> None:
    pool = Arrays(samples((1, 8, 8), 20))
    for settings, engine in (({}, f"kernel {native.widths()[0]}"), ({"kernel": "off"}, "torch")):
        subject = LocalLearner(paper_cnn((1, 8, 8), 3), pool, 3, Config.of(settings))
        assert subject.engine == engine


def test_without_a_build_torch_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepbass.learn.kernel.native.build", lambda name: None)
    subject = LocalLearner(paper_cnn((1, 8, 8), 3), Arrays(samples((1, 8, 8), 20)), 3, Config())
    assert subject.engine == "torch"
    assert subject.infer(None, passes=3, seed=0).mean_N_C.shape == (20, 3)


def test_logits_that_are_not_numbers_are_refused() -> None:
    model, pool = paper_mlp((4,), 2), Arrays(samples((4,), 20))
    engine = engine_of(model, pool, 2)
    nn.init.constant_(model[-1].weight, float("nan"))  # type: ignore[arg-type]
    with pytest.raises(DeepBassError, match="diverged"), engine.training(0):
        engine.backward(pool.read(np.arange(20)), np.zeros(20, dtype=np.int64))
    with pytest.raises(DeepBassError, match="diverged"):
        engine.probabilities(pool, np.arange(20), lambda share: None)


def test_frozen_weights_stay_frozen() -> None:
    model, pool = paper_mlp((4,), 2), Arrays(samples((4,), 20))
    model[1].weight.requires_grad_(False)
    engine = engine_of(model, pool, 2)
    with engine.training(0):
        engine.backward(pool.read(np.arange(20)), np.zeros(20, dtype=np.int64))
    assert model[1].weight.grad is None
    assert model[1].bias.grad is not None


def test_torchs_threads_are_back_after_training() -> None:
    engine = engine_of(paper_mlp((4,), 2), Arrays(samples((4,), 20)), 2)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyError), engine.training(0):
            assert torch.get_num_threads() == 1
            raise KeyError
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
