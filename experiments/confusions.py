"""What does a model of the reproduction take for what? The validation images, true classes against answers.

    python experiments/confusions.py reproduction mnist-full/all-data-100.00

Adds to results/confusions.json. The cell's run directory must still be there, in ``work/`` of the folder.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

import deepbass
from deepbass.core.config import Config
from deepbass.data.load import Data, load
from deepbass.store.names import WORK_FOLDER

RESULTS = Path(__file__).parents[1] / "results" / "confusions.json"
_PARTS = 20


def confusions(run: Path, data: Data, model: str | None = None) -> dict[str, list[list[float]]]:
    """Count a model's answers, a row per true class and a column per answer, and average how sure it is of each."""
    network = deepbass.load_model(run, model)
    counts, sums = (np.zeros((len(data.classes),) * 2) for _ in range(2))
    with torch.no_grad():
        for some in np.array_split(np.arange(len(data.validation_labels)), _PARTS):
            sure, answers = network(torch.as_tensor(data.validation.read(some))).softmax(1).max(1)
            at = (data.validation_labels[some], answers.numpy())
            np.add.at(counts, at, 1)
            np.add.at(sums, at, sure.numpy())
    return {"counts": counts.astype(int).tolist(), "sure": (sums / counts.clip(1)).round(3).tolist()}


def main() -> None:
    """Count for the cells that are named, and keep what is in the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("cells", nargs="+")
    options = parser.parse_args()

    data = load("mnist", Config())
    found = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for cell in options.cells:
        found[cell] = confusions(options.folder / WORK_FOLDER / cell, data)
    rows = ",\n".join(f"{json.dumps(cell)}: {json.dumps(found[cell])}" for cell in sorted(found))
    RESULTS.write_text("{\n" + rows + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
