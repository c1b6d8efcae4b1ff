"""Serve a project without a trainer, in a process to be killed or ill-treated, and say when it is ready.

python server_process.py PROJECT PORT [SECONDS], where SECONDS is how long it waits for the rest of a request.
"""

from __future__ import annotations

import json
import sys

from deepbass.label.project import Project
from deepbass.web import connections, requests
from deepbass.web.server import Address, Ready, listen, serve


def say(ready: Ready) -> None:
    print(json.dumps({"url": ready.url}), flush=True)  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) > 3:
        requests.BODY_SECONDS = connections.HEAD_SECONDS = float(sys.argv[3])
    address = Address(port=int(sys.argv[2]))
    project = Project.open(sys.argv[1])
    idle = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    serve(project, project.open_items(), listen(address), address, annotator="ann", trainer=idle, on_ready=say)
