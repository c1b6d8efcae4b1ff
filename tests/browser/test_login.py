"""Logging in and out."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from .conftest import Open, Serve


def test_people_log_in_and_their_unsent_answers_stay_theirs(serve: Serve, visit: Open) -> None:
    served = serve(people=("ann", "bo"))
    ann = visit(served)
    ann.forgive("Failed to load resource")
    ann.context.route("**/api/acts", lambda route: route.abort())
    ann.press("1")
    expect(ann.page.locator(".saved")).to_have_text("Offline: 1 answer kept here")
    ann.page.get_by_role("button", name="Log out").click()
    expect(ann.page).to_have_url(re.compile("/login$"))
    ann.context.unroute("**/api/acts")
    ann.page.get_by_label("Name").fill("bo")
    ann.page.get_by_label("Password").fill("wrong")
    ann.page.get_by_role("button", name="Log in").click()
    expect(ann.page.get_by_role("alert")).to_have_text("Name or password is wrong.")
    ann.page.get_by_label("Password").fill("right")
    ann.page.get_by_role("button", name="Log in").click()
    expect(ann.page.locator(".person")).to_contain_text("bo")
    expect(ann.page.locator(".panel")).to_contain_text("1 answer by another person")
    ann.saved()
    assert served.acts() == []
    served.enter(ann.page, "ann")
    ann.saved()
    assert [(act["annotator"], act["kind"]) for act in served.acts()] == [("ann", "label")]


def test_a_form_that_is_sent_before_its_script_is_there_goes_nowhere(serve: Serve, visit: Open) -> None:
    served = serve(people=("ann", "bo"))
    early = visit(served, enter=False)
    early.forgive("Failed to load resource")
    early.context.route("**/static/login.js", lambda route: route.abort())
    early.page.goto(f"{served.origin}/login")
    early.page.get_by_label("Name").fill("bo")
    early.page.get_by_label("Password").fill("right")
    early.page.get_by_label("Password").press("Enter")
    expect(early.page.get_by_role("button", name="Log in")).to_be_disabled()
    expect(early.page.get_by_label("Name")).to_have_value("bo")
    expect(early.page).to_have_url(f"{served.origin}/login")
