"""What docs/features.md says was measured is in the result file."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_what_the_page_says_was_measured_is_in_the_result_file() -> None:
    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "results" / "features.json").read_text(encoding="utf-8"))
    for row in results["photographs"]:
        size = f"{row['side']} x {row['side']}" + (", two views" if row["views"] == 2 else "")
        found = " | ".join(f"{row['accuracy'][labels]} %" for labels in ("100", "300", "1000"))
        assert f"| {size} | {found} | {row['speed']:.0f} |" in page
    for row in results["texts"]:
        found = " | ".join(f"{row['accuracy'][labels]} %" for labels in ("100", "300", "1000"))
        assert f"| `{row['features']}` | {found} | {row['speed']:,.0f} |" in page
