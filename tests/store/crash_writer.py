"""Go on with a run for ever, saying each committed iteration aloud; ``test_crashes`` kills it."""

import random
import sys

import numpy as np

from deepbass.core.labels import Answers
from deepbass.store import RunDir

with RunDir.open(sys.argv[1]) as run:
    steps = [row.iteration for row in run.events.steps()]
    done = run.checkpoints.newest(steps)[0].iteration if steps else -1
    run.events.rewind(done)
    while True:
        done += 1
        weights = random.randbytes(random.randrange(1, 200_000))
        run.checkpoints.save(done, {"model": weights, "state": str(done).encode()}, {"iteration": done})
        samples = np.array([2 * done, 2 * done + 1])
        run.events.commit_step(done, {"done": done}, {}, samples, Answers(samples, samples % 2), "simulated")
        sys.stdout.write(f"{done}\n")
        sys.stdout.flush()
