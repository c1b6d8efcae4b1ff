"""The curve of a session, as a small picture that needs nothing but the page that it stands in."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from deepbass.report.markup import tag
from deepbass.report.words import counted, percent
from deepbass.runs.session_curve import CurvePoint

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 340, 170, 44, 10, 8, 32


def draw_session_curve(points: Sequence[CurvePoint]) -> Element | None:
    """Draw how sure the model is, and how often it had guessed a label before it was told, by number of labels."""
    if len(points) < 2:  # one is no curve
        return None
    points = sorted(points, key=lambda point: point.labels)  # a label that is taken back makes a step to the left
    first, last = points[0].labels, max(points[-1].labels, points[0].labels + 1)

    def x(labels: int) -> float:
        return _LEFT + (labels - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    sure = [(x(point.labels), _y(point.sure)) for point in points]
    foreseen = [(x(point.labels), _y(point.foreseen)) for point in points if point.foreseen is not None]
    picture = tag(
        "svg",
        *(part for share in (0.0, 0.5, 1.0) for part in _grid(share)),
        _text(_LEFT, _HEIGHT - 17, counted(first), "start"),
        _text(_WIDTH - _RIGHT, _HEIGHT - 17, counted(last), "end"),
        _text((_LEFT + _WIDTH) / 2, _HEIGHT - 3, "labels", "middle"),
        *_line(sure, "sure"),
        *_line(foreseen, "foreseen"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=_described(points[-1]),
    )
    keys = [tag("span", f"how sure, on average: {percent(points[-1].sure, 0)}", class_="sure")]
    if (share := points[-1].foreseen) is not None:
        words = f"had guessed the last answers before they came: {percent(share, 0)}"
        keys.append(tag("span", words, class_="foreseen"))
    return tag("figure", picture, tag("figcaption", *keys), class_="deepbass-curve")


def _described(last: CurvePoint) -> str:
    said = f"With {counted(last.labels, 'label')} the model is {percent(last.sure, 0)} sure on average"
    if last.foreseen is None:
        return f"{said}."
    return f"{said}, and had guessed {percent(last.foreseen, 0)} of the last answers before they came."


def _y(share: float) -> float:
    return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)


def _grid(share: float) -> tuple[Element, Element]:
    across = {"x1": str(_LEFT), "x2": str(_WIDTH - _RIGHT), "y1": f"{_y(share):.1f}", "y2": f"{_y(share):.1f}"}
    return tag("line", class_="grid", **across), _text(_LEFT - 6, _y(share) + 4, percent(share, 0), "end")


def _text(x: float, y: float, said: str, anchor: str) -> Element:
    return tag("text", said, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _line(points: list[tuple[float, float]], kind: str) -> list[Element]:
    """Draw a line and its end."""
    if not points:
        return []
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    return [
        tag("polyline", class_=kind, points=places),
        tag("circle", class_=kind, cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.5"),
    ]
