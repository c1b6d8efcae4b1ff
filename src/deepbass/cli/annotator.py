"""Whose answers they are, where nobody logs in."""

from __future__ import annotations

import getpass

from deepbass.core.errors import ConfigError


def annotator_name(given: str | None) -> str:
    """Check a name that was given, or find the one that the person logged in with."""
    from deepbass.label.clean_names import clean_name
    from deepbass.label.project import SOURCE

    if given is not None:
        name = clean_name(given, "a person")
        if name == SOURCE:
            raise ConfigError(f"--annotator {given!r}: this name stands for labels that the images bring along.")
        return name
    try:
        name = clean_name(getpass.getuser(), "a person")
    except Exception:  # no name, no entry for the user's number, no such table on this system
        return "me"
    return "me" if name == SOURCE else name
