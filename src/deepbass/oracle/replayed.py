"""An oracle that repeats what was said in an earlier run."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Self

import numpy as np

from deepbass.core.errors import ConfigError
from deepbass.core.labels import Answers, Ids
from deepbass.store import RunDir


class Replayed:
    """Answers with the last word of an earlier run on a sample; about any other sample it is silent."""

    def __init__(self, answers: Mapping[int, int]) -> None:
        self._answers = answers

    @classmethod
    def of_run(cls, path: str | PathLike[str], fingerprint: str) -> Self:
        """Read the answers of a run directory, which may be running, if it was made on the data of a fingerprint."""
        with RunDir.open(path, lock=False) as run:
            data = run.about["data"]
            if data.get("fingerprint") != fingerprint:
                raise ConfigError(
                    f"replay = {str(path)!r} was made on other data ({data.get('name')!r}, {data.get('samples')} "
                    "samples), so its answers do not fit. Use the same data and seed."
                )
            return cls(run.events.labels_now())

    def ask(self, ids: Ids) -> Answers:
        """Answer the questions whose answer is known."""
        known = [sample for sample in ids.tolist() if sample in self._answers]
        classes = [self._answers[sample] for sample in known]
        return Answers(np.array(known, dtype=np.int64), np.array(classes, dtype=np.int64))
