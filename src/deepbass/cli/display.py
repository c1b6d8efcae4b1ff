"""What the command shows while a run goes: one live block in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from deepbass.core.config import Config
    from deepbass.runs.measure import Metrics

_DOING = {
    "training": "training on answers and guesses",
    "infer pool": "dropout passes over the pool",
    "infer known": "dropout passes over the known labels",
    "evaluating": "measuring validation accuracy",
    "computing features": "computing features, once and for all",
}
_LINE_SECONDS = 10.0  # between two lines where there is no terminal


class Display:
    """Shows iteration, time left, accuracy, counts and entropy of a run."""

    def __init__(self, console: Console, iterations: int) -> None:
        self._console = console
        self._iterations = iterations
        self._iteration: int | None = None  # finished ones; None before the initial model
        self._started_at: tuple[int, float] | None = None  # first iteration seen, and when
        self._metrics: Metrics | None = None
        self._doing = ("starting", 0.0)
        self._workers: Callable[[], str] | None = None
        self._last_line = 0.0
        self._live = (
            Live(get_renderable=self._block, console=console, refresh_per_second=4) if console.is_terminal else None
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live and self._live.is_started:
            self._live.stop()

    def on_progress(self, what: str, share: float) -> None:
        """Remember what is being done; the live block picks it up when it is next drawn."""
        self._doing = (what, share)
        if self._live and not self._live.is_started:  # not before: loading the data may show bars of its own
            self._live.start()

    def on_metrics(self, iteration: int, metrics: Metrics) -> None:
        """Take up the numbers of a finished iteration."""
        self._iteration, self._metrics = iteration, metrics
        now = time.monotonic()
        if self._started_at is None:
            self._started_at = (iteration, now)
        last = iteration in (0, self._iterations)
        if not self._live and (last or now - self._last_line >= _LINE_SECONDS):
            self._last_line = now
            parts = [f"iteration {iteration}/{self._iterations}", *(f"{name} {value}" for name, value in self._facts())]
            parts += [each.plain for each in self._who()]
            self._console.print(Text(" · ".join(parts)), soft_wrap=True)

    def on_config(self, config: Config) -> None:
        """Take up how many iterations there will be, once the data has decided."""
        self._iterations = config.iterations

    def on_workers(self, said: Callable[[], str]) -> None:
        """Take up what says in a line who computes, to be asked whenever it is shown."""
        self._workers = said

    def on_note(self, note: str) -> None:
        """Say something that stays on the screen."""
        self._console.print(Text(note, style="yellow"), soft_wrap=True)

    def _block(self) -> RenderableType:
        what, share = self._doing
        if self._iteration is None:
            title = Text("Initial training on the known labels" if what == "training" else _DOING.get(what, what))
            return stacked(title, ProgressBar(total=1.0, completed=share, width=50), *self._who())
        title = Text(f"Iteration {self._iteration} of {self._iterations}", style="bold")
        if self._iteration < self._iterations:
            title.append(f"   {_DOING.get(what, what)} {share:.0%}", style="not bold dim")
        table = Table.grid(padding=(0, 2))
        facts = self._facts()
        table.add_row(*(Text(name, style="dim", no_wrap=True) for name, _ in facts))
        table.add_row(*(Text(value, style="bold", no_wrap=True) for _, value in facts))
        bar = ProgressBar(total=self._iterations or 1, completed=self._iteration, width=50)
        return stacked(title, bar, table, *self._who())

    def _who(self) -> list[Text]:
        return [Text(self._workers(), style="dim")] if self._workers else []

    def _facts(self) -> list[tuple[str, str]]:
        metrics = self._metrics
        if metrics is None:
            return []
        return [
            ("validation", _percent(metrics["validation_accuracy"])),
            ("known", f"{metrics['known']:,}"),
            ("pseudo-labelled", f"{metrics['members']:,}"),
            ("of these right", _percent(metrics["pseudo_accuracy"])),
            ("mean entropy", _entropy(metrics["entropy_pool"])),
            ("time left", self._time_left()),
        ]

    def _time_left(self) -> str:
        if self._started_at is None or self._iteration is None or self._iteration == self._started_at[0]:
            return "–" if self._iteration == self._iterations else "…"
        first, since = self._started_at
        seconds = (time.monotonic() - since) / (self._iteration - first) * (self._iterations - self._iteration)
        return clock(seconds)


def clock(seconds: float) -> str:
    """Write a time as on a clock: 1:02:03, 2:03."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def stacked(*parts: RenderableType) -> Table:
    """Put parts below each other; a grid, because a bar alone does not end its line."""
    grid = Table.grid()
    for part in parts:
        grid.add_row(part)
    return grid


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f} %"


def _entropy(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
