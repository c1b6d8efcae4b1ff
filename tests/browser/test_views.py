"""The other views: the model's guesses, earlier answers, disagreements, export."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from .conftest import Open, Serve, Served, Visit
from .looking import faces, said, scroll_until

THIN = "\u202f"


def items(served: Served) -> set[int]:
    """Tell what was acted on."""
    return {act["item"] for act in served.acts()}


# guesses


def test_three_chosen_guesses_are_corrected_at_once_and_undone_at_once(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, count=60)
    ann = visit(served)
    ann.go("Guesses")
    expect(faces(ann)).to_have_count(20)
    chosen = [int(str(ann.page.locator(".tile").nth(place).get_attribute("data-item"))) for place in (0, 2, 5)]
    for place in (0, 2, 5):
        faces(ann).nth(place).click()
    expect(ann.page.locator(".tools .count")).to_have_text("3 images chosen, guessed cat")
    ann.page.keyboard.press("3")
    expect(faces(ann)).to_have_count(17)
    ann.saved()
    assert said(served) == [("label", 2, "guesses")] * 3
    assert items(served) == set(chosen)
    ann.page.keyboard.press("u")
    expect(faces(ann)).to_have_count(20)
    ann.saved()
    assert [act["kind"] for act in served.acts()[3:]] == ["undo"] * 3


def test_most_doubtful_guesses_come_first(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3, count=60))
    ann.go("Guesses")
    expect(faces(ann)).to_have_count(20)
    sure = [float(text.split("\u202f")[0]) for text in ann.page.locator(".sure").all_text_contents()]
    assert sure == sorted(sure)


def test_only_sure_guesses_are_shown_unless_all_are_wanted(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, count=60, doubt=0.5)
    ann = visit(served)
    ann.go("Guesses")
    expect(ann.page.locator(".guesses > .soft").first).to_contain_text(f"Guesses at least 95{THIN}% sure on images")
    expect(faces(ann)).to_have_count(3)
    ann.page.locator(".choice label", has_text="All guesses").click()
    expect(faces(ann)).to_have_count(20)
    expect(ann.page.locator(".guesses > .soft").first).to_contain_text("All guesses on images without a label")
    ann.page.locator(".tabs a", has_text="dog").click()
    expect(ann.page).to_have_url(re.compile("#guesses/1/all$"))
    expect(faces(ann)).to_have_count(20)
    ann.page.locator(".choice label", has_text=f"At least 95{THIN}% sure").click()
    expect(ann.page).to_have_url(re.compile("#guesses/1$"))


def test_a_single_guess_is_confirmed_or_vetoed_by_one_click(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3)
    ann = visit(served)
    ann.go("Guesses")
    ann.page.get_by_role("button", name="Confirm: ").first.click()
    ann.page.get_by_role("button", name="Not this class: ").first.click()
    ann.saved()
    assert said(served) == [("label", 0, "guesses"), ("veto", 0, "guesses")]
    ann.page.locator(".tabs a", has_text="owl").click()
    expect(ann.page).to_have_url(re.compile("#guesses/2$"))
    ann.page.get_by_role("button", name="Confirm: ").first.click()
    ann.saved()
    assert said(served)[2:] == [("label", 2, "guesses")]


def test_guesses_are_chosen_by_range_by_frame_and_by_keyboard(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, count=60)
    ann = visit(served)
    ann.go("Guesses")
    chosen = ann.page.locator(".tile.chosen")
    faces(ann).nth(1).click()
    faces(ann).nth(4).click(modifiers=["Shift"])
    expect(chosen).to_have_count(4)
    ann.page.keyboard.press("Escape")
    expect(chosen).to_have_count(0)

    first, last = faces(ann).nth(0).bounding_box(), faces(ann).nth(2).bounding_box()
    assert first is not None
    assert last is not None
    ann.page.mouse.move(first["x"] + 10, first["y"] + 10)
    ann.page.mouse.down()
    ann.page.mouse.move(last["x"] + 20, last["y"] + 30, steps=5)
    ann.page.mouse.up()
    expect(chosen).to_have_count(3)
    ann.page.keyboard.press("Escape")

    faces(ann).nth(0).focus()
    ann.page.keyboard.press("ArrowRight")
    ann.page.keyboard.press("Space")
    ann.page.keyboard.press("Shift+ArrowRight")
    expect(chosen).to_have_count(2)
    ann.page.keyboard.press("c")
    expect(faces(ann)).to_have_count(18)
    ann.page.keyboard.press("v")  # the focus went on to the next: it is meant if nothing is chosen
    expect(faces(ann)).to_have_count(17)
    ann.page.keyboard.press("a")
    expect(chosen).to_have_count(17)
    ann.saved()
    assert said(served) == [*[("label", 0, "guesses")] * 2, ("veto", 0, "guesses")]


def test_all_guesses_are_reached_page_by_page(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3, count=150, classes=["only"]))
    ann.go("Guesses")
    expect(faces(ann)).to_have_count(60)
    scroll_until(ann, faces(ann), 150)
    expect(ann.page.get_by_role("button", name="Show more")).to_be_hidden()


def test_a_guess_is_looked_at_closely_and_corrected(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3)
    ann = visit(served)
    ann.go("Guesses")
    ann.page.get_by_role("button", name="Look closer or correct: ").first.click()
    dialog = ann.page.get_by_role("dialog")
    expect(dialog.locator(".stage img")).to_be_visible()
    first = dialog.get_by_role("heading").inner_text()
    ann.page.keyboard.press("2")  # and the next is in sight
    expect(dialog.get_by_role("heading")).not_to_have_text(first)
    expect(dialog.locator(".stage img")).to_be_visible()
    ann.page.keyboard.press("v")
    ann.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    ann.saved()
    assert said(served) == [("label", 1, "guesses"), ("veto", 0, "guesses")]


def test_what_is_labelled_among_the_guesses_is_not_asked_any_more(serve: Serve, visit: Open) -> None:
    served = serve(iteration=3, count=9, classes=["one", "two"])
    ann = visit(served)
    ann.go("Guesses")
    expect(faces(ann)).to_have_count(5)
    ann.page.keyboard.press("a")
    ann.page.keyboard.press("c")
    ann.saved()
    done = items(served)
    ann.go("Label")
    for _ in range(4):
        ann.press("2")
    expect(ann.page.locator(".nothing")).to_contain_text("Every image has an answer.")
    ann.saved()
    asked = [act["item"] for act in served.acts() if act["why"] != "guesses"]
    assert len(asked) == 4
    assert not done & set(asked)


# answers


def test_an_earlier_answer_is_changed_and_changed_back(serve: Serve, visit: Open) -> None:
    served = serve()
    ann = visit(served)
    ann.press("1", "2", "d")
    ann.go("Answers")
    rows = ann.page.locator(".answers li")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("dog")
    rows.nth(1).get_by_role("button", name="Change").click()
    expect(ann.page.get_by_role("dialog").locator(".stage img")).to_be_visible()
    ann.page.keyboard.press("3")
    ann.page.keyboard.press("Escape")
    expect(rows.nth(1)).to_contain_text("owl")
    ann.saved()
    assert said(served)[-1] == ("label", 2, "browse")
    ann.page.keyboard.press("u")
    expect(rows.nth(1)).to_contain_text("dog")


def test_why_each_was_asked_is_said_after_the_answer_with_the_two_likeliest_classes(serve: Serve, visit: Open) -> None:
    def top(*shares: float) -> list[dict[str, float]]:
        return [{"class": class_, "share": share} for class_, share in enumerate(shares)]

    asked = {
        0: {"rule": "margin", "top": top(0.41, 0.39)},
        1: {"rule": "margin", "top": top(0.97, 0.02)},
        2: {"rule": "veto", "top": top(0.6)},
        3: {"rule": "random", "top": top(0.6, 0.3)},
    }
    ann = visit(serve(iteration=3, asked=asked))
    for key in "1111":
        ann.image()
        ann.press(key)
    ann.saved()
    ann.page.goto(f"{ann.served.origin}/#answers")
    rows = ann.page.locator(".answers li")
    expect(rows.nth(3)).to_contain_text(f"asked because the model wavered between cat (41{THIN}%) and dog (39{THIN}%)")
    expect(rows.nth(2)).to_contain_text(f"least sure that were left: the model took it for cat (97{THIN}%) or dog (2")
    expect(rows.nth(1)).to_contain_text(f"guess, cat (60{THIN}%)")
    expect(rows.nth(0)).to_contain_text("drawn at random; the model took it for cat")


def test_answers_are_filtered_and_the_filter_outlives_a_reload(serve: Serve, visit: Open) -> None:
    served = serve(people=("ann", "bo"))
    bo = visit(served, "bo")
    bo.press("1")
    bo.saved()
    ann = visit(served, "ann")
    ann.press("d", "Space", "f", "1")
    ann.go("Answers")
    rows = ann.page.locator(".answers li")
    expect(rows).to_have_count(3)
    for text, count in [("Flagged", 1), ("Don\u2019t know", 1), ("Skipped", 1), ("Everyone\u2019s", 1), ("All", 4)]:
        ann.page.locator(".choice label", has_text=text).click()
        expect(rows).to_have_count(count)
    ann.page.locator(".choice label", has_text="Skipped").click()
    expect(ann.page).to_have_url(re.compile("#answers/all/skipped$"))
    ann.page.reload()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("skipped")
    ann.page.go_back()
    expect(rows).to_have_count(4)


def test_all_answers_are_reached_page_by_page(serve: Serve, visit: Open) -> None:
    served = serve(count=130)
    for item in range(120):
        served.plant("ann", item, item % 3)
    ann = visit(served)
    ann.go("Answers")
    rows = ann.page.locator(".answers li")
    expect(rows).to_have_count(50)
    scroll_until(ann, rows, 120)


# disagreements and export


def test_disagreements_are_settled(serve: Serve, visit: Open) -> None:
    served = serve(people=("ann", "bo"))
    for item in (3, 4):
        served.plant("ann", item, 0)
        served.plant("bo", item, 1)
    ann = visit(served)
    ann.go("Disagreements")
    cards = ann.page.locator(".card")
    expect(cards).to_have_count(2)
    expect(cards.first).to_contain_text("ann: cat")
    cards.first.get_by_role("button", name="It is dog").click()
    expect(cards).to_have_count(1)
    cards.first.get_by_role("button", name="Another class").click()
    cards.first.get_by_role("button", name="owl").click()
    expect(ann.page.locator(".settle .empty")).to_contain_text("People agree")
    ann.saved()
    settled = [(act["item"], act["class"]) for act in served.acts() if act["kind"] == "settle"]
    assert settled == [(3, 1), (4, 2)]


def test_one_person_alone_has_no_disagreements(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    expect(ann.page.locator("#tabs a", has_text="Disagreements")).to_be_hidden()


def exported(visit: Visit) -> list[list[str]]:
    """Download the table, and read it."""
    with visit.page.expect_download() as download:
        visit.page.get_by_role("link", name="Download: CSV table").click()
    return [line.split(",") for line in download.value.path().read_text().splitlines()[1:]]


def test_without_a_model_peoples_labels_are_exported(serve: Serve, visit: Open) -> None:
    ann = visit(serve())
    ann.press("2")
    ann.saved()
    ann.go("Export")
    expect(ann.page.locator(".exports")).to_contain_text("There is no model yet")
    expect(ann.page.get_by_role("radio", name="People\u2019s labels only (1)")).to_be_checked()
    expect(ann.page.get_by_role("radio", name="and the model\u2019s guesses")).to_be_disabled()
    assert exported(ann) == [["shapes/img_0000.png", "dog", "person"]]


def test_guesses_are_exported_as_far_as_wanted_with_the_error_to_expect(serve: Serve, visit: Open) -> None:
    tested = [(0.5 + number / 100, number < 20) for number in range(50)]  # wrong while it is unsure
    ann = visit(serve(iteration=3, count=200, doubt=0.5, tested=tuple(tested)))
    ann.press("2")
    ann.saved()
    ann.go("Export")
    level, slider = ann.page.locator(".level"), ann.page.get_by_role("slider", name="How sure guesses have to be")
    expect(slider).to_have_attribute("aria-valuetext", f"at least 95{THIN}% sure")
    expect(level).to_contain_text(f"Expect about 0{THIN}% of them to be wrong (0{THIN}% to ")
    sure = exported(ann)
    expect(level).to_contain_text(f"{len(sure) - 1} guesses")
    assert [row[2] for row in sure] == ["person"] + ["pseudo"] * (len(sure) - 1)

    slider.focus()
    for _ in range(5):
        ann.page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", f"at least 50{THIN}% sure")
    expect(level).to_contain_text(f"Expect about 40{THIN}% of them to be wrong")
    expect(level).to_contain_text("of 50 test questions that the model was this sure of, it got 20 wrong")
    assert len(exported(ann)) > len(sure)
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "sure or unsure: all of them")
    expect(level).to_contain_text("199 guesses")
    assert len(exported(ann)) == 200

    ann.page.get_by_text("People\u2019s labels only").click()
    assert len(exported(ann)) == 1


def test_the_first_model_has_guesses_before_its_first_round(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3, trained_on=12, more={"iteration": 0}))
    ann.press("2")
    expect(ann.page.locator(".echo .note")).to_have_text("the model\u2019s guess: cat")
    ann.go("Export")
    expect(ann.page.locator(".level")).to_contain_text("39 guesses")


def test_without_test_questions_the_error_of_the_guesses_is_said_to_be_unknown(serve: Serve, visit: Open) -> None:
    ann = visit(serve(iteration=3))
    ann.go("Export")
    expect(ann.page.locator(".level")).to_contain_text("How many of them are wrong is not known yet")
