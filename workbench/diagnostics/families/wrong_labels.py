"""Labels that the rows themselves contradict: no grader is to blame for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.diagnostics.case import Case
from workbench.diagnostics.claim import Claim, share_claim
from workbench.diagnostics.drawn import drawn
from workbench.diagnostics.finding import Severity, percent
from workbench.diagnostics.registry import diagnostic
from workbench.statistics import compact, share

__all__ = ["wrong_labels"]

_WRONG = 0.01  # share of labels that may be wrong, as in `agreement`
_FEWEST_PROMPTS = 2  # of which labels are contradicted
_MOST_TEXTS = 5_000  # rows whose texts are read: reading more would take seconds


@diagnostic(
    "wrong-labels",
    explains=("too-lenient", "too-strict", "accepts-known-bad", "disagrees-with-labels"),
)
def wrong_labels(case: Case) -> Iterable[Claim]:
    """Over 1 % of the labels that can be checked are contradicted by the rows (lower bound).

    Two things can be checked without a person: the same answer to the same prompt has one label, and an answer that is the
    reference, word for word, is a good one. Of answers with both labels the rarer one counts as wrong. Looked at in up to
    5,000 labelled rows. It explains the grader's mistakes where they are no more frequent than wrong labels may be.
    """
    labels = case.labels[case.rows]
    if case.context is None or not (labels >= 0).any():
        return
    part = drawn(labels >= 0, _MOST_TEXTS)
    rows, prompts, labels = case.rows[part], case.scored_groups[part], labels[part]
    repeated, rarer = _repeats(prompts, case.context.hashes_of(rows), labels)
    if case.raters is not None:  # that several people differ is another finding
        repeated, rarer = np.zeros_like(repeated), np.zeros_like(rarer)
    is_reference = case.context.is_reference(rows)
    refused = is_reference & (labels == 0)
    checked, wrong = repeated | is_reference, refused | (rarer & ~is_reference)
    # Within one prompt for all rows, what is asked may stand in a column that is not the prompt.
    if not wrong.any() or len(np.unique(prompts[wrong])) < _FEWEST_PROMPTS:
        return
    found = share(wrong[checked], compact(prompts[checked]))
    message = (
        f"labels are wrong: {_ways(int(refused.sum()), int((wrong & ~refused).sum()))}; that is {found.k:,} of "
        f"{found.n:,} labels that the rows can contradict, {percent(found.value)}"
    )
    advice = "correct these labels and read some others: those that nothing contradicts will be wrong about as often"
    finding = case.finding(
        "wrong-labels", Severity.WARNING, "share of labels contradicted", message, advice, rows[wrong], unit="label"
    )  # fmt: skip
    mistakes = float((case.accepted[part] != (labels == 1)).mean())
    # Wrong labels explain as many mistakes as there may be of them, and no more.
    yield share_claim(replace(finding, leads=mistakes <= found.interval().hi), found, _WRONG)


def _repeats(
    prompts: NDArray[np.intp], answers: NDArray[np.int64], labels: NDArray[np.int8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows repeat an answer to their prompt, and which of those have the rarer label of it; of a tie, the later ones."""
    _, same = np.unique(np.column_stack([prompts, answers]), axis=0, return_inverse=True)
    same = same.ravel()
    count, good = np.bincount(same)[same], np.bincount(same, weights=labels)[same]
    first = np.zeros(same.max(initial=-1) + 1, np.int8)
    first[same[::-1]] = labels[::-1]
    usual = np.where(2 * good == count, first[same], 2 * good > count)
    return count > 1, (count > 1) & (labels != usual)


def _ways(refused: int, differing: int) -> str:
    """What contradicts them, in words."""
    ways = [
        (refused, "call an answer bad that is the reference"),
        (differing, "differ from others of the same answer"),
    ]
    return ", ".join(f"{count:,} {way}" for count, way in ways if count)
