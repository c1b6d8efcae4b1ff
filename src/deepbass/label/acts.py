"""What people do, as rows that are only ever added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

# label: the sample is of a class. skip: not now. unsure: looked at, cannot tell. flag, unflag: a mark to come back to.
# veto: the model's guess (the class) is wrong. settle: the last word where people disagree. note: a remark on the
# sample, in place of the one before; an empty one removes it. undo: takes an act back.
Kind = Literal["label", "skip", "unsure", "flag", "unflag", "veto", "settle", "note", "undo"]

# why a sample was looked at: a spread before there is a model, the model's ranking, the audit sample, a second opinion,
# looking through earlier answers, looking through the model's guesses, likeness to another one that has a label; or
# where a label came from without being asked
Why = Literal["spread", "rank", "audit", "twice", "browse", "guesses", "alike", "source", "import"]

KINDS: tuple[Kind, ...] = get_args(Kind)
WHYS: tuple[Why, ...] = get_args(Why)
WITH_CLASS: frozenset[Kind] = frozenset({"label", "veto", "settle"})
ANSWERS: frozenset[Kind] = frozenset({"label", "skip", "unsure"})  # of a person about an item, one of them stands
ASKED: frozenset[Why] = frozenset({"spread", "rank", "audit", "twice"})  # a question was handed out
BROUGHT: frozenset[Why] = frozenset({"source", "import"})  # nobody was asked: it is no opinion
# a person looked it up, maybe because of what the model says
CHOSEN: frozenset[Why] = frozenset({"browse", "guesses", "alike"})
# one look at many, beside the label of another one: it counts as a label, but is no opinion to compare with others'
AT_ONCE: frozenset[Why] = frozenset({"alike"})

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
    note: str | None = None  # the remark, of a note; "" removes it


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
