"""The server: where it listens; and as a process of its own: up, in order down, with a real trainer, over TLS."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from deepbass.core.errors import ConfigError
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.store.names import PROJECT_DB_FILE, WEB_KEY_FILE
from deepbass.web.server import Address, check_address, check_people, listen
from tests.label.projects import make_images
from tests.runs.small_runs import call, command
from tests.runs.warm import warm_call
from tests.web.served import CHANGE, add_person, label, served, small_project

QUICK = {"model": "cnn", "initial_epochs": 2, "passes_pool": 2, "passes_known": 2, "device": "cpu"}
PATIENCE = 180.0


@dataclass
class Process:
    """A running deepbass label, and a browser that was let in."""

    process: subprocess.Popen[str]
    url: str
    project: Path
    client: httpx.Client

    def get(self, path: str, **params: Any) -> Any:
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def act(self, *acts: dict[str, Any]) -> Any:
        answer = self.client.post("/api/acts", json={"acts": list(acts), "want": 0, "holding": []}, headers=CHANGE)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def wait_for(self, what: str, value: Any) -> Any:
        """Look at the panel until one of its numbers is at least that, or the trainer's part is just that."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            panel = self.get("/api/panel")
            if panel["trainer"][what] == value if what in panel["trainer"] else panel[what] >= value:
                return panel
            time.sleep(0.2)
        raise AssertionError(panel)


