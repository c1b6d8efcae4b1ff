"""Who takes part, and what each does in a round."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NamedTuple


class Entrant(NamedTuple):
    """A side of the comparison, and the settings its process gets."""

    side: str
    title: str
    settings: dict[str, Any]
    needs: str | None = None  # a package that make test does not install


_SLOW_WAY = {"masks": "fresh", "kernel": "off", "early_exit": False}

# in the order of the devices table: from the slow, obvious way to all devices together
ENTRANTS: dict[str, Entrant] = {
    "plain": Entrant("plain", "plain PyTorch", {}),
    "keras": Entrant("keras", "Keras", {}, "keras"),
    "baal": Entrant("baal", "baal", {}, "baal"),
    "reference": Entrant(
        "deepbass",
        "deepbass, the slow, obvious way",
        {"switches": _SLOW_WAY, "keep_memory": False, "share": 10},
    ),
    "pytorch": Entrant(
        "deepbass", "+ kept memory, shared masks, in PyTorch", {"switches": {"kernel": "off", "early_exit": False}}
    ),
    "every-pass": Entrant("deepbass", "+ the compiled kernel", {"switches": {"early_exit": False}}),
    "deepbass": Entrant("deepbass", "+ early exit: deepbass", {"switches": {}}),
    "roofline": Entrant("roofline", "matrix multiplication", {}),
}

OURS = "deepbass"
USERS = ("resnet", "mlp")  # the models of users_models.py, named here so that no torch is imported
DEVICES = ("reference", "pytorch", "every-pass", "deepbass")

# neighbours in this list are compared with each other, so that a slow minute of the machine hits both
ROUND: tuple[tuple[str, str], ...] = (
    ("deepbass", "iteration"),
    ("plain", "pool"),
    ("keras", "pool"),
    ("deepbass", "pool"),
    ("baal", "pool"),
    ("roofline", "pass"),
    ("plain", "known"),
    ("keras", "known"),
    ("deepbass", "known"),
    ("plain", "epoch"),
    ("keras", "epoch"),
    ("deepbass", "epoch"),
    ("deepbass", "asking"),
    ("every-pass", "iteration"),
    ("pytorch", "iteration"),
    ("reference", "pool"),
    ("reference", "known"),
    ("reference", "epoch"),
    ("plain", "resnet pool"),
    ("deepbass", "resnet pool"),
    ("plain", "resnet epoch"),
    ("deepbass", "resnet epoch"),
    ("plain", "mlp pool"),
    ("deepbass", "mlp pool"),
    ("plain", "mlp epoch"),
    ("deepbass", "mlp epoch"),
)


def present(wanted: list[str] | None) -> tuple[dict[str, Entrant], dict[str, str]]:
    """Choose who takes part, and say why the others do not."""
    taking_part, left_out = {}, {}
    for name, entrant in ENTRANTS.items():
        if wanted and name not in wanted and name != OURS:
            left_out[name] = "not asked for"
        elif entrant.needs and find_spec(entrant.needs) is None:
            left_out[name] = f"{entrant.needs} is not installed"
        else:
            taking_part[name] = entrant
    return taking_part, left_out
