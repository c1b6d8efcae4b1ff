"""The learner trains, infers and evaluates any model, and packs its state to the last bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError, DeepBassError, NoDropoutError, StoreError
from deepbass.core.labels import Answers, Ids, Labels
from deepbass.core.need import EVERYTHING, GUESSES, Highest, Need
from deepbass.core.score import CLOSENESS
from deepbass.learn.learner import LocalLearner, pick_device
from deepbass.learn.models import build, paper_mlp
from tests.learn.arrays import Arrays

SAMPLES, CLASSES = 90, 3


def blobs(shape: tuple[int, ...] = (4,)) -> tuple[Arrays, NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    classes = np.arange(SAMPLES) % CLASSES
    values = rng.normal(size=(SAMPLES, *shape)) + 3 * classes.reshape(-1, *[1] * len(shape))
    return Arrays(values.astype(np.float32)), classes


def all_known(classes: NDArray[np.int64]) -> Labels:
    return Labels.none(SAMPLES, CLASSES).answered(Answers(np.arange(SAMPLES), classes))


def learner(model: nn.Module | None = None, shape: tuple[int, ...] = (4,), **settings: object) -> LocalLearner:
    config = Config.of({"batch_size": 32, **settings})
    return LocalLearner(model or build(config, shape, CLASSES), blobs(shape)[0], CLASSES, config)


@pytest.mark.parametrize("shape", [(4,), (1, 8, 8), (3, 5, 6), (2, 3), (2, 2, 2, 2)])
def test_training_learns_whatever_the_shape(shape: tuple[int, ...]) -> None:
    pool, classes = blobs(shape)
    subject = learner(shape=shape)
    before = subject.evaluate(pool, classes).accuracy
    subject.train(all_known(classes), epochs=100, copies=2, seed=1)
    assert before < 0.7
    assert subject.evaluate(pool, classes).accuracy > 0.9
    assert set(subject.seconds) == {"train", "evaluate"}


@pytest.mark.parametrize("classes", [2, 3, 25])
def test_any_number_of_classes_from_two_up(classes: int) -> None:
    rng = np.random.default_rng(0)
    pool = Arrays(rng.normal(size=(50, 4)).astype(np.float32))
    config = Config()
    subject = LocalLearner(paper_mlp((4,), classes), pool, classes, config)
    labels = Labels.none(50, classes).answered(Answers(np.arange(50), np.arange(50) % classes))
    subject.train(labels, epochs=1, copies=1, seed=0)
    belief = subject.infer(None, passes=3, seed=0)
    assert belief.mean_N_C.shape == (50, classes)
    np.testing.assert_allclose(belief.mean_N_C.sum(1), 1, atol=1e-6)


def test_the_loss_is_cross_entropy_plus_l2_on_kernels_minimised_by_adam() -> None:
    """One step on the whole set equals one written out with autograd: the penalty is lambda * sum(w^2)."""
    pool, classes = blobs()
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, CLASSES))
    copy = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, CLASSES))
    copy.load_state_dict(model.state_dict())
    learner(model, batch_size=200, l2=0.05).train(all_known(classes), epochs=3, copies=2, seed=0)

    adam = torch.optim.Adam(copy.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-7)
    x, y = torch.from_numpy(pool.read(np.arange(SAMPLES))), torch.from_numpy(classes)
    for _ in range(3):
        adam.zero_grad()
        penalty = 0.05 * sum((w**2).sum() for name, w in copy.named_parameters() if name.endswith("weight"))
        (F.cross_entropy(copy(x), y) + penalty).backward()  # type: ignore[no-untyped-call]
        adam.step()
    for trained, expected in zip(model.parameters(), copy.parameters(), strict=True):
        torch.testing.assert_close(trained, expected, rtol=1e-4, atol=1e-6)


def test_a_known_label_weighs_twenty_times_a_guess() -> None:
    labels = Labels.none(SAMPLES, CLASSES).answered(Answers(np.array([0]), np.array([0])))
    labels = labels.guessed(np.arange(1, 41), np.ones(40, dtype=np.int64))
    seen: list[int] = []

    class Spy(Arrays):
        def read(self, ids: Ids) -> NDArray[np.float32]:
            seen.extend(ids.tolist())
            return super().read(ids)

    pool = Spy(blobs()[0].read(np.arange(SAMPLES)))
    subject = LocalLearner(paper_mlp((4,), CLASSES), pool, CLASSES, Config())
    seen.clear()
    subject.train(labels, epochs=2, copies=20, seed=0)
    assert (seen.count(0), seen.count(1), seen.count(41)) == (40, 2, 0)
    assert seen[: len(seen) // 2] != seen[len(seen) // 2 :]  # another order in every epoch


@pytest.mark.parametrize("masks", ["shared", "fresh"])
def test_inference_is_the_mean_of_dropout_passes(masks: str) -> None:
    """Streamed statistics agree with a plain loop over nn.Dropout in train mode, within Monte-Carlo error."""
    pool, _ = blobs()
    model = build(Config(), (4,), CLASSES)
    passes = 1000
    belief = learner(model, masks=masks).infer(None, passes=passes, seed=3)
    x = torch.from_numpy(pool.read(np.arange(SAMPLES)))
    model.train()  # it has no BatchNorm
    with torch.inference_mode():
        reference = torch.stack([model(x).softmax(1) for _ in range(passes)]).double()
    error = (2 * reference.var(0) / passes).sqrt().numpy() + 1e-9
    assert (np.abs(belief.mean_N_C - reference.mean(0).numpy()) < 5 * error).all()
    assert belief.ids.tolist() == list(range(SAMPLES))


@pytest.mark.parametrize("masks", ["shared", "fresh"])
def test_a_first_layer_that_works_in_place_sees_the_same_input_in_every_pass(masks: str) -> None:
    head = nn.Linear(4, CLASSES)
    in_place = learner(nn.Sequential(nn.Dropout(0.5, inplace=True), head), masks=masks)
    aside = learner(nn.Sequential(nn.Dropout(0.5), head), masks=masks)
    beliefs = [subject.infer(None, passes=60, seed=0).mean_N_C for subject in (in_place, aside)]
    np.testing.assert_allclose(beliefs[0], beliefs[1], rtol=1e-6)  # what one pass zeroed is not zero for ever


def test_inference_speaks_of_the_ids_it_was_asked_about() -> None:
    subject = learner()
    ids = np.array([70, 3, 41])
    belief, whole = subject.infer(ids, passes=0, seed=0), subject.infer(None, passes=0, seed=0)
    assert belief.ids.tolist() == ids.tolist()
    np.testing.assert_allclose(belief.mean_N_C, whole.mean_N_C[ids], rtol=1e-5)


@pytest.mark.parametrize("kernel", ["auto", "off"])
@pytest.mark.parametrize("shape", [(4,), (1, 8, 8)])
def test_passes_are_spared_where_they_decide_nothing_and_the_others_have_the_same_masks(
    shape: tuple[int, ...], kernel: str
) -> None:
    subject = learner(shape=shape, kernel=kernel)
    subject.train(all_known(blobs(shape)[1]), epochs=20, copies=2, seed=1)
    torn = Need((Highest(np.arange(SAMPLES), 5, CLOSENESS),))
    whole, early = (subject.infer(None, passes=10, seed=5, need=need) for need in (EVERYTHING, torn))
    assert (whole.passes == 10).all()
    assert early.passes.min() >= 6
    assert early.guess.tolist() == whole.guess.tolist()
    to_the_end = early.passes == 10
    assert 5 <= to_the_end.sum() < SAMPLES
    np.testing.assert_allclose(early.mean_N_C[to_the_end], whole.mean_N_C[to_the_end], atol=1e-6)


def test_masks_of_every_samples_own_leave_no_way_out() -> None:
    belief = learner(masks="fresh", kernel="off").infer(None, passes=4, seed=0, need=GUESSES)
    assert (belief.passes == 4).all()


def test_zero_passes_are_one_with_dropout_off() -> None:
    pool, _ = blobs()
    subject = learner()
    belief = subject.infer(None, passes=0, seed=0)
    np.testing.assert_array_equal(belief.mean_N_C, subject.probabilities(pool))
    assert (belief.agreement == 1).all()


def test_the_same_seed_gives_the_same_belief_and_leaves_the_callers_generator_alone() -> None:
    subject = learner()
    torch.manual_seed(9)
    expected = torch.rand(2)
    torch.manual_seed(9)
    first, again, other = (subject.infer(None, passes=4, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(2), expected)
    np.testing.assert_array_equal(first.mean_N_C, again.mean_N_C)
    assert not np.array_equal(first.mean_N_C, other.mean_N_C)


def scripted() -> nn.Module:
    class Hidden(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, :CLASSES] * 1.0

    return nn.Sequential(Hidden(), nn.Linear(CLASSES, CLASSES))


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (lambda: nn.Linear(4, CLASSES), "no active dropout"),
        (lambda: nn.Sequential(nn.Linear(4, CLASSES), nn.Dropout(0.0)), "no active dropout"),
        (lambda: nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (-1, 4)), scripted()), "no active dropout"),
    ],
)
def test_a_model_whose_passes_are_identical_gets_a_clear_error(model: Callable[[], nn.Module], says: str) -> None:
    subject = learner(model())
    with pytest.raises(NoDropoutError, match=says):
        subject.infer(None, passes=5, seed=0)
    subject.infer(None, passes=0, seed=0)  # doing without is fine


def test_dropout_without_effect_is_told_apart() -> None:
    class Dead(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.dropout(x, 0.5, self.training)[:, :CLASSES] * 0.0

    with pytest.raises(NoDropoutError, match="no effect"):
        learner(nn.Sequential(Dead(), nn.Linear(CLASSES, CLASSES))).infer(None, passes=5, seed=0)


def test_a_saturated_model_is_not_mistaken_for_one_without_dropout() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, CLASSES))
    with torch.no_grad():
        model[1].bias[0] = 1e6  # type: ignore[operator]
    belief = learner(model).infer(None, passes=5, seed=0)
    assert (belief.guess == 0).all()


@pytest.mark.parametrize(
    ("model", "says"),
    [(nn.Linear(4, 2), r"\(2, 3\).*returned \(2, 2\)"), (nn.LSTM(4, 3, batch_first=True), "a tuple")],
)
def test_a_model_that_returns_no_logits_is_refused_at_once(model: nn.Module, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        learner(model)


def test_divergence_is_said_not_trained_on() -> None:
    _, classes = blobs()
    with pytest.raises(DeepBassError, match="diverged"):
        learner(learning_rate=1e30).train(all_known(classes), epochs=5, copies=1, seed=0)


def test_a_model_without_parameters_is_refused() -> None:
    with pytest.raises(ConfigError, match="no learnable parameters"):
        learner(nn.Sequential(nn.AdaptiveAvgPool1d(CLASSES), nn.Dropout(0.5)))


def test_batch_norm_trains_although_one_sample_is_left_over() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, CLASSES))
    _, classes = blobs()
    labels = Labels.none(SAMPLES, CLASSES).answered(Answers(np.arange(33), classes[:33]))  # 32 + 1
    subject = learner(model)
    subject.train(labels, epochs=2, copies=1, seed=0)
    assert model[1].num_batches_tracked == 2
    subject.infer(None, passes=3, seed=0)


@pytest.mark.parametrize("shape", [(4,), (1, 8, 8)])
def test_a_restored_learner_goes_on_to_the_same_bits(shape: tuple[int, ...]) -> None:
    """Weights, buffers and Adam's moments all count; so does the layout they are restored in."""
    _, classes = blobs(shape)

    def fresh(seed: int) -> LocalLearner:
        layers: list[nn.Module] = [*build(Config(seed=seed), shape, CLASSES)]  # type: ignore[misc]
        return learner(nn.Sequential(*layers[:-1], nn.BatchNorm1d(layers[-1].in_features), layers[-1]), shape)  # type: ignore[arg-type]

    whole = fresh(1)
    for step in range(4):
        whole.train(all_known(classes), epochs=1, copies=2, seed=step)
    broken = fresh(1)
    for step in range(2):
        broken.train(all_known(classes), epochs=1, copies=2, seed=step)
    resumed = fresh(2)
    resumed.restore(broken.state())
    assert resumed.state() == broken.state()
    for step in range(2, 4):
        resumed.train(all_known(classes), epochs=1, copies=2, seed=step)
    assert resumed.state() == whole.state()


def test_a_state_of_another_model_is_refused() -> None:
    state = learner().state()
    with pytest.raises(StoreError, match="does not fit"):
        learner(nn.Sequential(nn.Linear(4, 7), nn.Dropout(0.1), nn.Linear(7, CLASSES))).restore(state)
    with pytest.raises(StoreError, match="does not fit"):
        learner().restore(b"no safetensors")


def test_an_absent_device_is_refused_and_auto_finds_one() -> None:
    assert pick_device("auto").type in ("cpu", "cuda", "mps")
    absent = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(ConfigError, match="not available here"):
        pick_device(absent)


def test_lazy_layers_learn_their_size_from_the_pool() -> None:
    _, classes = blobs()
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.Dropout(0.2), nn.LazyLinear(CLASSES))
    subject = learner(model)
    subject.train(all_known(classes), epochs=1, copies=1, seed=0)
    subject.rehearse()


def test_a_model_without_dropout_is_refused_before_training() -> None:
    with pytest.raises(NoDropoutError):
        learner(nn.Linear(4, CLASSES)).rehearse()
    learner(nn.Linear(4, CLASSES), passes_pool=0).rehearse()
