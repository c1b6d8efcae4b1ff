"""Who answers: simulated, replayed, people. Each is an ``Oracle`` of ``deepbass.core.loop``."""

from deepbass.oracle.people import People
from deepbass.oracle.replayed import Replayed
from deepbass.oracle.simulated import Simulated

__all__ = ["People", "Replayed", "Simulated"]
