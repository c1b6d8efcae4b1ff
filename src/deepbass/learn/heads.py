"""A linear head on features: softmax regression, solved to its optimum, its regularisation chosen by cross-validation.

What a feature extractor has made of a sample is nearly linear in the classes, so that a whole training takes a fraction
of a second and there is nothing to tune: the penalty is the one under which known labels that were kept back are
predicted best. The dropout before the layer is for Monte-Carlo passes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from deepbass.core.labels import Classes
from deepbass.core.quality import is_uneven
from deepbass.core.randomness import generator
from deepbass.learn.landmarks import Nearness, directions_beside, nearness_of, nothing_near
from deepbass.learn.minimise import minimise, one_thread

# Strengths of the penalty that are tried: C as scikit-learn counts it, for features whose mean square length is 1.
STRENGTHS = tuple(float(10.0 ** (quarter / 4)) for quarter in range(-6, 17))
FOLDS = 5
MOST_FOR_CHOICE = 1000  # labels that take part in choosing: more of them hardly move the choice, and cost time
_SURE = 1000  # labels from which on the number of right answers alone decides
_PATIENCE = 4  # strengths in a row that were worse than the best, after which weaker penalties are not tried


class View(NamedTuple):
    """How a head may look at its features: straight, or also by how near they are to landmarks."""

    scale: Tensor
    near: Nearness | None = None


class LinearHead(nn.Module):
    """Features, centred and scaled, to logits; columns of a table by way of landmarks, too, if that shows more."""

    centre: Tensor
    scale: Tensor
    bend: Tensor
    rates: Tensor
    landmarks: Tensor
    directions: Tensor
    offset: Tensor
    strength: Tensor
    chosen_with: Tensor

    def __init__(
        self,
        width: int,
        classes: int,
        dropout: float = 0.33,
        *,
        by_column: bool = False,
        curved: bool = False,
        end: int = 0,
    ) -> None:
        """Make a head; with ``by_column`` every column is scaled for itself, as the numbers of a table have units.

        That is a first guess: known labels may show that one scale for all suits them better, and with ``curved`` that
        straight cuts suit them less than cuts along curves, too: see `views`. So they may show, where the first ``end``
        columns are the end of a network and the others what it saw before, that the others tell more.
        """
        super().__init__()
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width) if by_column or end else torch.ones(()))
        self.by_column, self.end = by_column, end
        self.curved = curved
        if curved:
            for name, tensor in nothing_near(width)._asdict().items():
                self.register_buffer(name, tensor)
        self.views = [View(self.scale.clone())]  # that are worth a trial, since `prepare`
        self.register_buffer("strength", torch.ones(()))  # of the penalty: C, as chosen last
        self.register_buffer("chosen_with", torch.zeros((), dtype=torch.int64))  # how many labels; 0: never chosen
        self.flatten = nn.Flatten()
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(width + directions_beside(width) if curved else width, classes)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, features: Tensor) -> Tensor:
        """Map a batch of features to logits."""
        logits: Tensor = self.linear(self.dropout(self.prepared(features)))
        return logits

    def prepared(self, features: Tensor) -> Tensor:
        """Centre and scale features, so that one range of penalties suits all kinds of them."""
        centred: Tensor = self.flatten(features) - self.centre
        if not self.curved:
            return centred * self.scale
        if torch.compiler.is_compiling() or self.directions.any():
            near = Nearness(self.bend, self.rates, self.landmarks, self.directions, self.offset).of(centred)
        else:  # nobody looks: of many columns distances take long
            near = centred.new_zeros(len(centred), self.directions.shape[1])
        return torch.cat([centred * self.scale, near], 1)

    def seen(self) -> slice:
        """Tell which columns of what is prepared the view in use shows; the others are 0."""
        return slice(None) if self.curved and self.directions.any() else slice(len(self.centre))

    def prepare(self, some: NDArray[np.float32], seed: int = 0) -> None:
        """Learn centre and views from some samples: a mean of 0, and a mean square length of 1."""
        flat = torch.from_numpy(some).flatten(1).double()
        centre = flat.mean(0)
        squares = (flat - centre).square()
        spread = float(squares.sum(1).mean())
        by_length = torch.full_like(self.scale, 1.0 / math.sqrt(spread) if spread > 0 else 1.0)
        scales = [by_length]
        if self.by_column:
            scales.insert(0, _each_alike(flat, squares).to(by_length))
        if self.end:
            before_it = _each_alike(flat[:, self.end :], squares[:, self.end :])
            scales.append(torch.cat([torch.zeros(self.end), before_it.to(by_length)]))
        self.centre.copy_(centre)
        self.views = [View(scale) for scale in scales]
        near = nearness_of(flat, centre, generator(seed, 0, "landmarks")) if self.curved else None
        if near is not None:
            half = math.sqrt(0.5)  # of the length
            shrunk = near._replace(directions=half * near.directions, offset=half * near.offset)
            self.views.append(View(half * scales[0], shrunk))
        self.look(self.views[0])

    def view(self) -> View:
        """Tell the view in use."""
        near = Nearness(*(self.get_buffer(name).clone() for name in Nearness._fields)) if self.curved else None
        return View(self.scale.clone(), near)

    def look(self, view: View) -> None:
        """Take a view."""
        self.scale.copy_(view.scale)
        if self.curved:
            for name, tensor in (view.near or nothing_near(len(self.centre)))._asdict().items():
                self.get_buffer(name).copy_(tensor)


def _each_alike(flat: Tensor, squares: Tensor) -> Tensor:
    """Scale columns so that each counts alike, given its squares about its centre: a mean square length of 1."""
    spreads = squares.mean(0)
    told = spreads > 1e-12 * flat.square().mean(0)  # else it is always the same, but for rounding
    return torch.where(told, (spreads * max(1, int(told.sum()))).rsqrt(), torch.ones_like(spreads))


def same(view: View, other: View) -> bool:
    """Tell whether two views of one head show the same."""
    parts, others = [view.scale, *(view.near or ())], [other.scale, *(other.near or ())]
    return all(torch.equal(part, its) for part, its in zip(parts, others, strict=True))


def fit(
    inputs: Tensor,
    classes: Tensor,
    weights: Tensor,
    strength: float,
    weight: Tensor,
    bias: Tensor,
    *,
    steps: int = 200,
    tolerance: float = 1e-7,
) -> tuple[Tensor, Tensor]:
    """Minimise C * sum of weighted cross-entropies + |W|^2 / 2, from a first guess of W and its bias.

    ``inputs`` are N x D, ``weight`` is classes x D. The optimum lies in the span of the inputs, so with fewer samples
    than features the search is in that smaller space, which changes nothing but the time.
    """
    samples, width = inputs.shape
    if samples < width:
        basis, small = _rotated(inputs)
        inside, moved = fit(small, classes, weights, strength, weight @ basis, bias, steps=steps, tolerance=tolerance)
        return inside @ basis.T, moved
    # the sum is scaled so that gradients are of one size whatever the penalty: the search stops where it should
    total = float(weights.sum()) * strength + 1.0
    each = (strength / total * weights)[:, None]
    answers = classes[:, None]

    def objective(W: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        logs = F.log_softmax(inputs @ W.T + b, 1)
        value = 0.5 / total * W.square().sum() - (each * logs.gather(1, answers)).sum()
        off = each * logs.exp()
        off.scatter_add_(1, answers, -each)
        return value, off.T @ inputs + W / total, off.sum(0)

    return minimise(objective, weight, bias, steps=steps, tolerance=tolerance)


class Penalty(NamedTuple):
    """A penalty, and the lowest log-loss of labels that were kept back, under any."""

    strength: float
    loss: float


@one_thread()
def choose_strength(inputs: Tensor, classes: Tensor, outputs: int, rng: np.random.Generator) -> Penalty:
    """Choose the penalty under which labels that were kept back are predicted best.

    Their likelihood tells, and so does how many are right. The one is smooth but favours weak penalties where classes
    are far apart; the other is what counts but, with few labels, a draw between many penalties. So the choice lies
    between the two, the nearer to the second the more labels there are.
    """
    known = len(inputs)
    rows = rng.permutation(known)[:MOST_FOR_CHOICE]
    inputs, classes = inputs[rows].float(), classes[rows]
    if len(inputs) < inputs.shape[1]:
        _, inputs = _rotated(inputs)
    folds = folds_of(classes.cpu().numpy(), FOLDS, rng)
    searches = [_Search(inputs, classes, torch.from_numpy(folds == fold), outputs) for fold in np.unique(folds)]
    if len(searches) < 2:
        return Penalty(1.0, 0.0)
    losses: list[float] = []
    hits: list[int] = []
    for strength in STRENGTHS:  # from the strongest penalty on: each search goes on from the one before
        found = [search.go_on(strength) for search in searches]
        losses.append(sum(loss for loss, _ in found))
        hits.append(sum(right for _, right in found))
        if len(losses) - 1 - int(np.argmin(losses)) >= _PATIENCE:
            break
    smooth = np.convolve(np.pad(hits, 1, mode="edge"), [0.25, 0.5, 0.25], mode="valid")  # neighbours differ by chance
    by_hits = min(1.0, math.sqrt(known / _SURE))
    between = round((1 - by_hits) * int(np.argmin(losses)) + by_hits * int(np.argmax(smooth)))
    return Penalty(STRENGTHS[between], min(losses))


class _Search:
    """A head on all but one fold, under weaker and weaker penalties."""

    def __init__(self, inputs: Tensor, classes: Tensor, kept_back: Tensor, outputs: int) -> None:
        self._train, self._answers = inputs[~kept_back], classes[~kept_back]
        self._test, self._truth = inputs[kept_back], classes[kept_back]
        self._even = torch.ones(len(self._train), dtype=inputs.dtype)
        self._head = torch.zeros(outputs, inputs.shape[1]), torch.zeros(outputs)

    def go_on(self, strength: float) -> tuple[float, int]:
        """Fit, and tell the log-loss of what was kept back, and how many are right.

        It need not be exact: penalties lie far apart.
        """
        self._head = fit(self._train, self._answers, self._even, strength, *self._head, steps=40, tolerance=1e-5)
        W, b = self._head
        logits = self._test @ W.T + b
        loss = F.cross_entropy(logits, self._truth, reduction="sum")
        return float(loss), int((logits.argmax(1) == self._truth).sum())


def folds_of(classes: Classes, folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Deal samples out to folds, every class as evenly as can be, and the folds too."""
    order = rng.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    dealt = np.empty(len(classes), dtype=np.int64)
    dealt[order] = np.arange(len(classes)) % folds
    return dealt


