"""Start the page for real and talk to it as a browser does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from deepbass.core.config import Config
from deepbass.data.load import Data, load

SAYS = {"X-Deepbass": "1"}


def mnist() -> Data:
    """Load MNIST: the truth that the played people know."""
    return load("mnist", Config())


def write_images(data: Data, count: int, seed: int, file: Path) -> NDArray[np.int64]:
    """Write some training images without labels as a source for the page, and return their classes, by row."""
    rows = np.sort(np.random.default_rng(seed).choice(len(data.pool), count, replace=False))
    np.savez(file, X=np.round(data.pool.read(rows) * 256).astype(np.uint8))
    return data.truth[rows]


@contextmanager
def page(source: Path, project: Path, *words: str) -> Iterator[str]:
    """Run ``deepbass label`` until the block ends; gives the address with the token."""
    command = [sys.executable, "-m", "deepbass", "label", str(source), "--project", str(project), "--no-browser"]
    log = project.with_name("server.log")
    with (
        log.open("w") as said,
        subprocess.Popen(
            [*command, "--json", "--classes", ",".join("0123456789"), *words],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env={**os.environ},
        ) as server,
    ):
        assert server.stdout is not None
        ready = server.stdout.readline()
        if not ready:
            raise RuntimeError(log.read_text())
        try:
            yield json.loads(ready)["url"]
        finally:
            server.terminate()
            server.wait(60)


def enter(client: httpx.Client | httpx.AsyncClient, url: str, name: str) -> httpx.Request:
    """Make the request that exchanges the token for a cookie, under a name."""
    return client.build_request("GET", httpx.URL(url).copy_merge_params({"as": name}))


def label(item: int, class_: int, seconds: float = 1.0) -> dict[str, Any]:
    """Make the act of labelling."""
    return {"uid": str(uuid.uuid4()), "item": item, "kind": "label", "class": class_, "seconds": seconds}


def row_of(name: str) -> int:
    """Read the row of the source from a sample's name."""
    return int(name.rpartition("/")[2])
