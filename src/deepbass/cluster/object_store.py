"""What the driver hands out to workers: put once into Ray's object store, named by a ticket."""

from __future__ import annotations

from typing import Any

import ray
from ray.exceptions import ObjectStoreFullError, OutOfDiskError

from deepbass.cluster.cluster_worker import Ticket
from deepbass.cluster.crew_log import CrewLog, size_of
from deepbass.cluster.shared_samples import share
from deepbass.core.errors import ConfigError, DeepBassError
from deepbass.core.samples import Samples

_MOST_POOLS = 8  # that are handed out at a time


class ObjectStore:
    """Puts things in, and remembers which samples are there already."""

    def __init__(self, log: CrewLog) -> None:
        self._log = log
        self._samples: list[tuple[Samples, Ticket]] = []  # held, so that none is taken for another; the newest last

    def ticket(self, thing: Any) -> Ticket:
        """Put something into the store."""
        reference = self._put(thing)
        return Ticket(reference.hex(), reference)

    def samples(self, samples: Samples) -> Ticket:
        """Hand out samples, once."""
        for held, known in self._samples:
            if held is samples:
                return known
        ticket = self.ticket(share(samples, self._put))
        self._samples = [*self._samples, (samples, ticket)][-_MOST_POOLS:]
        return ticket

    def _put(self, thing: Any) -> Any:
        self._log.handed_out += size_of(thing)
        try:
            return ray.put(thing)
        except (ObjectStoreFullError, OutOfDiskError) as error:
            raise DeepBassError(
                f"Ray's object store is full ({type(error).__name__}): start it with more (ray start "
                "--object-store-memory), or give the samples as a .npy file on storage that all machines see."
            ) from None
        except TypeError as error:
            raise ConfigError(
                f"Workers cannot be sent the model: {error}. Define it in a module, without locks."
            ) from None
