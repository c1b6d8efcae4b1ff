"""Open the features that a configuration asks for, or that suit the data, and say which they are."""

from __future__ import annotations

from collections.abc import Callable

from deepbass.core.errors import DataError
from deepbass.data.featurised import Featurised
from deepbass.data.source import Part, is_raw
from deepbass.features.choice import AUTO, PIXELS, choose
from deepbass.features.compute import open_features
from deepbass.features.extractor import Extractor

OnShare = Callable[[str, float], None]


class Featuriser:
    """What `deepbass.data.load` calls for samples that features can be computed of; it remembers what computed them."""

    def __init__(
        self,
        choice: str,
        *,
        network: str = "auto",
        named: str | None = None,
        on_progress: OnShare = lambda what, share: None,
    ) -> None:
        """Take the settings ``features`` and ``model``; code runs only if whoever started the program ``named`` it."""
        self.extractor: Extractor | None = None  # None: the network sees the samples as they are
        self.as_they_are: str | None = None  # and why, if that was chosen here
        self._choice, self._network, self._named, self._on_progress = choice, network, named, on_progress

    def __call__(self, train: Part, validation: Part | None) -> Featurised | None:
        """Open the features of both parts; None where they are best seen as they are, as pixels."""
        raw, held = train.X, None if validation is None else validation.X
        if not is_raw(raw) or not (held is None or is_raw(held)):
            raise DataError(f"{train.where} has features already.")
        chosen = choose(raw, self._choice, self._network)
        if chosen.name == PIXELS:
            self.as_they_are = f"features: {chosen.name}, {chosen.why}" if self._choice == AUTO else None
            return None
        opened = open_features(raw, held, chosen.name, named=self._named)
        self.extractor = opened.extractor
        opened.train.on_progress = self._tell
        if opened.validation is not None:
            opened.validation.on_progress = self._tell
        notes = [f"features: {chosen.name}, {chosen.why}", *opened.notes]
        if chosen.gain:
            notes.append(chosen.gain)
        return Featurised(opened.train, opened.validation, tuple(notes), chosen.name)

    def _tell(self, done: int, total: int) -> None:
        self._on_progress("computing features", done / max(1, total))
