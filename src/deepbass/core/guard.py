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
