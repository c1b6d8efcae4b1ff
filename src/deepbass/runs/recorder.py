"""A run written down: what it is, then iteration after iteration, and taken up again after a stop or a kill.

Runs and the labelling page's models are recorded alike. The checkpoint comes first, then the commit that makes it
count, so that a kill in between loses the iteration under way and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Self

from deepbass.core.config import Config
from deepbass.core.labels import Answers, Ids, Labels
from deepbass.core.loop import State
from deepbass.data.pool import Pool
from deepbass.features.extractor import Extractor
from deepbass.features.saved_extractor import pack_extractor
from deepbass.files import replace_file
from deepbass.learn.learner import LocalLearner
from deepbass.learn.models import parameters
from deepbass.runs.identity import versions
from deepbass.runs.interrupt import uninterrupted
from deepbass.runs.packing import pack_labels, unpack_labels
from deepbass.store.checkpoints import Checkpoint
from deepbass.store.names import FEATURES_FILE, LABELS_FILE, LEARNER_FILE
from deepbass.store.rundir import RunDir


class Recorder:
    """An open run directory, the learner whose run it is, and the last state that was committed."""

    def __init__(self, run_dir: RunDir, learner: LocalLearner) -> None:
        self.run_dir = run_dir
        self.classes: tuple[str, ...] = tuple(run_dir.about["data"]["classes"])
        self.state = State(Labels.none(run_dir.about["data"]["samples"], len(self.classes)))
        self._learner = learner

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        config: Config,
        learner: LocalLearner,
        *,
        name: str,
        source: str | None,
        pool: Pool,
        classes: Sequence[str],
        fingerprint: str,
        validation: int = 0,
        notes: Sequence[str] = (),
        more: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a run directory and write down all that a resume and a report need to know, and ``more`` beside it."""
        described: dict[str, Any] = {
            "name": name,
            "source": source,
            "samples": len(pool),
            "shape": list(pool.shape),
            "pixels": bool(pool.pixels),  # whether samples are bytes, which are divided by 256
            "classes": list(classes),
            "validation": validation,
            "notes": list(notes),
            "parameters": parameters(learner.model),
            "fingerprint": fingerprint,
            **(more or {}),
        }
        made_with = {**versions(), "engine": learner.engine}
        run_dir = RunDir.create(
            path, config=config.as_dict(), data=described, versions=made_with, keep=config.keep_checkpoints
        )
        return cls(run_dir, learner)

    def keep_extractor(self, extractor: Extractor | None) -> None:
        """Keep what it takes to compute the samples' features elsewhere, unless it is there; None: there are none."""
        file = self.run_dir.path / FEATURES_FILE
        if extractor is not None and not file.exists():
            replace_file(file, pack_extractor(extractor))

    def commit(
        self,
        state: State,
        metrics: Mapping[str, object],
        asked: Ids,
        answers: Answers,
        source: str,
        *,
        items: Ids | None = None,
        files: Mapping[str, bytes] | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> float:
        """Make a finished iteration count, and return the seconds that it took, saving included.

        ``source`` says who gave the answers; ``items`` who the rows are outside, where that is not their number;
        ``files`` and ``info`` are what else belongs to the checkpoint.
        """
        seconds = dict(self._learner.seconds)
        self._learner.seconds.clear()
        start = time.perf_counter()
        labels = pack_labels(state.labels, items, state.guesses)
        packed = {LEARNER_FILE: self._learner.state(), LABELS_FILE: labels, **(files or {})}
        with uninterrupted():
            self.run_dir.checkpoints.save(state.iteration, packed, info or {})
            self.run_dir.events.commit_step(state.iteration, metrics, seconds, asked, answers, source)
            self.state = state
        saving = time.perf_counter() - start
        self._learner.seconds["save"] += saving  # counted with the next iteration
        return sum(seconds.values()) - seconds.get("save", 0.0) + saving

    def take_up(self, on_note: Callable[[str], None]) -> Checkpoint | None:
        """Go back to the newest whole checkpoint that counts, and return it; None where nothing was committed yet."""
        before = self.run_dir.about["versions"].get("engine", self._learner.engine)
        if before != self._learner.engine:
            on_note(
                f"{self.run_dir.path} was started with the engine {before!r} and goes on with "
                f"{self._learner.engine!r}: rounding and dropout masks differ from here on."
            )
        events = self.run_dir.events
        steps = [row.iteration for row in events.steps()]
        if not steps:  # killed before the initial model was done
            return None
        checkpoint, passed_over = self.run_dir.checkpoints.newest(steps)
        for damaged in passed_over:
            on_note(f"{damaged} Going on from iteration {checkpoint.iteration}.")
        events.rewind(checkpoint.iteration)  # what was written beyond it will be written again
        self._learner.restore(checkpoint.files[LEARNER_FILE])
        labels, guesses = unpack_labels(checkpoint.files[LABELS_FILE], len(self.classes))
        self.state = State(labels, checkpoint.iteration, guesses=guesses)
        return checkpoint

    def close(self) -> None:
        """Let go of the run directory."""
        self.run_dir.close()