@contextmanager
def labelling(*words: object, verify: ssl.SSLContext | bool = True, cwd: Path | None = None) -> Iterator[Process]:
    process = subprocess.Popen(
        command("label", *words, "--no-browser", "--json"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[str] = []
    drain = threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True)
    drain.start()
    try:
        line = process.stdout.readline()
        assert line, "".join(errors)
        ready = json.loads(line)
        assert set(ready) == {"url", "project"}, ready
        base = ready["url"].partition("?")[0]
        with httpx.Client(base_url=base, timeout=60, verify=verify, trust_env=False) as client:
            client.get(ready["url"])
            yield Process(process, ready["url"], Path(ready["project"]), client)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        finally:
            process.kill()
            process.stdout.close()
            drain.join(10)
            process.stderr.close()


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


def trainer_of(pid: int) -> int:
    """Find the only child of the server, which one of its threads starts."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = [word for task in Path(f"/proc/{pid}/task").iterdir() for word in _children(task)]
        if found:
            [trainer] = found
            return trainer
        time.sleep(0.05)
    raise AssertionError("the server has no trainer")


def _children(task: Path) -> list[int]:
    try:
        return [int(word) for word in (task / "children").read_text().split()]
    except OSError:  # the thread has just ended
        return []


def test_labels_train_a_model_and_a_killed_trainer_is_started_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    samples = rng.integers(0, 60, (80, 8, 8), dtype=np.uint8)
    samples[::2, :, :4] += 150  # bright on the left, or on the right
    samples[1::2, :, 4:] += 150
    np.save(tmp_path / "halves.npy", samples)
    settings = [f"--set={name}={value}" for name, value in QUICK.items()]
    words = (tmp_path / "halves.npy", "--classes", "left,right", "--project", tmp_path / "project", *settings)
    with labelling(*words, "--audit", "25%", "--annotator", "Žofie") as here:
        assert here.get("/api/project")["annotator"] == "Žofie"
        assert here.get("/api/project")["audit"] == 0.25
        here.wait_for("doing", "waiting")
        for _ in range(24):
            question = here.get("/api/next", count=1)["questions"][0]
            here.act(label(question["item"], int(question["name"].rpartition("/")[2]) % 2))
        panel = here.wait_for("iteration", 1)
        assert panel["known_to_model"] >= 6
        assert panel["audit"]["n"] >= 4
        assert panel["ready"] is None
        assert here.get(f"/api/guess/{here.get('/api/history')['acts'][0]['item']}")["guess"]["class"] in (0, 1)
        trainer = trainer_of(here.process.pid)
        os.kill(trainer, signal.SIGKILL)
        panel = here.wait_for("restarts", 1)
        here.wait_for("iteration", panel["iteration"] + 1)
        assert here.client.get("/api/export/model").status_code == 200
        trainer = trainer_of(here.process.pid)
        here.process.send_signal(signal.SIGINT)
        assert here.process.wait(60) == 0
    assert not alive(trainer)
    with Journal.open(tmp_path / "project" / PROJECT_DB_FILE, "ro") as journal:
        assert len(journal.acts()) == 24
    done = warm_call(
        command("export", tmp_path / "project", "--format", "csv", "--out", tmp_path / "out.csv", "--json")
    )
    assert json.loads(done.stdout)["labels"] == 24, done.stderr


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_end_it_ends_in_order_also_while_pages_listen(tmp_path: Path, end: signal.Signals) -> None:
    source = make_images(tmp_path / "images", [f"{number}.png" for number in range(9)])
    with labelling(source, "--classes", "a,b", cwd=tmp_path) as here:
        assert here.project == tmp_path / "labels" / "images"
        trainer = trainer_of(here.process.pid)
        with here.client.stream("GET", "/api/live") as stream:
            lines = stream.iter_lines()
            next(lines)
            here.act(label(0))
            here.process.send_signal(end)
            assert "event: panel" in list(lines)  # to its end
        assert here.process.wait(60) == 0
        assert not alive(trainer)
        assert not (here.project / "labels.db-wal").exists()  # closed, not left lying
        Project.open(here.project).lock().release()
    with labelling(source, cwd=tmp_path) as here:  # goes on
        assert here.get("/api/panel")["labels"] == 1
        assert [one["name"] for one in here.get("/api/project")["classes"]] == ["a", "b"]


def test_ten_thousand_images_cost_a_few_times_what_ten_do_and_no_torch(tmp_path: Path) -> None:
    """Measured in the processor's time, and against another start: neither a busy nor a slow machine is a failure."""
    seconds = {}
    for images in (10, 10_000):
        first = make_images(tmp_path / f"{images}" / "a", ["0.png"]) / "0.png"
        for number in range(1, images):
            os.link(first, first.with_name(f"{number}.png"))
        with labelling(first.parents[1], "--project", tmp_path / f"project-{images}") as here:
            stats = Path(f"/proc/{here.process.pid}/stat").read_text().rpartition(")")[2].split()
            seconds[images] = int(stats[11]) + int(stats[12])
            assert "torch" not in Path(f"/proc/{here.process.pid}/maps").read_text()
            assert here.get("/api/project")["items"] == images
    assert seconds[10_000] < 5 * seconds[10]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_over_tls_cookies_are_secure_and_people_log_in(tmp_path: Path) -> None:
    pem, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout {key} -out {pem}"
    subprocess.run(
        [*make.split(), "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True
    )
    project = small_project(tmp_path)
    add_person(project, "anna", "correct horse")
    trusting = ssl.create_default_context(cafile=str(pem))
    words = (project.path, "--certfile", pem, "--keyfile", key, "--host", "0.0.0.0", "--name", "localhost")
    with labelling(*words, verify=trusting) as here:
        assert here.url.startswith("https://localhost:")
        assert "token" not in here.url
        assert here.client.get("/api/project").status_code == 401
        body = {"name": "anna", "password": "correct horse"}
        let_in = here.client.post("/login", json=body, headers=CHANGE)
        assert let_in.status_code == 200
        assert "Secure" in let_in.headers["set-cookie"].split("; ")
        assert here.get("/api/project")["annotator"] == "anna"
        assert here.act(label(0))["saved"]


def test_other_machines_are_not_let_in_by_accident(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    done = warm_call(command("label", project.path, "--host", "0.0.0.0", "--no-browser"))
    assert done.returncode == 2
    assert "--certfile" in done.stderr
    done = warm_call(command("label", project.path, "--host", "0.0.0.0", "--insecure-http", "--no-browser"))
    assert done.returncode == 2
    assert f"deepbass people add {project.path}" in done.stderr


def test_a_port_that_was_asked_for_and_is_in_use_is_an_error(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = warm_call(command("label", project.path, "--port", port, "--no-browser", "--json"))
    assert done.returncode == 2
    assert f"Port {port}" in json.loads(done.stdout)["error"]


def test_the_browser_gets_a_token_of_its_own_that_works_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    seen = threading.Event()

    def open_(url: str) -> bool:
        opened.append(url)
        seen.set()
        return True

    monkeypatch.setattr(webbrowser, "open", open_)
    with served(small_project(tmp_path), browser=True) as here:
        assert seen.wait(30)
        assert opened[0].startswith(f"{here.origin}/?token=")
        assert here.token not in opened[0]  # others on the machine can read a browser's command line
        with here.anonymous() as browser, here.anonymous() as spy:
            assert browser.get(opened[0]).status_code == 303
            assert spy.get(opened[0]).status_code == 403


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_the_secret_in_the_project_is_for_its_owner_only(tmp_path: Path) -> None:
    project = small_project(tmp_path)
    with served(project):
        assert stat.S_IMODE((project.path / WEB_KEY_FILE).stat().st_mode) == 0o600


def test_half_a_request_and_rubbish_do_not_stop_the_others(tmp_path: Path) -> None:
    with served(small_project(tmp_path)) as here:
        port = int(here.origin.rpartition(":")[2])
        with (
            socket.create_connection(("127.0.0.1", port)) as slow,
            socket.create_connection(("127.0.0.1", port)) as odd,
        ):
            slow.sendall(b"POST /api/acts HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
            odd.sendall(b"\x16\x03\x01\x02\x00\x01 rubbish\r\n\r\n")
            odd.settimeout(30)
            assert b"400" in odd.recv(1000)
            assert here.act(label(0))["saved"]
        with socket.create_connection(("127.0.0.1", port)) as long:
            long.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 100_000)
            long.settimeout(30)
            assert b" 4" in long.recv(1000)
        assert here.get("/api/panel")["labels"] == 1


def test_a_missing_extra_is_named_with_the_command_that_brings_it(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.modules['starlette'] = None\nsys.argv = ['deepbass', 'label', 'digits', '--no-browser']\n"
        "from deepbass.cli import main\nmain()"
    )
    done = call([sys.executable, "-c", code], cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'deepbass[web]'" in done.stderr
    assert not (tmp_path / "labels").exists()


def test_other_machines_need_tls_or_a_clear_word_and_a_person_with_a_password(tmp_path: Path) -> None:
    check_address(Address())
    check_people(Address(), 0, "")
    with pytest.raises(ConfigError, match="--insecure-http"):
        check_address(Address("0.0.0.0"))
    check_address(Address("0.0.0.0", insecure_http=True))
    with pytest.raises(ConfigError, match="deepbass people add"):
        check_people(Address("0.0.0.0", insecure_http=True), 0, "deepbass people add DIR NAME")
    check_people(Address("0.0.0.0", insecure_http=True), 1, "")
    with pytest.raises(ConfigError, match="go together"):
        check_address(Address(certfile=tmp_path / "a"))
    with pytest.raises(ConfigError, match="There is no file"):
        check_address(Address(certfile=tmp_path / "a", keyfile=tmp_path / "b"))
    (tmp_path / "a").write_text("no certificate")
    with pytest.raises(ConfigError, match="certificate"):
        check_address(Address(certfile=tmp_path / "a", keyfile=tmp_path / "a"))


def test_a_taken_port_is_an_error_only_where_it_was_asked_for() -> None:
    with listen(Address()) as first, listen(Address()) as second:
        port = first.getsockname()[1]
        assert second.getsockname()[1] != port
        with pytest.raises(ConfigError, match=f"Port {port} .* in use"):
            listen(Address(port=port))
    with pytest.raises(ConfigError, match="'no such host'"):
        listen(Address("no such host"))
