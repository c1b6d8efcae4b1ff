"""What lasts: a run directory with its SQLite file and checkpoints."""

from deepbass.store.checkpoints import Checkpoint, Checkpoints
from deepbass.store.event_rows import AnswerRow, Description, QuestionRow, StepRow
from deepbass.store.events import Events
from deepbass.store.rundir import FORMAT, RunDir

__all__ = [
    "FORMAT",
    "AnswerRow",
    "Checkpoint",
    "Checkpoints",
    "Description",
    "Events",
    "QuestionRow",
    "RunDir",
    "StepRow",
]
