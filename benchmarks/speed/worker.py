"""A side in a process of its own: it sets itself up, then waits on its pipe for pieces to do by the clock."""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from speed.start import Start
from speed.task import Task
from speed.timed import Side

# imported by name when wanted: no process holds a framework that it does not run
SIDES = {
    "deepbass": "speed.ours:Ours",
    "plain": "speed.plain:Plain",
    "keras": "speed.keras_side:KerasSide",
    "baal": "speed.baal_side:BaalSide",
    "roofline": "speed.roofline:Roofline",
    "scale": "speed.scale_side:ScaleSide",
}


def main() -> None:
    """Serve one side until the pipe is closed. Whatever a library prints goes to standard error."""
    told = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    side = _side(json.loads(sys.stdin.readline()))
    told.write(json.dumps({"about": side.about, "pieces": list(side.pieces)}) + "\n")
    for line in sys.stdin:
        told.write(json.dumps(_do(side, json.loads(line))) + "\n")


def _side(wanted: dict[str, Any]) -> Side:
    module, _, name = SIDES[wanted["side"]].partition(":")
    make = getattr(importlib.import_module(module), name)
    side: Side = make(Task.of(wanted["task"]), Start.read(Path(wanted["start"])), **wanted["settings"])
    return side


def _do(side: Side, order: dict[str, Any]) -> dict[str, Any]:
    if "answers" in order:
        ids = np.asarray(order["ids"], dtype=np.int64)
        return {"mean": side.answers(order["answers"], ids, order["passes"]).tolist()}
    gc.collect()
    return asdict(side.pieces[order["piece"]]())


if __name__ == "__main__":
    main()
