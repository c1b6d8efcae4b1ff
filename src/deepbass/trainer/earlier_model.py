"""What the model before had learned, when its classes or its samples are no longer the project's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from deepbass.core.errors import StoreError
from deepbass.label.class_list import ClassList
from deepbass.label.ranking import Ranking
from deepbass.label.trained_models import class_ids
from deepbass.store.names import LEARNER_FILE, RANKING_FILE
from deepbass.store.rundir import RunDir

CARRIED_FROM = "carried_from"  # in the description of a run: the model whose learning it began with


@dataclass(frozen=True, eq=False)
class EarlierModel:
    """A model that was trained for other classes, or on other samples."""

    name: str  # of its run directory
    class_ids: tuple[int, ...]  # one per output of its network
    state: bytes  # its weights and optimiser, as the learner packed them
    ranking: Ranking
    fingerprint: str  # of its samples

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the newest committed state of a model; one that never had any was begun with that of another."""
        with RunDir.open(path, lock=False) as run_dir:
            steps = [row.iteration for row in run_dir.events.steps()]
            before = run_dir.about["data"].get(CARRIED_FROM)
            if steps:
                checkpoint, _ = run_dir.checkpoints.newest(steps)
                ranking = Ranking.unpack(checkpoint.files[RANKING_FILE])
                fingerprint = run_dir.about["data"]["fingerprint"]
                return cls(path.name, class_ids(run_dir.about), checkpoint.files[LEARNER_FILE], ranking, fingerprint)
        if before is None:
            raise StoreError(f"{path} holds no trained model.")
        return cls.read(path.with_name(before))

    def outputs_for(self, classes: ClassList) -> list[int | None]:
        """Tell which of its outputs each of today's classes goes on from; None: the class is new to it."""
        of_class: dict[int, int] = {}
        for output, class_ in enumerate(self.class_ids):
            now = classes.resolve(class_)
            if now is not None and (now == class_ or now not in of_class):  # a class's own before one merged into it
                of_class[now] = output
        return [of_class.get(class_) for class_ in classes.ids]
