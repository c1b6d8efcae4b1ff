"""A cache of features for every test, of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepbass.features.feature_cache import FOLDER, SWITCH
from deepbass.files import CACHE


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a cache in the test's folder; where its features are is returned."""
    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    return tmp_path / "cache" / FOLDER
