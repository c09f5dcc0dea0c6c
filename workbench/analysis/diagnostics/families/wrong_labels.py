"""Labels that contradict the rows: the grader is not at fault for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.diagnostics.case import Case
from workbench.analysis.diagnostics.claim import Claim, share_claim
from workbench.analysis.diagnostics.drawn import drawn
from workbench.analysis.diagnostics.finding import Severity, percent
from workbench.analysis.diagnostics.registry import diagnostic
from workbench.analysis.statistics import compact, share

__all__ = ["wrong_labels"]

_WRONG = 0.01  # maximum share of wrong labels, as in `agreement`
_MIN_PROMPTS = 2  # minimum prompts with contradicted labels
_MAX_TEXTS = 5_000  # maximum rows whose texts are read: reading more would take seconds


@diagnostic(
    "wrong-labels",
    explains=("too-lenient", "too-strict", "accepts-known-bad", "disagrees-with-labels"),
)
def wrong_labels(case: Case) -> Iterable[Claim]:
    """Over 1 % of the labels that can be checked contradict the rows (lower bound).

    Two rules can be checked automatically: the same completion of the same prompt has one label, and a completion that
    equals the reference is good. Of completions with both labels the rarer one counts as wrong. Examined in up to
    5,000 labelled rows. It explains the grader's mistakes if they are no more frequent than wrong labels may be.
    """
    labels = case.labels[case.rows]
    if case.context is None or not (labels >= 0).any():
        return
    part = drawn(labels >= 0, _MAX_TEXTS)
    rows, prompts, labels = case.rows[part], case.scored_groups[part], labels[part]
    repeated, rarer = _repeats(prompts, case.context.hashes_of(rows), labels)
    if case.raters is not None:  # differences between annotators are another finding
        repeated, rarer = np.zeros_like(repeated), np.zeros_like(rarer)
    is_reference = case.context.is_reference(rows)
    refused = is_reference & (labels == 0)
    checked, wrong = repeated | is_reference, refused | (rarer & ~is_reference)
    # If all rows have one prompt, the task may be in another column.
    if not wrong.any() or len(np.unique(prompts[wrong])) < _MIN_PROMPTS:
        return
    found = share(wrong[checked], compact(prompts[checked]))
    message = (
        f"labels are wrong: {_ways(int(refused.sum()), int((wrong & ~refused).sum()))}; that is {found.k:,} of "
        f"{found.n:,} labels that can be checked, {percent(found.value)}"
    )
    advice = "correct these labels and review some others: the labels that cannot be checked are probably wrong as often"
    finding = case.finding(
        "wrong-labels", Severity.WARNING, "share of labels contradicted", message, advice, rows[wrong], unit="label"
    )  # fmt: skip
    mistakes = float((case.accepted[part] != (labels == 1)).mean())
    # Wrong labels explain at most as many mistakes as their own number.
    yield share_claim(replace(finding, leads=mistakes <= found.interval().hi), found, _WRONG)


def _repeats(
    prompts: NDArray[np.intp], answers: NDArray[np.int64], labels: NDArray[np.int8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows repeat a completion of their prompt, and which of those have its rarer label; in a tie, the later ones."""
    _, same = np.unique(np.column_stack([prompts, answers]), axis=0, return_inverse=True)
    same = same.ravel()
    count, good = np.bincount(same)[same], np.bincount(same, weights=labels)[same]
    first = np.zeros(same.max(initial=-1) + 1, np.int8)
    first[same[::-1]] = labels[::-1]
    usual = np.where(2 * good == count, first[same], 2 * good > count)
    return count > 1, (count > 1) & (labels != usual)


def _ways(refused: int, differing: int) -> str:
    """What contradicts them, as text."""
    ways = [
        (refused, "mark a completion bad that equals the reference"),
        (differing, "differ from others of the same completion"),
    ]
    return ", ".join(f"{count:,} {way}" for count, way in ways if count)
