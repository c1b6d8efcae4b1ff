"""One thread a test process: tests run side by side, and small networks are slower on more."""

from __future__ import annotations

import os

import torch
from hypothesis import settings

os.environ["OMP_NUM_THREADS"] = "1"  # for the commands that tests start
torch.set_num_threads(1)

settings.register_profile("deepbass", deadline=None)  # a busy machine is not a failing test
settings.load_profile("deepbass")
