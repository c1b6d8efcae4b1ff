"""Small trained models of every kind, to predict with."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import deepbass

QUICK: dict[str, Any] = {
    "iterations": 1,
    "initial": 12,
    "initial_epochs": 4,
    "passes_pool": 2,
    "passes_known": 2,
    "ask_count": 2,
    "device": "cpu",
}
WORDS = {"praise": ("love", "great", "thanks"), "bug": ("crash", "broken", "error")}


def on_points(out: Path, **settings: Any) -> Path:
    """Train on points of the plane."""
    return deepbass.run("toy", out=out, pool=100, **{**QUICK, **settings}).path


def on_pictures(out: Path, folder: Path, **settings: Any) -> Path:
    """Train on the pixels of grey pictures: light ones and dark ones."""
    make_pictures(folder)
    return deepbass.run(str(folder), out=out, **{**QUICK, "features": "pixels", "model": "cnn", **settings}).path


def on_texts(out: Path, table: Path, **settings: Any) -> Path:
    """Train on the words of a column of texts."""
    make_texts(table)
    return deepbass.run(
        str(table), out=out, **{**QUICK, "text": "body", "target": "kind", "features": "words", **settings}
    ).path


def on_rows(out: Path, table: Path, **settings: Any) -> Path:
    """Train on the rows of a table."""
    make_rows(table)
    return deepbass.run(str(table), out=out, **{**QUICK, "target": "fits", **settings}).path


def make_pictures(folder: Path, count: int = 40) -> Path:
    """Save pictures in a folder per class."""
    rng = np.random.default_rng(0)
    for name, light in (("dark", 0), ("light", 120)):
        (folder / name).mkdir(parents=True)
        for number in range(count // 2):
            pixels = rng.integers(light, light + 120, (12, 10), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number:02}.png")
    return folder


def make_texts(table: Path, count: int = 60) -> Path:
    """Write a table of short messages."""
    rng = np.random.default_rng(0)
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body", "kind"])
        for number in range(count):
            kind = list(WORDS)[number % 2]
            writer.writerow([number, f"{rng.choice(WORDS[kind])} it {rng.choice(WORDS[kind])}", kind])
    return table


def make_rows(table: Path, count: int = 60, target: bool = True) -> Path:
    """Write a table of numbers and categories."""
    rng = np.random.default_rng(0)
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["width", "colour", *(["fits"] if target else [])])
        for number in range(count):
            width = float(rng.normal(2 * (number % 2), 0.4))
            row = [f"{width:.4f}", rng.choice(["red", "blue"])]
            writer.writerow([*row, *(["yes" if number % 2 else "no"] if target else [])])
    return table
