"""Clusters of several raylets on this machine, each of which stands for a machine: on loopback, and gone at the end."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ray
from ray._common.utils import get_default_ray_temp_dir
from ray.cluster_utils import Cluster as Raylets

from deepbass.cluster.address import on_loopback

_STORE = 100 * 2**20  # bytes of the object store of each


@contextmanager
def raylets(nodes: int, processors: int = 1) -> Iterator[Raylets]:
    """Start a cluster; the folder of its sockets has a short name, whatever the test's own is called."""
    folder = tempfile.mkdtemp(prefix="dbt-", dir="/tmp")
    Path(get_default_ray_temp_dir()).mkdir(parents=True, exist_ok=True)  # ray writes there, and does not make it
    with on_loopback(True):
        several = Raylets(
            initialize_head=True,
            head_node_args={"num_cpus": processors, "include_dashboard": False, "temp_dir": folder, **_common()},
        )
        try:
            for _ in range(nodes - 1):
                add_node(several, processors)
            yield several
        finally:
            ray.shutdown()
            several.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def add_node(several: Raylets, processors: int = 1, environment: Mapping[str, str] | None = None) -> Any:
    """Let another raylet join, with an environment of its own."""
    more: dict[str, Any] = {"env_vars": dict(environment)} if environment else {}
    with on_loopback(True):
        return several.add_node(num_cpus=processors, **_common(), **more)


def _common() -> dict[str, Any]:
    return {"node_ip_address": "127.0.0.1", "object_store_memory": _STORE}


def alive(pid: int) -> bool:
    """Tell whether a process is there, and no zombie that nobody has buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    """List all processes that descend from one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(status[1])
    found, ahead = [], [pid]
    while ahead:
        parent = ahead.pop()
        below = [each for each, its in parents.items() if its == parent]
        found += below
        ahead += below
    return found


def until(happened: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait until something has happened."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
