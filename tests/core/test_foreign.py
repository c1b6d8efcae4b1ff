"""Laws of the guard around foreign decoders: whatever they raise becomes an error of ours, and nothing else does."""

from __future__ import annotations

import pytest

from deepbass.core.errors import ConfigError, DataError, StoreError
from deepbass.core.foreign import LONGEST, decoding, excerpt


def read(raised: BaseException) -> None:
    with decoding("some/file.x", "list of numbers", "Write it again.", DataError):
        raise raised


@pytest.mark.parametrize(
    "raised", [ValueError("odd"), RecursionError("odd"), MemoryError("odd"), OSError(5, "odd"), StopIteration("odd")]
)
def test_whatever_a_decoder_raises_is_told_with_what_where_and_what_next(raised: Exception) -> None:
    with pytest.raises(DataError) as caught:
        read(raised)
    assert str(caught.value) == "some/file.x is not a readable list of numbers (odd). Write it again."
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize("raised", [ConfigError("ours"), StoreError("ours"), KeyboardInterrupt(), SystemExit()])
def test_our_own_errors_and_what_is_no_error_pass(raised: BaseException) -> None:
    with pytest.raises(type(raised)) as caught:
        read(raised)
    assert caught.value is raised


def test_a_decoder_without_words_is_told_by_what_it_raised() -> None:
    with pytest.raises(DataError, match=r"\(MemoryError\)"):
        read(MemoryError())


def test_foreign_words_fit_on_a_line_and_can_be_printed() -> None:
    said = excerpt("a\n b\0\ud800\x1b[2J" + "9" * 5000)
    assert said.startswith("a b\\x00\\ud800\\x1b[2J999")
    assert len(said) == LONGEST + 3
    assert said.isprintable()
    assert said.encode()
