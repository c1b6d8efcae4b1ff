"""What is said of pseudo-labels and questions, in words."""

from __future__ import annotations

from deepbass.core.guard import Evidence, worth_in_words


def test_what_harms_is_said_to_harm() -> None:
    harmful = Evidence("pseudo-labels", 100, 60, 63, 0.0)
    assert harmful.words == "pseudo-labels: -3.0 points on 100 held-back labels; not used"
    useful = Evidence("pseudo-labels", 50, 40, 35, 0.9)
    assert useful.words == "pseudo-labels: +10.0 points on 50 held-back labels; used with weight 0.90"
    assert Evidence("pseudo-labels", 0, 0, 0, 0.5).points == 0


def test_the_parts_add_up_to_what_is_gained_over_plain_learning_at_random() -> None:
    said = worth_in_words(0.8, 0.7, 0.65, Evidence("pseudo-labels", 50, 40, 35, 0.9))
    assert said == [
        "Plain learning from the same labels: 70.00%; pseudo-labels added 10.0 points.",
        "Plain learning from as many labels drawn at random: 65.00%; the choice of labels added 5.0 points.",
        "Pseudo-labels: +10.0 points on 50 held-back labels; used with weight 0.90.",
    ]
    assert worth_in_words(0.6, 0.7, 0.75, None) == [
        "Plain learning from the same labels: 70.00%; pseudo-labels cost 10.0 points.",
        "Plain learning from as many labels drawn at random: 75.00%; the choice of labels cost 5.0 points.",
    ]
    assert worth_in_words(0.6, None, None, Evidence("pseudo-labels", 0, 0, 0, 0.5)) == []
