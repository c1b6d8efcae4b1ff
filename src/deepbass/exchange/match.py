"""Find the item that a path means: spelled as in the project, with folders in front, or by its last name alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from deepbass.core.errors import DataError
from deepbass.data.listing import name_some

_UPLOADED = re.compile(r"^[0-9a-f]{8}-(?=.)")  # Label Studio's mark in front of an uploaded file


class AmbiguousError(DataError):
    """A path that could mean several items."""


class Matcher:
    """Knows the names of all items."""

    def __init__(self, names: Sequence[str], source: str) -> None:
        self._names = names
        composed = {unicodedata.normalize("NFC", name): id_ for id_, name in enumerate(names)}
        self._id = composed | {name: id_ for id_, name in enumerate(names)}
        self._by_last: dict[str, list[int]] = {}
        for id_, name in enumerate(names):
            self._by_last.setdefault(_last(name), []).append(id_)
        path = Path(source)
        folder = path if path.is_dir() or not path.suffix else path.parent
        self._before = ("", "./", f"{folder.as_posix().rstrip('/')}/", f"{folder.name}/")

    def find(self, paths: Iterable[str]) -> int | None:
        """Find the item that the first of some spellings means; None: none does."""
        return next((found for path in paths if (found := self._find(path)) is not None), None)

    def _find(self, path: str) -> int | None:
        plain = path.replace("\\", "/").strip()
        for spelling in (path, unicodedata.normalize("NFC", path), plain):
            for begin in self._before:
                if spelling.startswith(begin) and (found := self._id.get(spelling.removeprefix(begin))) is not None:
                    return found
        found = self._by_end(plain)
        if found is None and _UPLOADED.match(_last(plain)):
            found = self._by_end(_UPLOADED.sub("", _last(plain)))
        return found

    def _by_end(self, path: str) -> int | None:
        """Find the item whose path ends like this one, and is nothing but that end, or the other way round.

        So images that lie elsewhere on another machine are found; b/1.png is not taken for a/1.png.
        """
        agreeing: dict[int, list[int]] = {}
        for id_ in self._by_last.get(_last(path), ()):
            parts, others = path.split("/"), self._names[id_].split("/")
            common = min(len(parts), len(others))
            if parts[-common:] == others[-common:]:
                agreeing.setdefault(common, []).append(id_)
        if not agreeing:
            return None
        best = agreeing[max(agreeing)]
        if len(best) > 1:
            raise AmbiguousError(f"{path!r} could be any of {name_some([repr(self._names[id_]) for id_ in best[:5]])}")
        return best[0]


def _last(path: str) -> str:
    return path.rsplit("/", 1)[-1]
