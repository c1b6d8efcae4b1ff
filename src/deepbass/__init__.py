"""deepbass: the most model from the fewest labels, and the truth about what it is worth."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepbass.api import load as load
    from deepbass.api import load_model as load_model
    from deepbass.api import resume as resume
    from deepbass.api import run as run
    from deepbass.cluster.run_on_ray import on_ray as on_ray
    from deepbass.core.acquire import Acquire as Acquire
    from deepbass.core.admit import Admit as Admit
    from deepbass.core.belief import Belief as Belief
    from deepbass.core.callbacks import Callback as Callback
    from deepbass.core.callbacks import EarlyStop as EarlyStop
    from deepbass.core.config import Config as Config
    from deepbass.core.errors import DeepBassError as DeepBassError
    from deepbass.core.labels import Answers as Answers
    from deepbass.core.labels import Labels as Labels
    from deepbass.core.loop import Learner as Learner
    from deepbass.core.loop import Oracle as Oracle
    from deepbass.core.loop import State as State
    from deepbass.estimator import DeepBASSClassifier as DeepBASSClassifier
    from deepbass.learn.add_dropout import with_dropout as with_dropout
    from deepbass.learn.learner import LocalLearner as LocalLearner
    from deepbass.report.page import write_report as write_report
    from deepbass.runs.lifecycle import Result as Result
    from deepbass.runs.lifecycle import Watch as Watch
    from deepbass.runs.measure import Metrics as Metrics
    from deepbass.session import Session as Session
    from deepbass.writers import MLflowWriter as MLflowWriter
    from deepbass.writers import TensorBoardWriter as TensorBoardWriter

__version__ = "0.1.0"

_HOMES = {
    # what to call
    "run": "deepbass.api",
    "resume": "deepbass.api",
    "load": "deepbass.api",
    "load_model": "deepbass.api",
    "write_report": "deepbass.report.page",
    "DeepBASSClassifier": "deepbass.estimator",
    "Session": "deepbass.session",
    "with_dropout": "deepbass.learn.add_dropout",
    "on_ray": "deepbass.cluster.run_on_ray",
    # what they take and return
    "Config": "deepbass.core.config",
    "Result": "deepbass.runs.lifecycle",
    "Metrics": "deepbass.runs.measure",
    "Watch": "deepbass.runs.lifecycle",
    "Callback": "deepbass.core.callbacks",
    "EarlyStop": "deepbass.core.callbacks",
    "TensorBoardWriter": "deepbass.writers",
    "MLflowWriter": "deepbass.writers",
    "DeepBassError": "deepbass.core.errors",
    # what oracles and rules of one's own are written with
    "Oracle": "deepbass.core.loop",
    "Answers": "deepbass.core.labels",
    "Labels": "deepbass.core.labels",
    "Belief": "deepbass.core.belief",
    "Acquire": "deepbass.core.acquire",
    "Admit": "deepbass.core.admit",
    "State": "deepbass.core.loop",
    "Learner": "deepbass.core.loop",
    "LocalLearner": "deepbass.learn.learner",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (names from the table above)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import deepbass` itself does not import torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'deepbass' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
