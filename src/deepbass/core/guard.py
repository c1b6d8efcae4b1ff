"""Do guesses help? The evidence comes from known labels that were kept from whoever predicts them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Evidence:
    """How a way of learning did on known labels that it was kept from, beside plain supervised learning."""

    what: str  # that was tried, as in "pseudo-labels"
    labels: int  # that were kept back
    right: float  # of them, by the way that was tried
    plain: float  # of them, by known labels alone
    weight: float  # that it was given, from 0 (not used) to 1

    @property
    def points(self) -> float:
        """What it added, or cost, in percentage points."""
        return 100 * (self.right - self.plain) / self.labels if self.labels else 0.0

    @property
    def words(self) -> str:
        """Say it to people."""
        used = f"used with weight {self.weight:.2f}" if self.weight > 0 else "not used"
        return f"{self.what}: {self.points:+.1f} points on {self.labels} held-back labels; {used}"


def worth_in_words(
    accuracy: float, plain: float | None, at_random: float | None, evidence: Evidence | None
) -> list[str]:
    """Say what a model is worth beside plain learning, and what pseudo-labels and questions added or cost.

    ``plain`` has learned from the same labels, ``at_random`` likewise from as many labels drawn at random.
    """
    said = []
    if plain is not None:
        points = 100 * (accuracy - plain)
        said.append(f"Plain learning from the same labels: {plain:.2%}; {_moved('pseudo-labels', points)}.")
    if plain is not None and at_random is not None:
        points = 100 * (plain - at_random)
        said.append(
            f"Plain learning from as many labels drawn at random: {at_random:.2%}; "
            f"{_moved('the choice of labels', points)}."
        )
    if evidence is not None and evidence.labels:
        said.append(f"{evidence.words[0].upper()}{evidence.words[1:]}.")
    return said


def _moved(what: str, points: float) -> str:
    return f"{what} {'cost' if points < 0 else 'added'} {abs(points):.1f} points"
