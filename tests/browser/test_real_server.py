"""The page with its real server and its real trainer: a person labels a folder of images from the first to the last."""

from __future__ import annotations

import csv
import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from deepbass.exchange.exports import export
from deepbass.label.acts import Act
from deepbass.label.journal import Journal
from deepbass.label.project import Project
from deepbass.store.names import PROJECT_DB_FILE

from .conftest import Open, Visit

CLASSES = ("ring", "cross", "<script>alert(1)</script>")  # the third is a bar, under a name that wants to be run
KEYS = {"ring": "1", "cross": "2", "bar": "3"}
COUNT = 150


def draw(shape: str, rng: np.random.Generator) -> Image.Image:
    """Draw one of three shapes on a noisy ground."""
    pixels = rng.integers(0, 60, (16, 16))
    y, x = np.mgrid[:16, :16] - 7.5 + rng.uniform(-1, 1, (2, 1, 1))
    marks = {
        "ring": np.abs(np.hypot(x, y) - 4.5) < 1.2,
        "cross": np.minimum(np.abs(x), np.abs(y)) < 1.2,
        "bar": np.abs(y - x) < 2.0,
    }
    pixels[marks[shape]] = 220
    return Image.fromarray(pixels.astype(np.uint8))


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a flat folder of images; the name of each says what it shows, for the played person."""
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for number in range(COUNT):
        shape = ("ring", "cross", "bar")[rng.integers(3)]
        draw(shape, rng).save(folder / f"{number:03}-{shape}.png")
    return folder


@dataclass
class RealServed:
    """`deepbass label` in a process of its own, always at the same port."""

    images: Path
    project: Path
    port: int
    process: subprocess.Popen[str] | None = None
    url: str = ""

    def start(self) -> None:
        words = ["label", str(self.images), "--project", str(self.project), "--port", str(self.port), "--no-browser"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "deepbass", *words, "--classes", ",".join(CLASSES), "--json", "--audit", "20%"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def kill(self) -> None:
        """End the server with signal 9."""
        assert self.process is not None
        with self.process:
            self.process.kill()
        self.process = None

    def stop(self) -> None:
        if self.process is not None:
            with self.process:
                self.process.terminate()
                self.process.wait(60)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def enter(self, page: Page, person: str) -> None:
        page.goto(f"{self.url}&as={person}")
        page.wait_for_selector("body[data-ready]")

    def written(self) -> list[Act]:
        with Journal.open(self.project / PROJECT_DB_FILE, "ro") as journal:
            return journal.acts()

    def acts(self) -> list[dict[str, Any]]:
        return [{**vars(act), "class": act.class_} for act in self.written()]

    def plant(self, person: str, item: int, class_: int) -> None:
        raise NotImplementedError

    def tell(self, kind: str, data: object) -> None:
        raise NotImplementedError


@pytest.fixture
def real(images: Path, tmp_path: Path) -> Iterator[RealServed]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = RealServed(images, tmp_path / "project", port)
    served.start()
    yield served
    served.stop()


def answer(visit: Visit) -> str:
    """Label what is shown as what it is, and wait for the next; returns its name."""
    name = visit.image()
    visit.page.keyboard.press(KEYS[name.partition("-")[2].removesuffix(".png")])
    return name


def labelled(real: RealServed) -> dict[str, int]:
    """Fold the journal: what each image is called now."""
    with Journal.open(real.project / PROJECT_DB_FILE, "ro") as journal:
        names = [row.name for row in journal.items()]
        acts = journal.acts()
    undone = {act.undoes for act in acts}
    return {
        names[act.item]: act.class_
        for act in acts
        if act.kind == "label" and act.uid not in undone and act.class_ is not None
    }


def right(name: str) -> int:
    return ("ring", "cross", "bar").index(name.partition("-")[2].removesuffix(".png"))


def test_label_undo_reload_and_a_server_killed_in_the_midst(real: RealServed, visit: Open) -> None:
    ann = visit(real, "Ann")
    ann.forgive("Failed to load resource")
    ann.forgive("ERR_")
    seen = [answer(ann) for _ in range(4)]
    ann.image()
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".echo")).to_contain_text("Taken back")
    assert ann.image() == seen.pop()
    ann.saved()
    ann.page.reload()
    seen += [answer(ann) for _ in range(3)]
    ann.saved()

    real.kill()
    seen += [answer(ann) for _ in range(3)]  # with what the page has in hand
    expect(ann.page.locator(".saved")).to_contain_text("kept here")
    assert len(labelled(real)) == len(seen) - 3
    real.start()
    ann.saved()  # the page finds it again, and the cookie still counts

    assert len(set(seen)) == len(seen)
    assert labelled(real) == {name: right(name) for name in seen}
    assert max(Counter(act.uid for act in real.written()).values()) == 1
    ann.page.reload()
    ann.image()
    ann.page.keyboard.press("u")  # across the restart
    expect(ann.page.locator(".echo")).to_contain_text("Taken back")
    assert ann.image() == seen[-1]


@pytest.mark.slow  # as tests/browser/test_page.py and tests/web have it, each on its side of the contract
def test_two_people_at_once_get_different_images_and_offline_answers_arrive_once(real: RealServed, visit: Open) -> None:
    ann, bob = visit(real, "Ann"), visit(real, "Bob")
    for one in (ann, bob):
        one.forgive("Failed to load resource")
        one.forgive("ERR_")
    seen = [answer(one) for _ in range(5) for one in (ann, bob)]
    bob.saved()
    ann.saved()
    ann.context.set_offline(True)
    seen += [answer(ann) for _ in range(3)]
    expect(ann.page.locator(".saved")).to_contain_text("Offline: 3 answers kept here")
    seen += [answer(bob) for _ in range(3)]
    ann.context.set_offline(False)
    ann.saved()
    bob.saved()
    assert len(set(seen)) == len(seen)
    assert labelled(real) == {name: right(name) for name in seen}
    assert Counter(act.annotator for act in real.written()) == {"Ann": 8, "Bob": 8}


@pytest.mark.slow  # as tests/browser/test_ahead.py has it
def test_images_taken_along_are_answered_while_the_server_is_gone(real: RealServed, visit: Open) -> None:
    ann = visit(real, "Ann")
    ann.forgive("Failed to load resource")
    ann.forgive("ERR_")
    ann.page.get_by_role("button", name="Take more along").click()
    ann.page.get_by_label("How many").fill("25")
    ann.page.get_by_role("button", name="Take along").click()
    at_hand = ann.page.locator(".part", has_text="Without a connection")
    expect(at_hand).to_contain_text("25 images at hand")
    real.kill()
    seen = [answer(ann) for _ in range(25)]
    expect(ann.page.locator(".saved")).to_contain_text("Offline: 25 answers kept here")
    assert labelled(real) == {}
    real.start()
    ann.saved()
    assert labelled(real) == {name: right(name) for name in seen}
    assert len(real.written()) == len(set(seen)) == 25


@pytest.mark.slow  # as tests/browser/test_classes.py and tests/web/test_classes.py have it
def test_classes_are_added_renamed_merged_and_removed_and_all_of_it_is_taken_back(
    real: RealServed, visit: Open
) -> None:
    ann = visit(real, "Ann")
    seen = [answer(ann) for _ in range(6)]
    ann.saved()
    before = labelled(real)
    buttons = ann.page.locator(".ask .class:not(.opener) .words")
    ann.page.get_by_role("button", name="Add a class").click()
    ann.page.get_by_label("Name of the new class").fill("disc")
    ann.page.keyboard.press("Enter")
    expect(buttons).to_have_text([*CLASSES, "disc"])
    ann.page.keyboard.press("Escape")

    ann.page.keyboard.press("e")
    dialog = ann.page.get_by_role("dialog", name="Classes")
    crosses = sum(right(name) == 1 for name in seen)
    expect(dialog.locator("[data-class='1']")).to_contain_text(f"{crosses} label")
    dialog.get_by_role("button", name="Rename ring").click()
    dialog.get_by_label("New name").fill("hoop")
    ann.page.keyboard.press("Enter")
    expect(dialog.locator(".done")).to_contain_text("Class “ring” is now “hoop”.")
    dialog.get_by_role("button", name="Merge disc").click()
    dialog.get_by_label("Into").select_option("hoop")
    dialog.locator(".class-form").get_by_role("button", name="Merge").click()
    expect(dialog.locator(".done")).to_contain_text("Class “disc” is merged into “hoop”: 0 labels moved.")
    dialog.get_by_role("button", name="Remove cross").click()
    dialog.locator(".danger").click()
    expect(dialog.locator(".done")).to_contain_text("Class “cross” is removed")
    ann.page.keyboard.press("Escape")
    expect(buttons).to_have_text(["hoop", CLASSES[2]])
    expect(ann.page.locator(".numbers")).to_contain_text(f"Labels{len(seen) - crosses}")

    echo = ann.page.locator(".echo")
    for taken_back in ("“cross” is removed", "“disc” is merged", "“ring” is now", "“disc” added"):
        ann.page.keyboard.press("u")
        expect(echo).to_contain_text(f"Taken back: Class {taken_back}")
    expect(buttons).to_have_text(list(CLASSES))
    expect(ann.page.locator(".numbers")).to_contain_text(f"Labels{len(seen)}")
    ann.page.keyboard.press("u")  # and then the answer before
    assert ann.image() == seen.pop()
    ann.saved()
    assert labelled(real) == {name: before[name] for name in seen}


@pytest.mark.slow  # as tests/web/test_server.py has it without a page, and tests/browser/test_views.py without a model
def test_the_model_learns_its_guesses_are_corrected_and_everything_is_exported(
    real: RealServed, visit: Open, tmp_path: Path
) -> None:
    ann = visit(real, "Ann")
    ann.forgive("ERR_ABORTED")
    for _ in range(30):
        answer(ann)
    ann.saved()
    panel = ann.page.locator("#panel, .panel").first
    ann.go("Guesses")
    tiles = ann.page.locator(".tile")
    expect(tiles.first).to_be_visible(timeout=120_000)  # a real trainer takes its time
    expect(panel).to_contain_text("Guesses at least 95")

    before = len(real.written())
    for number in range(3):
        tiles.nth(number).click()
    ann.page.keyboard.press("2")
    ann.saved()
    corrected = real.written()[before:]
    assert [(act.kind, act.class_, act.why) for act in corrected] == [("label", 1, "guesses")] * 3

    ann.go("Export")
    expect(ann.page.locator(".level")).to_contain_text("on images without a label")
    ann.page.get_by_role("slider").press("Home")  # all guesses: how sure the model is by now depends on when it learned
    expect(ann.page.get_by_role("slider")).to_have_attribute("aria-valuetext", "sure or unsure: all of them")
    with ann.page.expect_download() as download:
        ann.page.get_by_role("link", name="CSV").click()
    file = tmp_path / "labels.csv"
    download.value.save_as(file)
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    people = {row["path"]: row["label"] for row in rows if row["annotator"] == "Ann"}
    assert people == {name: CLASSES[class_] for name, class_ in labelled(real).items()}
    assert export(Project.open(real.project), "csv", tmp_path / "all.csv", guesses=0.0).guesses > 0
    ann.go("Label")
    expect(ann.page.get_by_role("button", name="<script>alert(1)</script>").first).to_be_visible()
