"""One thread a test process: tests run side by side, and small networks are slower on more."""

from __future__ import annotations

import os

import torch
from hypothesis import settings

os.environ["OMP_NUM_THREADS"] = "1"  # for the commands that tests start
os.environ["DEEPBASS_IMAGE_CACHE"] = "0"  # tests leave the user's cache alone; those of the cache have one of their own
torch.set_num_threads(1)

settings.register_profile("deepbass", deadline=None)  # a busy machine is not a failing test
settings.load_profile("deepbass")
