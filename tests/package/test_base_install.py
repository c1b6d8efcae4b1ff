"""What works with nothing installed but what deepbass cannot do without."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import deepbass

EXTRAS = ("PIL", "sklearn", "matplotlib", "pyarrow", "pandas", "anywidget", "starlette")


@pytest.fixture(autouse=True)
def _base(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in EXTRAS:
        monkeypatch.setitem(sys.modules, name, None)  # as if it was not there


def test_arrays_of_pictures_are_learned_and_asked_about_without_any_extra() -> None:
    y = np.arange(40) % 2
    X = (np.random.default_rng(0).random((40, 1, 8, 8)) / 2 + y[:, None, None, None] / 2).astype(np.float32)
    result = deepbass.run(X, y, initial=6, iterations=1, initial_epochs=2, ask_count=2, model="mlp", validation=0.2)
    assert len(result.labels.known) >= 6
    session = deepbass.Session(X, model="mlp", initial_epochs=2, passes_pool=2)
    rows = session.ask(4)
    session.teach(rows, y[rows])
    assert "row" in session._repr_html_()  # without pictures, which take pillow
