"""The comparisons that are kept in results/compare: the default is nowhere below plain, and the page says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepbass.bench.results import Results
from deepbass.compare.compare_tables import main_measure
from deepbass.compare.standing import BELOW, ONE_RUN, read_outcome

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(file.parent for file in (ROOT / "results" / "compare").glob("*/matrix.json"))


# where the default is below plain, as docs/compare.md says: a row that is mended, or a new one, has to be told there
SAID_TO_BE_BELOW: set[tuple[str, int]] = set()


def test_the_default_is_nowhere_below_plain_by_more_than_a_standard_error_but_where_the_page_says_so() -> None:
    below = set()
    for folder in FOLDERS:
        outcome = read_outcome(Results.open(folder))
        assert not outcome.failed, folder.name
        standings = outcome.standings(main_measure(outcome))
        assert [standing.labels for standing in standings] == list(outcome.plan.labels), folder.name
        assert all(standing.verdict != ONE_RUN for standing in standings), folder.name
        below |= {(folder.name, standing.labels) for standing in standings if standing.verdict == BELOW}
    assert below == SAID_TO_BE_BELOW


def test_the_page_of_comparisons_is_what_the_result_files_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import compare_all

    assert {folder.name for folder in FOLDERS} <= set(compare_all.TASKS)
    text = compare_all.PAGE.read_text(encoding="utf-8")
    assert text == compare_all.page(text, compare_all.RESULTS)
    assert compare_all.BEGIN in text


def test_the_imbalanced_table_is_one_to_twenty_and_always_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import imbalanced

    first, second = (imbalanced.write(tmp_path / name).read_text(encoding="utf-8") for name in ("a.csv", "b.csv"))
    assert first == second
    assert (first.count(",rare\n"), first.count(",common\n")) == (300, 6_000)
