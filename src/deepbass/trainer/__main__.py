"""The trainer of a labelling project, a process of its own.

    python -m deepbass.trainer PROJECT [--data FOLDER] [--model FILE.py:FUNCTION] [--features FILE.py:FUNCTION]
                               [--ray ADDRESS] [--workers N]

It reads what people said from the project's journal and writes models below ``models/``; it never writes to the
journal and never waits for the page. What it does it says on standard output, one JSON object per line. It ends at once
when its standard input does, so that it never outlives the server; killed at any moment and started again it goes on
from its last commit.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deepbass.core.errors import DeepBassError, WriteError
from deepbass.runs.interrupt import term_like_ctrl_c
from deepbass.store import child
from deepbass.trainer.status_writer import StatusWriter

_NICENESS = 10  # the page comes first


def main() -> None:
    """Train the project named on the command line."""
    prog = "python -m deepbass.trainer"
    parser = argparse.ArgumentParser(prog=prog, description="Train the model of a labelling project.")
    parser.add_argument("project", type=Path, help="its directory")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where files of named data sets lie")
    parser.add_argument("--model", help="a model of one's own, which is never run because the project names it")
    parser.add_argument("--features", help="features of one's own, for which the same holds")
    parser.add_argument("--ray", metavar="ADDRESS", help="a Ray cluster to compute on; local: one of this machine")
    parser.add_argument("--workers", type=int, metavar="N", help="of the cluster")
    given = parser.parse_args()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    child.begin()
    status = StatusWriter()
    try:
        with term_like_ctrl_c(), _computed_on(given.ray, given.workers, status):
            _train(given.project, given.data, given.model, given.features, status)
    except KeyboardInterrupt:
        sys.exit(child.INTERRUPTED)
    except WriteError as error:
        status.error(f"{error.what}: {error.advice}, and training goes on by itself.")
        sys.exit(2)
    except DeepBassError as error:
        status.error(str(error))
        sys.exit(2)
    except Exception as error:
        status.error(f"{type(error).__name__}: {error}")
        raise


@contextmanager
def _computed_on(address: str | None, workers: int | None, status: StatusWriter) -> Iterator[None]:
    """Have networks trained and features computed on a cluster, if one was named."""
    if address is None:
        yield
        return
    from deepbass.cluster.feature_tasks import features_on
    from deepbass.cluster.run_on_ray import on_ray

    status.doing("joining the cluster")
    with on_ray(address, workers, on_note=status.note) as there, features_on(there.cluster, beside=True):
        yield


def _train(path: Path, folder: Path | None, model: str | None, features: str | None, status: StatusWriter) -> None:
    # only now: loading torch takes seconds, which the page needs more at its start, and in which the parent may end
    from deepbass.label.journal import Journal
    from deepbass.label.project import Project
    from deepbass.learn.memory import keep_freed_memory
    from deepbass.trainer.trainer import Trainer

    keep_freed_memory()
    project = Project.open(path)
    with Journal.open(project.labels_db, mode="ro") as journal:
        Trainer(project, journal, status, folder, model, features).go()


if __name__ == "__main__":
    main()