def _rotated(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Turn inputs into the space that they span: an orthonormal basis (D x N), and the inputs in it (N x N)."""
    basis, triangle = torch.linalg.qr(inputs.T)
    return basis, triangle.T.contiguous()


def weights_of(answers: Classes, guesses: int, copies: int) -> NDArray[np.float64]:
    """Weigh known labels by their classes, 1 on average; guesses follow.

    Classes of which there are more or fewer labels by chance count alike. As far as they differ by more than that, a
    rare one counts for more, half-way: if it counted as much as any other, a common one would be guessed too rarely.
    Where one is so common that accuracy misleads, all count alike again, or a rare one is never guessed. A guess weighs
    as much less than a label as it would be presented less often.
    """
    counts = np.bincount(answers)
    weights = _even(answers) ** (1 - 0.5 * _differ(counts[counts > 0]))
    return np.concatenate([weights / weights.mean(), np.full(guesses, 1.0 / copies)])


def half_way(answers: Classes) -> NDArray[np.float64]:
    """Weigh samples half-way between counting alike, as accuracy does, and every class counting alike; 1 on average."""
    roots = np.sqrt(_even(answers))
    return roots / roots.mean() if len(roots) else roots


def _even(answers: Classes) -> NDArray[np.float64]:
    """Weigh samples so that every class that there is counts as much as any other, 1 on average."""
    counts = np.bincount(answers)
    weights: NDArray[np.float64] = len(answers) / (np.count_nonzero(counts) * counts[answers])
    return weights


def _differ(counts: NDArray[np.int64]) -> float:
    """Tell what share of how much numbers of labels vary is not chance, by which the variance would be the mean.

    None where the commonest class is clearly, by a standard error, far above its fair share.
    """
    commonest = float(counts.max() / counts.sum())
    error = math.sqrt(commonest * (1 - commonest) / float(counts.sum()))
    variance = float(counts.var(ddof=1)) if len(counts) > 1 else 0.0
    if not variance or is_uneven(commonest - error, len(counts)):
        return 0.0
    return max(0.0, 1 - float(counts.mean()) / variance)
