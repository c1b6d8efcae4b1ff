"""Fifty people answer once a second each while the trainer keeps the cores busy: how long does a person wait?

Measures, over loopback, from sending an answer to having it acknowledged with the next question. Writes
benchmarks/results/web.json. `make bench-web` runs it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from people.page import SAYS, enter, label, mnist, page, row_of, write_images

RESULTS = Path(__file__).parents[1] / "results" / "web.json"


async def person(
    name: str, url: str, truth: np.ndarray[Any, Any], until: float, warm: float
) -> tuple[list[float], int]:
    """Answer about once a second, and look at the picture of every question; return the waits and the errors."""
    base = httpx.URL(url).copy_with(path="/", query=None)
    waits: list[float] = []
    errors = 0
    async with httpx.AsyncClient(base_url=base, timeout=30) as client:
        (await client.send(enter(client, url, name), follow_redirects=True)).raise_for_status()
        questions = (await client.get("/api/next", params={"count": 2})).raise_for_status().json()["questions"]
        await asyncio.sleep(random.random())  # not all in the same moment
        while time.monotonic() < until and questions:
            due = time.monotonic() + 1.0
            question, *held = questions
            body = {
                "acts": [label(question["item"], int(truth[row_of(question["name"])]))],
                "want": 1,
                "holding": [other["item"] for other in held],
            }
            start = time.monotonic()
            try:
                done = (await client.post("/api/acts", json=body, headers=SAYS)).raise_for_status().json()
            except httpx.HTTPError:
                errors += 1
                continue
            if start > warm:
                waits.append(time.monotonic() - start)
            errors += len(done["refused"])
            questions = [*held, *done["questions"]]
            if questions:
                (await client.get(f"/image/{questions[-1]['item']}", params={"side": 512})).raise_for_status()
            await asyncio.sleep(max(0.0, due - time.monotonic()))
    return waits, errors


async def crowd(url: str, truth: np.ndarray[Any, Any], people: int, seconds: float, warm: float) -> dict[str, Any]:
    """Let all of them work at the same time."""
    now = time.monotonic()
    tasks = [person(f"person {number}", url, truth, now + warm + seconds, now + warm) for number in range(people)]
    found = await asyncio.gather(*tasks)
    waits = np.sort(np.concatenate([waits for waits, _ in found])) * 1000
    return {
        "answers": len(waits),
        "errors": sum(errors for _, errors in found),
        "answers_a_second": round(len(waits) / seconds, 1),
        "milliseconds": {f"p{q}": round(float(np.percentile(waits, q)), 1) for q in (50, 90, 99, 100)},
    }


def main() -> None:
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm", type=float, default=20.0, help="seconds before, in which the trainer gets to work")
    parser.add_argument("--images", type=int, default=10_000)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        truth = write_images(mnist(), options.images, 0, here / "images.npz")
        with page(here / "images.npz", here / "project") as url:
            measured = asyncio.run(crowd(url, truth, options.people, options.seconds, options.warm))
            with httpx.Client(base_url=httpx.URL(url).copy_with(path="/", query=None)) as client:
                client.send(enter(client, url, "looker-on"), follow_redirects=True).raise_for_status()
                panel = client.get("/api/panel").raise_for_status().json()
    result = {
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()},
        "settings": vars(options),
        "trainer_iterations": panel["iteration"],
        "labels": panel["labels"],
        **measured,
    }
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
