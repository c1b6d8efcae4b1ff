"""What a page sends, taken apart: acts without a name and a reason yet, and how many questions it wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deepbass.label.acts import NewAct
from deepbass.label.names import LONGEST
from deepbass.web.answers import Refused
from deepbass.web.limits import ACTS, HOLDING, QUESTIONS


@dataclass(frozen=True)
class Incoming:
    """Acts as they arrived: the journal says of each whether it can be taken."""

    acts: list[NewAct]  # whoever acts is not known here
    want: int = 0  # further questions
    holding: tuple[int, ...] = ()  # items that the page has in hand


def read_acts(body: dict[str, Any]) -> Incoming:
    """Take a request's body apart; what has no shape at all is refused as a whole."""
    acts, want, holding = body.get("acts", []), body.get("want", 0), body.get("holding", [])
    if not isinstance(acts, list) or not isinstance(holding, list):
        raise _bad("acts and holding must be lists.")
    if len(acts) > ACTS:
        raise Refused(413, "TooLarge", f"{len(acts)} acts at once are too many: send {ACTS} at most.")
    if not _is_int(want) or not 0 <= want <= QUESTIONS:
        raise _bad(f"want must be a whole number from 0 to {QUESTIONS}.")
    if len(holding) > HOLDING or not all(_is_int(item) for item in holding):
        raise _bad(f"holding must be at most {HOLDING} whole numbers.")
    return Incoming([_read_act(act) for act in acts], want, tuple(holding))


def _read_act(raw: object) -> NewAct:
    if not isinstance(raw, dict):
        raise _bad("An act must be an object.")
    uid = raw.get("uid")
    if not isinstance(uid, str) or not 0 < len(uid) <= LONGEST:  # nobody could be told what became of it
        raise _bad(f"The uid of an act must be text of 1 to {LONGEST} characters.")
    # the rest may be of any kind here: the journal looks at everything before it takes it
    return NewAct(
        uid=uid,
        item=raw.get("item", -1),
        kind=raw.get("kind", ""),
        annotator="",
        why=raw.get("why", ""),
        class_=raw.get("class"),
        undoes=raw.get("undoes"),
        seconds=raw.get("seconds"),
        saw_guess=raw.get("saw_guess") is True,
    )


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _bad(error: str) -> Refused:
    return Refused(400, "BadRequest", error)
