"""The tables of docs/configuration.md, from what the configuration says of its settings.

python -m deepbass.cli.settings_table docs/configuration.md     writes them anew
"""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import Field
from pathlib import Path
from typing import Any

from deepbass.core.config import Config
from deepbass.core.setting import Setting, settings_of

BEGIN = "<!-- settings: python -m deepbass.cli.settings_table docs/configuration.md -->"
END = "<!-- end of settings -->"
_HEAD = "| setting | default | values | meaning |\n|---|---|---|---|"


def renew(page: str) -> str:
    """Put the tables as they should be into a page that has room for them."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def tables() -> str:
    """Write a table per group of settings, and below it what there is to choose from."""
    parts: list[str] = []
    choices: list[str] = []
    for name, (each, declared) in settings_of(Config).items():
        if each.group is not None:
            parts += [*choices, f"## {each.group}\n\n{_HEAD}"]
            choices = []
        parts[-1] += f"\n{_row(name, each, declared)}"
        if len(each.choices) > 1:
            choices.append(_choices(name, each))
    return "\n\n".join([*parts, *choices])


def _row(name: str, each: Setting, declared: Field[Any]) -> str:
    values = "see below" if len(each.choices) > 1 else "true or false" if declared.type == "bool" else each.allowed
    meaning = "; ".join(filter(None, (each.help, each.more)))
    return f"| `{name}` | {_default(each, declared)} | {values} | {meaning} |"


def _default(each: Setting, declared: Field[Any]) -> str:
    if each.shown is not None:
        return each.shown
    if isinstance(declared.default, str):
        return declared.default
    return "none" if declared.default is None else json.dumps(declared.default)


def _choices(name: str, each: Setting) -> str:
    told = ", ".join(
        f"`{choice}` ({meaning})" if meaning else f"`{choice}`" for choice, meaning in each.choices.items()
    )
    return textwrap.fill(f"**`{name}`**: {told}.", 120, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(renew(file.read_text(encoding="utf-8")), encoding="utf-8")
