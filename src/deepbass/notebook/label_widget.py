"""A widget that labels the rows of a session in a notebook: a question at a time, by button or key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from deepbass.core.errors import DeepBassError
from deepbass.notebook.faces import face_of
from deepbass.report.words import counted
from deepbass.runs.stepwise import Stepwise

if TYPE_CHECKING:
    from deepbass.session import Session

_HERE = Path(__file__).parent
_KEYS = _HERE.parent / "web" / "static" / "keys.js"
_IMPORTED = 'import { digitKeys, keyName } from "../web/static/keys.js";\n'
_SIDE = 480  # pixels of a picture
_LETTERS = 20_000  # of a text


def _script() -> str:
    """Put the keys of the labelling page in front: a notebook loads one module, which cannot import a file."""
    own = (_HERE / "label_widget.js").read_text(encoding="utf-8")
    return _KEYS.read_text(encoding="utf-8") + own.replace(_IMPORTED, "")


class LabelWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
    """Shows rows of a session, hears labels, skips and undos, and teaches the session."""

    _esm = _script()
    _css = (_HERE / "label_widget.css").read_text(encoding="utf-8")

    question = traitlets.Dict().tag(sync=True)  # row, and its picture or text; empty: there is nothing to ask
    classes = traitlets.List(traitlets.Unicode()).tag(sync=True)  # names
    may_add = traitlets.Bool().tag(sync=True)  # classes
    may_undo = traitlets.Bool().tag(sync=True)
    progress = traitlets.Unicode().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)
    busy = traitlets.Bool().tag(sync=True)
    turn = traitlets.Int().tag(sync=True)  # grows when all else is up to date: then the page is drawn again

    def __init__(self, session: Session, step: Stepwise, batch: int, *, may_add: bool) -> None:
        """Begin with what the session waits for; from then on ``batch`` rows are asked for at a time."""
        super().__init__()
        self._session, self._step, self._batch = session, step, batch
        self._queue: list[int] = session.waiting.tolist()
        self._done: list[tuple[int, bool]] = []  # row, and whether it was labelled, or skipped
        self.may_add = may_add
        self.on_msg(self._hear)
        with self._saying_what_is_wrong():
            self._supply()
        self._show()

    def _hear(self, _: object, message: Mapping[str, Any], buffers: object) -> None:
        """Do what a person wants; an answer to a question that is not shown any more changes nothing."""
        self.note = ""
        with self._saying_what_is_wrong():
            self._act(message)
            self._supply()
        self._show()

    def _act(self, message: Mapping[str, Any]) -> None:
        kind, row, class_ = message.get("kind"), message.get("row"), message.get("class")
        if kind == "undo":
            self._undo()
        elif not self._queue or row != self._queue[0]:
            return
        elif kind == "skip":
            self._done.append((self._queue.pop(0), False))
        elif kind == "label" and isinstance(class_, int) and class_ in range(len(self._session.classes)):
            self._teach(self._session.classes[class_])
        elif kind == "new" and isinstance(message.get("name"), str):
            self._teach(message["name"])

    def _teach(self, label: str | float) -> None:
        self._session.teach(self._queue[0], label)
        self._done.append((self._queue.pop(0), True))

    def _undo(self) -> None:
        """Take the last answer or skip back, and ask again."""
        if self._done:
            row, labelled = self._done.pop()
            self._queue.insert(0, row)
            if labelled:
                self._session.teach(row, None)

    def _supply(self) -> None:
        """Ask for more where nothing is left to show; what was taught elsewhere in the meantime is not shown."""
        labels = self._session.labels
        self._queue = [row for row in self._queue if labels[row] is None]
        if not self._queue:
            self._draw_busy()
            self._queue = self._session.ask(self._batch).tolist()

    def _draw_busy(self) -> None:
        """Say so before the model is trained, which may take a while."""
        self.busy = True
        self.turn += 1

    def _show(self) -> None:
        """Bring the page up to date, in one message."""
        labelled = sum(done for _, done in self._done)
        known = len(self._step.labels.known)
        with self.hold_sync():
            self.question = self._question()
            self.classes = [str(class_) for class_ in self._session.classes]
            self.may_undo = bool(self._done)
            self.progress = f"{counted(labelled, 'label')} just now, {counted(known)} of {len(self._session):,} in all"
            self.busy = False
            self.turn += 1

    def _question(self) -> dict[str, Any]:
        if not self._queue:
            return {}
        pool = self._step.seen.pool
        face = face_of(pool, int(pool.row_map.ids([self._queue[0]])[0]), _SIDE, _LETTERS)
        return {"row": self._queue[0], "picture": face.picture, "text": face.text}

    @contextmanager
    def _saying_what_is_wrong(self) -> Iterator[None]:
        """Show errors on the page: nobody sees what a widget raises."""
        try:
            yield
        except DeepBassError as error:
            self.note = str(error)
