"""The browser for the tests of the page: where it is, and what is said where there is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = "no Chromium on this machine"
HOW = "apt install chromium, or .venv/bin/playwright install --with-deps chromium"


def find_chromium(playwright: Playwright) -> str | None:
    """Find the system's Chromium, or the one that Playwright has installed for itself."""
    own = playwright.chromium.executable_path
    return next(filter(None, map(shutil.which, NAMES)), own if Path(own).exists() else None)


def is_required() -> bool:
    """Tell whether tests without their browser are failures, as they are in continuous integration."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
