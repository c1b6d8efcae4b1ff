"""How the reference on the site reads our docstrings: named in mkdocs.yml, and called by mkdocstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe


class HouseStyle(griffe.Extension):
    """Take a comment behind a field for its docstring, and what stands behind a parameter's name for its meaning."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Look behind a field for a comment."""
        is_field = attr.parent is not None and attr.parent.is_class and not attr.name.startswith("_")
        if is_field and not attr.docstring and attr.source and (said := re.search(r"\s# ([^#]+)$", attr.source)):
            attr.docstring = griffe.Docstring(f"{_sentence(said[1].strip())}.", parent=attr)

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Move "name : meaning" to two lines: NumPy's style has a type in the first."""
        if cls.docstring and re.search(r"^-{5,}$", cls.docstring.value, flags=re.MULTILINE):
            named = re.compile(r"^(\w[\w, ]*) : (.*)$", flags=re.MULTILINE)
            cls.docstring.value = named.sub(lambda found: f"{found[1]}\n    {_sentence(found[2])}", cls.docstring.value)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
