"""A labelling project for each test of the trainer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.trainer.labelling import World, world


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    """Make a small project of pictures."""
    with world(tmp_path) as made:
        yield made
