"""Which learner suits a model: a linear head is solved, another network trained, with a teacher or without."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.own_parts import OwnParts, check_built_in, name_of_part, quote
from deepbass.core.samples import Samples
from deepbass.learn.head_learner import HeadLearner
from deepbass.learn.heads import LinearHead
from deepbass.learn.learner import LocalLearner, OnProgress
from deepbass.learn.self_taught import SelfTaught
from deepbass.learn.teacher import TeacherLearner

MakeLearner = Callable[[nn.Module, Samples, int, Config, OnProgress, OwnParts], LocalLearner]


def _check_solved(config: Config) -> None:
    """Refuse settings of a training where there is none."""
    default = Config()
    for name in ("optimizer", "schedule", "loss"):
        if getattr(config, name) != getattr(default, name):
            raise ConfigError(
                f"{name} = {getattr(config, name)!r}: a linear head is not trained step by step but solved exactly. "
                f"Leave {name} out, or choose a network, as in model = 'mlp'."
            )


def learner_for(
    model: nn.Module,
    pool: Samples,
    classes: int,
    config: Config,
    on_progress: OnProgress = lambda what, share: None,
    own: OwnParts | None = None,
    features: Samples | None = None,
    places: SelfTaught | None = None,
) -> LocalLearner:
    """Make the learner that suits a model, or the user's own.

    ``features`` are what else can be seen of the same samples, for a head that advises a network (learn/advice.py), and
    ``places`` where they lie, for what their neighbours say (learn/second_opinion.py).
    """
    check_built_in(config, ("learner",), own)
    if own is not None and own.learner is not None:
        made = own.learner(model, pool, classes, config, on_progress, own)
        if not isinstance(made, LocalLearner):
            raise ConfigError(
                f"learner = {name_of_part(own.learner)} returned {quote(made)}, which is no deepbass.LocalLearner: "
                "give a subclass of it, or a function that makes one."
            )
        return made
    if isinstance(model, LinearHead):
        _check_solved(config)
        return HeadLearner(model, pool, classes, config, on_progress, own)
    if config.teacher:
        return TeacherLearner(model, pool, classes, config, on_progress, own, features, places)
    return LocalLearner(model, pool, classes, config, on_progress, own)
