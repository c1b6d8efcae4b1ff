"""How a labelling project goes: what people may choose when they begin it, and mostly change later."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from deepbass.core.config import Config, one_of
from deepbass.core.errors import ConfigError

AUTO = "auto"
MOST_AHEAD = 200  # questions that a page can hold
_NOT_IN_CONFIG = ("acquire", "admit", "seed")  # they have a field of their own


@dataclass(frozen=True)
class Columns:
    """Columns of a table: what is learned from, what is known already, and what people see."""

    text: str | None = None  # that holds the texts; None: a row is the sample
    target: str | None = None  # that holds labels
    show: tuple[str, ...] = ()
    id: str | None = None  # that names the rows; None: their numbers do


@dataclass(frozen=True)
class Settings:
    """Wrong values are refused here, not deep in a project."""

    target_error: float | None = 0.02  # share of wrong guesses that is good enough; None: no target
    audit: float = 0.10  # share of the questions that are drawn at random, to measure the error with
    twice: float = 0.0  # share of the answered items that a second person is asked about as well
    lease_seconds: float = 600  # how long an item stays with whom it was handed out to
    ahead: int = 6  # questions that a page holds, the one it shows among them: what one can answer without a server
    start_with: int = 3  # labels of every class before training starts
    acquire: str = AUTO  # which samples the model asks for; auto: what suits what the network sees of them
    admit: str = AUTO  # which of its guesses are trained on; auto likewise
    seed: int = 0  # every random draw derives from it; fixed once the project is made, and drawn then if none is given
    show: list[str] = field(default_factory=list)  # columns that people see: beside a text, or of a row (none: all)
    config: dict[str, Any] = field(default_factory=dict)  # other fields of Config, for the trainer

    def __post_init__(self) -> None:
        if self.target_error is not None:
            _check("target_error", self.target_error, 0 < _number("target_error", self.target_error) < 1, "2%")
        _check("audit", self.audit, 0 <= _number("audit", self.audit) < 1, "10%")
        _check("twice", self.twice, 0 <= _number("twice", self.twice) <= 1, "5%")
        if not 0 < _number("lease_seconds", self.lease_seconds) < float("inf"):
            raise ConfigError(f"lease_seconds = {self.lease_seconds} must be above 0, as in 600.")
        if not isinstance(self.ahead, int) or isinstance(self.ahead, bool) or not 2 <= self.ahead <= MOST_AHEAD:
            raise ConfigError(f"ahead = {self.ahead!r} must be a whole number from 2 to {MOST_AHEAD}.")
        for name, least in (("start_with", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"{name} = {value!r} must be a whole number, {least} or more.")
        if not isinstance(self.show, list) or not all(isinstance(name, str) and name for name in self.show):
            raise ConfigError(f"show = {self.show!r} must be a list of columns.")
        if not isinstance(self.config, dict):
            raise ConfigError(f"config = {self.config!r} must be a table of settings.")
        for name in self.config:
            if name.replace("-", "_") in _NOT_IN_CONFIG:
                raise ConfigError(f"config has {name} = {self.config[name]!r}: set it beside config, not in it.")
        self.to_config()

    @property
    def columns(self) -> Columns:
        """Tell which columns of a table the source's samples are made of."""
        config = self.to_config()
        return Columns(config.text, config.target, tuple(self.show), config.id)

    def to_config(self) -> Config:
        """Make the configuration of a run with these settings; unknown or wrong ones are refused by name."""
        for name in ("acquire", "admit"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} = {getattr(self, name)!r} must be a name.")
        chosen = {name: getattr(self, name) for name in ("acquire", "admit") if getattr(self, name) != AUTO}
        return Config.of({**self.config, **chosen, "seed": self.seed})

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Settings:
        """Make settings from names and values, as in project.json."""
        known = [each.name for each in fields(cls)]
        for name in settings:
            one_of("setting", name, known)
        return cls(**settings)

    def as_dict(self) -> dict[str, Any]:
        """List all fields, ready for JSON."""
        return asdict(self)


def drawn_seed() -> int:
    """Draw a seed for a project: with one for all, an unlucky draw of audit images would be everybody's."""
    return secrets.randbelow(2**31)


def _number(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ConfigError(f"{name} = {value!r} must be a number.")


def _check(name: str, value: float, is_right: bool, example: str) -> None:
    if not is_right:
        raise ConfigError(f"{name} = {value} must be a share of 1, as in {float(example[:-1]) / 100:g} or {example}.")
