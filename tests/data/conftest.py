"""A cache of decoded images for tests, apart from the user's."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def image_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Turn the cache of decoded images on and tell its folder, which is not there yet."""
    cache = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("DEEPBASS_CACHE", str(cache))
    monkeypatch.delenv("DEEPBASS_IMAGE_CACHE", raising=False)
    return cache / "images"
