"""Signal 9 at any moment: every acknowledged answer is there, once. DEEPBASS_KILLS=300 makes it last longer."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from deepbass.label.acts import NewAct
from deepbass.label.journal import Journal
from deepbass.label.ledger import Ledger
from deepbass.store.names import PROJECT_DB_FILE

KILLS = int(os.environ.get("DEEPBASS_KILLS", "60"))
WRITER = Path(__file__).with_name("journal_writer.py")


def kill_at_a_random_moment(writers: subprocess.Popen[str], round_: int, rng: random.Random) -> list[NewAct]:
    """Let a writer go on for a while, kill it, and return the acts that it acknowledged."""
    assert writers.stdin is not None
    assert writers.stdout is not None
    writers.stdin.write(f"{round_}\n")
    writers.stdin.flush()
    said: list[str] = []
    pid = None
    wanted = rng.randrange(1, 30)
    while pid is None or len(said) < wanted:
        line = writers.stdout.readline()
        assert line, "the writer ended by itself"
        if line.startswith("began"):
            pid = int(line.split()[1])
        else:
            said.append(line)
    time.sleep(rng.uniform(0, 0.02))  # a commit takes some milliseconds
    os.kill(pid, signal.SIGKILL)
    while (line := writers.stdout.readline()) != "ended\n":
        assert line, "the writer ended by itself"
        said.append(line)
    return [to_act(line) for line in said]


def to_act(line: str) -> NewAct:
    uid, item, class_, undoes = line.split()
    if undoes != "None":
        return NewAct(uid, int(item), "undo", "ann", "rank", undoes=undoes)
    return NewAct(uid, int(item), "label", "ann", "rank", int(class_), seconds=1.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_acknowledged_answer_is_ever_lost_to_a_kill_or_there_twice(tmp_path: Path) -> None:
    path = tmp_path / PROJECT_DB_FILE
    Journal.create(path, [f"{number}.png" for number in range(100)], ["a", "b", "c"]).close()
    acknowledged: list[NewAct] = []
    rng = random.Random(0)
    words = [sys.executable, str(WRITER), str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writers:
        for round_ in range(KILLS):
            acknowledged += kill_at_a_random_moment(writers, round_, rng)
    assert len(acknowledged) >= KILLS

    with Journal.open(path) as journal:
        acts = journal.acts()
        times = Counter(act.uid for act in acts)
        assert max(times.values()) == 1
        assert {act.uid for act in acknowledged} <= times.keys()
        assert [act.id for act in acts] == list(range(1, len(acts) + 1))

        again = journal.write(acknowledged)  # as a page does that never heard of the acknowledgement
        by_uid = {act.uid: act for act in acts}
        assert again == [by_uid[act.uid] for act in acknowledged]
        assert journal.acts() == acts
        assert Ledger.of(acts).last == len(acts)
    other = sqlite3.connect(path)
    assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    other.close()
