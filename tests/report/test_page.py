"""The page: alone, escaped, true to the store, and presentable for odd runs too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from deepbass.core.config import OWN
from deepbass.core.errors import DeepBassError, StoreError
from deepbass.core.labels import NO_IDS, Answers
from deepbass.report import write_report
from deepbass.store.names import FIELD_FILE, QUALITY_FILE, REPORT_FILE
from deepbass.store.rundir import RunDir

from .parsed import Page
from .runs import DIGITS, METRICS, add_field, add_quality, make_run

NASTY = ["<script>alert(1)</script>", "a & b", "$\\frac{", '"><img src=x onerror=alert(1)>', "猫 naïve", "x" * 300]

ODD_RUNS: dict[str, dict[str, Any]] = {
    "finished": {},
    "two classes": {"classes": ["benign", "malignant"]},
    "a hundred classes": {"classes": [f"the remarkably long name of class {i}" for i in range(100)]},
    "nasty names": {"classes": NASTY, "name": NASTY[0], "sample_name": NASTY[3], "notes": NASTY},
    "nothing trained": {"done": None},
    "only the initial model": {"done": 0},
    "one iteration": {"done": 1},
    "never asked": {"acquire": "none"},
    "nobody answers": {"waiting": 3, "oracle": OWN, "acquire": OWN},
    "not pictures": {"picture": None},
    "colour photographs": {"picture": (90, 200, 3)},
    "no accuracy": {"without": ["validation_accuracy", "pseudo_accuracy", "guess_accuracy"]},
    "no counts": {"without": ["known", "members", "asked", "answered"]},
    "uneven classes": {"classes": ["fine", "scratched", "broken"], "commonest": 0.7},
    "an earlier version": {"without": ["balanced_accuracy", "macro_f1", "ece", "recall", "commonest"]},
    "no metrics": {"without": METRICS},
    "a thousand questions": {"ask_count": 350, "picture": (8, 8)},
}


FIGURES = 6  # of a page without what is told class by class


def files_of(run: Path) -> set[str]:
    """List a run's files, without those that SQLite puts beside its own for readers."""
    return {file.name for file in run.iterdir()} - {"run.db-shm", "run.db-wal"}


@pytest.fixture(params=ODD_RUNS)
def odd_run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", **ODD_RUNS[request.param])


def test_the_page_is_whole_and_alone(odd_run: Path) -> None:
    before = files_of(odd_run)
    page = Page.read(write_report(odd_run))

    # alone: nothing is fetched, nothing runs, nothing else is written
    for _, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            assert attributes.get(name, "data:").startswith("data:")
        assert not any(name.startswith("on") for name in attributes)
    assert not {"script", "link", "iframe", "object", "embed", "svg", "base"} & {name for name, _ in page.elements}
    assert not re.search(r"url\(|@import", "".join(page.said("style")))
    assert files_of(odd_run) == before | {REPORT_FILE}

    for svg in page.figures():
        ElementTree.fromstring(svg)
        assert not re.search(r'href="(?!#|data:)|<script|<dc:date>', svg)

    # whole: a title, one headline, a text for each picture
    assert len(page.said("title")) == len(page.said("h1")) == 1
    assert all(image["alt"] for image in page.all("img"))


