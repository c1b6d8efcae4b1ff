"""Batches chosen with regard to one another (BatchBALD, BADGE) beside the default's questions, on the same head.

    python experiments/batches.py [DATA ...] [--folder FOLDER] [--table]

DATA: digits, newsgroups-words. Training parts alone (experiments/training_parts.py); only known labels are learned from
(admit = none), so that nothing but the choice of questions differs; ten questions at a time, two seeds. Written to
results/batches.json, a run at a time: what is there already is not computed again. FOLDER is where files of named data
sets lie.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from training_parts import simulate, training_part

RESULTS = Path(__file__).parent.parent / "results" / "batches.json"
ALL = ["digits", "newsgroups-words"]
POLICIES = ("by-budget", "margin-draw", "batch-bald", "badge", "random")
LABELS, SEEDS = (50, 100, 200, 300), 2


def measured(name: str, policy: str, seed: int, folder: Path | None) -> dict[str, float]:
    """Ask by a policy up to the last number of labels, and keep the accuracy at each."""
    data = training_part(name, seed, folder=folder)
    history = simulate(data, seed, budget=LABELS[-1], ask_count=10, acquire=policy, admit="none", stop="iterations")
    by_labels = {one["known"]: one["validation_accuracy"] for one in history}
    return {str(labels): round(by_labels[labels] or 0.0, 6) for labels in LABELS}


def table(found: dict[str, Any]) -> str:
    """Lay out the mean accuracy by data, policy and labels."""
    lines = [f"| data | questions | {' | '.join(map(str, LABELS))} |", "|---|---|" + "---:|" * len(LABELS)]
    for name, policies in found.items():
        for policy, runs in policies.items():
            means = [100 * float(np.mean([run[str(labels)] for run in runs.values()])) for labels in LABELS]
            lines.append(f"| {name} | {policy} | {' | '.join(f'{mean:.1f}' for mean in means)} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and show the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=ALL)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--table", action="store_true", help="show what is there, and run nothing")
    args = parser.parse_args()
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in [] if args.table else args.data:
        for policy in POLICIES:
            for seed in range(SEEDS):
                runs = found.setdefault(name, {}).setdefault(policy, {})
                if str(seed) not in runs:
                    runs[str(seed)] = measured(name, policy, seed, args.folder)
                    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
