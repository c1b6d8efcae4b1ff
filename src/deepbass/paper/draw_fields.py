"""Figures 1 and 2: what the network says of every place in the plane, with few labels, guesses and questions."""

from __future__ import annotations

from deepbass.paper.toy_runs import PANELS, ToyRun, decoded
from deepbass.report.canvas import Drawing, blank
from deepbass.report.field import explain_marks, paint, steepness
from deepbass.report.words import SPACE, percent

_TITLES = {
    "initial": "Initial model",
    "semi-supervised": "Semi-supervised",
    "active": "Active",
    "active-semi-supervised": "Active semi-supervised",
}
_WIDTH = 10.4  # inches
_MARKS = 0.42  # their size: a panel is small, and has a thousand points


def four_fields(name: str, run: ToyRun, rule: str) -> Drawing:
    """Draw the four panels of one choice of initial labels; ``rule`` says why this one."""
    fields = {row: decoded(run.panels[row]) for row in PANELS}
    figure = blank(_WIDTH, 0.8 + _WIDTH / len(PANELS) * steepness(fields["initial"]))
    panels = figure.subplots(1, len(PANELS))
    said = []
    for axes, (row, field) in zip(panels, fields.items(), strict=True):
        paint(axes, field, _MARKS)
        result = f"{len(field.known)}{SPACE}labels: {percent(run.accuracy(row))}"
        axes.set_title(f"{_TITLES[row]}\n{result}", fontsize=9.5, pad=6)
        said.append(f"{_TITLES[row].lower()}, {result}")
    explain_marks(panels[0])
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return Drawing(
        name,
        figure,
        f"Four maps of the plane coloured by predicted class, red or blue: {'; '.join(said)}.",
        f"{name.replace('-', ' ').capitalize()}. {rule} Background: the predicted class, white where the network is "
        "uncertain. Points: all training data in the colour of their true class, crossed out where the label is known. "
        "All panels start from the model of the left one. Percentages: validation accuracy.",
    )
