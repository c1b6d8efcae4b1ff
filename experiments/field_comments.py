"""For the reference on the site: a comment behind a field of a class stands for its docstring."""

from __future__ import annotations

import re
from typing import Any

import griffe


class FieldComments(griffe.Extension):
    """Take comments for docstrings, where fields have none."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Look behind a field for a comment."""
        is_field = attr.parent is not None and attr.parent.is_class and not attr.name.startswith("_")
        if is_field and not attr.docstring and attr.source and (said := re.search(r"\s# ([^#]+)$", attr.source)):
            text = said[1].strip()
            attr.docstring = griffe.Docstring(f"{text[0].upper()}{text[1:]}.", parent=attr)
