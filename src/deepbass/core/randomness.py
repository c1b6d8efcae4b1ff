"""Named randomness: every draw comes from (run seed, iteration, purpose).

A resumed run needs no saved generator state: it derives the same seeds again and so equals the run that was
never stopped.
"""

from __future__ import annotations

import hashlib

import numpy as np


def seed_for(seed: int, iteration: int, purpose: str) -> int:
    """Derive a 63-bit seed; unlike names and neighbouring seeds give unrelated streams."""
    digest = hashlib.sha256(f"{seed}/{iteration}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def generator(seed: int, iteration: int, purpose: str) -> np.random.Generator:
    """Make the NumPy generator of one purpose in one iteration."""
    return np.random.default_rng(seed_for(seed, iteration, purpose))
