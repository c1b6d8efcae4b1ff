"""A run whose learner is computed by workers of a cluster, seen and written down."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from deepbass.cluster.run_on_ray import OnRay
from deepbass.files import replace_file
from deepbass.runs.lifecycle import Watch
from deepbass.runs.measure import Metrics
from deepbass.store.names import WORKERS_FILE


def watch_workers(watch: Watch, there: OnRay | None, path: Path) -> Watch:
    """Let who looks on see the workers, too, and note in the run's directory what they have done, for the report."""
    if there is None:
        return watch
    crew = there.crew

    def on_metrics(iteration: int, metrics: Metrics) -> None:
        replace_file(path / WORKERS_FILE, json.dumps(crew.log.figures()).encode())
        watch.on_metrics(iteration, metrics)

    watch.on_workers(lambda: crew.summary)
    return replace(watch, on_metrics=on_metrics)
