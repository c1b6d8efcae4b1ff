"""Nothing that a user can name is undocumented: commands and options, settings, policies, errors, public names."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import deepbass
from deepbass.cli.commands_page import commands, page, parameters
from deepbass.core import errors
from deepbass.core.acquire import ACQUIRE
from deepbass.core.admit import ADMIT
from deepbass.core.config import Config
from deepbass.core.setting import settings_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PUBLIC = [name for name in deepbass.__all__ if not name.startswith("_")]
ERRORS = [name for name, each in vars(errors).items() if inspect.isclass(each) and issubclass(each, Exception)]


def test_the_page_of_commands_is_what_the_command_says() -> None:
    said = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert said == page(), "run: python -m deepbass.cli.commands_page docs/commands.md"


@pytest.mark.parametrize(("words", "command"), list(commands()), ids=lambda part: part if isinstance(part, str) else "")
def test_every_command_argument_and_option_says_what_it_is(words: str, command: Any) -> None:
    assert command.help, words
    assert [each.name for each in parameters(command) if not each.help] == []


def test_every_setting_and_every_name_to_choose_from_has_its_words_on_the_page() -> None:
    said = (DOCS / "configuration.md").read_text(encoding="utf-8")
    for name, (each, _) in settings_of(Config).items():
        assert f"| `{name}` |" in said
        assert each.help
        if len(each.choices) > 1:
            told = re.search(rf"\*\*`{name}`\*\*:(.*?)\n\n", said, flags=re.DOTALL)
            assert told, name
            assert [choice for choice in each.choices if f"`{choice}`" not in told[1]] == [], name


@pytest.mark.parametrize(("setting", "registered"), [("acquire", ACQUIRE), ("admit", ADMIT)])
def test_every_policy_has_a_meaning(setting: str, registered: dict[str, Any]) -> None:
    choices = settings_of(Config)[setting][0].choices
    assert set(registered) <= set(choices)
    assert all(choices.values())


def test_every_variable_of_the_environment_is_told() -> None:
    said = (DOCS / "configuration.md").read_text(encoding="utf-8")
    sources = [*(ROOT / "src").rglob("*.py"), ROOT / "hatch_build.py"]
    read = {name for file in sources for name in re.findall(r"DEEPBASS_[A-Z_]+", file.read_text(encoding="utf-8"))}
    assert {name for name in read if f"`{name}`" not in said} == set()


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_docstring_and_a_place_in_the_reference(name: str) -> None:
    public = getattr(deepbass, name)
    assert inspect.getdoc(public)
    if inspect.isclass(public):
        members = {key: each for key, each in vars(public).items() if not key.startswith("_")}
        bare = [key for key, each in members.items() if _is_told(each) and not inspect.getdoc(each)]
        assert bare == []
    assert f"::: deepbass.{name}\n" in (DOCS / "reference.md").read_text(encoding="utf-8")


def _is_told(member: object) -> bool:
    """Tell what a docstring is for: methods and properties, not fields that hold a function."""
    is_method = isinstance(member, FunctionType) and member.__name__ != "<lambda>"
    return is_method or isinstance(member, property | classmethod | staticmethod)


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_says_what_it_is(name: str) -> None:
    assert "\n::: deepbass.core.errors\n" in (DOCS / "reference.md").read_text(encoding="utf-8")
    assert "__doc__" in vars(getattr(errors, name))
    assert getattr(errors, name).__doc__
