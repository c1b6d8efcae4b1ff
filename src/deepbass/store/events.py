"""What happened in a run, as rows that are only ever added: questions, answers, steps."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepbass.core.errors import StoreError
from deepbass.core.labels import UNKNOWN, Answers, Classes, Ids
from deepbass.store.event_rows import INITIAL, AnswerRow, Description, QuestionRow, StepRow
from deepbass.store.run_database import RUN_DB, not_written
from deepbass.store.sqlite import Mode, connect, explained
from deepbass.store.write_errors import now


class Events:
    """The rows of one run. Any number of processes may read them while one trains."""

    def __init__(self, path: Path, mode: Mode = "rw") -> None:
        self.path = path
        self._db = connect(path, mode, RUN_DB)

    def close(self) -> None:
        """Close the database; SQLite then folds its -wal file back into it."""
        self._db.close()

    # what the training process writes

    def add_initial(self, ids: Ids, classes: Classes, source: str = INITIAL) -> None:
        """Write down the labels that are known at the start, as answers of iteration 0."""
        with self._writing("initial labels") as db:
            _add_answers(db, Answers(ids, classes), source, 0)

    def commit_step(
        self,
        iteration: int,
        metrics: Mapping[str, object],
        seconds: Mapping[str, float],
        asked: Ids,
        answers: Answers,
        source: str,
    ) -> None:
        """Write down a finished iteration in one transaction: when this returns, the iteration counts.

        ``source`` says who gave the answers.
        """
        with self._writing(f"iteration {iteration}") as db:
            (last,) = db.execute("SELECT max(iteration) FROM live_steps").fetchone()
            if last is not None and iteration <= last:
                raise StoreError(
                    f"Cannot commit iteration {iteration} in {self.path}: iteration {last} is committed already. "
                    f"Rewind to iteration {iteration - 1} first."
                )
            _add_questions(db, asked, iteration)
            _add_answers(db, answers, source, iteration)
            db.execute(
                "INSERT INTO steps (iteration, metrics, seconds, at) VALUES (?, ?, ?, ?)",
                (iteration, _to_json(metrics), _to_json(seconds), now()),
            )

    def rewind(self, iteration: int) -> None:
        """Abandon what was written in later iterations."""
        with self._writing(f"the return to iteration {iteration}") as db:
            db.execute(
                "INSERT INTO rewinds (iteration, questions_until, answers_until, steps_until, at) VALUES (?, "
                "(SELECT ifnull(max(id), 0) FROM questions), (SELECT ifnull(max(id), 0) FROM answers), "
                "(SELECT ifnull(max(id), 0) FROM steps), ?)",
                (iteration, now()),
            )

    def describe(self, sample: int, name: str, picture: NDArray[np.uint8] | None) -> None:
        """Keep what a sample looks like, so that the run can be shown without its data."""
        self.describe_many([(sample, name, picture)])

    def describe_many(self, samples: Iterable[tuple[int, str, NDArray[np.uint8] | None]]) -> None:
        """Keep what samples look like, in one transaction; those already described stay as they are."""
        rows = [(int(sample), name, None if picture is None else _to_npy(picture)) for sample, name, picture in samples]
        with self._writing("what samples look like") as db:
            db.executemany("INSERT INTO samples VALUES (?, ?, ?) ON CONFLICT (sample) DO NOTHING", rows)

    # what everybody reads

    def questions(self) -> list[QuestionRow]:
        """List what was asked, in order."""
        return [QuestionRow(*row) for row in self._rows("id, sample, iteration, at FROM live_questions ORDER BY id")]

    def answers(self) -> list[AnswerRow]:
        """List what was said, in order."""
        columns = "id, sample, class, source, iteration, at"
        return [AnswerRow(*row) for row in self._rows(f"{columns} FROM live_answers ORDER BY id")]

    def steps(self) -> list[StepRow]:
        """List the finished iterations."""
        return [
            StepRow.of(*row) for row in self._rows("iteration, metrics, seconds, at FROM live_steps ORDER BY iteration")
        ]

    def labels_now(self) -> dict[int, int]:
        """Fold the answers: the last word on each sample; samples whose answer was taken back are absent."""
        last_word = {row.sample: row.class_ for row in self.answers()}
        return {sample: class_ for sample, class_ in last_word.items() if class_ != UNKNOWN}

    def descriptions(self) -> dict[int, Description]:
        """Look up what samples look like."""
        rows = self._rows("sample, name, picture FROM samples ORDER BY sample")
        return {sample: Description.of(name, picture) for sample, name, picture in rows}

    def _rows(self, select: str) -> list[tuple[Any, ...]]:
        with explained(self.path, "read", RUN_DB):
            return self._db.execute(f"SELECT {select}").fetchall()

    @contextmanager
    def _writing(self, what: str) -> Iterator[sqlite3.Connection]:
        """Open the one transaction in which ``what`` is written: all of it or nothing."""
        doing = f"write {what}"
        failed = partial(not_written, doing, self.path.parent, self._db)
        with explained(self.path, doing, RUN_DB, failed), self._db:  # commits, or rolls back on any error
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db


def _add_answers(db: sqlite3.Connection, answers: Answers, source: str, iteration: int) -> None:
    pairs = zip(np.asarray(answers.ids).tolist(), np.asarray(answers.classes).tolist(), strict=True)
    at = now()
    db.executemany(
        "INSERT INTO answers (sample, class, source, iteration, at) VALUES (?, ?, ?, ?, ?)",
        [(sample, class_, source, iteration, at) for sample, class_ in pairs],
    )


def _add_questions(db: sqlite3.Connection, ids: Ids, iteration: int) -> None:
    at = now()
    db.executemany(
        "INSERT INTO questions (sample, iteration, at) VALUES (?, ?, ?)",
        [(sample, iteration, at) for sample in np.asarray(ids).tolist()],
    )


def _to_json(numbers: Mapping[str, object]) -> str:
    """Write numbers so that floats come back bit for bit; JSON has no word for NaN and infinity but null."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in numbers.items()
    }
    return json.dumps(finite, allow_nan=False)


def _to_npy(picture: NDArray[np.uint8]) -> bytes:
    buffer = BytesIO()
    np.save(buffer, picture, allow_pickle=False)
    return buffer.getvalue()
