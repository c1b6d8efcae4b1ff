"""A labelling project of a million items: how long until it is made, until it is open, and until an answer is saved?

    python -m people.million [--items 1000000]      (in benchmarks/; `make bench-items` runs it)

Two kinds: texts of a CSV file, and small pictures of an array that is mapped. The real server is started three times:
to make the project, to open it again, and to open it with a trainer that has labels to train on. One person answers,
many times a second. Processor seconds are given beside the time, since that hangs on what else the machine does. Writes
benchmarks/results/items.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from deepbass.core.config import Config
from deepbass.data.load import load
from people.page import SAYS, enter, label, page, row_of

RESULTS = Path(__file__).parents[1] / "results" / "items.json"
MEGABYTE = 1 << 20
PAUSE = 0.02  # seconds between requests, of which the server takes a hundred a second from one person


@dataclass(frozen=True)
class Sort:
    """A kind of items: how a source of them is written, and how the page is told and asked about them."""

    file: str
    write: Callable[[Path, int], None]
    words: tuple[str, ...]  # of the command
    seen_at: str  # the address that shows one
    truth: Callable[[str], int]  # the class of an item, by its name


def _digits() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    data = load("digits", Config(features="pixels"))
    return np.round(data.pool.read(np.arange(len(data.pool))) * 255).astype(np.uint8), data.truth


def write_pictures(file: Path, count: int) -> None:
    """Write scikit-learn's digits, over and over, each time with other noise."""
    digits, _ = _digits()
    written = np.lib.format.open_memmap(file, "w+", np.uint8, (count, *digits.shape[1:]))
    rng = np.random.default_rng(0)
    for start in range(0, count, 10_000):
        rows = np.arange(start, min(start + 10_000, count)) % len(digits)
        noise = rng.integers(0, 16, (len(rows), *digits.shape[1:]), dtype=np.uint8)
        written[start : start + len(rows)] = np.maximum(digits[rows], noise)
    written.flush()


def write_texts(file: Path, count: int) -> None:
    """Write short messages, of which a number in the middle tells the class."""
    rng = np.random.default_rng(0)
    words = np.array(["about", "after", "because", "every", "from", "house", "letter", "morning", "people", "water"])
    with file.open("w", encoding="utf-8") as out:
        out.write("text\n")
        for start in range(0, count, 10_000):
            chosen = words[rng.integers(0, len(words), (min(10_000, count - start), 8))]
            for row, line in enumerate(chosen, start + 1):
                out.write(f"message {row} {' '.join(line[:4])} topic{row % 10} {' '.join(line[4:])}\n")


def sorts() -> dict[str, Sort]:
    """List the kinds."""
    _, truth = _digits()
    return {
        "texts": Sort("texts.csv", write_texts, ("--text", "text"), "/content/{}", lambda name: int(name[4:]) % 10),
        "pictures": Sort(
            "pictures.npy", write_pictures, (), "/image/{}?side=512", lambda name: int(truth[row_of(name) % len(truth)])
        ),
    }


