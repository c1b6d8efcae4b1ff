"""Put the server together, open it, and close it in order."""

from __future__ import annotations

import logging
import shlex
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from deepbass.label.items import Items
from deepbass.label.project import Project
from deepbass.web.app import App
from deepbass.web.desk import Desk
from deepbass.web.door import Door, check_people
from deepbass.web.running import make_server, run
from deepbass.web.sessions import Sessions, Tokens
from deepbass.web.supervisor import Supervisor, trainer_command

LOG = logging.getLogger("deepbass.web")


@dataclass(frozen=True)
class Ready:
    """What to tell whoever started the server."""

    url: str  # with the token, where there is one
    project: Path
    labels_brought: int
    left_out: list[str]  # labels of the source that are none of the classes
    stop: Callable[[], None]  # ends the server, from any thread


def serve(
    project: Project,
    items: Items,
    listening: socket.socket,
    door: Door,
    *,
    annotator: str,
    browser: bool = False,
    data: Path | None = None,
    trainer: Sequence[str] | None = None,
    on_ready: Callable[[Ready], None] = lambda ready: None,
) -> None:
    """Serve a project until the process is asked to end. ``trainer`` is its command line, if not the usual one."""
    with ExitStack() as closing:
        closing.callback(listening.close)
        desk = Desk(project, items)
        closing.callback(desk.close)
        check_people(door, len(desk.people), f"deepbass people add {shlex.quote(str(project.path))} NAME")
        port: int = listening.getsockname()[1]
        tokens = None if desk.people else Tokens()
        sessions = Sessions(project.path, desk.people or None, port)
        keeper = Supervisor(trainer or trainer_command(project.path, data), on_commit=desk.look_for_model)
        app = App(
            desk,
            sessions,
            door.place(port),
            annotator=annotator,
            tokens=tokens,
            trainer=lambda: keeper.state,
            data=data,
        )
        closing.callback(app.close)
        keeper.on_change = app.trainer_changed
        closing.callback(keeper.stop)  # first of all: it may still bring news for the others
        url = door.address(port)

        def on_up() -> None:
            app.start()
            keeper.start()
            desk.spread_out()
            word = f"?token={tokens.token}" if tokens else ""
            brought = desk.taken_up
            on_ready(Ready(url + word, project.path, brought.labels, brought.left_out, server.stop))
            if browser:
                _open_browser(url + (f"?token={tokens.once()}" if tokens else ""))

        server = make_server(app.asgi, door, on_up, app.end)
        run(server, listening)


def _open_browser(url: str) -> None:
    """Open the page, in a thread: some browsers return only when they are closed."""

    def work() -> None:
        try:
            webbrowser.open(url)
        except (OSError, webbrowser.Error) as error:
            LOG.warning("No browser could be opened (%s): open the address yourself.", error)

    threading.Thread(target=work, name="browser", daemon=True).start()
