"""What holds for all tests: one thread per process, no cache of the user's, signals that are heard, a last line."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

from tests.chromium import HOW, MISSING
from tests.slow import SLOW

# before torch is loaded: tests run side by side, and small networks are slower on more threads than one
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["DEEPBASS_IMAGE_CACHE"] = "0"  # tests leave the user's cache alone; those of the cache have one of their own
os.environ["DEEPBASS_FEATURE_CACHE"] = "0"
# tests wait for its workers, which would let everybody else go first
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A background job of a script ignores Ctrl-C, and so would all that it starts. It still does, by a handler: that
    # is not inherited, so that the commands that tests start hear of Ctrl-C, as they would from a terminal.
    signal.signal(signal.SIGINT, lambda number, frame: None)

settings.register_profile("deepbass", deadline=None)  # a busy machine is not a failing test
settings.load_profile("deepbass")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what `make slow` runs, and say so."""
    for item in items:
        if item.get_closest_marker("slow") and not SLOW:
            item.add_marker(pytest.mark.skip(reason="a part of make slow"))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the very last line, after the count of what passed, if the tests of the page had no browser."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    left_out = sum(MISSING in str(report.longrepr) for report in reporter.stats.get("skipped", []))
    if left_out:
        reporter.write_line(
            f"{left_out} tests in a browser did NOT run, there is {MISSING}: {HOW}", yellow=True, bold=True
        )
