"""The nodes of a cluster, and what each says when it is asked: which deepbass it has, which paths it sees."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from deepbass import __version__
from deepbass.core.errors import ConfigError

_PATIENCE = 60.0  # seconds in which a node must have answered: it may have to start a worker first

Sight = tuple[str, str | None, int | None]  # the real path there, whether file or folder, and the size of a file


@dataclass(frozen=True)
class Node:
    """A machine of the cluster, or a part of one that stands for it."""

    id: str
    host: str
    address: str
    processors: int

    @classmethod
    def of(cls, told: dict[str, Any]) -> Self:
        """Read what Ray tells of a node."""
        processors = int(told["Resources"].get("CPU", 0))
        return cls(told["NodeID"], told["NodeManagerHostname"], told["NodeManagerAddress"], processors)

    def __str__(self) -> str:
        return f"{self.host} ({self.address}, {self.id[:8]})"


@dataclass(frozen=True)
class NodeFacts:
    """What a node said."""

    deepbass: str | None  # its version
    why: str  # it cannot be imported
    python: str
    sights: Sequence[Sight]


def ask_nodes(nodes: Sequence[Node], paths: Sequence[str]) -> list[tuple[Node, NodeFacts]]:
    """Ask every node, side by side; one that died meanwhile is left out, one that does not answer is an error."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

    look = ray.remote(num_cpus=0, max_retries=1)(_look_around())
    asked = {}
    for node in nodes:
        there = look.options(scheduling_strategy=On(node.id, soft=False))
        asked[there.remote(list(paths))] = node
    _, late = ray.wait(list(asked), num_returns=len(asked), timeout=_PATIENCE)
    if late:
        raise ConfigError(
            f"Node {asked[late[0]]} did not answer within {_PATIENCE:.0f} seconds. Look at its load, or take it out of "
            "the cluster (ray stop, on that machine)."
        )
    answers = []
    for ref, node in asked.items():
        try:
            answers.append((node, NodeFacts(*ray.get(ref))))
        except ray.exceptions.RayError:
            if any(each["NodeID"] == node.id and each["Alive"] for each in ray.nodes()):
                raise
    return answers


def check_versions(answers: Sequence[tuple[Node, NodeFacts]]) -> None:
    """Refuse nodes on which deepbass is missing, or another version than here."""
    for node, facts in answers:
        if facts.deepbass is None:
            raise ConfigError(
                f"Node {node} has no deepbass ({facts.why}): pip install 'deepbass[ray]=={__version__}' there, in the "
                "environment that its Ray was started from."
            )
        if facts.deepbass != __version__:
            raise ConfigError(
                f"Node {node} has deepbass {facts.deepbass}, this is {__version__}: install the same version there."
            )
        if facts.python != platform.python_version():
            raise ConfigError(
                f"Node {node} runs Python {facts.python}, this is {platform.python_version()}: use the same everywhere."
            )


def _look_around() -> Any:
    """Make the function that a node runs. It travels as a whole: it is to find out whether deepbass is there."""

    def look_around(paths: list[str]) -> tuple[str | None, str, str, list[Sight]]:
        import platform
        from pathlib import Path

        try:
            import deepbass

            version, why = deepbass.__version__, ""
        except Exception as error:
            version, why = None, f"{type(error).__name__}: {error}"
        sights: list[Sight] = []
        for path in paths:
            real, there = str(Path(path).resolve()), Path(path)
            if there.is_dir():
                sights.append((real, "folder", None))
            elif there.exists():
                sights.append((real, "file", there.stat().st_size))
            else:
                sights.append((real, None, None))
        return version, why, platform.python_version(), sights

    return look_around
