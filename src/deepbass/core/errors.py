"""The few errors that deepbass raises on purpose. Each says what, where, and what to do next."""


class DeepBassError(Exception):
    """A wrong call or bad input: the command prints the message and exits with code 2."""


class ConfigError(DeepBassError):
    """A setting that is unknown, out of range, or at odds with another one."""


class DataError(DeepBassError):
    """Samples or labels that cannot be used as they are."""


class NoDropoutError(DeepBassError):
    """A model whose Monte-Carlo passes are all the same."""


class StoreError(DeepBassError):
    """A run directory that cannot be made, read, locked or written."""


class WriteError(StoreError):
    """A disk that is full or read-only. ``what`` happened is the same for all, what to do next is not."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}: {advice}.")
        self.what = what
