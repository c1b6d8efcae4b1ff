"""Serve a project without a trainer, to be killed: python server_process.py PROJECT PORT. Says when it is ready."""

from __future__ import annotations

import json
import sys

from deepbass.label.project import Project
from deepbass.web.door import Door, listen
from deepbass.web.serve import Ready, serve


def say(ready: Ready) -> None:
    print(json.dumps({"url": ready.url}), flush=True)  # noqa: T201


if __name__ == "__main__":
    door = Door(port=int(sys.argv[2]))
    project = Project.open(sys.argv[1])
    idle = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    serve(project, project.open_items(), listen(door), door, annotator="ann", trainer=idle, on_ready=say)
