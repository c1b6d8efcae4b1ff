"""A service of the page without HTTP, and what pages send to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deepbass.label.acts import NewAct
from deepbass.label.project import Project
from deepbass.web.requests import Incoming
from deepbass.web.service import LabelService

SOON = 30.0


@contextmanager
def open_service(project: Project) -> Iterator[LabelService]:
    service = LabelService(project, project.open_items())
    try:
        yield service
    finally:
        service.close()


def sent(uid: str, item: int, class_: int | None = 0, **more: Any) -> NewAct:
    given: dict[str, Any] = {"kind": "label", "annotator": "", "why": "", **more}
    return NewAct(uid=uid, item=item, class_=class_, **given)


def incoming(*acts: NewAct, want: int = 0, holding: tuple[int, ...] = ()) -> Incoming:
    return Incoming(list(acts), want, holding)
