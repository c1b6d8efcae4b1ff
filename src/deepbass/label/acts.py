"""What people do, as rows that are only ever added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

# label: the sample is of a class. skip: not now. unsure: looked at, cannot tell. flag, unflag: a mark to come back to.
# veto: the model's guess (the class) is wrong. settle: the last word where people disagree. undo: takes an act back.
Kind = Literal["label", "skip", "unsure", "flag", "unflag", "veto", "settle", "undo"]

# why a sample was looked at: a spread before there is a model, the model's ranking, the audit sample, a second opinion,
# looking through earlier answers, looking through the model's guesses; or where a label came from without being asked
Why = Literal["spread", "rank", "audit", "twice", "browse", "guesses", "source", "import"]

KINDS: tuple[Kind, ...] = get_args(Kind)
WHYS: tuple[Why, ...] = get_args(Why)
WITH_CLASS: frozenset[Kind] = frozenset({"label", "veto", "settle"})
ANSWERS: frozenset[Kind] = frozenset({"label", "skip", "unsure"})  # of a person about an item, one of them stands
ASKED: frozenset[Why] = frozenset({"spread", "rank", "audit", "twice"})  # a question was handed out
BROUGHT: frozenset[Why] = frozenset({"source", "import"})  # nobody was asked: it is no opinion
CHOSEN: frozenset[Why] = frozenset({"browse", "guesses"})  # a person looked it up, maybe because of what the model says

OWN_UIDS = ("source-", "import-")  # what the uids begin with that deepbass makes itself: no page may send such


@dataclass(frozen=True)
class NewAct:
    """An act on its way to the journal. ``uid`` is made by whoever acts: sent twice, it is written once."""

    uid: str
    item: int  # the sample; of an undo: that of the act taken back
    kind: Kind
    annotator: str
    why: Why
    class_: int | None = None
    undoes: str | None = None  # the uid of the act that an undo takes back
    seconds: float | None = None  # that the person took
    saw_guess: bool = False  # whether the model's guess was shown before the answer


@dataclass(frozen=True)
class Act(NewAct):
    """An act as it is written down."""

    id: int = 0  # rises by one per act
    at: str = ""  # ISO-8601, UTC


@dataclass(frozen=True)
class Question:
    """A sample handed out to somebody, until it is answered or the time is over."""

    item: int
    why: Why
    until: float  # seconds since 1970
