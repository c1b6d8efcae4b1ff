"""20 Newsgroups, cleaned of headers, signatures and quotes: got through scikit-learn and kept as JSON Lines."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepbass.core.foreign import guarded, reason_of
from deepbass.data.progress_bars import waiting
from deepbass.data.remote import RemoteError


class ScikitLearn:
    """Downloads the data set from where scikit-learn knows it to be, checked by scikit-learn's own digest."""

    label = "scikit-learn (fetch_20newsgroups)"
    base_url = "sklearn://"

    def __init__(self, fetch_part: Callable[..., Any] | None = None) -> None:
        """Take another function in the place of ``sklearn.datasets.fetch_20newsgroups``, for tests."""
        self._fetch_part = fetch_part

    def download(self, url: str, path: Path, progress: bool) -> None:
        """Write both parts as JSON Lines: text, label and part of every message that has any text."""
        with guarded(_refused), waiting("Downloading 20 Newsgroups", progress):
            fetch_part = self._fetch_part or _scikit_learns()
            written = io.BytesIO()
            # a folder of its own: what scikit-learn keeps there are pickles, which nobody should read again
            with tempfile.TemporaryDirectory() as home, gzip.open(written, "wt", encoding="utf-8") as lines:
                for part in ("train", "test"):
                    bunch = fetch_part(data_home=home, subset=part, remove=("headers", "footers", "quotes"))
                    for text, target in zip(bunch.data, bunch.target, strict=True):
                        if text.strip():
                            label = str(bunch.target_names[target])
                            lines.write(json.dumps({"text": text, "label": label, "part": part}) + "\n")
            path.write_bytes(written.getvalue())


def _scikit_learns() -> Callable[..., Any]:
    try:
        from sklearn.datasets import fetch_20newsgroups
    except ImportError as error:
        raise RemoteError("it is missing: pip install 'deepbass[sklearn]'") from error
    fetch_part: Callable[..., Any] = fetch_20newsgroups
    return fetch_part


def _refused(cause: Exception) -> RemoteError:
    return RemoteError(reason_of(cause))
