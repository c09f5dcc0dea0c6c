"""Judges where a target cannot wait for a server: refused by name, or on request written as the target's own judges."""

from __future__ import annotations

from typing import Any

from workbench.errors import FormatError
from workbench.formats.shared.base import Losses
from workbench.formats.targets.base import OwnJudge, Target
from workbench.graders.combine import Entry
from workbench.judges import CriteriaJudge, GuardrailJudge, RubricJudge
from workbench.judges.base import REPAIRED_PLATFORMS, Judge
from workbench.judges.client.openai import chat_settings

__all__ = ["JUDGES_WAY", "sent_settings", "tell_answers", "tell_no_waiting", "tell_settings", "why_not"]

JUDGES_WAY = (
    "export to a target whose functions can wait and get messages, such as trl, slime, verifiers or inspect"
)
_ENTRY = ("severity", "pass_threshold", "on_error")


def tell_no_waiting(target: Target, entry: Entry, losses: Losses) -> None:
    """Tell that a judge's lines cannot go there, and what is written in its place.

    Raises:
        FormatError: Losses are refused.
    """
    problem = f"its functions cannot wait for a judge's server, and a {entry.grader.kind} asks one"
    if target.own_judges is None:
        losses.add(entry.name, "kind", problem, way_out=JUDGES_WAY)
        return
    if (error := why_not(target, entry)) is None:
        instead = f"{target.own_judges.title} (it asks another question than the one measured here)"
        losses.add(entry.name, "kind", problem, way_out=JUDGES_WAY, instead=instead)
        return
    found = f"{error.what}: {error.found}" if error.found else error.what
    way_out = f"{JUDGES_WAY}; it cannot become {target.own_judges.title} either, by its {error.where or 'kind'}: {found}"
    losses.add(entry.name, "kind", problem, way_out="; ".join(filter(None, [way_out, error.hint])))


def why_not(target: Target, entry: Entry) -> FormatError | None:
    """Why a judge cannot become the target's own; None where it can."""
    assert isinstance(entry.grader, Judge)
    if target.own_judges is None:
        return FormatError("the target has no judges of its own", where="kind")
    if entry.extractor is not None:
        return FormatError("the target's own judge is shown the whole answer", where="extractor",
                           hint='use the extractor "last_assistant"')  # fmt: skip
    if entry.negate:
        return FormatError("there is no negation there, and without it the judge says the opposite", where="negate",
                           hint="write the opposite as the judge's criterion")  # fmt: skip
    try:
        target.own_judges.check(entry.grader)
    except FormatError as error:
        return error
    return None


def tell_settings(own: OwnJudge, losses: Losses) -> None:
    """Tell the settings of an entry and of its judge that no judge of a target's own has."""
    for name in _ENTRY:
        if name in own.settings:
            losses.add(own.name, name, f"there is no {name} there (it is {own.settings[name]!r})")
    judge = own.judge
    if isinstance(judge, CriteriaJudge | RubricJudge) and judge.pass_threshold is not None:
        losses.add(own.name, "pass_threshold", f"its own one is not there (it is {judge.pass_threshold:g}): a score alone is written")  # fmt: skip
    if isinstance(judge, GuardrailJudge):
        losses.add(own.name, "safety_threshold", f"nothing is flagged there below {judge.safety_threshold:g}: the safety score alone is written")  # fmt: skip
    if isinstance(judge, RubricJudge):
        _note_limits(own.name, judge, losses)
    if judge.client is not None:
        losses.note(own.name, "client", "the settings of its client are not written: its address, limits and key's name")  # fmt: skip


def _note_limits(name: str, judge: RubricJudge, losses: Losses) -> None:
    for limit in ("timeout", "max_retries"):
        if getattr(judge, limit) is not None:
            losses.note(name, limit, f"{limit}={getattr(judge, limit)!r}; the target has its own limit")


def tell_answers(own: OwnJudge, reads: str, losses: Losses) -> None:
    """Tell by which rules answers are read there, and not by those that were measured."""
    repaired = own.judge.platform in REPAIRED_PLATFORMS
    repairs = "; an answer that cannot be read is not asked for once more" if repaired else ""
    losses.add(own.name, "answers", f"they are not read by the rules measured here: {reads}{repairs}")


def sent_settings(judge: Judge) -> dict[str, Any]:
    """Temperature, limits and the like, as the judge sends them with its question."""
    left_out = ("response_format", "timeout", "max_retries")
    asked = {name: value for name, value in judge.request_settings().items() if name not in left_out}
    sent = chat_settings(asked, {})
    return {name: value for name, value in sent.items() if name != "model" and value is not None}