def test_the_same_run_gives_the_same_page(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    add_field(run, len(DIGITS))
    first = write_report(run).read_bytes()
    assert write_report(run).read_bytes() == first


def test_a_name_is_never_markup(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", classes=NASTY, name=NASTY[0], sample_name=NASTY[3], notes=NASTY)
    page = Page.read(write_report(run))
    assert set(NASTY) <= set(page.said("th"))
    assert set(NASTY) <= set(page.said("li"))
    assert any(image["alt"].startswith(NASTY[3]) for image in page.all("img"))
    assert not page.all("script")
    assert not [image for image in page.all("img") if "onerror" in image]


def test_the_numbers_are_the_stores(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    page = Page.read(write_report(run))
    with RunDir.open(run, lock=False) as opened:
        steps, answers = opened.events.steps(), opened.events.answers()

    accuracy = [step.metrics["validation_accuracy"] for step in steps]
    assert accuracy[0] is not None
    assert accuracy[-1] is not None
    now, then = f"{100 * accuracy[-1]:.1f} %", f"{100 * accuracy[0]:.1f} %"
    headline = f"{now} validation accuracy with 19 labels (initial model: {then} with 10)"
    assert headline in page.text.splitlines()
    for value in accuracy:
        assert value is not None
        assert f"{100 * value:.2f} %" in page.text

    said = Counter(page.said("b"))
    asked = Counter(str(answer.class_) for answer in answers if answer.source != "initial")
    assert said == asked
    assert "9 questions, 9 answered." in page.text


@pytest.mark.parametrize(("classes", "figures"), [(3, 2), (50, 2), (60, 1)])
def test_the_final_model_is_told_class_by_class_beside_the_commonest_class(
    tmp_path: Path, classes: int, figures: int
) -> None:
    names = [f"<kind> {i}" for i in range(classes)]
    run = make_run(tmp_path / "run", classes=names, commonest=0.6)
    quality = add_quality(run, classes, uneven=True)
    page = Page.read(write_report(run))
    assert len(page.figures()) == FIGURES + figures  # the matrix has room for 50 classes
    assert ("Most confused" in page.said("h3")) == (classes > 50)
    assert "Always guessing the commonest class would reach 60.0 %" in page.text
    assert "The classes are uneven: balanced accuracy" in page.text
    for share in (quality.accuracy, quality.commonest, quality.by_share, quality.balanced_accuracy, quality.ece or 0):
        assert f"{100 * share:.1f}\N{NO-BREAK SPACE}%" in page.said("dd")
    shown = [float(cell.split()[0]) for cell in page.said("td") if re.fullmatch(r"[0-9.]+\s%", cell)]
    recall = sorted(100 * share for share in quality.recall if share is not None)
    assert shown[0] == pytest.approx(recall[0], abs=0.051)  # the worst first
    matrix = [svg for svg in page.figures() if "taken for what" in svg]
    if matrix:
        said = Counter(re.findall(r">([0-9,]+)</text>", matrix[0]))
        for _, _, count in quality.as_dict()["confusion"]:
            assert said[f"{count:,}"]


@pytest.mark.parametrize("content", [b"", b"{}", b'{"classes": 2, "confusion": [], "reliability": []}', b"\xff"])
def test_damaged_confusions_are_an_error_that_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    run = make_run(tmp_path / "run")
    (run / QUALITY_FILE).write_bytes(content)
    with pytest.raises(StoreError, match=r"quality.json is not a readable matrix of confusions .*Delete it"):
        write_report(run)


def test_a_taken_back_answer_is_waited_for_again(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    with RunDir.open(run) as opened:
        first = np.array([opened.events.questions()[0].sample])
        opened.events.commit_step(13, {}, {}, NO_IDS, Answers(first, np.array([-1])), "own")
    page = Page.read(write_report(run))
    assert page.said("b")[0] == "waiting"
    assert page.said("b").count("waiting") == 1
    assert "9 questions, 8 answered." in page.text


@pytest.mark.parametrize(
    ("done", "said"), [(12, "Finished after 12 iterations."), (5, "Not finished: iteration 5 of 12.")]
)
def test_the_page_says_whether_the_run_is_at_its_end(tmp_path: Path, done: int, said: str) -> None:
    run = make_run(tmp_path / "run", done=done)
    page = Page.read(write_report(run))
    assert said in page.text
    assert (f"deepbass resume {run.as_posix()}" in page.text) == (done < 12)


@pytest.mark.parametrize(("passes", "said"), [(10, True), (3, False)])
def test_the_page_says_that_the_pools_entropy_is_over_fewer_passes_where_it_is(
    tmp_path: Path, passes: int, said: bool
) -> None:
    run = make_run(tmp_path / "run", passes_pool=passes)
    with RunDir.open(run, lock=False) as opened:
        made = [step.metrics["passes"] for step in opened.events.steps()[1:]]
    page = Page.read(write_report(run))
    assert (f"{np.mean(np.array(made, dtype=float)):.1f} a sample on average, of {passes}" in page.text) == said
    assert "passes a sample" in page.said("th")


def test_changed_settings_stand_out(tmp_path: Path) -> None:
    page = Page.read(write_report(make_run(tmp_path / "run", copies=7)))
    changed = [attributes for attributes in page.all("div") if attributes.get("class") == "changed"]
    assert len(changed) == 5  # initial, iterations, ask_count, ask_every, copies
    assert "default 20" in page.text


def test_the_page_is_bounded_however_much_is_asked(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", done=9, ask_count=400, picture=(65, 100, 3))
    report = write_report(run)
    assert len(Page.read(report).said("b")) == 1000
    assert report.stat().st_size < 10e6  # of noise, which no compression makes smaller


@pytest.mark.parametrize("classes", [2, 12])
def test_two_dimensional_data_shows_its_decision_field(tmp_path: Path, classes: int) -> None:
    run = make_run(tmp_path / "run", classes=[f"class {i}" for i in range(classes)], picture=None, done=1)
    add_field(run, classes)
    (field,) = [
        image for image in Page.read(write_report(run)).all("img") if image["alt"].startswith("Map of the plane")
    ]
    assert "60 points, 9 of them" in field["alt"].replace("\N{NO-BREAK SPACE}", " ")


def test_a_damaged_field_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for content in (b"", b"PK\x03\x04 torn", b"not an archive"):
        (run / FIELD_FILE).write_bytes(content)
        with pytest.raises(StoreError, match=r"field\.npz"):
            write_report(run)
    np.savez(run / FIELD_FILE, xs=np.zeros(3))
    with pytest.raises(StoreError, match=r"field\.npz"):
        write_report(run)


def test_what_is_not_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeepBassError, match="not a run"):
        write_report(tmp_path)


def test_a_missing_matplotlib_is_explained_and_importing_needs_neither_it_nor_torch(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", done=1)
    code = (
        "import sys, pathlib; sys.modules['matplotlib'] = None; sys.modules['torch'] = None\n"
        "from deepbass.core.errors import DeepBassError\n"
        "from deepbass.report import write_report\n"
        "try: write_report(pathlib.Path(sys.argv[1]))\n"
        "except DeepBassError as error: print(error)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, run], env=environment, capture_output=True, text=True, check=True
    )
    assert "pip install 'deepbass[plot]'" in done.stdout
    assert not (run / REPORT_FILE).exists()
