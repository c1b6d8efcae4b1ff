"""A person labels photographs: when can the first answer be given, when is there a model, when does it know?

    python -m people.photos [--images 10000]      (in benchmarks/; `make bench-photos` runs it)

Photographs of CIFAR-10, enlarged to 128 pixels, as files in one folder. Measured from the command's start to the page's
first question and to the first model on features; and, once there is one, from an answer to the first model that was
trained on it (no test questions are asked, which nothing is trained on): while features are computed, and when all
are. Nothing is cached before. Writes benchmarks/results/photos.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

from deepbass.core.config import Config
from deepbass.data.load import load
from people.page import SAYS, enter, label, page

RESULTS = Path(__file__).parents[1] / "results" / "photos.json"
SIDE = 128


def write_photographs(count: int, folder: Path) -> dict[str, int]:
    """Write photographs whose names say nothing; return their classes by name."""
    data = load("cifar-10", Config(features="pixels", pool=count))
    folder.mkdir()
    truth = {}
    for id_ in range(len(data.pool)):
        picture = data.pool.picture(id_)
        assert picture is not None
        name = f"{id_:05}.jpg"
        Image.fromarray(picture).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(folder / name, quality=90)
        truth[name] = int(data.truth[id_])
    return truth


class Person:
    """Answers rightly, as fast as the page asks."""

    def __init__(self, client: httpx.Client, truth: dict[str, int]) -> None:
        self._client, self._truth = client, truth

    def ask(self) -> dict[str, Any]:
        """Get a question."""
        found = self._client.get("/api/next", params={"count": 1}).raise_for_status().json()["questions"]
        question: dict[str, Any] = found[0]
        self._client.get(f"/image/{question['item']}", params={"side": 512}).raise_for_status()
        return question

    def answer(self, question: dict[str, Any]) -> None:
        """Answer it."""
        body = {"acts": [label(question["item"], self._truth[question["name"]])], "want": 0, "holding": []}
        done = self._client.post("/api/acts", json=body, headers=SAYS).raise_for_status().json()
        assert not done["refused"], done

    def panel(self) -> dict[str, Any]:
        """Look at the panel."""
        found: dict[str, Any] = self._client.get("/api/panel").raise_for_status().json()
        return found


def measure(url: str, started: float, truth: dict[str, int], answers: int) -> dict[str, Any]:
    """Label, and take the times."""
    with httpx.Client(base_url=httpx.URL(url).copy_with(path="/", query=None), timeout=60) as client:
        client.send(enter(client, url, "ann"), follow_redirects=True).raise_for_status()
        person = Person(client, truth)
        person.answer(person.ask())
        first_answer = time.monotonic() - started
        while not person.panel()["known_to_model"]:
            person.answer(person.ask())
            time.sleep(0.3)
        first_model = time.monotonic() - started
        labels_then = person.panel()["labels"]
        meanwhile = _waits(person, answers)
        while person.panel()["trainer"]["background"]:
            time.sleep(0.5)
        all_ready = time.monotonic() - started
        time.sleep(10)  # the model that has them all begins
        with_all = _waits(person, answers)
    return {
        "first_answer_seconds": round(first_answer, 2),
        "first_model_seconds": round(first_model, 1),
        "labels_at_first_model": labels_then,
        "all_features_seconds": round(all_ready, 1),
        "known_after_seconds": {"while features are computed": meanwhile, "when all are": with_all},
    }


def _waits(person: Person, answers: int) -> dict[str, float]:
    """Answer one by one, and wait each time until the model knows."""
    waits = []
    for _ in range(answers):
        before = person.panel()["known_to_model"]
        person.answer(person.ask())
        since = time.monotonic()
        while person.panel()["known_to_model"] <= before:
            time.sleep(0.05)
        waits.append(time.monotonic() - since)
    return {f"p{q}": round(float(np.percentile(waits, q)), 2) for q in (50, 90, 100)}


def main() -> None:
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        truth = write_photographs(options.images, here / "photographs")
        os.environ["DEEPBASS_CACHE"] = str(here / "cache")  # an empty one, for whatever the page starts
        started = time.monotonic()
        with page(here / "photographs", here / "project", "--start-with", "1", "--audit", "0%") as url:
            measured = measure(url, started, truth, options.answers)
    result = {
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()},
        "settings": vars(options),
        **measured,
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
