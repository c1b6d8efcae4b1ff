"""What the documents show runs as shown."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deepbass.cli import app
from deepbass.core.config import Config
from deepbass.runs.configure import configure

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    """Collect the code blocks of all pages, with the page's name."""
    return [
        (page.name, block)
        for page in PAGES
        for block in re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    ]


# A cluster takes half a minute to start: `make slow` runs what is shown of it. The lowest versions that are promised do
# not go with these extras, so `make test-lowest` lacks them; `make test` has them all.
SHOWN = [block for block in blocks("python") if "import ray" not in block[1] or os.environ.get("DEEPBASS_CLUSTER")]
EXTRAS = {"MLflowWriter": "mlflow", "import ray": "ray"}


@pytest.mark.parametrize(("page", "code"), SHOWN)
def test_python_snippets_run(page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for word, extra in EXTRAS.items():
        if word in code:
            pytest.importorskip(extra)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, page, "exec"), {"__name__": "snippet"})


@pytest.mark.parametrize(("page", "code"), blocks("toml"))
def test_toml_snippets_are_valid_configurations(page: str, code: str) -> None:
    import tomllib

    settings = tomllib.loads(code)
    assert isinstance(configure(settings.pop("data"), settings.pop("preset"), settings), Config)


@pytest.mark.parametrize(("page", "code"), blocks("bash"))
def test_commands_shown_exist_with_the_options_shown(page: str, code: str) -> None:
    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] != "deepbass":
            continue
        verb = words[1:3] if words[1] == "data" else words[1:2]
        described = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, [*verb, "--help"])
        assert described.exit_code == 0, line
        options = [word.split("=")[0] for word in words if word.startswith("--")]
        assert all(option in described.output for option in options), line


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
