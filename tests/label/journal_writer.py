"""Write groups of acts for ever, saying each aloud after its commit; ``test_journal_kill`` kills it.

For every line it reads, a new process begins (a fork: starting Python anew takes a hundred times as long as a kill).
"""

import os
import random
import sys
from pathlib import Path

from deepbass.label.acts import NewAct
from deepbass.label.journal import Journal
from deepbass.label.leases import Lease


def write(file: Path, round_: int) -> None:
    """Write without end."""
    rng = random.Random(round_)
    number = 0
    with Journal.open(file) as journal:
        while True:
            acts = []
            for _ in range(rng.randrange(1, 12)):
                uid, number = f"{round_}-{number}", number + 1
                acts.append(NewAct(uid, number % 100, "label", "ann", "rank", number % 3, seconds=1.0))
            if rng.random() < 0.3:
                last = acts[-1]
                acts.append(NewAct(f"{last.uid}-undo", last.item, "undo", "ann", "rank", undoes=last.uid))
            if rng.random() < 0.3:
                journal.save_leases({item: Lease(item, "ann", "rank", 1.0) for item in rng.sample(range(100), 4)})
            journal.write(acts)
            say("".join(f"{act.uid} {act.item} {act.class_} {act.undoes}\n" for act in acts))


def say(words: str) -> None:
    """Write to the pipe at once: so few bytes arrive whole or not at all."""
    os.write(sys.stdout.fileno(), words.encode())


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        write(Path(sys.argv[1]), int(line))
    say(f"began {child}\n")
    os.waitpid(child, 0)
    say("ended\n")
