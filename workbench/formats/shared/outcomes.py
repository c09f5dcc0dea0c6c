"""Function graders that return a `Grade` or raise a `Skip`, on platforms that support neither.

| platform | reasoning | metadata | a skipped row |
| --- | --- | --- | --- |
| letta | `rationale` | `metadata` | fails there: reported as a loss |
| osmosis | dropped: reported as a loss | dropped | the platform's `remove_sample` |
| openai | dropped: reported as a loss | dropped | fails there: reported as a loss |
| adaptive | its functions return only a number: refused | | |
"""

from __future__ import annotations

import ast
from functools import lru_cache

from workbench.formats.shared.base import Losses
from workbench.graders.capture.statements import parsed

__all__ = ["CLASSES", "note_outcomes", "outcomes_in", "with_outcomes"]

CLASSES = """

class Skip(Exception):
    "Raised if the grader below does not apply to a row."


class Grade:
    "What the grader below may return instead of a number."

    def __init__(
        self, score=None, *, passed=None, reasoning=None, error=None, metadata=None, seconds=None, tokens=None, cost=None,
        printed=None,
    ):
        self.score, self.passed, self.reasoning, self.error = score, passed, reasoning, error
        self.metadata = dict(metadata or {})

    @classmethod
    def failed(cls, kind, message, **rest):
        return cls(error=f"{kind}: {message}", **rest)

    @classmethod
    def skipped(cls, reasoning=None, **rest):
        return cls(reasoning=reasoning, **rest)


_wb_names.Grade, _wb_names.Skip = Grade, Skip
_wb_Grade, _wb_Skip = Grade, Skip
"""
"""Precedes the grader's own text in a platform's module if that text names either class."""

_CLASSES = frozenset({"Grade", "Skip"})
_SCORE = """

def _wb_score(value):
    if not isinstance(value, _wb_Grade):
        return value
    if value.error is not None:
        raise RuntimeError(value.error)
    if value.score is None:
        raise _wb_Skip(value.reasoning)
    return value.score
"""
_ASYNC = """

def _wb_scored(function):
    async def scored(thread):
        return _wb_score(await function(thread))

    return scored
"""
_LETTA_RESULT = """

def _wb_result(value):
    rest = {}
    if isinstance(value, _wb_Grade):
        rest = {"rationale": value.reasoning or "", "metadata": value.metadata or None}
    return _wb_GradeResult(**{"score": _wb_score(value), "rationale": "", **rest})
"""
_OSMOSIS_REWARD = "            ctx.set_sample_reward(sample_id, await _wb_grade(thread))\n"
_OSMOSIS_SKIP = """            try:
                ctx.set_sample_reward(sample_id, await _wb_grade(thread))
            except _wb_Skip:
                ctx.set_sample_reward(sample_id, 0.0)  # every sample needs one; that of a removed sample is unused
                sample.remove_sample = True
"""
_KEPT = {"letta": {"reasoning"}, "osmosis": {"skip"}, "openai": set[str](), "adaptive": set[str]()}


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def outcomes_in(text: str) -> frozenset[str]:
    """Which of `Grade` and `Skip` a grader's text names."""
    nodes = ast.walk(parsed(text) or ast.Module([], []))
    return frozenset(
        name
        for node in nodes
        for name in (getattr(node, "attr", ""), getattr(node, "id", ""))
        if name in _CLASSES
    )


def note_outcomes(text: str, platform: str, losses: Losses, name: str) -> bool:
    """Report what a platform loses of a grader that returns more than a number.

    Args:
        text: The grader's module.
        platform: The platform whose module will contain it.
        losses: Collects the report.
        name: The grader's.

    Returns:
        Whether the platform can represent the grader at all.
    """
    named = outcomes_in(text)
    if named and platform == "adaptive":
        losses.add(
            name, f"source (wb.{min(named)})", "Adaptive's grade functions return only a number",
            hint="return only the number, and select the rows it applies to before grading",
        )  # fmt: skip
        return False
    if "Grade" in named and "reasoning" not in _KEPT[platform]:
        losses.add(
            name, "source (wb.Grade)", "the platform takes only the score; reasoning and metadata are dropped",
            hint="return only the number",
        )  # fmt: skip
    if "Skip" in named and "skip" not in _KEPT[platform]:
        losses.add(
            name, "source (wb.Skip)", "the platform has no skipped rows: the row counts as failed there",
            hint="run the grader on rows it applies to",
        )  # fmt: skip
    return True


def with_outcomes(tail: str, platform: str) -> str:
    """The lines after a grader's text, for a grader that returns a `Grade` or raises a `Skip`."""
    if platform == "letta":
        call = '_wb_GradeResult(score=_wb_drive(_wb_grade(thread)), rationale="")'
        return _SCORE + _LETTA_RESULT + tail.replace(call, "_wb_result(_wb_drive(_wb_grade(thread)))")
    scored = tail.replace("_wb_grade = grade\n", "_wb_grade = _wb_scored(grade)\n")
    return _SCORE + _ASYNC + scored.replace(_OSMOSIS_REWARD, _OSMOSIS_SKIP)
