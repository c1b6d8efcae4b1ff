"""What there is to say about a setting, said once: checks, options of the command and documentation follow from it."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar

from deepbass.core.errors import ConfigError

T = TypeVar("T")

_KEY = "setting"  # under which a field's metadata holds its Setting
_KINDS: Mapping[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "None": type(None)}
_LARGEST = 2**63 - 1  # that every file and library on the way can hold


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The words for a setting, and which values it may have."""

    help: str  # what it is: a clause, for the command and the documentation
    more: str = ""  # what else there is to say, for the documentation alone
    group: str | None = None  # begins a group of settings, which those that follow belong to
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    below: float | None = None
    share: bool = False  # may be written as 20%
    choices: Mapping[str, str] = field(default_factory=dict)  # the names to choose from, and what each means
    code: bool = False  # may also name a function of the user's own
    numbered: bool = False  # a name may have a number after it, as in cuda:1
    meant: Mapping[str, str] = field(default_factory=dict)  # other words for choices
    written: tuple[str, ...] = ()  # names that deepbass writes down where there was none to choose
    shown: str | None = None  # the default as the documentation shows it, where the value itself would say too little

    @property
    def allowed(self) -> str:
        """Say which numbers are allowed; nothing where all are, or where there are none."""
        if self.above is not None and self.below is not None:
            return f"between {self.above:g} and {self.below:g}"
        if self.below is not None:
            return f"at least {self.at_least or 0:g} and below {self.below:g}"
        if self.at_most is not None:
            return f"{self.at_least or 0:g} to {self.at_most:,g}"
        if self.above is not None:
            return f"above {self.above:g}"
        return "" if self.at_least is None else f"{self.at_least:g} or more"

    def understood(self, name: str, value: str) -> str:
        """Take a name with underscores for the choice with dashes, and that of an installed part for its function."""
        if value in (*self.choices, *self.written) or ":" in value:
            return value
        if (dashed := value.replace("_", "-")) in self.choices:
            return dashed
        from deepbass.core.installed_parts import installed  # asks every installed package, which takes a while

        return installed(name).get(value, value)

    def refusal(self, name: str, value: Any, declared: str) -> str | None:
        """Say why a value will not do; None if it will."""
        if not _is_of(value, declared):
            return f"{name} = {value!r} must be {declared.replace('None', 'left out')}."
        if isinstance(value, str) and self.choices and value not in (*self.choices, *self.written):
            if (self.code and ":" in value) or (self.numbered and _is_numbered(value, self.choices)):
                return None
            return _unknown(name, value, self.choices, self.code, self.meant)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if abs(value) > _LARGEST if isinstance(value, int) else math.isinf(value):
                return f"{name} is a number too large to work with."  # and maybe to be written
            if not self._in_range(value):
                example = ", as in 0.2 or 20%" if self.share else ""
                return f"{name} = {value} must be {self.allowed or 'a finite number'}{example}."
        return None

    def _in_range(self, value: float) -> bool:
        """Compare so that what is not a number lies outside of every range."""
        return (
            not math.isnan(value)
            and (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
        )


def setting(default: T, help_: str, **more: Any) -> T:
    """Declare a dataclass's field with its default, its meaning and what else `Setting` has room for."""
    return field(default=default, metadata={_KEY: Setting(help=help_, **more)})


def settings_of(configuration: type) -> dict[str, tuple[Setting, Field[Any]]]:
    """List the settings of a dataclass that was declared with them."""
    return {each.name: (each.metadata[_KEY], each) for each in fields(configuration)}


def check_settings(configuration: Any) -> None:
    """Refuse the first value that is not of its type, not in its range or not among its choices."""
    for name, (each, declared) in settings_of(type(configuration)).items():
        refusal = each.refusal(name, getattr(configuration, name), str(declared.type))
        if refusal is not None:
            raise ConfigError(refusal)


def one_of(what: str, given: str, allowed: Iterable[str], meant: Mapping[str, str] | None = None) -> None:
    """Refuse a name that is not among those allowed, and suggest the one that is ``meant`` by it, or the nearest."""
    allowed = list(allowed)
    if given not in allowed:
        raise ConfigError(_unknown(what, given, allowed, meant=meant or {}))


def read_share(what: str, text: str) -> float:
    """Read a share written as 0.02 or 2%; ``what`` it is comes first in an error."""
    number = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    if number is None:
        raise ConfigError(f"{what} {text!r} is not a share: write 2% or 0.02.")
    return float(number[1]) / (100 if number[2] else 1)


def _is_of(value: object, declared: str) -> bool:
    """Tell whether a value is of a type, as a TOML file or a caller may get wrong: a quoted number is none."""
    allowed = tuple(_KINDS[part.strip()] for part in declared.split("|"))
    if isinstance(value, bool):
        return bool in allowed
    return isinstance(value, (*allowed, int) if float in allowed else allowed)


def _unknown(
    what: str, given: str, allowed: Iterable[str], code: bool = False, meant: Mapping[str, str] | None = None
) -> str:
    allowed, own = list(allowed), ""
    if code:
        from deepbass.core.installed_parts import installed

        allowed += installed(what)
        own = ", or name your own as 'file.py:function' or 'package.module:function'"
    near = difflib.get_close_matches(given, allowed, n=1)
    said = (meant or {}).get(given.lower().replace("-", "_"))
    if said is not None and said not in allowed:  # there is none, and it says why
        return f"Unknown {what} {given!r}: {said}."
    hint = f" Did you mean {said or near[0]!r}?" if said or near else ""
    return f"Unknown {what} {given!r}.{hint} Choose one of: {', '.join(allowed)}{own}."


def _is_numbered(value: str, choices: Iterable[str]) -> bool:
    name, _, number = value.partition(":")
    return name in choices and number.isascii() and number.isdigit()
