"""What the fake server serves: a project in memory, with made-up images and a made-up model."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image

from .fake_classes import FakeClasses, Row
from .fake_journal import FakeJournal

THRESHOLD = 0.95
LEVELS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass
class Fake:
    """A project that exists only as long as its server runs."""

    classes: list[str] = field(default_factory=lambda: ["cat", "dog", "owl"])
    count: int = 40
    names: list[str] = field(default_factory=list)
    people: tuple[str, ...] = ("ann",)
    iteration: int = 0  # 0: there is no model yet
    doubt: float = 0.05  # the largest of any guess; all guesses are above the threshold unless it is larger
    tested: tuple[tuple[float, bool], ...] = ()  # audit answers: how sure the model was, and whether it was wrong
    trained_on: int = 0
    photos: bool = False
    kind: str = "image"
    contents: list[Row] = field(default_factory=list)  # of texts and rows, as the server hands them out
    broken: frozenset[int] = frozenset()
    reserved: str = ""  # why there is nothing to ask, if there is nothing
    more: Row = field(default_factory=dict)  # put over the panel
    title: str = "made-up images"
    mistaken: tuple[tuple[int, int, int | None], ...] = ()  # audit items it gets wrong: item, label, prediction
    target: float | None = 0.02
    ahead: int = 6
    along: list[Row] = field(default_factory=list)  # wishes to take questions along
    asked: dict[int, Row] = field(default_factory=dict)  # why the model asked, by item
    wished: Row = field(default_factory=dict)  # the last wish for audit questions
    news: list[tuple[str, Any]] = field(default_factory=list)  # events for /api/live, ever growing
    closing: bool = False

    def __post_init__(self) -> None:
        if self.kind != "image":
            self.names = self.names or [f"row {item + 1}" for item in range(len(self.contents))]
        self.names = self.names or [f"shapes/img_{item:04}.png" for item in range(self.count)]
        self.kinds = FakeClasses(dict(enumerate(self.classes)), self.labels_of)
        self.journal = FakeJournal(self.names, self.kinds)

    def project(self, person: str) -> Row:
        """Describe the project."""
        several = len(self.people) > 1
        return {
            "id": f"{self.title} {id(self)}",
            "name": self.title,
            "kind": self.kind,
            "items": len(self.names),
            "classes": self.kinds.rows(),
            "annotator": person,
            "several": several,
            "target": self.target,
            "audit": 0.1,
            "twice": 0.0,
            "ahead": self.ahead,
            "login": several,
        }

    def questions(self, items: list[int]) -> list[Row]:
        """Describe items as questions."""
        return [{"item": item, "name": self.names[item]} for item in items]

    def guess(self, item: int) -> Row | None:
        """Make up what the model thinks."""
        if not self.iteration or not self.classes:
            return None
        class_ = self.kinds.resolve(item * 7 % len(self.classes))
        doubt = self.doubt * (item * 37 % 100) / 100
        return None if class_ is None else {"class": class_, "confidence": 1 - doubt, "entropy": doubt}

    def guessed(self, least: float = THRESHOLD) -> list[Row]:
        """List guesses that are so sure, of images without a label, most doubtful first."""
        vetoed = {(act["item"], act["class"]) for act in self.journal.live() if act["kind"] == "veto"}
        taken = {item for item, _ in self.journal.standing()}
        rows = []
        for item, name in enumerate(self.names):
            guess = self.guess(item)
            if not guess or item in taken or (item, guess["class"]) in vetoed or guess["confidence"] < least:
                continue
            rows.append({"item": item, "name": name, "guess": guess["class"], **guess})
        return sorted(rows, key=lambda row: -float(row["entropy"]))

    def alike(self, item: int, person: str, count: int) -> Row:
        """Find the items nearest by number that have no label and are with nobody else."""
        class_ = self.journal.labels().get(item)
        taken = {item, *(one for one, _ in self.journal.standing())}
        taken |= {one for who, held in self.journal.leases.items() if who != person for one in held}
        near = sorted((one for one in range(len(self.names)) if one not in taken), key=lambda one: abs(one - item))
        items = [
            {"item": one, "name": self.names[one], "distance": abs(one - item), "guess": self.guess(one)}
            for one in near[:count]
        ]
        return {"class": class_, "items": items if class_ is not None else [], "why_none": None}

    def levels(self) -> Row:
        """Say for a few levels how many guesses are so sure, and how often the model is wrong when it is."""
        levels = []
        for least in LEVELS:
            wrong = [bad for confidence, bad in self.tested if confidence >= least]
            levels.append({"confidence": least, "guesses": len(self.guessed(least)), **_estimate(wrong)})
        return {"default": THRESHOLD, "levels": levels}

    def audited(self) -> Row:
        """Make up what the audit shows: ten questions of every class, all right but for the mistakes."""
        ids = list(self.kinds.living) if self.tested else []
        standing = {act["item"]: act["class"] for act in self.journal.standing().values()}
        wrong = [(item, standing.get(item, label), guess) for item, label, guess in self.mistaken]
        wrong = [one for one in wrong if one[1] != one[2]]
        missed = [sum(label == id_ for _, label, _ in wrong) for id_ in ids]
        pairs = [{"is": id_, "taken_for": id_, "times": 10 - missed[i]} for i, id_ in enumerate(ids)]
        pairs += [{"is": label, "taken_for": guess, "times": 1} for _, label, guess in wrong]
        return {
            "n": 10 * len(ids),
            "errors": len(wrong),
            "balanced_accuracy": 0.9,
            "macro_f1": 0.88,
            "classes": [{"class": id_, "n": 10, "found": 10 - missed[i], "said": 10} for i, id_ in enumerate(ids)],
            "pairs": pairs,
            "mistakes": [
                {"item": item, "name": self.names[item], "label": label, "guess": guess} for item, label, guess in wrong
            ],
        }

    def targets(self) -> list[Row]:
        """List what may be chosen."""
        found: list[Row] = [
            {"target": target, "takes": takes, "fits": takes < 300, "way": f"To show it: {takes} test questions."}
            for target, takes in ((0.01, 458), (0.02, 228), (0.05, 90), (0.1, 44))
        ]
        return [*found, {"target": None, "takes": None, "fits": True, "way": "The error is measured all the same."}]

    def labels_of(self, class_: int) -> int:
        """Count what people called so."""
        return sum(act["kind"] == "label" and act["class"] == class_ for act in self.journal.standing().values())

    def panel(self) -> Row:
        """Sum up."""
        live, standing = self.journal.live(), self.journal.standing()
        labelled = [act for act in standing.values() if act["kind"] == "label"]
        by_class = [self.labels_of(id_) for id_ in range(self.kinds.ever)]
        kinds = {kind: sum(act["kind"] == kind for act in standing.values()) for kind in ("skip", "unsure")}
        spent = sorted(act["seconds"] for act in live if act.get("seconds") is not None)
        need = [{"class": id_, "have": by_class[id_], "need": 3} for id_ in self.kinds.living if by_class[id_] < 3]
        everyone = [{"name": who, "labels": sum(act["annotator"] == who for act in labelled)} for who in self.people]
        doing = "training" if self.iteration else "waiting"
        flags, known = self.journal.flags(), self.journal.labels()
        scored = _estimate([bad for _, bad in self.tested]) | {"labels": self.trained_on} if self.tested else None
        return {
            "labels": len(labelled),
            "by_class": by_class,
            "answers": len(standing),
            "skipped": kinds["skip"],
            "unsure": kinds["unsure"],
            "flagged": len(flags),
            "flagged_labels": len(flags & known.keys()),
            "threshold": THRESHOLD,
            "pseudo": len(self.guessed()),
            "known_to_model": self.trained_on,
            "iteration": self.iteration,
            "median_seconds": spent[len(spent) // 2] if spent else None,
            "audit": scored,
            "target": self.target,
            "good_enough": None,
            "standstill": None,
            "worth": {
                "verdict": "unknown",
                "why": "Nothing is known yet.",
                "way": None,
                "commonest": None,
            },
            "history": [{key: scored[key] for key in ("labels", "estimate", "low", "high")}] if scored else [],
            "people": everyone,
            "disagreements": len(self.journal.disagreements()),
            "trainer": {"doing": doing, "share": 0.4 if self.iteration else 0.0, "restarts": 0, "error": None},
            "ready": {"need": need} if not self.iteration else None,
            **self.more,
        }

    def tell(self, kind: str, data: object) -> None:
        """Send an event to every open page."""
        self.news.append((kind, data))

    def picture(self, item: int, side: int) -> bytes:
        """Draw a shape of its own for every item."""
        random = np.random.default_rng(item)
        height, width = (240, 360) if self.photos else (28, 28)
        y, x = np.mgrid[0:height, 0:width] / height
        centre_x, centre_y = random.uniform(0.3, 0.7) * width / height, random.uniform(0.35, 0.65)
        away = np.hypot(x - centre_x, y - centre_y) if item % 2 else np.maximum(abs(x - centre_x), abs(y - centre_y))
        ring = np.clip((0.1 - abs(away - 0.22)) * 12, 0, 1) if item % 3 else np.clip((0.26 - away) * 12, 0, 1)
        pixels = ring * 255
        if self.photos:
            channels = random.uniform(80, 230, 3)
            sky = np.stack([x / x.max() * channel for channel in channels], axis=-1) + 25 * y[..., None]
            colour = random.uniform(40, 250, 3)
            pixels = np.clip(sky + (colour - sky) * ring[..., None], 0, 255)
        image = Image.fromarray(pixels.astype(np.uint8))
        image.thumbnail((side, side))
        file = io.BytesIO()
        image.save(file, "png")
        return file.getvalue()


def _estimate(wrong: list[bool]) -> Row:
    """Estimate an error with Wilson's interval; without answers there is none."""
    n, errors = len(wrong), sum(wrong)
    if not n:
        return {"n": 0, "errors": 0, "estimate": None, "low": None, "high": None}
    share, z = errors / n, 1.96
    middle = (share + z * z / 2 / n) / (1 + z * z / n)
    half = z * (share * (1 - share) / n + z * z / 4 / n / n) ** 0.5 / (1 + z * z / n)
    return {
        "n": n,
        "errors": errors,
        "estimate": share,
        "low": max(0.0, middle - half),
        "high": min(1.0, middle + half),
    }
