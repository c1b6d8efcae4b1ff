"""deepbass: label a few hundred samples and get the model that labelling everything would have given."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepbass.core.config import Config as Config
    from deepbass.core.errors import DeepBassError as DeepBassError
    from deepbass.core.labels import Answers as Answers
    from deepbass.core.labels import Labels as Labels
    from deepbass.report.page import write_report as write_report
    from deepbass.session.api import load_model as load_model
    from deepbass.session.api import resume as resume
    from deepbass.session.api import run as run
    from deepbass.session.session import Result as Result
    from deepbass.session.session import Watch as Watch

__version__ = "0.1.0"

_HOMES = {
    "Answers": "deepbass.core.labels",
    "Config": "deepbass.core.config",
    "DeepBassError": "deepbass.core.errors",
    "Labels": "deepbass.core.labels",
    "Result": "deepbass.session.session",
    "Watch": "deepbass.session.session",
    "load_model": "deepbass.session.api",
    "resume": "deepbass.session.api",
    "run": "deepbass.session.api",
    "write_report": "deepbass.report.page",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (names from the table above)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import deepbass` itself does not import torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'deepbass' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
