"""Several opinions made one: who is right on labels it never saw has a say, and nobody else."""

from __future__ import annotations

import numpy as np
import pytest

from deepbass.core.opinions import PLAIN, alike, softmax, temperature, weigh


def about(labels: np.ndarray, right: float, sure: float, seed: int, classes: int = 3) -> np.ndarray:
    """Make the logits of somebody who is right in a share of cases, and always as sure."""
    rng = np.random.default_rng(seed)
    said = np.where(rng.random(len(labels)) < right, labels, (labels + rng.integers(1, classes, len(labels))) % classes)
    return sure * np.eye(classes)[said]


LABELS = np.random.default_rng(0).integers(0, 3, 400)
ALIKE = np.ones(400)


def test_an_opinion_that_is_right_more_often_has_the_larger_share() -> None:
    verdict = weigh(np.stack([about(LABELS, 0.6, 2.0, 1), about(LABELS, 0.9, 2.0, 2)]), LABELS, ALIKE)
    assert verdict.shares_M[1] > 0.7
    assert verdict.shares_M.sum() == pytest.approx(1)
    assert verdict.right > verdict.plain
    assert verdict.labels == 400


def test_an_opinion_that_misleads_is_not_heard() -> None:
    verdict = weigh(np.stack([about(LABELS, 0.8, 2.0, 1), about(LABELS, 0.2, 5.0, 2)]), LABELS, ALIKE)
    assert verdict.shares_M.tolist() == [1.0, 0.0]
    assert verdict.factors_M[1] == 0
    assert verdict.right <= verdict.plain


def test_what_is_better_by_chance_is_hardly_ever_heard_and_what_is_better_always() -> None:
    heard = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        some = rng.integers(0, 3, 50)
        right, noise, own = np.eye(3)[some], rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
        plain, no_better, better = 1.5 * right + noise, 1.5 * right + noise + own, 2.25 * right + own
        told = [weigh(np.stack([plain, other]), some, np.ones(50)) for other in (no_better, better)]
        heard.append([verdict.shares_M[1] > 0 for verdict in told])
    by_chance, rightly = np.sum(heard, 0)
    assert by_chance <= 10
    assert rightly >= 95


def test_together_they_are_never_less_likely_than_the_plain_one_alone() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        some = LABELS[:30]
        logits = np.stack([about(some, rng.random(), 4 * rng.random(), seed * 5 + m) for m in range(4)])
        verdict = weigh(logits, some, np.ones(30))
        pooled = np.einsum("m,mnc->nc", verdict.factors_M, logits)
        plain = logits[PLAIN] / temperature(logits[PLAIN], some, np.ones(30))
        rows = np.arange(len(some))
        assert np.log(softmax(pooled)[rows, some]).sum() >= np.log(softmax(plain)[rows, some]).sum() - 1e-6


def test_who_is_too_sure_is_cooled_and_who_is_too_modest_is_heated() -> None:
    assert temperature(about(LABELS, 0.7, 12.0, 1), LABELS, ALIKE) > 2
    assert temperature(about(LABELS, 0.95, 0.5, 1), LABELS, ALIKE) < 0.5
    calibrated = softmax(about(LABELS, 0.7, 12.0, 1) / temperature(about(LABELS, 0.7, 12.0, 1), LABELS, ALIKE))
    assert calibrated.max(1).mean() == pytest.approx(0.7, abs=0.06)


def test_without_evidence_all_count_alike() -> None:
    verdict = weigh(np.zeros((4, 0, 3)), np.empty(0, np.int64), np.empty(0))
    assert verdict.shares_M.tolist() == alike(4).shares_M.tolist() == [0.25] * 4
    assert verdict.labels == 0
