"""Small runs for tests, and what is compared between them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from deepbass.store.names import CHECKPOINTS_FOLDER, MODEL_FILE, QUALITY_FILE, RUN_DB_FILE

# seconds on one core: a convolutional network, questions, pseudo-labels by threshold, random draws
SMALL: dict[str, Any] = {
    "pool": 200,
    "initial": 20,
    "iterations": 8,
    "ask_count": 3,
    "ask_every": 2,
    "acquire": "above-average",
    "admit": "step-wise",
    "passes_pool": 3,
    "passes_known": 5,
    "initial_epochs": 5,
    "copies": 10,  # of pictures there would be more, the fewer they are
    "device": "cpu",
    "advice": "none",
}


def command(*words: object) -> list[str]:
    """Spell a call of the command in this environment."""
    return [sys.executable, "-m", "deepbass", *map(str, words)]


def run_words(data: str, out: Path, **settings: object) -> list[str]:
    """Spell a small run."""
    chosen = {**SMALL, **settings}
    return command("run", data, "--out", out, *(f"--set={name}={value}" for name, value in chosen.items()))


def call(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(words, capture_output=True, text=True, timeout=240, check=False, **options)


def everything(path: Path) -> dict[str, object]:
    """Collect what two equal runs share to the last bit: metrics, questions, answers, weights, mistakes."""
    with sqlite3.connect(path / RUN_DB_FILE) as db:
        rows = {
            view: db.execute(f"SELECT {columns} FROM {view} ORDER BY id").fetchall()
            for view, columns in [
                ("live_steps", "iteration, metrics"),
                ("live_questions", "sample, iteration"),
                ("live_answers", "sample, class, source, iteration"),
            ]
        }
    db.close()
    newest = max((path / CHECKPOINTS_FOLDER).iterdir())
    files = {file.name: file.read_bytes() for file in newest.iterdir()}
    ends = {"model": (path / MODEL_FILE).read_bytes(), "quality": (path / QUALITY_FILE).read_bytes()}
    return {**rows, "checkpoint": newest.name, **files, **ends}
