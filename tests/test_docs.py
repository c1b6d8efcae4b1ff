"""What the documents show runs as shown."""

from __future__ import annotations

import inspect
import itertools
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from deepbass.cli import app
from deepbass.core.config import Config
from deepbass.runs.configure import configure

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


NOTEBOOKS = [file.stem for file in (ROOT / "docs" / "notebooks").glob("*.ipynb")]  # run by tests/test_notebooks.py


def blocks(language: str) -> list[tuple[str, str]]:
    """Collect the code blocks of all pages, with the page's name."""
    return [
        (page.name, block)
        for page in PAGES
        for block in re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    ]


def test_every_block_says_what_it_is_in_and_so_is_checked() -> None:
    fences = [(page.name, fence) for page in PAGES for fence in _opened(page.read_text(encoding="utf-8"))]
    assert {fence for _, fence in fences} <= {"python", "py", "toml", "bash", "text", "ini", ""}
    assert [page for page, fence in fences if fence == "py"] == ["features.md"]  # needs what is not installed here


def _opened(page: str) -> list[str]:
    return re.findall(r"^ *```(.*)$", page, flags=re.MULTILINE)[::2]


# A cluster takes half a minute to start: `make slow` runs what is shown of it. The lowest versions that are promised do
# not go with these extras, so `make test-lowest` lacks them; `make test` has them all. Notebooks are run as such.
SHOWN = [
    pytest.param(page, code, marks=[pytest.mark.slow] if "import ray" in code else [])
    for page, code in blocks("python")
    if Path(page).stem not in NOTEBOOKS
]
EXTRAS = {"MLflowWriter": "mlflow", "import ray": "ray"}


@pytest.mark.parametrize(("page", "code"), SHOWN)
def test_python_snippets_run(page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for word, extra in EXTRAS.items():
        if word in code:
            pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, page, "exec"), {"__name__": "snippet"})


@pytest.mark.parametrize(("page", "code"), blocks("py"))
def test_snippets_that_need_other_packages_are_functions_without_arguments(page: str, code: str) -> None:
    names: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(code, page, "exec"), names)
    functions = [each for each in names.values() if inspect.isfunction(each)]
    assert functions
    assert not any(inspect.signature(each).parameters for each in functions)


@pytest.mark.parametrize(("page", "code"), blocks("toml"))
def test_toml_snippets_are_valid_configurations(page: str, code: str) -> None:
    import tomllib

    settings = tomllib.loads(code)
    assert isinstance(configure(settings.pop("data"), settings.pop("preset"), settings), Config)


def command_lines() -> list[tuple[str, list[str]]]:
    """Collect the calls of deepbass in the blocks for a shell, pipes and what comes after && included."""
    found = []
    for page, block in blocks("bash"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars="|&")
            words.whitespace_split = True
            for is_pipe, part in itertools.groupby(words, lambda word: set(word) <= set("|&")):
                call = list(part)
                if not is_pipe and call[0] == "deepbass":
                    found.append((page, call[1:]))
    return found


@pytest.mark.parametrize(("page", "words"), command_lines(), ids=lambda part: part if isinstance(part, str) else "")
def test_command_lines_are_understood_by_the_command(page: str, words: list[str]) -> None:
    command, rest = command_of(words)
    command.make_context("deepbass", rest)  # which raises what the command would complain about


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Find the command that words call, and what is left of them."""
    command: Any = typer.main.get_command(app)
    rest = list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    assert not hasattr(command, "commands") or not rest or rest[0].startswith("-"), f"no such command: {words}"
    return command, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_named_in_the_text_exist_with_their_options(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for line in re.findall(r"`deepbass ([a-z][^`]*)`", text):
        command, rest = command_of(line.split())
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        options = {word.split("=")[0] for word in rest if word.startswith("--")}
        assert options <= known | {"--help"}, line


def test_a_command_line_that_is_wrong_would_be_noticed() -> None:
    for wrong in (["run", "mnist", "--no-such"], ["export"], ["people", "add", "project"], ["run", "--seed", "x"]):
        command, rest = command_of(wrong)
        with pytest.raises(Exception, match=r"(?i)no such option|missing|a valid integer"):
            command.make_context("deepbass", rest)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_page_of_results_its_figures_and_the_readme_are_what_the_result_files_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import results_page

    assert results_page.PAGE.read_text(encoding="utf-8") == results_page.page(tmp_path / "images")
    figures = sorted((tmp_path / "images").iterdir())
    assert figures
    for figure in figures:
        assert (results_page.IMAGES / figure.name).read_bytes() == figure.read_bytes(), figure.name
    readme = results_page.README.read_text(encoding="utf-8")
    assert readme == results_page.readme(readme)
    assert "| MNIST, 100 labels |" in readme


def test_what_the_guide_says_was_measured_is_in_the_result_files() -> None:
    import json

    words = " ".join((ROOT / "docs" / "labelling.md").read_text(encoding="utf-8").split())
    web = json.loads((ROOT / "benchmarks" / "results" / "web.json").read_text())
    waits = web["milliseconds"]
    assert (web["settings"]["people"], web["errors"]) == (50, 0)
    assert f"of {web['answers']:,} answers half" in words
    assert (
        f"within {waits['p50']:g} ms, 99 of 100 within {waits['p99']:g} ms, the slowest in {waits['p100']:g} ms"
        in words
    )
    person = json.loads((ROOT / "results" / "label-mnist.json").read_text())["runs"][-1]
    audit = person["audit"]
    assert f"{audit['n']} of them audit answers" in words
    assert f"is {100 * person['test_error']:.2f} %" in words
    shown = [f"{100 * audit[name]:.1f} %" for name in ("estimate", "low", "high")]
    assert "said {}, between {} and {}.".format(*shown) in words


def test_the_comparison_with_scikit_learn_is_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import beside_scikit

    found = json.loads(beside_scikit.OUT.read_text())
    assert all(len(runs) == beside_scikit.SEEDS for row in found.values() for runs in row.values())
    assert beside_scikit.table(found) in (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_what_the_page_of_guesses_shows_is_what_the_result_files_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import guesses_page

    text = guesses_page.PAGE.read_text(encoding="utf-8")
    assert text == guesses_page.page(text), "run: python experiments/guesses_page.py"
    assert all(fact in " ".join(text.split()) for fact in guesses_page.facts())
    assert all(table in text for table in guesses_page.tables().values())
    for drawing in guesses_page.drawings():
        assert (guesses_page.IMAGES / f"{drawing.name}.svg").read_bytes() == drawing.save("svg"), drawing.name
        assert f"(images/{drawing.name}.svg)" in text
