"""Where samples come from: the Pool and its sources."""

from deepbass.data.catalogue import NAMED, Named
from deepbass.data.featurised import Featurise, Featurised
from deepbass.data.fetch import Where, fetch, where
from deepbass.data.initial import choose_initial, initial_at_random
from deepbass.data.load import Data, from_arrays, load
from deepbass.data.pool import Pool

__all__ = [
    "NAMED",
    "Data",
    "Featurise",
    "Featurised",
    "Named",
    "Pool",
    "Where",
    "choose_initial",
    "fetch",
    "from_arrays",
    "initial_at_random",
    "load",
    "where",
]
