"""Who is called while a run goes: a few methods, all of them optional, and each may end it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deepbass.core.config import Config
from deepbass.core.errors import ConfigError
from deepbass.core.loop import State, Stop


class Callback:
    """Override what is of interest. A run's metrics are those of `deepbass.Metrics`."""

    def on_start(self, config: Config) -> None:
        """Hear of all settings, before anything is trained."""

    def on_step(self, iteration: int, metrics: Mapping[str, Any]) -> str | None:
        """Hear of a finished iteration; 0 is the initial model. A text that is returned says why to stop."""
        return None

    def on_end(self, ended: str | None) -> None:
        """Hear why it is over."""


class EarlyStop(Callback):
    """Stop when a metric has not grown (or shrunk) for so many iterations."""

    def __init__(self, metric: str = "entropy_pool", *, patience: int = 10, grows: bool = False) -> None:
        """Watch a metric by its name; the pool's mean entropy shrinks while something is learned."""
        if patience < 1:
            raise ConfigError(f"patience = {patience} is too small: give 1 or more iterations.")
        self.metric, self.patience, self.grows = metric, patience, grows
        self.best: float | None = None
        self.since = 0

    def on_start(self, config: Config) -> None:
        """Begin anew."""
        self.best, self.since = None, 0

    def on_step(self, iteration: int, metrics: Mapping[str, Any]) -> str | None:
        """Compare with the best so far."""
        if self.metric not in metrics:
            known = ", ".join(metrics)
            raise ConfigError(f"There is no metric {self.metric!r} to stop by. There are: {known}.")
        value = metrics[self.metric]
        if value is None:
            return None
        if self.best is None or (value > self.best if self.grows else value < self.best):
            self.best, self.since = value, 0
            return None
        self.since += 1
        return f"{self.metric} was not better for {self.since} iterations" if self.since >= self.patience else None


class Callbacks:
    """Several callbacks as one, and what they said."""

    def __init__(self, callbacks: Sequence[Callback] | Callback | None) -> None:
        self._all = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or ())
        self._ended: str | None = None
        for callback in self._all:
            if not callable(getattr(callback, "on_step", None)):
                raise ConfigError(
                    f"callbacks: {callback!r} has no on_step(iteration, metrics): make it a deepbass.Callback."
                )

    def on_start(self, config: Config) -> None:
        """Tell all."""
        self._call("on_start", config)

    def on_step(self, iteration: int, metrics: Mapping[str, Any]) -> None:
        """Tell all, and remember the first that wants to stop."""
        for callback in self._all:
            said: object = callback.on_step(iteration, metrics)
            if said is not None and not isinstance(said, str):
                raise ConfigError(
                    f"on_step of {type(callback).__name__} returned {said!r}, which is neither None, to go on, nor a "
                    "text that says why to stop."
                )
            self._ended = self._ended or said

    def on_end(self, ended: str | None) -> None:
        """Tell all."""
        self._call("on_end", ended)

    def stop(self, rule: Stop) -> Stop:
        """Make a stop rule that also heeds the callbacks."""

        def stop(state: State) -> str | None:
            return self._ended or rule(state)

        return stop

    def _call(self, verb: str, value: object) -> None:
        for callback in self._all:
            if (method := getattr(callback, verb, None)) is not None:
                method(value)
