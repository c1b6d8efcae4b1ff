"""The documentation site: built with strict links, whole, and without anything from other hosts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_documented import ERRORS, PUBLIC

ROOT = Path(__file__).parents[1]
FOREIGN = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//""")

pytest.importorskip("zensical", reason="the docs extra is not installed")


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a site as make docs does, in a folder of its own."""
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_site_builds_strictly_is_whole_and_needs_no_other_host(tmp_path: Path) -> None:
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for name in ("src", "experiments"):
        (tmp_path / name).symlink_to(ROOT / name)
    built = build(tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    site = tmp_path / "build" / "site"
    assert {page.stem for page in site.glob("*.html")} == {page.stem for page in (ROOT / "docs").glob("*.md")} | {"404"}

    reference = (site / "reference.html").read_text(encoding="utf-8")
    anchors = set(re.findall(r'\bid="?(deepbass[\w.]+)', reference))
    assert {f"deepbass.{name}" for name in PUBLIC} <= anchors
    assert {f"deepbass.core.errors.{name}" for name in ERRORS if name not in PUBLIC} <= anchors

    pages = {page.name: page.read_text(encoding="utf-8") for page in site.glob("*.html")}
    assert {name for name, text in pages.items() if FOREIGN.search(text)} == set()
    sheets = "\n".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?https?:|@import", sheets) == []


def test_every_page_can_be_found_in_the_navigation() -> None:
    listed = re.findall(r": ([\w-]+)\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(listed) == sorted(page.stem for page in (ROOT / "docs").glob("*.md"))


def test_dead_links_are_not_built(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "method.md").write_text("# A page\n", encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text("[a](nowhere.md)\n[b](method.md#no-such-heading)\n", encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text("site_name: small\n", encoding="utf-8")
    built = build(tmp_path)
    assert built.returncode != 0
    said = re.sub(r"\x1b\[[\d;]*m", "", built.stdout + built.stderr)  # colours, in the midst of words
    assert "nowhere.md" in said
    assert "no-such-heading" in said
