"""A page as a reader's browser sees it: elements, attributes, text."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """Collects what a test wants to know of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []  # of which element, what
        self._open: list[str] = []
        self.feed(html)
        self.close()

    @classmethod
    def read(cls, path: Path) -> Page:
        """Parse a file."""
        return cls(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in {"meta", "img"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element; a page that closes another one than it opened is broken."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if data.strip():
            self.texts.append((self._open[-1] if self._open else "", data))

    def all(self, tag: str) -> list[dict[str, str]]:
        """List the attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def said(self, tag: str) -> list[str]:
        """List the texts directly inside elements of a kind."""
        return [text for inside, text in self.texts if inside == tag]

    @property
    def text(self) -> str:
        """All that is to be read, with plain spaces."""
        seen = "\n".join(text for inside, text in self.texts if inside != "style")
        return seen.replace("\N{NO-BREAK SPACE}", " ")

    def figures(self) -> list[str]:
        """Decode the SVG figures."""
        start = "data:image/svg+xml;base64,"
        return [
            base64.b64decode(image["src"].removeprefix(start)).decode()
            for image in self.all("img")
            if image["src"].startswith(start)
        ]
