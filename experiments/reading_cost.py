"""What a reader must open to follow one story through the code: files of deepbass whose functions run in it.

    python experiments/reading_cost.py [SOURCE]     SOURCE: another checkout's src folder, to compare with

Three stories, by the real commands: a run from the command to its report, one answer on the page from the key press to
the next question (in the server and in the browser), and one cell of `deepbass reproduce`, in the command and its
worker. The spine of a story counts: the files that put it together, and those whose functions they call. For the answer
all files that run within a second of the key press are counted as well, whatever they run for: pictures, live events,
the panel. Written to results/reading-cost.json, under the name of the source. Needs Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results" / "reading-cost.json"
_STATIC = "deepbass/web/static"

# Runs in every Python that a story starts: notes the files whose functions are called, and by which of our files.
_TRACER = """
import atexit, json, os, signal, sys, threading
folder, source = os.environ["STORY_FILES"], os.environ["STORY_SOURCE"]
seen, heard = {}, os.environ.get("STORY_HEARD") != "later"

def ours(frame):
    name = frame.f_code.co_filename
    function = frame.f_code.co_flags & 1  # neither a module nor the body of a class
    return name[len(source) + 1:] if function and name.startswith(source) else None

def note(frame, event, argument):
    if heard and event == "call" and (name := ours(frame)):
        caller = frame.f_back
        while caller is not None and not ours(caller):
            if caller.f_code.co_name == "<module>" and caller.f_code.co_filename.startswith(source):
                return  # while it is imported
            caller = caller.f_back
        seen.setdefault(name, set()).add(ours(caller) if caller is not None else "")

def hear(number, frame):
    global heard
    heard = not heard
    if not heard:
        write()

def write():
    with open(os.path.join(folder, f"{os.getpid()}.json"), "w") as file:
        json.dump({name: sorted(callers) for name, callers in seen.items()}, file)

if "deepbass" in " ".join(sys.orig_argv):
    threading.setprofile(note)
    sys.setprofile(note)
    signal.signal(signal.SIGUSR1, hear)
    atexit.register(write)
"""


class Story:
    """A place for what the processes of a story note."""

    def __init__(self, source: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deepbass-story-"))
        self._source = source
        (self.folder / "hook").mkdir()
        (self.folder / "files").mkdir()
        (self.folder / "hook" / "sitecustomize.py").write_text(_TRACER)

    def start(self, *words: str, heard: str = "all along") -> subprocess.Popen[str]:
        """Start the command."""
        environment = {
            **os.environ,
            "PYTHONPATH": f"{self.folder / 'hook'}{os.pathsep}{self._source}",
            "STORY_FILES": str(self.folder / "files"),
            "STORY_SOURCE": str(self._source),
            "STORY_HEARD": heard,
        }
        command = [sys.executable, "-m", "deepbass", *words]
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE)

    def files(self, *spine: str) -> list[str]:
        """List the files that were noted, by whatever process; with a ``spine``, its files and those they call."""
        found: set[str] = set()
        for file in (self.folder / "files").glob("*.json"):
            for name, callers in json.loads(file.read_text()).items():
                if not spine or name.endswith(spine) or any(caller.endswith(spine) for caller in callers):
                    found.add(name)
        return sorted(found)


@contextmanager
def _story(source: Path) -> Iterator[Story]:
    story = Story(source)
    try:
        yield story
    finally:
        shutil.rmtree(story.folder, ignore_errors=True)


def a_run(source: Path) -> list[str]:
    """Run on small data, with the report at its end."""
    with _story(source) as story:
        words = ("run", "toy", "--iterations", "3", "--out", "run", "--set", "initial_epochs=2")
        assert story.start(*words).wait() == 0
        return story.files("cli/run.py", "/api.py", "/session.py", "/lifecycle.py")


def a_cell(source: Path) -> list[str]:
    """Run one cell of the paper's matrix."""
    with _story(source) as story:
        words = ("reproduce", "toy", "--tier", "quick", "--rows", "initial", "--runs", "1", "--out", "results")
        assert story.start(*words).wait() == 0
        return story.files("cli/reproduce.py", "/worker.py")


# what an answer passes through: the page's view, its acts, outbox and feed; the handler, the service and its queue
_ANSWER_PAGE = ("ask.js", "acts.js", "outbox.js", "feed.js")
_ANSWER_SERVER = ("/app.py", "/service.py", "/desk.py", "/queue.py", "/act_writer.py")


def an_answer(source: Path) -> tuple[list[str], list[str]]:
    """Press a key on the page, and wait until the answer is saved: the files on its spine, and all that ran."""
    from playwright.sync_api import sync_playwright

    with _story(source) as story, sync_playwright() as playwright:
        words = ("label", "digits", "--classes", "0,1,2", "--no-browser", "--json", "--project", "project")
        server = story.start(*words, heard="later")
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
            page = browser.new_page()
            page.goto(url)
            page.wait_for_selector("body[data-ready]")
            page.wait_for_selector(".ask .stage img")
            time.sleep(8)  # the spread of first questions and whatever else belongs to the start
            tools = page.context.new_cdp_session(page)
            tools.send("Profiler.enable")
            tools.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": False})
            server.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            page.keyboard.press("1")
            page.wait_for_selector(".saved[data-state=saved]")
            time.sleep(1)
            server.send_signal(signal.SIGUSR1)
            scripts = tools.send("Profiler.takePreciseCoverage")["result"]
            browser.close()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
        ran = _called(scripts)
        imported = {name for file in _ANSWER_PAGE for name in _imports(source / _STATIC / file)} | set(_ANSWER_PAGE)
        spine = [name for name in ran if name.rpartition("/")[2] in imported]
        return [*story.files(*_ANSWER_SERVER), *spine], [*story.files(), *ran]


def _imports(script: Path) -> set[str]:
    """List the page's files that one of them imports from."""
    return set(re.findall(r'from "\./([\w.]+)"', script.read_text()))


def _called(scripts: list[dict[str, Any]]) -> list[str]:
    """List the page's own files in which any function ran."""
    ran = [
        script["url"].rpartition("/static/")[2]
        for script in scripts
        if "/static/" in script["url"] and any(_runs(function) for function in script["functions"])
    ]
    return [f"{_STATIC}/{name}" for name in sorted(set(ran))]


def _runs(function: dict[str, Any]) -> bool:
    return bool(function["functionName"]) and function["ranges"][0]["count"] > 0


def main() -> None:
    """Follow the stories and write down what they touch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", nargs="?", type=Path, default=ROOT / "src")
    parser.add_argument("--name", default="now")
    given = parser.parse_args()
    source = given.source.resolve()
    spine, all_of_it = an_answer(source)
    found = {"a run": a_run(source), "an answer": spine, "an answer, all": all_of_it, "a cell": a_cell(source)}
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[given.name] = found
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    for name, files in found.items():
        print(f"{name}: {len(files)} files")


if __name__ == "__main__":
    main()
