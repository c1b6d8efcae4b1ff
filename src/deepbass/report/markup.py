"""HTML as a tree: the standard library escapes all text, so that no name can become markup."""

from __future__ import annotations

import base64
from xml.etree import ElementTree
from xml.etree.ElementTree import Element


def tag(kind: str, /, *children: Element | str | None, **attributes: str) -> Element:
    """Make an element; ``class_`` stands for class and ``aria_label`` for aria-label. None is left out."""
    element = Element(kind, {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            element.append(child)
        elif child and len(element):
            element[-1].tail = (element[-1].tail or "") + child
        elif child:
            element.text = (element.text or "") + child
    return element


def document(root: Element) -> bytes:
    """Write the tree as an HTML page."""
    html = ElementTree.tostring(root, encoding="unicode", method="html")
    return f"<!doctype html>\n{html}\n".encode("utf-8", errors="replace")


def data_uri(kind: str, content: bytes) -> str:
    """Put a file into an address, so that the page needs no other file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
