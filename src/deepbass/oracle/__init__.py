"""Who answers: simulated, replayed, or anything that can be asked. Each is an ``Oracle`` of ``deepbass.core.loop``."""

from deepbass.oracle.answering import Answering, AnyOracle
from deepbass.oracle.by_name import ORACLES, oracle_by_name
from deepbass.oracle.replayed import Replayed
from deepbass.oracle.simulated import Simulated

__all__ = ["ORACLES", "Answering", "AnyOracle", "Replayed", "Simulated", "oracle_by_name"]
