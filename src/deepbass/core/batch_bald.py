"""BatchBALD: which few samples together tell most about the weights (Kirsch, van Amersfoort, Gal, 2019).

BALD asks for the samples whose labels tell most about the weights, each for itself; the first ten of them may tell
the same ten times. BatchBALD adds the sample with which the whole batch tells most: the entropy of all labels together,
less what would be left of it if the weights were known. The joint entropy is exact for the first picks, and beyond
these an average over drawn configurations of their labels.
"""

from __future__ import annotations

import numpy as np

from deepbass.core.acquire import Acquire, Acquisition, top
from deepbass.core.belief import Belief, Floats
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Ids, Labels
from deepbass.core.need import every_pass
from deepbass.core.pool_places import Places
from deepbass.core.score import ENTROPY, INFORMATION

MOST_AT_A_TIME = 20  # picks with regard to one another: beyond, what is left to tell apart is noise
_CANDIDATES = 200  # of the highest BALD scores, among which a batch is chosen
_PASSES = 20  # over the candidates: networks that disagree
_EXACT = 4096  # configurations of labels that are all gone through
_DRAWN = 4096  # that are drawn, where there are more
_NUMBERS = 1 << 22  # that a step holds at a time
_TINY = 1e-300


def batch_bald(places: Places) -> Acquire:
    """Make the policy for a pool: copies of one another, or of what was asked before, are never asked for."""

    def given(labels: Labels) -> Acquisition:
        def choose(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
            taken = np.setdiff1d(np.arange(len(labels)), labels.askable)
            return policy(belief, places.first_of_each(askable, taken), count, rng)

        return choose

    return Acquire(policy, lambda askable, count: every_pass("expected_entropy"), given, MOST_AT_A_TIME)


def policy(belief: Belief, askable: Ids, count: int, rng: np.random.Generator) -> Ids:
    """Choose a batch among the highest BALD scores; of a large one the rest has the highest scores that are left."""
    if belief.each is None:
        raise ConfigError("acquire = batch-bald asks the network again about some samples, and here is none.")
    score = INFORMATION if belief.mutual_information.max(initial=0.0) > 0 else ENTROPY  # no passes: nothing disagrees
    order = top(score)(belief, askable, len(askable), rng)
    few = order[:_CANDIDATES]
    if not len(few):
        return few
    picks = few[pick(belief.each(few, _PASSES), min(count, MOST_AT_A_TIME, len(few)), rng)]
    return np.concatenate([picks, order[~np.isin(order, picks)][: count - len(picks)]])


def pick(probs_K_N_C: Floats, count: int, rng: np.random.Generator) -> Ids:
    """Choose ``count`` of N samples, one after the other, by the mutual information of all labels and the weights."""
    conditional_N = _entropies(probs_K_N_C).mean(0)
    joint = Joint(probs_K_N_C.shape[0])
    chosen: list[int] = []
    while len(chosen) < count:
        gain_N = joint.entropies_with(probs_K_N_C) - conditional_N  # what the chosen ones leave is the same for all
        gain_N[chosen] = -np.inf
        best = int(gain_N.argmax())
        chosen.append(best)
        joint = joint.and_also(probs_K_N_C[:, best], rng)
    return np.array(chosen, dtype=np.int64)


class Joint:
    """The distribution of the labels of some samples, given each of K networks, over configurations of these labels."""

    def __init__(self, networks: int) -> None:
        self._given_K_M = np.ones((networks, 1))  # probability of each configuration, given a network
        self._drawn: Ids | None = None  # the network that each configuration was drawn from; None: all are there

    def entropies_with(self, probs_K_N_C: Floats) -> Floats:
        """Compute the entropy of the labels of these samples and of one more, for each that there may be."""
        networks, samples, classes = probs_K_N_C.shape
        configurations = self._given_K_M.shape[1]
        # of a drawn configuration: how much more often it is drawn than any one stands for
        weight_M = np.ones(configurations)
        if self._drawn is not None:
            weight_M = 1 / (configurations * np.maximum(self._given_K_M.mean(0), _TINY))
        found_N = np.empty(samples)
        step = max(1, _NUMBERS // (configurations * classes))
        for start in range(0, samples, step):
            part_K_NC = probs_K_N_C[:, start : start + step].reshape(networks, -1)
            joint_M_NC = self._given_K_M.T @ part_K_NC / networks
            surprise_M_NC = -joint_M_NC * np.log(joint_M_NC + _TINY)
            found_N[start : start + step] = (weight_M @ surprise_M_NC).reshape(-1, classes).sum(1)
        return found_N

    def and_also(self, probs_K_C: Floats, rng: np.random.Generator) -> Joint:
        """Add a sample: with all configurations while these are few, else with some that are drawn."""
        grown = Joint(len(probs_K_C))
        classes = probs_K_C.shape[1]
        if self._drawn is None and self._given_K_M.shape[1] * classes <= _EXACT:
            grown._given_K_M = (self._given_K_M[:, :, None] * probs_K_C[:, None, :]).reshape(len(probs_K_C), -1)
            return grown
        given_K_M, drawn = (self._given_K_M, self._drawn) if self._drawn is not None else self._draw(rng)
        labels_M = _draw_each(probs_K_C[drawn], rng)
        grown._given_K_M, grown._drawn = given_K_M * probs_K_C[:, labels_M], drawn
        return grown

    def _draw(self, rng: np.random.Generator) -> tuple[Floats, Ids]:
        """Draw configurations, as many from every network."""
        drawn = np.arange(_DRAWN) % len(self._given_K_M)
        which_M = _draw_each(self._given_K_M[drawn], rng)
        return self._given_K_M[:, which_M], drawn


def _draw_each(probs_M_C: Floats, rng: np.random.Generator) -> Ids:
    """Draw one column per row."""
    sums_M_C = probs_M_C.cumsum(1)
    below_M_C = sums_M_C < rng.random(len(probs_M_C))[:, None] * sums_M_C[:, -1:]
    drawn_M: Ids = below_M_C.sum(1).astype(np.int64)
    return drawn_M


def _entropies(probs_K_N_C: Floats) -> Floats:
    entropy_K_N: Floats = -(probs_K_N_C * np.log(probs_K_N_C + _TINY)).sum(2)
    return entropy_K_N
