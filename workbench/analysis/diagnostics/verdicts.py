"""A grader's findings summarised in two words, with a shape and one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.analysis.diagnostics.finding import Finding, Severity
from workbench.core.display_text import capital, visible

__all__ = ["NO_SCORE", "SHORT_VERDICTS", "leading", "shape_of", "short_verdict", "verdict_of"]

NO_SCORE = frozenset({"broken", "nothing-scored", "fails-when-repeated"})
"""Findings about rows without a score: they have priority, because nothing else is known of such rows."""

SHORT_VERDICTS = {
    "too-lenient": "too lenient", "too-strict": "too strict", "accepts-known-bad": "accepts bad",
    "same-score": "always same", "saturated-high": "nearly all high", "saturated-low": "nearly all low",
    "collapsed": "few values", "no-variance": "always same", "narrow-range": "narrow range", "out-of-scale": "off the scale",
    "broken": "often fails", "nothing-scored": "no score", "unfinished": "not finished", "ungraded": "scored by rule",
    "skipped": "some skipped", "few-rows": "few rows", "one-prompt": "one prompt",
    "writer-bias": "writer matters", "score-position-bias": "position matters", "position-bias": "position bias",
    "order-decides": "order decides", "zero-variance-groups": "zero variance", "prompt-decides": "prompt decides",
    "no-better-than-chance": "like chance", "worse-than-chance": "worse than chance",
    "fails-when-repeated": "fails when repeated", "keeps-state": "keeps state", "uses-chance": "not repeatable",
    "inconsistent": "inconsistent", "suboptimal-pass-threshold": "wrong threshold", "labels-disagree": "labels disagree",
    "below-human-ceiling": "below people", "reads-the-label": "reads the label", "reads-a-giveaway": "reads a giveaway",
    "copied-completions": "copied completions", "follows-length": "follows length", "drifts": "drifts", "differs-by-column": "differs by column", "few-levels": "few levels",
}  # fmt: skip
"""Kind of a finding to its two-word verdict; the kind itself if it is missing."""

_TIPS = {
    "too-lenient": "It accepts more known-bad rows than the limit.",
    "too-strict": "It refuses more known-good rows than the limit.",
    "broken": "Rows get no score; a failure is never counted as 0.",
    "nothing-scored": "No row has a score.",
}
_SHAPES = {
    Severity.ERROR: "bad",
    Severity.WARNING: "bad",
    Severity.NOTE: "note",
    Severity.WITHIN_LIMIT: "good",
}


def short_verdict(kind: str) -> str:
    """The short verdict for a finding's kind."""
    return SHORT_VERDICTS.get(kind, kind.replace("-", " "))


def leading(findings: Sequence[Finding]) -> Finding | None:
    """The leading finding of a grader; None for none.

    Findings about missing scores have priority, then verdicts in order, then inconclusive ones, then good news.

    Args:
        findings: Of one grader, most severe first.
    """
    return min(findings, key=_rank, default=None)  # the first of those of one rank


def _rank(finding: Finding) -> int:
    if finding.is_verdict:
        return 0 if finding.kind in NO_SCORE else 1 if not finding.cause else 2
    if finding.undecided:
        return 3
    return 4 if finding.severity is Severity.WITHIN_LIMIT else 5


def shape_of(finding: Finding) -> str:
    """The shape of a finding: of a fault, of a missing score, of an inconclusive result, of good news, of a note."""
    if finding.kind in NO_SCORE and finding.is_verdict:
        return "failed"
    if finding.undecided and not finding.is_verdict:
        return "unsettled"
    return _SHAPES[finding.severity]


def verdict_of(findings: Sequence[Finding], *, has_labels: bool) -> dict[str, Any]:
    """A grader's verdict in two words, with its shape and one sentence.

    Args:
        findings: Of one grader, most severe first.
        has_labels: Whether any row is labelled.
    """
    finding = leading(findings)
    if finding is None or (not has_labels and not finding.is_verdict):
        return _without_verdict(has_labels)
    shape = shape_of(finding)
    words = {"unsettled": "inconclusive", "good": "within limit"}.get(shape, short_verdict(finding.kind))
    tip = _TIPS.get(finding.kind, "") if shape in {"bad", "failed"} else ""
    return {"shape": shape, "words": words, "tip": tip or visible(capital(finding.sentence))}


def _without_verdict(has_labels: bool) -> dict[str, Any]:
    if not has_labels:
        tip = "Error rates are unknown: no row is labelled. Label some rows."
        return {"shape": "note", "words": "no labels", "tip": tip}
    return {"shape": "good", "words": "nothing found", "tip": "No diagnostic found a fault in these rows."}
