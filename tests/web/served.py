"""A real server for tests: a socket, uvicorn, SQLite and a trainer's process that does nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from deepbass.label.items import Items
from deepbass.label.journal import Journal
from deepbass.label.passwords import hash_password
from deepbass.label.project import Project
from deepbass.web.server import Address, Ready, listen, serve
from tests.label.projects import make_images, make_project

IDLE = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]  # which starts at once
CHANGE = {"X-Deepbass": "1"}

_uids = count()


def small_project(folder: Path, images: int = 12, **settings: Any) -> Project:
    """Make a project of a few grey images."""
    source = make_images(folder / "images", [f"{number:03d}.png" for number in range(images)])
    return make_project(folder / "project", source, **settings)


def add_person(project: Project, name: str, password: str) -> None:
    """Let somebody log in."""
    with Journal.open(project.labels_db) as journal:
        journal.set_person(name, hash_password(password))


def label(item: int, class_: int = 0, **more: Any) -> dict[str, Any]:
    """Spell an answer as the page sends it."""
    return {"uid": f"uid-{next(_uids)}", "item": item, "kind": "label", "class": class_, **more}


@dataclass
class Served:
    """A running server, and a browser of sorts that was let in."""

    ready: Ready
    project: Project
    client: httpx.Client

    @property
    def origin(self) -> str:
        """The address without token."""
        parts = urlsplit(self.ready.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token(self) -> str:
        """What lets a browser in."""
        return parse_qs(urlsplit(self.ready.url).query)["token"][0]

    @property
    def cookie(self) -> str:
        """What its browser sends along, as a header has it."""
        return "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())

    def anonymous(self) -> httpx.Client:
        """Make a browser without a cookie."""
        return httpx.Client(base_url=self.origin, timeout=30, trust_env=False)

    @contextmanager
    def person(self, name: str) -> Iterator[httpx.Client]:
        """Make the browser of somebody else."""
        with self.anonymous() as client:
            assert client.get("/", params={"token": self.token, "as": name}).status_code == 303
            yield client

    def get(self, path: str, **params: Any) -> Any:
        """Ask for JSON."""
        answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: object, client: httpx.Client | None = None) -> httpx.Response:
        """Send JSON."""
        return (client or self.client).post(path, json=body, headers=CHANGE)

    def act(self, *acts: dict[str, Any], want: int = 0, client: httpx.Client | None = None) -> Any:
        """Send answers."""
        answer = self.post("/api/acts", {"acts": list(acts), "want": want, "holding": []}, client)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def served(
    project: Project,
    *,
    trainer: Sequence[str] = IDLE,
    annotator: str = "ann",
    address: Address | None = None,
    browser: bool = False,
    items: Items | None = None,
) -> Iterator[Served]:
    """Serve a project in a thread of this process; ``items`` are its own, if its source cannot give them."""
    address = address or Address(port=0)
    up = threading.Event()
    told: list[Ready] = []
    failed: list[BaseException] = []

    def on_ready(ready: Ready) -> None:
        told.append(ready)
        up.set()

    def work() -> None:
        try:
            serve(
                project,
                items or project.open_items(),
                listen(address),
                address,
                annotator=annotator,
                browser=browser,
                trainer=trainer,
                on_ready=on_ready,
            )
        except BaseException as error:
            failed.append(error)
        finally:
            up.set()

    thread = threading.Thread(target=work)
    thread.start()
    up.wait(60)
    if failed:
        thread.join()
        raise failed[0]
    here = Served(told[0], project, httpx.Client(timeout=30, trust_env=False))
    here.client = here.anonymous()
    if "token=" in told[0].url:
        here.client.get("/", params={"token": here.token})
    try:
        yield here
    finally:
        here.client.close()
        told[0].stop()
        thread.join()
        if failed:
            raise failed[0]
