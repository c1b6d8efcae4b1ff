"""Let a simulated person label MNIST through the page, then compare what the page said with the truth.

The person answers as fast as the trainer can follow: after every ten answers it waits for the next iteration. Writes
results/label-mnist.json: the interval that the page showed beside the exported model's error on the test set.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import deepbass
from deepbass.core.config import Config
from deepbass.data.load import Data
from deepbass.learn.learner import LocalLearner
from people.page import SAYS, enter, label, mnist, page, row_of, write_images

RESULTS = Path(__file__).parents[2] / "results" / "label-mnist.json"


def play(client: httpx.Client, truth: np.ndarray[Any, Any], answers: int, pace: int) -> dict[str, Any]:
    """Answer questions until there are enough, waiting for the trainer as a slow person would."""
    questions = client.get("/api/next", params={"count": 1}).raise_for_status().json()["questions"]
    panel: dict[str, Any] = {}
    for given in range(1, answers + 1):
        acts = [label(questions[0]["item"], int(truth[row_of(questions[0]["name"])]))]
        done = client.post("/api/acts", json={"acts": acts, "want": 1, "holding": []}, headers=SAYS).raise_for_status()
        questions, panel = done.json()["questions"], done.json()["panel"]
        if given % pace == 0 and panel["ready"] is None:
            panel = wait_for(client, panel["iteration"] + 1)
            print(f"{given} answers, iteration {panel['iteration']}, audit {panel['audit']}", flush=True)
    return panel


def wait_for(client: httpx.Client, iteration: int) -> dict[str, Any]:
    """Wait until the trainer has finished an iteration."""
    while True:
        panel: dict[str, Any] = client.get("/api/panel").raise_for_status().json()
        if panel["iteration"] >= iteration or panel["trainer"]["doing"] == "idle":
            return panel
        time.sleep(0.5)


def test_error(folder: Path, data: Data) -> float:
    """Measure an exported model on MNIST's test images, which the page has never seen."""
    learner = LocalLearner(deepbass.load_model(folder), data.validation, 10, Config())
    return 1.0 - learner.evaluate(data.validation, data.validation_labels).accuracy


def main() -> None:
    """Play one person and write down what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=300)
    parser.add_argument("--audit", default="20%", help="share of the answers that measure the error")
    parser.add_argument("--after", type=int, default=30, help="iterations after the last answer")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    data = mnist()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        truth = write_images(data, options.images, options.seed, here / "images.npz")
        words = ("--audit", options.audit, "--seed", str(options.seed))
        start = time.monotonic()
        with page(here / "images.npz", here / "project", *words) as url, httpx.Client(timeout=60) as client:
            client.base_url = httpx.URL(url).copy_with(path="/", query=None)
            client.send(enter(client, url, "simulated"), follow_redirects=True).raise_for_status()
            panel = play(client, truth, options.answers, pace=10)
            panel = wait_for(client, panel["iteration"] + options.after)
        exporting = ("export", str(here / "project"), "--format", "model", "--out", str(here / "model"))
        subprocess.run([sys.executable, "-m", "deepbass", *exporting], check=True)
        error = test_error(here / "model", data)
    audit = panel["audit"]
    result = {
        "settings": vars(options),
        "labels": panel["labels"],
        "iterations": panel["iteration"],
        "audit": audit,
        "test_error": round(error, 4),
        "interval_holds_it": audit["low"] <= error <= audit["high"],
        "minutes": round((time.monotonic() - start) / 60, 1),
    }
    runs = json.loads(RESULTS.read_text())["runs"] if RESULTS.exists() else []
    runs = [run for run in runs if run["settings"] != result["settings"]]
    RESULTS.write_text(json.dumps({"runs": [*runs, result]}, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
