"""The address of a cluster: read, and tried in another process, for Ray waits long and may end the one it is in."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from deepbass.core.errors import ConfigError

LOCAL, AUTO = "local", "auto"
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[^\s:/\\\[\]]+):(\d{1,5})")
_PATIENCE = 3.0  # seconds in which a port must take a connection
_TRIAL = 25.0  # seconds in which a cluster must have answered: Ray takes two or three to start
_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # off: the machine's address is that of loopback, on any system
_TRY = """
import sys
from deepbass.cluster.address import on_loopback
import ray
with on_loopback(sys.argv[2] == "loopback"):
    try:
        ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
    except BaseException as error:
        while error.__cause__ is not None:
            error = error.__cause__
        sys.exit(f"{type(error).__name__}: {error}")
"""


def is_address(word: str) -> bool:
    """Tell an address of a cluster from any other word of a command line."""
    return word in (LOCAL, AUTO) or word.startswith("ray://") or bool(_ADDRESS.fullmatch(word))


def check_workers(address: str | None, workers: int | None, *, alone: bool = False) -> None:
    """Refuse a number of workers that means nothing; ``alone``: it means something without a cluster, too."""
    if workers is not None and workers < 1:
        raise ConfigError(f"--workers {workers} is too few: it must be 1 or more.")
    if workers is not None and address is None and not alone:
        raise ConfigError(f"--workers {workers} is for a cluster: add --ray, or leave it out.")


def check_address(address: str) -> bool:
    """Refuse an address where no cluster answers, or one that this process cannot join; tell if it is on loopback."""
    if address.startswith("ray://"):
        raise ConfigError(
            f"{address} is for Ray's client, which sees no files. Make this machine a node of the cluster instead "
            "(ray start --address=HOST:6379), and say --ray HOST:6379."
        )
    found = _ADDRESS.fullmatch(address)
    if address != AUTO and not found:
        raise ConfigError(f"{address!r} is no address of a cluster: say HOST:PORT, as in 10.0.0.1:6379, or auto.")
    loopback = False
    if found:
        host, port = found[1].strip("[]"), int(found[2])
        loopback = _is_loopback(host) and not _takes(_own_address(), port)
        if not _takes(host, port):
            raise ConfigError(
                f"There is no Ray cluster at {address}: nothing takes connections there. Start one with "
                f"ray start --head --port={port}, or say --ray alone for one on this machine."
            )
    _try(address, loopback)
    return loopback


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _own_address() -> str:
    import ray

    address: str = ray.util.get_node_ip_address()
    return address


def _takes(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_PATIENCE):
            return True
    except (OSError, OverflowError):
        return False


def _try(address: str, loopback: bool) -> None:
    command = [sys.executable, "-c", _TRY, address, "loopback" if loopback else ""]
    with tempfile.TemporaryFile() as log:  # no pipe: what it said before its time was over counts, too
        try:
            code = subprocess.run(command, stdout=log, stderr=log, timeout=_TRIAL, check=False).returncode
        except subprocess.TimeoutExpired:
            code = None
        log.seek(0)
        said = log.read().decode(errors="replace").strip()[-1_500:]
    if code != 0:
        raise ConfigError(_what_is_wrong(address, said, late=code is None))


def _what_is_wrong(address: str, said: str, *, late: bool) -> str:
    """Say why a cluster cannot be joined, and what to do then, from Ray's words."""
    if "ersion mismatch" in said:
        return (
            f"The Ray cluster at {address} is of other versions than this process, and Ray needs the same everywhere. "
            f"{_versions(said)} Install the same Ray and Python here, or use the cluster's environment."
        )
    if "uthenticat" in said:
        return (
            f"The Ray cluster at {address} asks for a token: set RAY_AUTH_MODE=token and give this machine the "
            "cluster's token, as 'ray get-auth-token' prints it there."
        )
    if late:
        return (
            f"The Ray cluster at {address} did not answer within {_TRIAL:.0f} seconds. Is it one, and is this machine "
            f"a node of it? If not: ray start --address={address}"
        )
    if address == AUTO:
        return "There is no Ray cluster on this machine: start one with ray start, or say --ray alone."
    return f"Cannot join the Ray cluster at {address}: {_last_line(said)}. Is this machine a node of it?"


def _versions(said: str) -> str:
    """Keep what Ray says of the versions on both sides, as one sentence."""
    found = re.findall(r"Ray: (\S+)\s+Python: (\S+)", said)
    if len(found) < 2:
        return f"Ray says: {' '.join(said.split())}"
    (their_ray, their_python), (our_ray, our_python) = found[:2]
    return f"There: Ray {their_ray}, Python {their_python}; here: Ray {our_ray}, Python {our_python}."


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else "it said nothing"


@contextmanager
def on_loopback(wanted: bool) -> Iterator[None]:
    """Let Ray take this machine's address to be that of loopback: then all that it starts listens there alone.

    Ray turns 127.0.0.1 into the machine's address otherwise, and listens on all of them.
    """
    if not wanted:
        yield
        return
    before = os.environ.get(_SWITCH)
    os.environ[_SWITCH] = "0"  # for the processes that are started
    try:
        from ray._private import ray_constants  # has read it when it was imported

        enabled = ray_constants.ENABLE_RAY_CLUSTER
        ray_constants.ENABLE_RAY_CLUSTER = False
        try:
            yield
        finally:
            ray_constants.ENABLE_RAY_CLUSTER = enabled
    finally:
        with suppress(KeyError):
            del os.environ[_SWITCH]
        if before is not None:
            os.environ[_SWITCH] = before
