"""Shares as options of the command."""

from __future__ import annotations

from deepbass.core.setting import read_share


def share(option: str, word: str | None) -> float | None:
    """Read a share, as in 2% or 0.02, if one was given."""
    return None if word is None else read_share(option, word)
