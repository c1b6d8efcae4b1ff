"""What is left to `make slow`: it proves again, dearly, what a test of `make test` proves, or it takes minutes.

Such a test is marked with ``pytest.mark.slow``; tests/conftest.py skips it unless DEEPBASS_SLOW=1.
"""

from __future__ import annotations

import os

SLOW = os.environ.get("DEEPBASS_SLOW") == "1"
