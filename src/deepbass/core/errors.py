"""The few errors that deepbass raises on purpose. Each says what, where, and what to do next."""


class DeepBassError(Exception):
    """A wrong call or bad input: the command prints the message and exits with code 2."""


class ConfigError(DeepBassError, ValueError):
    """A setting that is unknown, out of range, or at odds with another one."""


class DataError(DeepBassError, ValueError):
    """Samples or labels that cannot be used as they are."""


class NoDropoutError(DeepBassError):
    """A model whose Monte-Carlo passes are all the same."""


class StoreError(DeepBassError):
    """A run directory that cannot be made, read, locked or written."""


class InUseError(StoreError):
    """A directory that another process holds the lock of: it may be free in a moment."""


class WriteError(StoreError):
    """A disk that is full, read-only or broken. ``what`` happened and the ``advice`` are the same for all."""

    def __init__(self, what: str, advice: str, then: str) -> None:
        super().__init__(f"{what}: {advice}, {then}.")
        self.what = what
        self.advice = advice
