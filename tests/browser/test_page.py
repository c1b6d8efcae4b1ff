"""Labelling by keyboard: one key, one answer; nothing lost, nothing twice."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Dialog, Route, expect

from .conftest import Open, Serve, Served, Visit

FAILED = "Failed to load resource"  # what Chromium writes for every request that fails


def labels(served: Served) -> list[tuple[int, int]]:
    """List labels as they were written down, with those taken back."""
    return [(act["item"], act["class"]) for act in served.acts() if act["kind"] == "label"]


def test_one_key_labels_and_advances_and_one_act_is_stored(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    first = ann.image()
    ann.press("2")
    second = ann.image()
    ann.saved()
    assert first != second
    assert [(act["item"], act["kind"], act["class"], act["saw_guess"]) for act in served.acts()] == [
        (0, "label", 1, False)
    ]
    expect(ann.page.locator(".echo .last")).to_have_text("dog")


def test_the_next_picture_is_there_before_it_is_needed(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.image()
    pictures_loaded(ann, 4)
    # the very key press shows the next picture, decoded: nothing is waited for in between
    complete = ann.page.evaluate(
        """() => {
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }));
            const shown = document.querySelector(".ask .stage img");
            return shown !== null && shown.complete && shown.naturalWidth;
        }"""
    )
    assert complete == 28


def test_every_other_key_does_what_it_says(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3)
    ann = visit(served)
    ann.press("Space", "d", "f", "z")
    expect(ann.page.get_by_role("button", name="Flag", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(ann.page.get_by_role("button", name="Zoom")).to_have_attribute("aria-pressed", "true")
    ann.press("f", "g")
    expect(ann.page.locator(".suggestion")).to_contain_text("Guess: owl")
    ann.page.keyboard.press("Enter")
    ann.saved()
    said = [(act["item"], act["kind"], act["class"], act["saw_guess"]) for act in served.acts()]
    assert said == [
        (0, "skip", None, False),
        (1, "unsure", None, False),
        (2, "flag", None, False),
        (2, "unflag", None, False),
        (2, "label", 2, True),
    ]


def test_the_guess_is_told_after_an_answer_that_differs(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3))
    ann.press("1", "1")  # the guesses are cat and dog
    expect(ann.page.locator(".echo .note")).to_have_text("the model\u2019s guess: dog")


def test_undo_brings_the_question_back_without_limit(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    seen = []
    for key in ("1", "2", "Space", "d"):
        seen.append(ann.image())
        ann.press(key)
    for name, key in zip(reversed(seen), ("u", "Backspace", "Control+z", "u"), strict=True):
        ann.page.keyboard.press(key)
        assert ann.image() == name
    ann.saved()
    acts = served.acts()
    assert [act["kind"] for act in acts] == ["label", "label", "skip", "unsure", *["undo"] * 4]
    assert [act["undoes"] for act in acts[4:]] == [act["uid"] for act in reversed(acts[:4])]
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".echo")).to_contain_text("nothing left to undo")


def test_undo_works_after_a_reload(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    seen = [ann.image()]
    ann.press("1")
    seen.append(ann.image())
    ann.press("2")
    ann.saved()
    ann.page.reload()
    ann.image()
    ann.page.keyboard.press("u")
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".echo")).to_contain_text("Taken back: cat")
    assert ann.image() == seen[0]
    ann.press("3")
    assert ann.image() == seen[1]
    ann.saved()
    assert labels(served) == [(0, 0), (1, 1), (0, 2)]


def test_a_reload_gives_the_same_image_back(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.press("1", "2", "3")
    ann.saved()
    before = ann.image()
    ann.page.reload()
    assert ann.image() == before


def test_answers_given_offline_arrive_once_each_and_in_order(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.forgive(FAILED)
    ann.forgive("ERR_INTERNET_DISCONNECTED")
    ann.press("1")
    ann.saved()
    pictures_loaded(ann, 7)
    ann.context.set_offline(True)
    ann.press("2", "3", "1")
    expect(ann.page.locator("[data-notice=reach]")).to_contain_text("Offline")
    expect(ann.page.locator(".saved")).to_have_text("Offline: 3 answers kept here")
    ann.page.keyboard.press("u")  # undo needs no server either
    ann.press("2")
    expect(ann.page.locator(".saved")).to_have_text("Offline: 5 answers kept here")
    assert labels(served) == [(0, 0)]
    ann.context.set_offline(False)
    ann.saved()
    expect(ann.page.locator("[data-notice=reach]")).to_have_count(0)
    acts = served.acts()
    assert [(act["item"], act["kind"], act["class"]) for act in acts] == [
        (0, "label", 0),
        (1, "label", 1),
        (2, "label", 2),
        (3, "label", 0),
        (3, "undo", None),
        (3, "label", 1),
    ]
    assert len({act["uid"] for act in acts}) == len(acts)


def test_unsent_answers_outlive_the_page(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.forgive(FAILED)
    seen = ann.image()
    ann.context.route("**/api/acts", lambda route: route.abort())
    ann.press("1", "2")
    expect(ann.page.locator(".saved")).to_have_text("Offline: 2 answers kept here")
    ann.page.close()
    assert served.acts() == []
    ann.context.unroute("**/api/acts")
    ann.page = ann.context.new_page()
    ann.watch(ann.page)
    served.enter(ann.page, "ann")
    ann.saved()
    assert labels(served) == [(0, 0), (1, 1)]
    assert ann.image() != seen
    ann.page.keyboard.press("u")
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".echo")).to_contain_text("Taken back: cat")
    assert ann.image() == seen


def test_answers_that_wait_are_not_asked_again_after_a_reload(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.forgive(FAILED)
    ann.context.route("**/api/acts", lambda route: route.abort())
    ann.press("1", "2")
    expect(ann.page.locator(".saved")).to_have_text("Offline: 2 answers kept here")
    third = ann.image()
    ann.page.reload()
    assert ann.image() == third
    assert served.acts() == []


@pytest.mark.parametrize(
    "fault", ["answers 500", "drops the request", "drops the answer", "answers 429", "cuts the answer"]
)
def test_a_failing_server_leads_to_no_loss_and_no_duplicate(serve: Serve, visit: Open, fault: str) -> None:
    served = serve()
    ann = visit(served)
    ann.forgive(FAILED)
    failures = 0

    def fail(route: Route) -> None:
        nonlocal failures
        failures += 1
        if failures > 2:
            route.continue_()
        elif fault == "answers 500":
            route.fulfill(status=500, body="")
        elif fault == "answers 429":
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "Slow down.", "kind": "rate"})
        elif fault == "drops the request":
            route.abort("connectionreset")
        else:
            answer = route.fetch()  # it is written down
            assert answer.ok
            if fault == "cuts the answer":
                route.fulfill(status=200, content_type="application/json", body=answer.text()[:40])
            else:
                route.abort("connectionreset")

    ann.page.route("**/api/acts", fail)
    ann.press("1", "2", "3")
    ann.until("document.querySelector('.saved').dataset.state !== 'saved'")
    ann.saved()
    assert failures > 2
    assert labels(served) == [(0, 0), (1, 1), (2, 2)]


NO_DATABASE = "Object.defineProperty(window, 'indexedDB', { value: undefined })"
NO_STORAGE = "Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })"
PLAIN_HTTP = "delete Crypto.prototype.randomUUID; delete Navigator.prototype.locks; delete window.BroadcastChannel"


def test_a_browser_with_less_keeps_answers_just_as_well(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served, enter=False)
    ann.forgive(FAILED)
    ann.context.add_init_script(f"{NO_DATABASE}; {PLAIN_HTTP}")
    served.enter(ann.page, "ann")
    assert ann.page.evaluate("[window.indexedDB, crypto.randomUUID, navigator.locks]") == [None, None, None]
    ann.context.route("**/api/acts", lambda route: route.abort())
    ann.press("1", "2", "3")
    expect(ann.page.locator(".saved")).to_have_text("Offline: 3 answers kept here")
    ann.context.unroute("**/api/acts")
    ann.page.reload()
    ann.saved()
    assert labels(served) == [(0, 0), (1, 1), (2, 2)]
    ann.press("1")
    ann.saved()
    assert len({act["uid"] for act in served.acts()}) == 4
    assert ann.page.evaluate("Object.keys(localStorage)") == []


def test_where_nothing_can_be_kept_the_page_says_so_and_warns_before_it_is_closed(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served, enter=False)
    ann.forgive(FAILED)
    ann.context.add_init_script(f"{NO_DATABASE}; {NO_STORAGE}")
    served.enter(ann.page, "ann")
    ann.context.route("**/api/acts", lambda route: route.abort())
    ann.press("1")
    expect(ann.page.locator(".saved")).to_have_text("Keep this page open: 1 answer not stored")
    warned: list[str] = []

    def stay(dialog: Dialog) -> None:
        warned.append(dialog.type)
        dialog.dismiss()

    ann.page.on("dialog", stay)
    with ann.page.expect_event("dialog"):
        ann.page.close(run_before_unload=True)
    assert warned == ["beforeunload"]
    with ann.page.expect_request("**/api/acts"):  # before the way is free: then the page may be first, by itself
        ann.page.get_by_role("button", name="Try now").click()
    ann.context.unroute("**/api/acts")
    ann.page.evaluate("dispatchEvent(new Event('online'))")
    ann.saved()
    assert labels(served) == [(0, 0)]
    with ann.page.expect_event("close"):  # without a word: there is nothing to lose
        ann.page.close(run_before_unload=True)
    assert warned == ["beforeunload"]


ANOTHER_PROJECT = """if (sessionStorage.another) {
    const ask = window.fetch;
    window.fetch = async (path, options) => {
        const answer = await ask(path, options);
        return path === "/api/project" ? Response.json({ ...(await answer.json()), id: "another" }) : answer;
    };
}"""


def test_another_project_at_the_same_address_does_not_get_the_answers(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served, enter=False)
    ann.forgive(FAILED)
    ann.context.add_init_script(ANOTHER_PROJECT)
    served.enter(ann.page, "ann")
    ann.context.route("**/api/acts", lambda route: route.abort())
    ann.press("1")
    expect(ann.page.locator(".saved")).to_have_text("Offline: 1 answer kept here")

    ann.page.evaluate(f"() => {{ sessionStorage.another = '1'; {ANOTHER_PROJECT} }}")
    with ann.page.expect_navigation():  # left and come back to, the page sees that it is not where it was
        ann.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    ann.context.unroute("**/api/acts")
    expect(ann.page.locator(".panel")).to_contain_text("1 answer by another person or for another project")
    ann.saved()
    assert served.acts() == []

    ann.page.evaluate("delete sessionStorage.another")
    ann.page.reload()
    ann.saved()
    expect(ann.page.locator(".panel")).not_to_contain_text("another project")
    assert labels(served) == [(0, 0)]


def test_a_refused_answer_is_shown_and_holds_up_no_other(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.forgive(FAILED)

    def refuse(route: Route) -> None:
        acts = (route.request.post_data_json or {})["acts"]
        if any(act.get("class") == 1 for act in acts):
            route.fulfill(status=422, json={"error": "Class 1 is closed.", "kind": "class"})
        else:
            route.continue_()

    ann.page.route("**/api/acts", refuse)
    ann.press("1", "2", "3")
    expect(ann.page.locator(".notice")).to_contain_text("Not saved: “dog” for shapes/img_0001.png. Class 1 is closed.")
    ann.saved()
    assert labels(served) == [(0, 0), (2, 2)]
    ann.page.get_by_role("button", name="Close").click()
    expect(ann.page.locator(".notice")).to_have_count(0)


def test_digits_typed_into_a_field_label_nothing(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    before = ann.image()
    ann.page.get_by_role("button", name="Add a class").click()
    field = ann.page.get_by_label("Name of the new class")
    field.press_sequentially("12 d")
    ann.page.keyboard.press("Backspace")
    expect(field).to_have_value("12 ")
    assert ann.image() == before
    assert served.acts() == []
    ann.page.keyboard.press("Enter")
    expect(ann.page.get_by_role("button", name="12", exact=True)).to_be_visible()
    ann.page.keyboard.press("Escape")
    ann.press("4")
    ann.saved()
    assert labels(served) == [(0, 3)]


def test_keys_with_modifiers_label_nothing(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    before = ann.image()
    for key in ("Control+1", "Alt+2", "Meta+3", "Control+d"):
        ann.page.keyboard.press(key)
    assert ann.image() == before
    assert served.acts() == []


def test_a_key_held_down_labels_once(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.image()
    for _ in range(10):  # without a release in between, the browser calls all but the first a repeat
        ann.page.keyboard.down("1")
    ann.page.keyboard.up("1")
    ann.saved()
    assert labels(served) == [(0, 0)]


def test_enter_held_down_on_a_class_button_labels_once(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.image()
    ann.page.get_by_role("button", name="dog").focus()
    for _ in range(10):
        ann.page.keyboard.down("Enter")
    ann.page.keyboard.up("Enter")
    ann.saved()
    assert labels(served) == [(0, 1)]


def test_space_skips_after_a_class_was_clicked(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.image()
    ann.page.get_by_role("button", name="dog").click()
    ann.press("Space")
    ann.saved()
    assert [(act["kind"], act["class"]) for act in served.acts()] == [("label", 1), ("skip", None)]


def test_what_nobody_has_seen_cannot_be_labelled(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served, enter=False)
    held: list[Route] = []
    ann.page.route("**/image/**", lambda route: held.append(route))  # noqa: PLW0108  (a plain method takes no mark)
    served.enter(ann.page, "ann")
    expect(ann.page.locator(".ask .stage-note")).to_have_text("Loading the image…")
    ann.page.keyboard.press("1")
    for route in held:
        route.continue_()
    ann.page.unroute("**/image/**")
    ann.press("2")
    ann.saved()
    assert labels(served) == [(0, 1)]


def test_digits_as_class_names_have_their_own_keys(serve: Serve, visit: Open) -> None:
    served = serve(classes=[str(digit) for digit in range(10)])
    ann = visit(served)
    ann.press("7", "0", "1")
    ann.saved()
    assert [class_ for _, class_ in labels(served)] == [7, 0, 1]


def test_the_tenth_class_has_the_key_0_and_the_others_are_found_by_name(serve: Serve, visit: Open) -> None:
    served = serve(classes=[f"kind {letter}" for letter in "abcdefghijklmnopqrstuvwxy"])
    ann = visit(served)
    ann.press("0", "/")
    ann.page.keyboard.type("1 d x")  # goes into the filter
    filter_ = ann.page.get_by_role("searchbox", name="Classes: filter by name")
    expect(filter_).to_have_value("1 d x")
    filter_.fill("d x")
    expect(ann.page.locator(".ask .class:visible")).to_have_count(3)  # and those to add one and to edit them
    ann.page.keyboard.press("Enter")
    expect(filter_).to_have_value("")
    ann.page.keyboard.press("Escape")
    ann.press("1")
    ann.saved()
    assert [class_ for _, class_ in labels(served)] == [9, 23, 0]


def test_two_people_at_once_never_get_the_same_image(serve: Serve, visit: Open) -> None:
    served = serve(people=("ann", "bo"), count=60)
    ann, bo = visit(served, "ann"), visit(served, "bo")
    seen: dict[str, list[str]] = {"ann": [], "bo": []}
    for _ in range(12):
        for one in (ann, bo):
            seen[one.person].append(one.image())
            one.press("1")
    ann.saved()
    bo.saved()
    assert len(set(seen["ann"] + seen["bo"])) == 24
    assert sorted(item for item, _ in labels(served)) == sorted({item for item, _ in labels(served)})


def test_two_tabs_of_one_person_send_every_answer_once(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    other = ann.context.new_page()
    ann.watch(other)
    served.enter(other, "ann")
    twin = Visit(served, ann.context, other, "ann")
    assert ann.image() == twin.image()
    ann.press("1")
    expect(other.locator(".ask .caption")).to_have_text(re.compile("img_0001"))  # answered in one, gone from the other
    for number, (one, two) in enumerate([(twin, ann), (ann, twin)] * 3, start=2):
        one.press("2")
        expect(two.page.locator(".ask .caption")).to_have_text(re.compile(f"img_{number:04}"))
    ann.saved()
    twin.saved()
    acts = served.acts()
    assert len({act["uid"] for act in acts}) == len({act["item"] for act in acts}) == len(acts) == 7


def test_before_training_the_page_says_what_is_needed(serve: Serve, visit: Open) -> None:
    ann = visit(serve(classes=["cat", "dog"]))
    expect(ann.page.locator(".start")).to_contain_text("3 more of: cat, dog")
    ann.press("1")
    expect(ann.page.locator(".start")).to_contain_text("3 more of: dog; 2 more of: cat")


def test_without_classes_the_page_asks_for_them(serve: Serve, visit: Open) -> None:
    served = serve(classes=[])
    ann = visit(served)
    expect(ann.page.locator(".start")).to_contain_text("What are the classes?")
    field = ann.page.get_by_label("Name of the new class")
    for name in ("fish", "fowl"):
        field.fill(name)
        field.press("Enter")
        expect(ann.page.get_by_role("button", name=name, exact=True)).to_be_visible()
    field.press("Escape")
    ann.press("2")
    ann.saved()
    assert labels(served) == [(0, 1)]


def test_when_there_is_nothing_to_ask_the_page_says_why_and_what_next(serve: Serve, visit: Open) -> None:
    served = serve(count=2)
    ann = visit(served)
    ann.press("1", "2")
    expect(ann.page.locator(".nothing")).to_contain_text("Every image has an answer.")
    expect(ann.page.locator(".nothing").get_by_role("link", name="export the labels")).to_be_visible()
    ann.saved()
    ann.page.wait_for_timeout(2500)
    asked: list[str] = []
    ann.page.on("request", lambda request: asked.append(request.url))
    ann.page.wait_for_timeout(1000)
    assert len([url for url in asked if "/api/next" in url]) <= 1  # it waits in peace
    ann.page.keyboard.press("1")  # nothing to answer
    ann.page.keyboard.press("u")
    assert ann.image() == "shapes/img_0001.png"
    ann.press("3")
    ann.saved()
    assert labels(served) == [(0, 0), (1, 1), (1, 2)]


def test_a_new_class_of_somebody_else_appears_by_itself(serve: Serve, visit: Open) -> None:
    served = serve(people=("ann", "bo"))
    ann, bo = visit(served, "ann"), visit(served, "bo")
    ann.page.get_by_role("button", name="Add a class").click()
    ann.page.get_by_label("Name of the new class").fill("newt")
    ann.page.keyboard.press("Enter")
    expect(bo.page.get_by_role("button", name="newt")).to_be_visible()


def pictures_loaded(visit: Visit, count: int) -> None:
    """Wait until the page has loaded so many pictures."""
    loaded = "performance.getEntriesByType('resource').filter((one) => one.name.includes('/image/')).length"
    visit.until(f"{loaded} >= {count}")
