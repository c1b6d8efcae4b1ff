"""A trained model, opened to be used: whatever folder it comes from, it takes samples as its training did."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from deepbass.core.belief import Floats
from deepbass.data.in_python import from_python
from deepbass.runs.predictor import Predictor


class LoadedModel:
    """Predicts classes, by name, and their probabilities; brings its own preprocessing."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor  # also judges samples as they come: predictor.stream(...)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        model: nn.Module | str | None = None,
        features: str | None = None,
        passes: int | None = None,
    ) -> LoadedModel:
        """Open the model of a run, a labelling project, an export, or of what was saved in Python."""
        return cls(Predictor.load(path, model=model, features=features, passes=passes))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' names, in the order of the probabilities."""
        return self.predictor.classes

    @property
    def network(self) -> nn.Module:
        """The network alone, in evaluation mode, which returns logits."""
        return self.predictor.network.eval()

    @property
    def note(self) -> str | None:
        """What there is to know of where the model comes from, such as a run that is not finished."""
        return self.predictor.note

    def predict_proba(self, X: Any) -> Floats:
        """Predict the probability of every class, N x C: of an array or a frame, or of a list of samples."""
        return self.predictor.predict(from_python(X, rows=self.predictor.wanted.kind == "row"))

    def predict(self, X: Any) -> NDArray[np.str_]:
        """Predict the most probable class, by name."""
        names: NDArray[np.str_] = np.array(self.classes)[self.predict_proba(X).argmax(1)]
        return names

    def __repr__(self) -> str:
        wanted = self.predictor.wanted
        takes = {"image": "pictures", "text": "texts", "row": "rows of a table"}.get(wanted.kind)
        shape = "" if takes else f"arrays of shape {self.predictor.shape}"
        return f"LoadedModel({len(self.classes)} classes, takes {takes or shape})"
