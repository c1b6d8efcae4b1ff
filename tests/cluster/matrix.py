"""Run as a script: the tiny matrix on a cluster of this machine, or on one that is named.

python -m tests.cluster.matrix FOLDER ITERATIONS [ADDRESS]
"""

from __future__ import annotations

import sys
from pathlib import Path

from deepbass.bench.results import Results
from deepbass.bench.runner import run_matrix
from deepbass.cluster.connection import connected
from deepbass.runs.interrupt import term_like_ctrl_c
from tests.bench.tiny import matrix

if __name__ == "__main__":
    folder, iterations, *address = sys.argv[1:]
    try:
        with term_like_ctrl_c(), connected(address[0] if address else None, 2) as cluster:
            run_matrix(matrix(int(iterations)), Results.make(Path(folder)), workers=2, cluster=cluster)
    except KeyboardInterrupt:
        sys.exit(130)
