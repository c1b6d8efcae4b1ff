"""The connection to a cluster of Ray: one that is running, or one of this machine's own that ends with the command.

Whoever reaches a port of Ray may run any code there. So what is started here listens on loopback only, and asks for a
token where Ray knows how to. Before any work is handed out, every node is asked whether it has the same deepbass and
sees the same files: what would fail in an hour fails at once, and the node is named.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from socket import gethostname
from typing import Any
from uuid import uuid4
from zlib import crc32

from deepbass.cluster.address import LOCAL, check_address, check_workers, on_loopback
from deepbass.cluster.guardian import end_processes, guarded_processes
from deepbass.cluster.nodes import Node, ask_nodes, check_versions
from deepbass.core.errors import ConfigError, DeepBassError
from deepbass.core.foreign import reason_of

_LONGEST = 12  # characters of the folder for temporary files: Ray's sockets lie deep below, and may have 107 in all
_PREFIX = "dbray"
_TIMES = 3  # that a start is tried
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0"}


@dataclass(frozen=True)
class Cluster:
    """A cluster that this process is connected to; it is good as long as `connected` lasts."""

    address: str
    workers: int  # how many to use at a time

    @property
    def nodes(self) -> list[Node]:
        """List the nodes that are alive now: nodes come and go."""
        import ray

        return [Node.of(each) for each in ray.nodes() if each["Alive"]]

    @property
    def processors(self) -> int:
        """Count the processors of all nodes that are alive now."""
        return sum(node.processors for node in self.nodes)

    def __str__(self) -> str:
        nodes = len(self.nodes)
        return f"{self.workers} worker{'s'[: self.workers != 1]} on {nodes} node{'s'[: nodes != 1]}"

    def check_nodes(self) -> None:
        """Refuse nodes that lack deepbass, or have another version; call it again when nodes have joined."""
        check_versions(ask_nodes(self.nodes, []))

    def can_see(self, paths: Iterable[Path | str]) -> None:
        """Refuse nodes that do not see these files and folders as this process does."""
        asked = [str(Path(path).expanduser().absolute()) for path in paths]
        here = {path: _sight(path) for path in asked}
        for node, facts in ask_nodes(self.nodes, asked):
            for path, (real, kind, size) in zip(asked, facts.sights, strict=True):
                if (kind, size) != here[path]:
                    as_seen = path if real == path else f"{path}, which is {real} there"
                    what = "there is nothing there" if kind is None else f"there it is another {kind}"
                    raise ConfigError(
                        f"Node {node} does not see {as_seen}, as this machine does ({what}). Put it on storage that "
                        "all nodes mount at the same place, and begin again."
                    )

    def can_share(self, folder: Path) -> None:
        """Refuse nodes whose ``folder`` is another one of the same name: what they wrote there would be lost."""
        mark = folder / f".{_PREFIX}-{uuid4().hex[:8]}"
        try:
            mark.touch()
            self.can_see([mark])
        except OSError as error:
            raise ConfigError(f"Cannot write to {folder}: {error}.") from error
        except ConfigError as error:
            raise ConfigError(str(error).replace(str(mark.absolute()), str(folder.absolute()))) from None
        finally:
            mark.unlink(missing_ok=True)


def _sight(path: str) -> tuple[str | None, int | None]:
    where = Path(path)
    if where.is_dir():
        return "folder", None
    return ("file", where.stat().st_size) if where.exists() else (None, None)


def need_ray() -> Any:
    """Import Ray, or say how to get it."""
    try:
        import ray
    except ImportError:
        raise ConfigError("A cluster takes Ray, which is not installed: pip install 'deepbass[ray]'") from None
    return ray


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[Cluster]:
    """Attach to the cluster at ``address``, or start one on this machine, which ends with the block or the process.

    None and "local" start one with as many ``workers`` (else: one for each core). A program that is connected to a
    cluster already keeps its own.
    """
    check_workers(LOCAL, workers)
    ray = need_ray()
    if ray.is_initialized():
        yield _checked(ray, workers)
        return
    with _attached(ray, address) if address not in (None, LOCAL) else _started(ray, workers):
        yield _checked(ray, workers)


def _checked(ray: Any, workers: int | None) -> Cluster:
    address = ray.get_runtime_context().gcs_address
    cluster = Cluster(address, workers or 1)
    cluster.check_nodes()
    return cluster if workers else Cluster(address, max(1, cluster.processors))


@contextmanager
def _attached(ray: Any, address: str) -> Iterator[None]:
    loopback = check_address(address)
    with on_loopback(loopback), _environment(_QUIET):
        _init(ray, address=address)
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _started(ray: Any, workers: int | None) -> Iterator[None]:
    """Start a cluster on loopback, whose processes end with this one, killed or not."""
    with _short_folder() as folder, on_loopback(True), _environment(_QUIET):
        _start(ray, folder, workers)
        with guarded_processes(folder):
            try:
                yield
            finally:
                ray.shutdown()


def _start(ray: Any, folder: Path, workers: int | None) -> None:
    """Start a cluster; Ray waits for its parts for half a minute only, which a busy machine may need, so try again."""
    options = {"num_cpus": workers or _cores(), "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    for left in reversed(range(_TIMES)):
        try:
            _init(ray, address=LOCAL, _temp_dir=str(folder), **options)
        except Exception as error:
            end_processes(folder)
            if not left:
                raise DeepBassError(
                    f"Ray could not be started on this machine, {_TIMES} times over: {reason_of(error)}. If it is very "
                    "busy, try again later; if memory or /dev/shm is full, make room; or do without --ray."
                ) from error
        else:
            return


def _init(ray: Any, **options: Any) -> None:
    """Connect; a polite kill then means what it meant before, which Ray overwrites."""
    before = signal.getsignal(signal.SIGTERM)
    ray.init(log_to_driver=False, logging_level="ERROR", **options)
    if threading.current_thread() is threading.main_thread() and before is not None:
        signal.signal(signal.SIGTERM, before)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for as long as the block lasts; the processes that are started in it inherit them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _short_folder() -> Iterator[Path]:
    """Make a folder of a short name for the sockets and logs of a cluster, and remove those of killed commands."""
    parent = Path(tempfile.gettempdir())
    if len(str(parent)) > _LONGEST:
        parent = Path("/tmp")
    _sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}-{_machine()}-{os.getpid()}-", dir=parent))
    try:
        yield folder
    finally:
        rmtree(folder, ignore_errors=True)


def _sweep(parent: Path) -> None:
    for path in parent.glob(f"{_PREFIX}-{_machine()}-*"):
        found = re.fullmatch(rf"{_PREFIX}-\w+-(\d+)-\w+", path.name)
        if found and not _is_alive(int(found[1])):
            rmtree(path, ignore_errors=True)


def _machine() -> str:
    """Tell this machine from others, such as containers, that may have the same folder for temporary files."""
    return f"{crc32(gethostname().encode()) % 0x10000:04x}"


def _is_alive(pid: int) -> bool:
    if os.name == "nt":  # where there is no asking without killing
        return True
    with suppress(ProcessLookupError):
        try:
            os.kill(pid, 0)
        except PermissionError:
            return True
        return True
    return False
