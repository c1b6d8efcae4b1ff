"""Run the command with many settings and keep what came out in one small JSON file, written after every run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from deepbass.store import RunDir


class Side:
    """A results file and the runs that fill it. A run whose settings are there already is not run again."""

    def __init__(
        self,
        path: Path,
        threads: int | None = None,
        *,
        work: Path | None = None,
        look: Callable[[Path, Mapping[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self._path = path
        self._threads = threads
        self._work = work  # where the run directories stay, so that a run that was stopped goes on
        self._look = look  # what else to keep of a run, seen from its directory and settings
        self._lock = threading.Lock()

    def read(self) -> dict[str, Any]:
        """Read all results so far."""
        return json.loads(self._path.read_text()) if self._path.exists() else {"machine": machine(), "runs": []}

    def run(self, name: str, data: str, settings: dict[str, Any], program: Sequence[str] = ("-m", "deepbass")) -> None:
        """Run ``deepbass run DATA`` with some settings, or a program that varies it, unless its result is there."""
        wanted = {"name": name, "data": data, "settings": settings}
        if any({key: row[key] for key in wanted} == wanted for row in self.read()["runs"]):
            return
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        if self._threads:
            environment["OMP_NUM_THREADS"] = str(self._threads)
        with tempfile.TemporaryDirectory() as folder:
            out = (self._work or Path(folder)) / f"{name} {settings.get('seed')}"
            words = [f"--set={field}={value}" for field, value in settings.items()]
            model = [f"--model={settings['model']}"] if "model" in settings else []
            begin = ["resume", str(out), *model] if out.exists() else ["run", data, "--out", str(out), *words]
            done = subprocess.run(
                [sys.executable, *program, *begin, "--json"],
                capture_output=True,
                text=True,
                env=environment,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(done.stderr)
            summary = json.loads(done.stdout.splitlines()[-1])
            with RunDir.open(out, lock=False) as run:
                steps = run.events.steps()
            seen = self._look(out, settings) if self._look else {}
        result = {
            **wanted,
            "accuracy": summary["accuracy"],
            "initial_accuracy": summary["initial_accuracy"],
            "labels": summary["labels"],
            "curve": [row.metrics["validation_accuracy"] for row in steps],
            "seconds": round(sum(sum(row.seconds.values()) for row in steps), 1),
            "threads": self._threads or int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)),
            **seen,
        }
        with self._lock:
            results = self.read()
            results["runs"].append(result)
            self._path.parent.mkdir(exist_ok=True)
            self._path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        print(f"{name} {settings.get('seed')}: {100 * result['accuracy']:.2f} %", flush=True)


def machine() -> dict[str, Any]:
    """Describe what the runs ran on."""
    return {"cores": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()}
