"""Guard foreign decoders: on damaged bytes they may raise anything, but users are told what, where, and what next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from deepbass.core.errors import DeepBassError

LONGEST = 200  # characters of a decoder's own words: some quote the whole of a damaged file


def decoding(
    where: object, what: str, advice: str, error: type[DeepBassError]
) -> AbstractContextManager[None, bool | None]:
    """Turn whatever the body raises into an ``error`` that says which file is not a readable ``what``, and why."""
    return guarded(lambda cause: error(f"{where} is not a readable {what} ({reason_of(cause)}). {advice}"))


@contextmanager
def guarded(refuse: Callable[[Exception], DeepBassError]) -> Iterator[None]:
    """Turn whatever a foreign decoder raises, running out of memory or of stack included, into what ``refuse`` makes.

    Our own errors pass, and so does what is no error, such as Ctrl+C.
    """
    try:
        yield
    except DeepBassError:
        raise
    except Exception as cause:
        raise refuse(cause) from cause


def reason_of(cause: BaseException) -> str:
    """Tell an error in one short line that can be printed anywhere."""
    words = cause.strerror if isinstance(cause, OSError) else None  # without the path, which is named already
    return excerpt(words or str(cause)) or type(cause).__name__


def excerpt(text: str) -> str:
    """Shorten foreign text to one line: what cannot be printed is escaped, what is long is cut."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text[: 4 * LONGEST].split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
