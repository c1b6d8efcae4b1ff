"""Classes while labelling is under way: added, renamed, merged, removed, and every change taken back."""

from __future__ import annotations

from playwright.sync_api import Locator, Route, expect

from .conftest import Open, Serve, Served, Visit

FAILED = "Failed to load resource"  # what Chromium writes for every request that is refused


def expect_names(visit: Visit, *wanted: str) -> None:
    """Wait until these are the classes."""
    expect(visit.page.locator(".ask .class:not(.opener) .words")).to_have_text(list(wanted))


def add(visit: Visit, name: str) -> None:
    """Add a class by the page's field, and leave the field."""
    visit.page.get_by_role("button", name="Add a class").click()
    visit.page.get_by_label("Name of the new class").fill(name)
    visit.page.keyboard.press("Enter")
    expect(visit.page.get_by_role("button", name=name, exact=True)).to_be_visible()
    visit.page.keyboard.press("Escape")


def hold_classes(visit: Visit) -> list[Route]:
    """Let no new class through to the server until its route goes on or is aborted."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    visit.context.route("**/api/classes", hold)
    return held


def edit(visit: Visit) -> Locator:
    """Open the dialog by its key."""
    visit.image()
    visit.page.keyboard.press("e")
    dialog = visit.page.get_by_role("dialog", name="Classes")
    expect(dialog.get_by_role("button", name="Rename").first).to_be_visible()
    return dialog


def kinds(served: Served) -> list[str]:
    """List what kinds of acts were written down."""
    return [act["kind"] for act in served.acts()]


def test_undo_after_adding_a_class_takes_the_class_back_and_not_the_answer_before(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.press("1")
    add(ann, "newt")
    expect(ann.page.locator(".echo")).to_contain_text("Class “newt” added.")
    ann.press("4")
    ann.page.keyboard.press("u")  # the answer
    expect(ann.page.locator(".echo")).to_contain_text("Taken back: newt")
    ann.page.keyboard.press("u")  # the class
    expect(ann.page.locator(".echo")).to_contain_text("Taken back: Class “newt” added.")
    expect_names(ann, "cat", "dog", "owl")
    ann.saved()
    assert kinds(served) == ["label", "label", "undo"]
    ann.page.keyboard.press("u")  # and then the answer before
    expect(ann.page.locator(".echo")).to_contain_text("Taken back: cat")


def test_adding_a_class_that_exists_says_so(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.press("1")
    ann.page.get_by_role("button", name="Add a class").click()
    ann.page.get_by_label("Name of the new class").fill("dog")
    ann.page.keyboard.press("Enter")
    expect(ann.page.locator(".adder .problem")).to_have_text("“dog” is a class already: key 2.")
    ann.page.keyboard.press("Escape")
    ann.page.keyboard.press("u")  # nothing was changed: the answer is meant
    expect(ann.page.locator(".echo")).to_contain_text("Taken back: cat")


def test_a_name_that_is_typed_while_another_is_on_its_way_stays(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.image()
    held = hold_classes(ann)
    ann.page.get_by_role("button", name="Add a class").click()
    field = ann.page.get_by_label("Name of the new class")
    for name in ("newt", "toad"):
        field.fill(name)
        ann.page.keyboard.press("Enter")
        expect(field).to_have_value("")
    field.fill("frog")
    for route in held:
        route.continue_()
    expect_names(ann, "cat", "dog", "owl", "newt", "toad")
    expect(field).to_have_value("frog")


def test_a_name_that_did_not_arrive_is_there_again_and_it_is_said(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.forgive(FAILED)
    ann.forgive("ERR_")
    ann.image()
    held = hold_classes(ann)
    ann.page.get_by_role("button", name="Add a class").click()
    field = ann.page.get_by_label("Name of the new class")
    field.fill("newt")
    ann.page.keyboard.press("Enter")
    expect(field).to_have_value("")
    ann.page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    held[0].abort()
    expect(ann.page.locator(".adder .problem")).to_contain_text("Not added: ")
    expect(field).to_have_value("newt")


def test_a_class_is_renamed_and_that_is_undone(serve: Serve, visit: Open) -> None:
    served = serve(people=("ann", "bo"))
    ann, bo = visit(served), visit(served, "bo")
    ann.press("2", "2")
    dialog = edit(ann)
    dialog.get_by_role("button", name="Rename dog").press("Enter")
    expect(dialog.locator(".class-form")).to_contain_text("2 labels of “dog” will have it")
    ann.page.keyboard.press("Control+a")
    ann.page.keyboard.type("cat")
    ann.page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("There is a class “cat” already. To put both together, merge")
    ann.page.keyboard.type("fish")
    ann.page.keyboard.press("Enter")
    expect(dialog.locator(".done")).to_contain_text("Class “dog” is now “catfish”.")
    expect_names(bo, "cat", "catfish", "owl")
    ann.page.keyboard.press("u")
    expect(dialog.locator(".done")).to_have_text("Taken back: Class “dog” is now “catfish”.")
    expect_names(bo, "cat", "dog", "owl")
    ann.page.keyboard.press("u")  # no answer is taken back from within the dialog
    ann.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    ann.saved()
    assert kinds(served) == ["label", "label"]


def test_merging_says_what_becomes_of_how_many_labels_before_it_is_done(serve: Serve, visit: Open) -> None:
    served = serve(count=60)
    for item in range(40, 57):
        served.plant("ann", item, 1)
    ann = visit(served)
    dialog = edit(ann)
    dialog.get_by_role("button", name="Merge dog").click()
    form = dialog.locator(".class-form")
    expect(form).to_contain_text("17 labels of “dog” become “cat”")
    dialog.get_by_label("Into").select_option("owl")
    expect(form).to_contain_text("17 labels of “dog” become “owl”")
    ann.page.keyboard.press("Escape")  # leaves the form, not the dialog
    expect(form).to_have_count(0)
    expect(dialog.get_by_role("button", name="Merge dog")).to_be_focused()
    ann.page.keyboard.press("Enter")
    form.get_by_role("button", name="Merge").click()
    expect(dialog.locator(".done")).to_contain_text("Class “dog” is merged into “cat”: 17 labels moved.")
    expect(dialog.locator("[data-class='0']")).to_contain_text("17 labels")
    ann.page.keyboard.press("Escape")
    expect_names(ann, "cat", "owl")
    ann.page.keyboard.press("u")
    expect_names(ann, "cat", "dog", "owl")
    expect(ann.page.locator(".bars")).to_contain_text("dog17")


def test_removing_a_class_with_labels_takes_a_second_press_that_knows_what_is_lost(serve: Serve, visit: Open) -> None:
    served = serve(people=("ann", "bo"))
    for item in (5, 6):
        served.plant("ann", item, 1)
    ann = visit(served)
    ann.forgive(FAILED)
    dialog = edit(ann)
    dialog.get_by_role("button", name="Remove dog").press("Enter")
    form = dialog.locator(".class-form")
    expect(form).to_contain_text("2 answers will no longer count; the images are asked again.")
    expect(form.get_by_role("button", name="Cancel")).to_be_focused()  # Enter twice loses nothing
    served.plant("bo", 9, 1)
    form.get_by_role("button", name="Remove “dog” and let 2 answers go").click()
    expect(form.get_by_role("alert")).to_contain_text("The number of answers has just changed.")
    expect(form).to_contain_text("3 answers will no longer count")
    form.get_by_role("button", name="Remove “dog” and let 3 answers go").click()
    expect(dialog.locator(".done")).to_contain_text("Class “dog” is removed: 3 answers no longer count.")
    ann.page.keyboard.press("Escape")
    expect(ann.page.locator(".numbers")).to_contain_text("Labels0")
    ann.page.keyboard.press("u")
    expect_names(ann, "cat", "dog", "owl")
    expect(ann.page.locator(".numbers")).to_contain_text("Labels3")


def test_the_other_classes_keep_their_keys_when_one_goes(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    dialog = edit(ann)
    dialog.get_by_role("button", name="Remove dog").click()
    expect(dialog.locator(".class-form")).to_contain_text("No answer has this class: nothing is lost.")
    dialog.get_by_role("button", name="Remove “dog”").click()
    expect(dialog.locator(".done")).to_contain_text("Class “dog” is removed.")
    ann.page.keyboard.press("Escape")
    expect_names(ann, "cat", "owl")
    ann.press("2")  # was dog's
    ann.press("3")
    ann.saved()
    assert [act["class"] for act in served.acts()] == [2]


def test_guesses_of_a_class_that_goes_are_left_for_those_of_another(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, people=("ann", "bo"))
    ann, bo = visit(served), visit(served, "bo")
    bo.page.goto(f"{served.origin}/#guesses/1")
    expect(bo.page.locator(".tabs [aria-current]")).to_contain_text("dog")
    dialog = edit(ann)
    dialog.get_by_role("button", name="Remove dog").click()
    dialog.get_by_role("button", name="Remove “dog”").click()
    expect(bo.page.locator(".tabs [aria-current]")).to_contain_text("cat")
    expect(bo.page.locator(".tabs a")).to_have_count(2)
    expect(bo.page.locator(".tile").first).to_be_visible()


def test_a_change_that_cannot_be_taken_back_says_why_and_one_that_could_not_yet_is_kept(
    serve: Serve, visit: Open
) -> None:
    served = serve(people=("ann", "bo"))
    ann = visit(served)
    ann.forgive(FAILED)
    ann.forgive("ERR_")
    ann.image()
    add(ann, "newt")
    expect_names(ann, "cat", "dog", "owl", "newt")

    def unreachable(route: Route) -> None:
        route.abort()

    ann.context.route("**/api/classes/undo", unreachable)
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".echo")).to_contain_text(
        "Not taken back: Class “newt” added. The server cannot be reached."
    )
    ann.context.unroute("**/api/classes/undo")
    served.plant("bo", 9, 3)
    ann.page.keyboard.press("u")
    expect(ann.page.locator(".echo")).to_contain_text("The class 'newt' has 1 labels by now: remove it instead.")
    expect_names(ann, "cat", "dog", "owl", "newt")


def test_the_panel_shows_that_the_trainer_keeps_what_it_learned(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3)
    ann = visit(served)
    note = "The model grew by the class 'newt' and keeps what it learned."
    served.tell("trainer", {"doing": "adapting to the classes", "share": None, "note": note})
    expect(ann.page.locator(".doing")).to_contain_text("Adapting to the changed classes, keeping what it learned")
    expect(ann.page.locator(".panel")).to_contain_text(note)
