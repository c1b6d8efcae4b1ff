"""A server to open the page from, and a browser to open it with.

Tests know `Served` and `Visit` only, so that they hold for every server that keeps the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from tests.chromium import HOW, MISSING, find_chromium, is_required

from .fake_project import Fake
from .fake_server import Running

QUIET = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
OFFLINE = ["--disable-component-update", "--disable-sync"]

expect.set_options(timeout=15_000)  # other work may keep the processors busy


class Served(Protocol):
    """A server of the page, with one project."""

    @property
    def origin(self) -> str:
        """Tell the address without a path."""

    def enter(self, page: Page, person: str) -> None:
        """Open the page as somebody."""

    def acts(self) -> list[dict[str, Any]]:
        """List what is written down, in order: uid, item, kind, class, undoes, annotator, why."""

    def plant(self, person: str, item: int, class_: int) -> None:
        """Write down a label without the page."""

    def tell(self, kind: str, data: object) -> None:
        """Send an event to all pages."""


@dataclass
class FakeServed:
    """The fake server as tests see it."""

    running: Running
    planted: int = 0

    @property
    def origin(self) -> str:
        return self.running.origin

    def enter(self, page: Page, person: str) -> None:
        page.goto(f"{self.origin}/?token={person}")
        page.wait_for_selector("body[data-ready]")

    def acts(self) -> list[dict[str, Any]]:
        return list(self.running.fake.journal.acts)

    def plant(self, person: str, item: int, class_: int) -> None:
        self.planted += 1
        sent = {"uid": f"planted-{self.planted}", "item": item, "kind": "label", "class": class_}
        assert self.running.fake.journal.write(person, sent) is None

    def tell(self, kind: str, data: object) -> None:
        self.running.fake.tell(kind, data)


@dataclass
class Visit:
    """A page of one person in a browser of their own, and whatever went wrong on it."""

    served: Served
    context: BrowserContext
    page: Page
    person: str
    problems: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)  # requests to other hosts
    forgiven: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch(self.page)

    def watch(self, page: Page) -> None:
        """Note errors and requests that leave the server."""
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.problems.append(f"{error}\n{error.stack}"))
        host = urlsplit(self.served.origin).netloc
        page.on("request", lambda request: self._away(request.url, host))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def _away(self, url: str, host: str) -> None:
        parts = urlsplit(url)
        if parts.netloc != host and parts.scheme not in ("data", "blob"):
            self.strangers.append(url)

    def forgive(self, text: str) -> None:
        """Expect console errors with this text: a browser reports every failed request."""
        self.forgiven.append(text)

    def check(self) -> None:
        """Fail if anything went wrong."""
        assert self.strangers == []
        assert [said for said in self.problems if not any(text in said for text in self.forgiven)] == []

    # what people see and do

    def image(self) -> str:
        """Wait for the picture of a question and give the name of its file."""
        shown = self.page.locator(".ask .stage img")
        expect(shown).to_be_visible()
        return str(shown.get_attribute("alt")).removeprefix("Image to label: ")

    def press(self, *keys: str) -> None:
        """Press keys, each as soon as there is a picture to answer."""
        for key in keys:
            self.image()
            self.page.keyboard.press(key)

    def until(self, condition: str) -> None:
        """Wait for a JavaScript expression to be true. Playwright's own way is eval, which the page forbids."""
        for _ in range(300):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        pytest.fail(f"{condition} did not become true")

    def saved(self) -> None:
        """Wait until everything is saved: a page that was offline for long tries again after a while only."""
        expect(self.page.locator(".saved")).to_have_attribute("data-state", "saved", timeout=60_000)

    def go(self, view: str) -> None:
        """Open a view by its tab, and wait until keys reach it."""
        tab = self.page.locator("#tabs a", has_text=view)
        tab.click()
        expect(tab).to_have_attribute("aria-current", "page")


Serve = Callable[..., Served]
Open = Callable[..., Visit]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One browser for all tests here; it is closed before tests of other packages, which may want the event loop."""
    with sync_playwright() as playwright:
        found = find_chromium(playwright)
        if found is None:
            (pytest.fail if is_required() else pytest.skip)(f"{MISSING}: {HOW}")
        started = playwright.chromium.launch(executable_path=found, args=QUIET + OFFLINE)
        yield started
        started.close()


@contextmanager
def serving() -> Iterator[Serve]:
    """Start servers, as many as one wants."""
    running: list[Running] = []

    def start(**made: Any) -> Served:
        running.append(Running(Fake(**made)))
        return FakeServed(running[-1])

    yield start
    for one in running:
        one.close()


@contextmanager
def visiting(browser: Browser) -> Iterator[Open]:
    """Open pages. At the end nothing may have gone wrong on any of them."""
    visits: list[Visit] = []

    def open_page(served: Served, person: str = "ann", enter: bool = True, **options: Any) -> Visit:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        visits.append(Visit(served, context, context.new_page(), person))
        if enter:
            served.enter(visits[-1].page, person)
        return visits[-1]

    yield open_page
    for one in visits:
        one.context.close()
    for one in visits:
        one.check()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers, as many as a test wants: serve(classes=[...], count=40, iteration=3, people=(...), ...)."""
    with serving() as start:
        yield start


@pytest.fixture
def visit(browser: Browser, serve: Serve) -> Iterator[Open]:
    """Open the page: visit(served, "ann", width=...)."""
    with visiting(browser) as open_page:
        yield open_page
