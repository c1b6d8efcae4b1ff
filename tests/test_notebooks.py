"""The tutorials are notebooks, made from their pages, and run from the first cell to the last."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytest.importorskip("nbclient", reason="the docs extra is not installed")
pytest.importorskip("ipykernel", reason="the docs extra is not installed")


@pytest.fixture(autouse=True)
def _experiments_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))


def test_the_notebooks_are_what_their_pages_say() -> None:
    import notebooks

    assert sorted(file.stem for file in notebooks.NOTEBOOKS.glob("*.ipynb")) == sorted(notebooks.PAGES)
    for name in notebooks.PAGES:
        found = (notebooks.NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
        assert found == notebooks.written(name), "run: python experiments/notebooks.py"


QUICK = ["own-tables", "own-model", "own-backbone"]
OTHERS = ["tutorial", "own-pictures", "own-texts"]


def test_every_notebook_is_run_here_or_by_make_slow() -> None:
    import notebooks

    assert sorted([*QUICK, *OTHERS]) == sorted(notebooks.PAGES)


@pytest.mark.parametrize("names", [QUICK, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=" ".join)
def test_the_notebooks_run(tmp_path: Path, names: list[str]) -> None:
    own = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")}
    (work := tmp_path / "work").mkdir()
    command = [sys.executable, str(ROOT / "experiments" / "notebooks.py"), "--run", str(work), *names]
    ran = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
