"""Judges on targets: a file contains code only, so a judge is refused, or on request written as the target's native one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared.base import Losses
from workbench.formats.targets.base import OwnJudge, Target
from workbench.graders.combine import Entry
from workbench.graders.portable_rule import article
from workbench.judges import CriteriaJudge, GuardrailJudge, RubricJudge
from workbench.judges.base import REPAIRED_PLATFORMS, Judge
from workbench.judges.client.openai import chat_settings

_ENTRY = ("severity", "pass_threshold", "on_error")


def tell_judge(target: Target, entry: Entry, losses: Losses) -> None:
    """Report that a file for the target does not contain a judge, what runs it, and what is written instead.

    Raises:
        FormatError: Losses are refused.
    """
    problem = f"an exported file runs code only, and {article(entry.grader.kind)} sends requests to a model"
    hint = runs_judges(target)
    if target.own_judges is None:
        losses.add(entry.name, "kind", problem, hint=hint)
        return
    if (error := why_not(target, entry)) is None:
        instead = f"{target.own_judges.title} (it uses another prompt than the one measured here)"
        losses.add(entry.name, "kind", problem, hint=hint, instead=instead)
        return
    found = f"{error.what}: {error.found}" if error.found else error.what
    hint = f"{hint}; it cannot become {target.own_judges.title} either, because of its {error.where or 'kind'}: {found}"
    losses.add(entry.name, "kind", problem, hint="; ".join(filter(None, [hint, error.hint])))


def runs_judges(target: Target) -> str:
    """What to type to use a suite with judges in the target."""
    function = f".{target.reward}" if target.reward else "(prompts, completions)"
    return (
        f'use wb.reward(suite){function}, or wb.save(suite, "graders.json") and, in a shell, '
        f"workbench serve graders.json (path {target.served}): both call judges"
    )


def why_not(target: Target, entry: Entry) -> FormatError | None:
    """Why a judge cannot become the target's native one; None if it can."""
    assert isinstance(entry.grader, Judge)
    if target.own_judges is None:
        return FormatError("the target has no native judges", where="kind")
    if entry.extractor is not None:
        return FormatError("the target's native judge gets the whole completion", where="extractor",
                           hint='use the extractor "last_assistant"')  # fmt: skip
    if entry.negate:
        return FormatError("it has no negation, and without it the judge measures the opposite", where="negate",
                           hint="write the opposite as the judge's criterion")  # fmt: skip
    try:
        target.own_judges.check(entry.grader)
    except FormatError as error:
        return error
    return None


def tell_settings(own: OwnJudge, losses: Losses) -> None:
    """Report the settings of an entry and of its judge that no native judge supports."""
    for name in _ENTRY:
        if name in own.settings:
            losses.add(own.name, name, f"it has no {name} (here {own.settings[name]!r})")
    judge = own.judge
    if isinstance(judge, CriteriaJudge | RubricJudge) and judge.pass_threshold is not None:
        losses.add(own.name, "pass_threshold", f"it is not supported (here {judge.pass_threshold:g}): only a score is written")  # fmt: skip
    if isinstance(judge, GuardrailJudge):
        losses.add(own.name, "safety_threshold", f"scores below {judge.safety_threshold:g} are not flagged there: only the safety score is written")  # fmt: skip
    if isinstance(judge, RubricJudge):
        _note_limits(own.name, judge, losses)
    if judge.client is not None:
        losses.note(own.name, "client", "its client's settings are not written: address, limits and key variable")  # fmt: skip


def _note_limits(name: str, judge: RubricJudge, losses: Losses) -> None:
    for limit in ("timeout", "max_retries"):
        if getattr(judge, limit) is not None:
            losses.note(name, limit, f"{limit}={getattr(judge, limit)!r}; the target has its own limit")


def tell_answers(own: OwnJudge, reads: str, losses: Losses) -> None:
    """Report that the target reads replies by rules other than the measured ones."""
    repaired = own.judge.platform in REPAIRED_PLATFORMS
    repairs = "; a malformed reply is not requested again" if repaired else ""
    losses.add(own.name, "answers", f"replies are not read by the rules measured here: {reads}{repairs}")


def sent_settings(judge: Judge) -> dict[str, Any]:
    """Temperature, limits and the like, as the judge sends them in its request."""
    left_out = ("response_format", "timeout", "max_retries")
    asked = {name: value for name, value in judge.request_settings().items() if name not in left_out}
    sent = chat_settings(asked, {})
    return {name: value for name, value in sent.items() if name != "model" and value is not None}


def quoted_lines(text: str, indent: int) -> list[str]:
    """A text as Python string literals, one per line of the text."""
    return [" " * indent + literal(line) for line in text.splitlines(keepends=True) or [""]]


def literal(value: Any) -> str:
    """JSON data as Python literals, the same in every version."""
    if isinstance(value, str):
        return escaped(json.dumps(value, ensure_ascii=False))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def escaped(text: str) -> str:
    """JSON without characters that end a line for some readers, and without lone surrogates, which cannot be encoded."""
    special = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
    return special.sub(lambda one: f"\\u{ord(one[0]):04x}", text)
