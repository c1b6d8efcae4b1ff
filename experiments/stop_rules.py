"""When each stop rule would have ended the default, and what that would have cost.

    python experiments/stop_rules.py [DATA ...] [--folder FOLDER] [--table]

DATA: digits, newsgroups-words, sms-spam-words. Training parts alone (experiments/training_parts.py). Every run spends
its whole budget; the rules then look at its numbers, iteration after iteration, as they would have during the run.
Written to results/stop.json, a run at a time: what is there already is not computed again. FOLDER is where files of
named data sets lie.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from deepbass.core import stop
from fill_in import fill_in
from training_parts import simulate, training_part

RESULTS = Path(__file__).parent.parent / "results" / "stop.json"
ALL = ["digits", "newsgroups-words", "sms-spam-words"]
SEEDS, BUDGET, AT_A_TIME = 1, 600, 15
SETTLED = (0.0025, 0.005, 0.01, 0.02)  # bars that were tried: how far guesses may still move
GAIN = (0.001, 0.0025, 0.005)
_KEPT = ("known", "answered", "moved", "expected_error", "unmet", "validation_accuracy", "balanced_accuracy")


def measured(name: str, seed: int, folder: Path | None) -> list[dict[str, Any]]:
    """Run the default to the end of its budget, and keep what the rules and the reader look at."""
    data = training_part(name, seed, folder=folder)
    history = simulate(data, seed, budget=BUDGET, ask_count=AT_A_TIME)
    return [{key: _short(one[key]) for key in _KEPT} for one in history]  # type: ignore[literal-required]


def table(found: dict[str, Any]) -> str:
    """Lay out where each rule would have stopped: labels, and the accuracy then and at the end of the budget."""
    rules = {f"settled {bar:.2%}": stop.settled(4 * bar) for bar in SETTLED}
    rules |= {f"gain {bar:.2%}": stop.gaining_little(bar) for bar in GAIN}
    lines = ["| data | rule | labels when it stopped | accuracy then | at the end |", "|---|---|---|---|---|"]
    for name, runs in found.items():
        for rule_name, rule in rules.items():
            ends = [_ended(rule, history) for history in runs.values()]
            labels = ", ".join(str(stopped["known"]) if early else "never" for early, stopped, _ in ends)
            then = 100 * np.mean([stopped["validation_accuracy"] for _, stopped, _ in ends])
            last = 100 * np.mean([final["validation_accuracy"] for _, _, final in ends])
            lines.append(f"| {name} | {rule_name} | {labels} | {then:.2f} | {last:.2f} |")
    return "\n".join(lines)


def _ended(rule: stop.StopRule, history: list[dict[str, Any]]) -> tuple[bool, dict[str, Any], dict[str, Any]]:
    for done in range(1, len(history) + 1):
        if rule(history[:done]):
            return True, history[done - 1], history[-1]
    return False, history[-1], history[-1]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


if __name__ == "__main__":
    fill_in(__doc__, RESULTS, ALL, SEEDS, measured, table)
