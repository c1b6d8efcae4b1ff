"""Whatever dies, nothing is lost and nothing is left running; whatever is wrong with a node, it is named.

Each of these starts clusters of its own, which takes minutes: `make slow` runs them.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deepbass.bench.results import Results
from deepbass.bench.runner import Audience, run_matrix
from deepbass.bench.worker import run_cell
from deepbass.cluster.connection import connected
from deepbass.core.errors import ConfigError
from deepbass.store.names import CHECKPOINTS_FOLDER, LEARNER_FILE
from tests.bench.tiny import matrix, outcome, outcomes
from tests.cluster.raylets import add_node, alive, children_of, raylets, until
from tests.trainer.labelling import trainer_process, wait_for, world

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
LONG = 40  # iterations
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    results = Results.make(tmp_path_factory.mktemp("expected") / "results")
    return [outcome(run_cell(one, results)) for one in matrix(LONG)]


def begun(results: Results) -> bool:
    """Tell whether some cell is under way."""
    return any(any((results.work(one) / CHECKPOINTS_FOLDER).glob("00000[2-9]")) for one in matrix(LONG))


@contextmanager
def command(results: Results, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "tests.cluster.matrix", str(results.folder), str(LONG), *more]
    with subprocess.Popen(words, cwd=ROOT, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_ended_leaves_nothing_running_and_goes_on(
    number: signal.Signals, tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    results = Results.make(tmp_path / "results")
    with command(results) as process:
        assert until(lambda: begun(results), 200)
        started = children_of(process.pid)
        assert len(started) > 5
        process.send_signal(number)
        assert process.wait(60) == (130 if number != signal.SIGKILL else -9)
    assert until(lambda: not any(map(alive, started)))
    run_matrix(matrix(LONG), results, workers=2)  # without a cluster, for a change
    assert outcomes(results, matrix(LONG)) == expected


def test_a_command_that_is_killed_leaves_nothing_running_on_a_cluster_that_goes_on(
    tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    results = Results.make(tmp_path / "results")
    with raylets(nodes=2) as several:
        with command(results, several.address) as process:
            assert until(lambda: begun(results), 200)
            workers = [pid for pid in children_of(os.getpid()) if b"deepbass.bench.worker" in words_of(pid)]
            assert workers
            process.kill()
        assert until(lambda: not any(map(alive, workers)), 60)
        with connected(several.address, 2) as cluster:
            run_matrix(matrix(LONG), results, workers=2, cluster=cluster)
    assert outcomes(results, matrix(LONG)) == expected


def words_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_node_that_dies_is_done_without(tmp_path: Path, expected: list[dict[str, Any]]) -> None:
    results = Results.make(tmp_path / "results")
    with raylets(nodes=1) as several:
        doomed = add_node(several)
        killed: list[bool] = []
        with connected(several.address, 2) as cluster:

            def kill(_: object) -> None:
                if not killed and begun(results):
                    killed.append(True)
                    several.remove_node(doomed, allow_graceful=False)

            progress = run_matrix(matrix(LONG), results, workers=2, cluster=cluster, audience=Audience(kill))
            assert len(cluster.nodes) == 1
    assert killed
    assert (progress.finished, progress.failed) == (2, 0)
    assert outcomes(results, matrix(LONG)) == expected


def test_nodes_without_deepbass_or_with_another_version_are_named(tmp_path: Path) -> None:
    for name, code in {"missing": "raise ImportError('gone')", "old": "__version__ = '0.0.1'"}.items():
        (tmp_path / name / "deepbass").mkdir(parents=True)
        (tmp_path / name / "deepbass" / "__init__.py").write_text(code)
    with raylets(nodes=1) as several:
        for name, words in {"missing": "has no deepbass .*gone.*pip install", "old": "has deepbass 0.0.1"}.items():
            node = add_node(several, environment={"PYTHONPATH": str(tmp_path / name)})
            said = f"Node .*{node.unique_id[:8]}.* {words}"
            with pytest.raises(ConfigError, match=said), connected(several.address, 1):
                pass
            several.remove_node(node)


def test_a_cluster_of_another_ray_or_python_is_said(tmp_path: Path) -> None:
    with raylets(nodes=1) as several:
        from ray._raylet import GcsClient  # type: ignore[attr-defined]

        client, key, room = GcsClient(address=several.address), b"CLUSTER_METADATA", b"cluster"
        about = json.loads(client.internal_kv_get(key, namespace=room))
        for change in ({"ray_version": "2.1.0"}, {"python_version": "3.9.1"}):
            client.internal_kv_put(key, json.dumps({**about, **change}).encode(), True, namespace=room)
            (told,) = change.values()
            said = rf"other versions.*{told}.*; here: .*Install the same"
            with pytest.raises(ConfigError, match=said), connected(several.address, 1):
                pass


def test_a_cluster_that_asks_for_a_token_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [sys.executable, "-m", "tests.cluster.guarded"]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        address = other.stdout.readline().strip()
        for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(ConfigError, match="asks for a token: set RAY_AUTH_MODE"), connected(address, 1):
            pass
        other.stdin.close()


def test_what_listens_and_is_no_cluster_is_said_within_half_a_minute() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        since = time.monotonic()
        with (
            pytest.raises(ConfigError, match="did not answer within"),
            connected(f"127.0.0.1:{other.getsockname()[1]}", None),
        ):
            pass
        assert time.monotonic() - since < 45


def test_a_cluster_of_this_machine_listens_on_loopback_alone() -> None:
    with connected(None, 1) as cluster:
        assert cluster.address.startswith("127.0.0.1:")
        ours = {os.getpid(), *children_of(os.getpid())}
        found = list(listening(ours))
    assert len(found) > 3
    assert {address for address in found if not is_loopback(address)} == set()


def listening(pids: set[int]) -> Iterator[str]:
    """List the addresses, as hexadecimal numbers, that processes listen on."""
    sockets = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                sockets.add(str(link.readlink()))
            except OSError:
                continue
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                yield words[1].split(":")[0]


def is_loopback(address: str) -> bool:
    return address.endswith("0100007F") or address == "00000000000000000000000001000000"


def test_the_trainer_on_a_cluster_trains_what_it_trains_here_and_leaves_nothing_running(tmp_path: Path) -> None:
    models = []
    for number, options in enumerate(([], ["--ray", "local", "--workers", "2"])):
        with world(tmp_path / str(number)) as here:
            here.begin()
            with trainer_process(here.project, *options) as process:
                wait_for(process, lambda what: what.get("committed", -1) >= 1)
                started = children_of(process.pid)
                assert process.stdin is not None
                process.stdin.close()
                assert process.wait(30) == 0
            assert until(lambda started=started: not any(map(alive, started)))  # type: ignore[misc]
            models.append((here.model() / CHECKPOINTS_FOLDER / "000001" / LEARNER_FILE).read_bytes())
    assert models[0] == models[1]
