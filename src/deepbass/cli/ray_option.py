"""The options that say which machines do the work: --ray [ADDRESS] and --workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from deepbass.cli.output import say
from deepbass.cluster.address import LOCAL, check_address, check_workers, is_address

if TYPE_CHECKING:
    from deepbass.cluster.connection import Cluster

_RAY = "--ray"

Ray = Annotated[
    str | None,
    typer.Option(
        _RAY,
        metavar="[ADDRESS]",
        help="Compute on the Ray cluster at HOST:PORT; auto: on the one that this machine is a node of; alone: on one "
        "that is started on this machine and ends with the command.",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Workers on the cluster, a processor each. (default: as many as it has)", show_default=False),
]
SideBySide = Annotated[
    int | None,
    typer.Option(
        help="Cells to run side by side, sharing the cores. (default: 1; with --ray: as many as it has processors)",
        show_default=False,
    ),
]


class WithRay(TyperCommand):
    """A command whose --ray may stand alone: an option of a value that may be left out, which Typer has not."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put in what a --ray that stands alone means."""
        return super().parse_args(ctx, [*_with_address(args)])


def _with_address(words: list[str]) -> Iterator[str]:
    following = [*words[1:], ""]
    for place, (word, after) in enumerate(zip(words, following, strict=False)):
        if word == "--":
            yield from words[place:]
            return
        yield f"{_RAY}={LOCAL}" if word == _RAY and not is_address(after) else word


def check_cluster(address: str | None, workers: int | None) -> None:
    """Refuse at once a cluster that another process is to use and cannot."""
    check_workers(address, workers)
    if address is None:
        return
    from deepbass.cluster.connection import need_ray

    need_ray()
    if address != LOCAL:
        check_address(address)


@contextmanager
def cluster_or_none(address: str | None, workers: int | None, *, alone: bool = False) -> Iterator[Cluster | None]:
    """Connect to the cluster that was asked for; None if none was. ``alone``: workers mean something without one."""
    check_workers(address, workers, alone=alone)
    if address is None:
        yield None
        return
    from deepbass.cluster.connection import connected

    say("Starting a Ray cluster on this machine." if address == LOCAL else f"Joining the Ray cluster at {address}.")
    with connected(address, workers) as cluster:
        say(f"Ray: {cluster}.", style="dim")
        yield cluster
