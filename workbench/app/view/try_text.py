"""The verdicts on one tried completion, as text and parts of a bar."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.core.display_text import one_line
from workbench.core.grade import Grade, Status

__all__ = ["accepts", "moved", "outcome", "verdict_of_answer"]

_NUMBERS = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def accepts(grade: Grade | None, mark: float) -> bool | None:
    """Whether a grade passes: by the grader's own verdict, or else by the pass threshold; None without a score."""
    if grade is None or grade.score is None:
        return None
    return grade.score >= mark if grade.passed is None else grade.passed


def outcome(grade: Grade | None, good: bool | None, mark: float) -> dict[str, str] | None:
    """A grade's score and part, for a completion labelled good, bad, or neither; None if there is no grade yet."""
    if grade is None:
        return None
    accepted = accepts(grade, mark)
    if accepted is None or grade.score is None:
        status = "failed" if grade.status is Status.FAILED else "skipped"
        return {"score": status, "part": status}
    prefix = {True: "good_", False: "bad_", None: ""}[good]
    return {"score": f"{grade.score:.4g}", "part": f"{prefix}{'accepted' if accepted else 'refused'}"}


def moved(before: Grade | None, after: Grade | None, mark: float) -> str:
    """The effect of an edited completion on a grader; "" for none."""
    if before is None or after is None:
        return ""
    was, now = accepts(before, mark), accepts(after, mark)
    if was == now:
        return ""
    return {True: "now accepted", False: "now rejected", None: "no score now"}[now]


def verdict_of_answer(verdicts: Mapping[str, bool | None], good: bool | None) -> dict[str, str] | None:
    """How many graders accept a completion, and which of them disagree with the label; None before the first grade.

    Args:
        verdicts: Whether each grader accepts it, None without a score.
        good: Whether a user labelled it good; None if not labelled.
    """
    if not verdicts:
        return None
    accepting = sum(bool(verdict) for verdict in verdicts.values())
    lead = f"{_number(accepting, len(verdicts))} accept{'s' if accepting == 1 else ''} this completion."
    if good is None:
        return {
            "shape": "note",
            "lead": lead,
            "text": "Label it good or bad to see which graders err.",
        }
    wrong = [name for name, verdict in verdicts.items() if verdict is not None and verdict != good]
    word = "good" if good else "bad"
    if not wrong:
        return {"shape": "good", "lead": lead, "text": f"You labelled it {word}: no grader errs."}
    names = ", ".join(one_line(name, 60) for name in wrong)
    verb = ("reject" if good else "accept") + ("s" if len(wrong) == 1 else "")
    text = f"You labelled it {word}: {names} {verb} it. Save it to grade it again after every edit."
    return {"shape": "bad", "lead": lead, "text": text}


def _number(count: int, total: int) -> str:
    few, all_of_them = (_NUMBERS[each] if each < len(_NUMBERS) else f"{each:,}" for each in (count, total))
    return f"{few} of {all_of_them.lower()}"
