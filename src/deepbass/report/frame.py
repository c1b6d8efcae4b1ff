"""What all our pages are made of: the frame around them, tables, figures, lists."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from deepbass.report.markup import data_uri, tag

if TYPE_CHECKING:
    from deepbass.report.canvas import Drawing

# nothing may be loaded or run, even if a name found a way through the escaping
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

_PIXELS = 96  # of an inch
_MEDIA = {"svg": "image/svg+xml", "png": "image/png"}


def frame(title: str, header: Element, *sections: Element | None) -> Element:
    """Make a page that needs no other file, runs nothing, and is readable on a phone, in the dark and on paper."""
    return tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", title),
            tag("style", files("deepbass.report").joinpath("page.css").read_text(encoding="utf-8")),
        ),
        tag("body", header, tag("main", *sections)),
        lang="en",
    )


def card(
    drawing: Drawing, kind: str = "svg", dpi: int | None = None, *, wide: bool = False, own_size: bool = False
) -> Element:
    """Show a figure with its caption.

    A wide one takes the whole width, or as much as it was drawn for, and scrolls where that is too little.
    """
    # as an image, each figure keeps its ids to itself and can be saved with a right click
    source = data_uri(_MEDIA[kind], drawing.save(kind, dpi))
    if own_size:
        pixels = round(_PIXELS * drawing.figure.get_figwidth())
        picture = tag("img", src=source, alt=drawing.alt, style=f"width: {pixels}px; min-width: {pixels}px")
    else:
        picture = tag("img", src=source, alt=drawing.alt)
    caption = tag("figcaption", drawing.caption) if drawing.caption else None
    if not wide:
        return tag("figure", picture, caption)
    kind_of_figure = "wide own" if own_size else "wide"
    strip = tag("div", picture, class_="strip", tabindex="0", role="group", aria_label="figure")
    return tag("figure", strip, caption, class_=kind_of_figure)


def scrolling_table(heads: Iterable[Element], rows: Iterable[Element], *, whole: bool = False) -> Element:
    """Make a table that scrolls in its own box, also by keyboard, and leaves the page as wide as the screen."""
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return tag("div", table, class_="scroll whole" if whole else "scroll", tabindex="0", role="group")


def folded(title: str, *content: Element) -> Element:
    """Hide what only some want to see behind a line that opens it."""
    return tag("details", tag("summary", title), *content)


def pairs(items: Iterable[Element]) -> Element:
    """List names with their values."""
    return tag("dl", *items, class_="settings")


def pair(name: str, *value: Element | str | None, kind: str | None = None) -> Element:
    """Make one name with its value."""
    inside = (tag("dt", name), tag("dd", *value))
    return tag("div", *inside) if kind is None else tag("div", *inside, class_=kind)
