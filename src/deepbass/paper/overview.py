"""The results in a few sentences, and how to read them."""

from __future__ import annotations

from collections import Counter

from deepbass.paper.rows import QUICK_POOL
from deepbass.paper.summary import Summary
from deepbass.paper.verdict import ABOVE, AGREES, BELOW, NOT_RUN, TOO_FEW

WHAT = (
    "The experiments of “Deep Bayesian Active Semi-Supervised Learning” (Rottmann, Kahl, Gottschalk, 2018), measured "
    "again: every table and figure of the paper, its numbers and ours side by side."
)
NOTHING = "Nothing was run yet: deepbass reproduce fills this page."
READING = (
    "Validation accuracy after the last iteration, mean and standard deviation (sd) over runs. Difference: ours minus "
    "the paper's, in percentage points, with Welch's 95 % confidence interval. The verdict is “agrees” where the "
    "interval holds 0, “above” or “below” where it does not, and takes three runs; were both the same, about one row "
    "in twenty would still come out above or below by chance. The wider the interval, the less an agreement says."
)
QUICK = (
    f"A pool of {QUICK_POOL:,} images, fewer iterations and fewer dropout passes: a check of what stands above what, "
    "in little time. It is not the paper's protocol, so its numbers are not expected to be the paper's."
)
OTHER_SETTINGS = "Made with other settings than the rows have now, and so not counted"


def headline(summary: Summary) -> str:
    """Say how the paper's rows came out."""
    lines = summary.of("full")
    words = Counter(line.verdict.words for line in lines)
    measured = len(lines) - words[NOT_RUN]
    if not measured:
        return "No row of the paper was measured with its protocol yet"
    said = [f"{words[word]} {word}" for word in (ABOVE, BELOW) if words[word]]
    if words[TOO_FEW] < measured:  # where nothing was judged, "0 agree" would sound like a verdict
        said.insert(0, f"{words[AGREES]} agree")
    if words[TOO_FEW]:
        said.append(f"{words[TOO_FEW]} with too few runs")
    return f"{measured} of {len(lines)} rows of the paper measured again: {', '.join(said)}"


def status(summary: Summary) -> str:
    """Say how many cells there are, and what became of them."""
    parts = summary.progress()
    if not summary.records():
        return NOTHING
    finished, failed, unfinished = (
        sum(getattr(part, what) for part in parts) for what in ("finished", "failed", "unfinished")
    )
    hours = sum(part.hours for part in parts)
    return f"{finished} runs finished in {hours:,.1f} hours of computing, {failed} failed, {unfinished} unfinished."
