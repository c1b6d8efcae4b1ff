"""The trainer of a labelling project, a process of its own.

    python -m deepbass.session.trainer PROJECT [--data FOLDER]

It reads what people said from the project's journal and writes models below ``models/``; it never writes to the
journal and never waits for the page. What it does it says on standard output, one JSON object a line. It ends at once
when its standard input does, so that it never outlives the server; killed at any moment and started again it goes on
from its last commit.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from deepbass.core.errors import DeepBassError, WriteError
from deepbass.session.interrupt import term_like_ctrl_c
from deepbass.session.voice import Voice

_NICENESS = 10  # the page comes first


def main() -> None:
    """Train the project named on the command line."""
    prog = "python -m deepbass.session.trainer"
    parser = argparse.ArgumentParser(prog=prog, description="Train the model of a labelling project.")
    parser.add_argument("project", type=Path, help="its directory")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where files of named data sets lie")
    given = parser.parse_args()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    voice = Voice()
    try:
        with term_like_ctrl_c():
            _train(given.project, given.data, voice)
    except KeyboardInterrupt:
        sys.exit(130)
    except WriteError as error:
        voice.error(f"{error.what}: make room, and training goes on by itself.")
        sys.exit(2)
    except DeepBassError as error:
        voice.error(str(error))
        sys.exit(2)
    except Exception as error:
        voice.error(f"{type(error).__name__}: {error}")
        raise


def _train(path: Path, folder: Path | None, voice: Voice) -> None:
    # only now: loading torch takes seconds, which the page needs more at its start, and in which the parent may end
    from deepbass.label.journal import Journal
    from deepbass.label.project import Project
    from deepbass.learn.memory import keep_freed_memory
    from deepbass.session.project_trainer import Trainer

    keep_freed_memory()
    project = Project.open(path)
    with Journal.open(project.labels_db, mode="ro") as journal:
        Trainer(project, journal, voice, folder).go()


def _end_with_parent() -> None:
    with suppress(OSError):  # closed before it could be read
        while os.read(0, 4096):
            pass
    os._exit(0)  # at once: what counts is on the disk already


if __name__ == "__main__":
    main()
