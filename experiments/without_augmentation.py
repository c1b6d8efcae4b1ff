"""Where nothing can be augmented: mixup and virtual adversarial training for the head, beside what it has.

    OMP_NUM_THREADS=1 python experiments/without_augmentation.py [NAME ...] [--seeds 3] [--table]

Features of training parts: a pool of 4,000, judged by 2,000 others, 50, 100 and 300 labels drawn at random. Heads: on
known labels *alone*; *mixup* of known labels (Zhang et al., 2018: 20 pairs for each, shares from Beta(a, a)); *vat*,
virtual adversarial training on 2,000 samples of the pool (Miyato et al., 2018: what a small step in the worst direction
changes, the step in parts of the median distance to the nearest neighbour); *neighbours* and *clear cuts*, which the
default weighs; *both*, the mean logits of these two and the first; *with mixup* and *with vat*, the mean of those and
one more. mixup and vat have their best setting in hindsight, by what they are judged by, which favours them.
Written to results/without-augmentation.json: what is there already is not computed again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.spatial import KDTree
from torch import Tensor

from deepbass.core.config import Config
from deepbass.data.load import load
from deepbass.data.pool import Pool
from deepbass.learn.heads import LinearHead, choose_strength, fit, weights_of
from deepbass.learn.minimise import minimise
from deepbass.learn.pool_heads import Head, pool_heads
from deepbass.learn.pool_view import PoolView
from deepbass.runs.featurise import Featuriser
from fill_in import fill_in

RESULTS = Path(__file__).parent.parent / "results" / "without-augmentation.json"
FEATURES = {"cifar-10": "imagenet", "fashion-mnist": "imagenet", "newsgroups": "sentences", "digits": "pixels"}
POOL, JUDGED_BY, LABELS = 4_000, 2_000, (50, 100, 300)
SHARES, PAIRS = (0.2, 1.0), 20  # a of Beta(a, a); pairs for each label
STEPS, WEIGHTS = (0.25, 0.5, 1.0), (0.3, 1.0)  # of virtual adversarial training
HEADS = ("alone", "mixup", "vat", "neighbours", "clear cuts", "both", "with mixup", "with vat")


def measured(name: str, seed: int, folder: Path | None) -> dict[str, Any]:
    """Fit all heads on one draw of labels, in all numbers of them."""
    X, y, classes = features_of(name, seed, folder)
    judged = min(JUDGED_BY, len(X) // 3)
    X_judge, y_judge, X, y = X[:judged], y[:judged], X[judged:], y[judged:]
    pool = Pool(X, "train")
    model = LinearHead(X.shape[1], classes, 0.5)
    model.prepare(X, seed)
    view = PoolView(pool, np.arange(len(X)), model, seed)
    judge = view.reduced(model.prepared(torch.from_numpy(X_judge))[:, model.seen()].float())
    drawn = np.random.default_rng([seed, 1]).permutation(len(X))
    found: dict[str, Any] = {}
    for count in LABELS:
        ids = np.sort(drawn[:count])
        told = heads(view, ids, y[ids], classes, judge, y_judge, np.random.default_rng([seed, count]))
        found[str(count)] = {key: round(100 * value, 2) for key, value in told.items()}
        print(name, seed, count, found[str(count)], flush=True)
    return found


def features_of(name: str, seed: int, folder: Path | None) -> tuple[NDArray[np.float32], NDArray[np.int64], int]:
    """Read a part of a training part, in an order drawn by the seed."""
    config = Config(features=FEATURES[name], pool=POOL + JUDGED_BY, seed=seed)
    data = load(name, config, folder=folder, featurise=Featuriser(FEATURES[name]))
    order = np.random.default_rng(seed).permutation(len(data.pool))
    return data.pool.read(order).reshape(len(order), -1), data.truth[order].astype(np.int64), len(data.classes)


def heads(
    view: PoolView,
    ids: NDArray[np.int64],
    labels: NDArray[np.int64],
    classes: int,
    judge: Tensor,
    truth: NDArray[np.int64],
    rng: np.random.Generator,
) -> dict[str, float]:
    """Fit every head, in the view's dimensions, and tell how often each is right."""
    known, answers = view.reduced(view.prepared(ids)), torch.from_numpy(labels)
    strength = choose_strength(known, answers, classes, rng).strength
    even = torch.from_numpy(weights_of(labels, 0, 1)).float()
    zero = torch.zeros(classes, known.shape[1]), torch.zeros(classes)
    alone = Head(*fit(known, answers, even, strength, *zero))
    wide = Head(view.widened(alone.weight), alone.bias)
    neighbours, cuts, _ = pool_heads(view, ids, labels, wide, strength)
    mixed = [mixup(known, answers, even, strength, share, alone, rng) for share in SHARES]
    points = view.points[view.shown]
    near = KDTree(view.points.numpy()[:, :32]).query(points.numpy()[:1000, :32], 2)[0][:, 1]
    vat = [
        adversarial(points, known, answers, even, strength, alone, step * float(np.median(near)), weight)
        for step in STEPS
        for weight in WEIGHTS
    ]

    def logs(head: Head) -> Tensor:
        return F.log_softmax(head.logits(judge), 1)

    def right(*some: Head) -> float:
        return float((torch.stack([logs(head) for head in some]).sum(0).argmax(1).numpy() == truth).mean())

    both = (alone, neighbours, cuts)
    return {
        "alone": right(alone),
        "mixup": max(right(head) for head in mixed),
        "vat": max(right(head) for head in vat),
        "neighbours": right(neighbours),
        "clear cuts": right(cuts),
        "both": right(*both),
        "with mixup": max(right(*both, head) for head in mixed),
        "with vat": max(right(*both, head) for head in vat),
    }