class Process:
    """What the system knows of a process."""

    def __init__(self, pid: int) -> None:
        self._folder = Path("/proc", str(pid))

    def peak(self) -> int:
        """Tell the most memory that it ever had, in megabytes."""
        status = (self._folder / "status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 // MEGABYTE

    def processor_seconds(self) -> float:
        """Tell how long it has computed."""
        fields = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def children(self) -> list[Process]:
        """List the processes that it started."""
        found = (task.read_text().split() for task in self._folder.glob("task/*/children"))
        return [Process(int(word)) for words in found for word in words]


@dataclass(frozen=True)
class Opened:
    """The page, open for a person."""

    client: httpx.Client
    server: Process
    seconds: float  # from the command to the first question
    computed: float  # processor seconds of the server until then

    def times(self) -> dict[str, float]:
        """Tell how long it took."""
        return {"seconds": round(self.seconds, 2), "processor_seconds": round(self.computed, 2)}


@contextmanager
def opened(source: Path, project: Path, *words: str) -> Iterator[Opened]:
    """Start the server, and wait until it has asked the first question."""
    started = time.monotonic()
    with page(source, project, *words) as url:
        server = Process(os.getpid()).children()[-1]
        with httpx.Client(base_url=httpx.URL(url).copy_with(path="/", query=None), timeout=60) as client:
            client.send(enter(client, url, "ann"), follow_redirects=True).raise_for_status()
            client.get("/api/next", params={"count": 1}).raise_for_status()
            yield Opened(client, server, time.monotonic() - started, server.processor_seconds())


def percentiles(waits: list[float]) -> dict[str, float]:
    """Sum waits up, in milliseconds."""
    return {f"p{q}": round(1000 * float(np.percentile(waits, q)), 1) for q in (50, 99, 100)}


def timed(client: httpx.Client, path: str, times: int) -> dict[str, float]:
    """Ask for the same again and again."""
    waits = []
    for _ in range(times):
        start = time.monotonic()
        client.get(path).raise_for_status()
        waits.append(time.monotonic() - start)
        time.sleep(PAUSE)
    return percentiles(waits)


def answer(it: Opened, sort: Sort, answers: int) -> dict[str, Any]:
    """Answer almost without a pause, with one question ahead; look at every item."""
    client, computed = it.client, it.server.processor_seconds()
    questions = client.get("/api/next", params={"count": 2}).raise_for_status().json()["questions"]
    waits, looks = [], []
    for _ in range(answers):
        question, *held = questions
        start = time.monotonic()
        client.get(sort.seen_at.format(question["item"])).raise_for_status()
        looks.append(time.monotonic() - start)
        acts = [label(question["item"], sort.truth(question["name"]))]
        body = {"acts": acts, "want": 1, "holding": [other["item"] for other in held]}
        start = time.monotonic()
        done = client.post("/api/acts", json=body, headers=SAYS).raise_for_status().json()
        waits.append(time.monotonic() - start)
        assert not done["refused"], done
        questions = [*held, *done["questions"]]
        time.sleep(PAUSE)
    computed = 1000 * (it.server.processor_seconds() - computed) / answers
    found = {"answer": percentiles(waits), "look": percentiles(looks)}
    return {"answers": answers, **found, "processor_ms": round(computed, 1)}


def requests(client: httpx.Client, times: int) -> dict[str, Any]:
    """Time what the page asks for beside answers."""
    paths = {"next": "/api/next?count=2", "panel": "/api/panel", "history": "/api/history", "guesses": "/api/guesses"}
    return {name: timed(client, path, times) for name, path in paths.items()}


def trainer_of(client: httpx.Client, server: Process, until: Callable[[dict[str, Any]], bool], most: float) -> Any:
    """Wait until the panel shows what is waited for; tell how long the trainer took, and what it needs."""
    start, there = time.monotonic(), False
    while time.monotonic() - start < most and not there:
        time.sleep(0.2)
        there = until(client.get("/api/panel").raise_for_status().json())
    measured: dict[str, Any] = {"there": there, "seconds": round(time.monotonic() - start, 1)}
    with suppress(OSError, IndexError):  # it may be starting again
        trainer = server.children()[0]
        measured |= {"processor_seconds": round(trainer.processor_seconds(), 1), "peak_mb": trainer.peak()}
    return measured


def measure(sort: Sort, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Make, open, and open with a trainer at work."""
    source, project = folder / sort.file, folder / "project"
    sort.write(source, options.items)
    waiting = (*sort.words, "--start-with", "1000000")  # never enough to begin with
    found: dict[str, Any] = {}
    with opened(source, project, *waiting) as it:
        found["made"] = {**it.times(), "peak_mb": it.server.peak()}
    with opened(source, project, *waiting) as it:
        found["opened"] = it.times()
        found["trainer_open"] = trainer_of(it.client, it.server, _is_up, options.most)
        found |= answer(it, sort, options.answers) | requests(it.client, 100)
        found["opened"]["peak_mb"] = it.server.peak()
    with opened(source, project, *sort.words, "--start-with", "3") as it:
        found["opened_with_answers"] = it.times()
        found["first_model"] = trainer_of(it.client, it.server, lambda panel: panel["iteration"] > 0, options.most)
        with_model = answer(it, sort, options.answers) | requests(it.client, 100)
        found["with_model"] = with_model | {"peak_mb": it.server.peak()}
    return found


def _is_up(panel: dict[str, Any]) -> bool:
    return bool(panel["trainer"]["doing"] != "starting")


def main() -> None:
    """Measure and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--most", type=float, default=900.0, help="seconds to wait for a model")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    load_before = os.getloadavg()[0]
    for name, sort in sorts().items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["DEEPBASS_CACHE"] = str(Path(folder, "cache"))  # an empty one, for whatever the page starts
            found[name] = measure(sort, options, Path(folder))
            print(name, json.dumps(found[name], indent=1), flush=True)
    result = {
        "machine": {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()},
        "load": round(load_before, 1),
        "settings": {"items": options.items, "answers": options.answers},
        **found,
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
