"""Oracles by the names that the configuration has for them."""

from __future__ import annotations

from collections.abc import Callable

from deepbass.core.config import PEOPLE, Config
from deepbass.core.errors import ConfigError
from deepbass.core.labels import Classes
from deepbass.core.loop import Oracle
from deepbass.oracle.replayed import Replayed
from deepbass.oracle.simulated import Simulated

# made from the configuration, the pool's labels, the number of classes and the fingerprint of the data
ORACLES: dict[str, Callable[[Config, Classes, int, str], Oracle]] = {
    "simulated": lambda config, truth, classes, fingerprint: Simulated(
        truth, classes, error_rate=config.oracle_error, seed=config.seed
    ),
    "replay": lambda config, truth, classes, fingerprint: Replayed.of_run(str(config.replay), fingerprint),
}


def oracle_by_name(config: Config, truth: Classes, classes: int, fingerprint: str) -> Oracle:
    """Make the configured oracle, or say why there is none of that name to be asked here."""
    if config.oracle in ORACLES:
        return ORACLES[config.oracle](config, truth, classes, fingerprint)
    if config.oracle == PEOPLE:
        raise ConfigError("oracle = 'people' is for the labelling page: `deepbass label SOURCE` opens it.")
    raise ConfigError(f"oracle = {config.oracle!r}: pass the oracle itself, as in deepbass.run(..., oracle=...).")
