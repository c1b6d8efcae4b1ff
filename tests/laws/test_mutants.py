"""Whatever is in a file, reading it returns or raises an error of ours, soon and in little memory."""

from __future__ import annotations

import os
import random
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from deepbass.core.errors import DeepBassError
from tests.laws.data_files import DATA_FILES, Kind
from tests.laws.mutate import mutate
from tests.laws.stored_files import STORED_FILES, make_finished

MUTANTS = int(os.environ.get("DEEPBASS_MUTANTS", "300"))  # of all kinds together
SECONDS = 10.0  # of computing that one file may take
BYTES = 1 << 30  # that the memory in use may grow by


def mutant(kind: Kind, rng: random.Random) -> bytes:
    whole = rng.choice(kind.whole)
    if kind.pack is None:
        return mutate(whole, rng, kind.mutators)
    if not kind.outside or rng.random() < 0.5:
        return kind.pack(mutate(whole, rng, kind.mutators))
    return mutate(kind.pack(whole), rng, kind.mutators)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_finished(tmp_path_factory.mktemp("finished") / "run")


@pytest.mark.parametrize("name", DATA_FILES)
def test_a_damaged_source_of_samples_is_read_or_refused_and_nothing_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(name, DATA_FILES[name](tmp_path, monkeypatch))


@pytest.mark.parametrize("name", STORED_FILES)
def test_a_damaged_file_of_ours_is_read_or_refused_and_nothing_else(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    check(name, STORED_FILES[name](tmp_path, request))


def check(name: str, kind: Kind) -> None:
    for whole in kind.whole:
        kind.path.write_bytes(kind.pack(whole) if kind.pack else whole)
        kind.read()  # what is whole is read
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(max(1, MUTANTS // (len(DATA_FILES) + len(STORED_FILES)))):
        content = mutant(kind, random.Random(f"{name} {number}"))
        kind.path.write_bytes(content)
        begin = time.process_time()
        try:
            with suppress(DeepBassError):
                kind.read()
        except Exception as error:
            error.add_note(f"mutant {number} of {name}: {content[:200]!r}")
            raise
        taken = time.process_time() - begin
        assert taken < SECONDS, f"mutant {number} of {name} took {taken:.1f} s: {content[:200]!r}"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1 if sys.platform == "darwin" else 1024)
    assert grown < BYTES