def mixup(
    known: Tensor, answers: Tensor, even: Tensor, strength: float, share: float, start: Head, rng: np.random.Generator
) -> Head:
    """Fit a head to means of two known samples and of their labels; all count as much as the known ones did."""
    first = np.tile(np.arange(len(known)), PAIRS)
    second = np.concatenate([rng.permutation(len(known)) for _ in range(PAIRS)])
    part = torch.from_numpy(rng.beta(share, share, len(first))).float()
    between = part[:, None] * known[first] + (1 - part)[:, None] * known[second]
    weights = torch.cat([part * even[first], (1 - part) * even[second]]) / PAIRS
    return Head(*fit(between.repeat(2, 1), torch.cat([answers[first], answers[second]]), weights, strength, *start))


def adversarial(
    points: Tensor, known: Tensor, answers: Tensor, even: Tensor, strength: float, start: Head, step: float, much: float
) -> Head:
    """Fit a head to known labels that says the same of samples of the pool after a step in their worst direction."""
    torch.manual_seed(0)
    first = F.normalize(torch.randn_like(points), dim=1)
    shrink = 1.0 / (strength * len(known))

    def worst(W: Tensor, b: Tensor) -> Tensor:
        probs, towards = torch.softmax(points @ W.T + b, 1), first
        for _ in range(3):  # the power method on the curvature of the divergence
            moved = towards @ W.T
            bent = probs * (moved - (probs * moved).sum(1, keepdim=True))
            towards = F.normalize(bent @ W, dim=1)
        return step * towards

    def objective(W: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        with torch.enable_grad():
            W, b = W.detach().requires_grad_(), b.detach().requires_grad_()
            wrong = (even * F.cross_entropy(known @ W.T + b, answers, reduction="none")).mean()
            aim = torch.softmax(points @ W.T + b, 1).detach()
            away = F.kl_div(F.log_softmax((points + worst(W, b).detach()) @ W.T + b, 1), aim, reduction="batchmean")
            value = wrong + much * away + 0.5 * shrink * W.square().sum()
            by_W, by_b = torch.autograd.grad(value, (W, b))
        return value.detach(), by_W, by_b

    return Head(*minimise(objective, *start, steps=100, tolerance=1e-5))


def table(found: dict[str, Any]) -> str:
    """Lay out the means over draws, in percent."""
    lines = [f"| data | labels | {' | '.join(HEADS)} | draws |", f"|---|---:|{'---:|' * len(HEADS)}---:|"]
    for name, runs in found.items():
        for count in map(str, LABELS):
            means = [f"{np.mean([run[count][head] for run in runs.values()]):.1f}" for head in HEADS]
            lines.append(f"| {name} | {count} | {' | '.join(means)} | {len(runs)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, list(FEATURES), 3, measured, table)
