"""What lets a linear head cut along curves: how near a row of numbers is to landmarks among the rows of the pool.

Nearness falls off exponentially with the sum of the differences in all columns: unlike a Gaussian of the distance it
has an edge at every landmark, so that cuts may be steps in single columns, as those of trees are. Landmarks that lie
close say nearly the same, so what a head is shown are their main directions (the Nystroem map: Williams and Seeger,
2001). Numbers far out are drawn in before differences are taken, or a column with a long tail would tell those rows
apart from all others and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

LANDMARKS = 256  # rows that others are compared with
DIRECTIONS = 128  # that are seen of them
_WIDE = 1.0  # nearness at the median distance between landmarks is exp(-1)
_DRAWN_IN = 2.0  # asinh is taken of a number by its column's mean deviation, so many times: a line, then a logarithm
_LEARNED_FROM = 5_000  # rows at most
_AT_A_TIME = 16  # landmarks that rows are held against, where that takes memory
_FAINT = 1e-4  # part of the main direction's spread, below which a direction is rounding


class Nearness(NamedTuple):
    """What makes a row's nearness of its columns, once these are centred."""

    bend: Tensor  # what every column is multiplied by before it is drawn in
    rates: Tensor  # and thereafter: how fast nearness falls off along it
    landmarks: Tensor  # as rows become by that
    directions: Tensor  # landmarks x directions
    offset: Tensor  # of every direction: the mean of the pool

    def of(self, centred: Tensor) -> Tensor:
        """Tell how near rows are, by direction: 0 on average over the pool."""
        return _near(torch.asinh(centred * self.bend) * self.rates, self.landmarks) @ self.directions - self.offset


def directions_beside(width: int) -> int:
    """Count directions, some of them empty: with columns in front they are a multiple of 16 bytes.

    So the product of a row and a head's weights is the same to the last bit wherever in a batch the row is.
    """
    return DIRECTIONS + -width % 4


def nothing_near(width: int) -> Nearness:
    """Make what shows a head nothing but zeros."""
    count = directions_beside(width)
    return Nearness(
        bend=torch.zeros(width),
        rates=torch.zeros(width),
        landmarks=torch.zeros(LANDMARKS, width),
        directions=torch.zeros(LANDMARKS, count),
        offset=torch.zeros(count),
    )


def nearness_of(rows: Tensor, centre: Tensor, rng: np.random.Generator) -> Nearness | None:
    """Learn from rows of the pool, in double precision, to tell how near others are: a mean square length of 1.

    Every column counts alike in distances, but those that are always the same, which do not. None: all rows are alike.
    """
    centred = rows[:: -(-len(rows) // _LEARNED_FROM)] - centre
    told = centred.std(0, correction=0) > 1e-6 * rows.abs().mean(0)  # else it is always the same, but for rounding
    bend = torch.where(told, _DRAWN_IN / centred.abs().mean(0), 0.0)
    drawn_in = torch.asinh(centred * bend)
    rates = torch.where(told, 1.0 / drawn_in.std(0, correction=0), 0.0)
    distinct = torch.unique(drawn_in * rates, dim=0)
    some = distinct[torch.from_numpy(np.sort(rng.permutation(len(distinct))[:LANDMARKS]))]
    apart = torch.pdist(some, p=1)
    if not len(apart):
        return None
    factor = float(_WIDE / apart.median())
    landmarks = factor * some
    spreads, axes = torch.linalg.eigh(_near(landmarks, landmarks))
    main = (spreads > _FAINT * spreads[-1]).nonzero().flatten().flip(0)[:DIRECTIONS]
    directions = axes[:, main] / spreads[main].sqrt()
    seen = _near(factor * drawn_in * rates, landmarks) @ directions
    offset = seen.mean(0)
    size = float((seen - offset).square().sum(1).mean()) ** -0.5
    found = nothing_near(len(centre))
    found.bend.copy_(bend)
    found.rates.copy_(factor * rates)
    found.landmarks[: len(some)] = landmarks
    found.directions[: len(some), : len(main)] = size * directions
    found.offset[: len(main)] = size * offset
    return found


def _near(rows: Tensor, landmarks: Tensor) -> Tensor:
    """Compute exp(-sum of absolute differences) of every row to every landmark."""
    if torch.compiler.is_compiling():  # as for ONNX, which has no such distance; a few at a time, to bound the memory
        apart = torch.cat([(rows[:, None] - some).abs().sum(2) for some in torch.split(landmarks, _AT_A_TIME)], 1)
        return torch.exp(-apart)
    return torch.exp(-torch.cdist(rows, landmarks, p=1))
