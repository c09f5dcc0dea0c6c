"""The parts of a suite that a target's file can contain: each grader's text and settings, or a loss that names it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.core.errors import FormatError
from workbench.core.python_text import parse
from workbench.data.extractors import Extractor
from workbench.formats.shared.base import Losses
from workbench.formats.shared.thread_access import looks_at_calls, reads_beyond
from workbench.formats.shared.unsupported import add_kind_loss, check_entry, check_signature, identifier
from workbench.formats.shared.wrapping import check_free, framed
from workbench.formats.targets.base import TRAINERS, OwnJudge, Part, Target
from workbench.formats.targets.columns import tell_columns
from workbench.formats.targets.judging.own import JUDGES_WAY, tell_no_waiting, why_not
from workbench.formats.targets.judging.texts import judge_text, reads_of
from workbench.formats.targets.names import quoted_block
from workbench.graders import FunctionGrader, Grader
from workbench.graders.combine import Entry
from workbench.graders.portable import is_portable, portable
from workbench.graders.rule_grader import RuleGrader
from workbench.judges.base import Judge
from workbench.judges.client.openai import PROVIDERS

__all__ = ["own_judges_of", "parts_of"]

_WAY_OUT = "write it as a function grader, or remove it"
_ENTRY = ("weight", "severity", "negate", "pass_threshold")
_BUILTINS = tuple(dir(builtins))
_LIMITS = ("timeout", "memory_mb", "description")


def parts_of(target: Target, entries: Sequence[Entry], losses: Losses) -> tuple[Part, ...]:
    """The graders that the target's file can contain; the others are reported by name.

    Raises:
        FormatError: Losses are refused.
    """
    texts = [(entry, text) for entry in entries if (text := _text(target, entry, losses)) is not None]
    functions: list[str] = []
    for entry, _ in texts:
        functions.append(identifier(entry.name, [*target.public, "StringThread", *_BUILTINS, *functions]))
    return tuple(
        Part(entry.name, function, text, _settings(entry), judge_of(entry))
        for (entry, text), function in zip(texts, functions, strict=True)
    )


def _text(target: Target, entry: Entry, losses: Losses) -> str | None:
    grader = entry.grader
    if isinstance(grader, Judge):
        return _judge_text(target, entry, losses)
    if not isinstance(grader, FunctionGrader | RuleGrader):
        add_kind_loss(entry, losses, hint=_WAY_OUT)
        return None
    if not check_entry(entry, losses, knows=_ENTRY) or not _sees_enough(target, entry, losses):
        return None
    try:
        column = losses.reference or None
        text = (
            grader.source.text
            if isinstance(grader, FunctionGrader)
            else portable(grader, reference_field=column)
        )
        check_free(text, ())
        framed(text)
        quoted_block(text)
    except FormatError as error:
        losses.add(entry.name, error.where or "source", _told(error), hint=error.hint or _WAY_OUT)
        return None
    if _enough_of_thread(target, entry, text, losses) is None:
        return None
    tell_columns(target, entry, text, losses)
    return text


def judge_of(entry: Entry) -> Judge | None:
    """The entry's judge, if it is one."""
    return entry.grader if isinstance(entry.grader, Judge) else None


def _judge_text(target: Target, entry: Entry, losses: Losses) -> str | None:
    """A judge's lines; what the target or a file does not support is reported."""
    judge = judge_of(entry)
    assert judge is not None
    if not target.waits:
        tell_no_waiting(target, entry, losses)
        return None
    if not check_entry(entry, losses, knows=_ENTRY) or not _sees_enough(target, entry, losses):
        return None
    try:
        text = judge_text(judge)
        check_free(text.replace("_wb_judged(", "(").replace("_wb_rules,", ""), ())
    except FormatError as error:
        losses.add(entry.name, error.where or "source", _told(error), hint=error.hint or _WAY_OUT)
        return None
    if not reads_of(judge) <= set(target.reads):
        losses.add(entry.name, "prompt", "the target does not pass the prompt to code, and the judge's prompt shows it",
                   hint=JUDGES_WAY)  # fmt: skip
        return None
    _note_client(judge, entry, losses)
    return text


def own_judges_of(target: Target, entries: Sequence[Entry], parts: Sequence[Part]) -> tuple[OwnJudge, ...]:
    """The judges that the target runs natively, in addition to the graders in its file."""
    if target.waits:
        return ()
    judges = [entry for entry in entries if judge_of(entry) is not None and why_not(target, entry) is None]
    held = {part.name for part in parts} | {entry.name for entry in judges}
    order = [entry.name for entry in entries if entry.name in held]
    functions = [part.function for part in parts]
    for entry in judges:
        functions.append(identifier(entry.name, [*target.public, "StringThread", *_BUILTINS, *functions]))
    return tuple(
        OwnJudge(entry.name, function, judge, order.index(entry.name), _settings(entry))
        for entry, function in zip(judges, functions[len(parts) :], strict=True)
        if (judge := judge_of(entry)) is not None
    )


def _note_client(judge: Judge, entry: Entry, losses: Losses) -> None:
    """Report which server and key the file uses, which are not part of a judge."""
    address, variable = PROVIDERS[getattr(judge, "provider", "openai")]
    where = address or "the address in OPENAI_BASE_URL (OpenAI if it is not set)"
    losses.note(entry.name, "model", f"the file calls {judge.model!r} at {where}, with the key in {variable}")
    if judge.client is not None:
        losses.note(
            entry.name,
            "client",
            "its client's settings are not written: address, limits and key variable",
        )


def _told(error: FormatError) -> str:
    return f"{error.what}: {error.found}" if error.found else error.what


def _sees_enough(target: Target, entry: Entry, losses: Losses) -> bool:
    if isinstance(entry.grader, FunctionGrader):
        return _can_be_called(target, entry, losses)
    extractor = getattr(entry.grader, "extractor", None)
    if "get_turns" not in target.reads and extractor is not None and extractor != Extractor():
        losses.add(entry.name, "extractor", f"the target passes only the completion, and {extractor.name!r} may read more",
                   hint='use the extractor "last_assistant", or a target that passes messages, such as trl')  # fmt: skip
        return False
    if "tool_calls" in target.reads or not looks_at_calls(entry.grader):
        return True
    losses.add(entry.name, "kind", "the target does not pass tool calls to code",
               hint="export to a target that passes chat messages, such as trl or inspect")  # fmt: skip
    return False


def _can_be_called(target: Target, entry: Entry, losses: Losses) -> bool:
    """Whether a function with this signature can be called from the target's file."""
    signature = getattr(entry.grader, "signature", "thread")
    if signature not in TRAINERS:
        return check_signature(entry, losses)
    text = getattr(entry.grader, "source").text  # noqa: B009 (a function grader has one)
    if signature == "trl" and "messages" not in target.reads and _reads_prompts(text):
        losses.add(entry.name, "source (prompts)", "the target does not pass the prompt to code",
                   hint="export to a target that passes messages, such as slime or inspect")  # fmt: skip
        return False
    return True


def _reads_prompts(text: str) -> bool:
    nodes = ast.walk(parse(text))
    return any(isinstance(node, ast.Name) and node.id == "prompts" for node in nodes)


def _enough_of_thread(target: Target, entry: Entry, text: str, losses: Losses) -> str | None:
    # A workbench rule reads only the completion, through all turns; other needs were checked above.
    is_rule = isinstance(entry.grader, RuleGrader) or is_portable(text)
    known = {*target.reads, *({"get_turns", "turn_calls"} if is_rule else ())}
    lacking = reads_beyond(text, known)
    for missing in lacking:
        losses.add(
            entry.name, f"source (thread.{missing})", "the target does not pass the whole conversation to code",
            hint="read only the completion and the metadata, or export to a target that passes messages",
        )  # fmt: skip
    return None if lacking else text


def _settings(entry: Entry) -> dict[str, Any]:
    """A grader's settings, other than its text; defaults omitted."""
    plain = Entry(entry.grader)
    changed = {name: getattr(entry, name) for name in _ENTRY if getattr(entry, name) != getattr(plain, name)}
    if entry.on_error != "fail":
        changed |= {"on_error": entry.on_error, **({"opposite": True} if _opposite(entry) else {})}
    if (signature := getattr(entry.grader, "signature", "thread")) != "thread":
        changed["signature"] = signature
    if getattr(entry.grader, "gives_verdict", False) and (entry.negate or entry.pass_threshold is not None):
        changed["verdict"] = True
    judge = judge_of(entry)
    return changed | ({"spec": judge.spec()} if judge is not None else _limits(entry.grader))


def _opposite(entry: Entry) -> bool:
    return entry.negate and entry.negate_errors


def _limits(grader: Grader) -> dict[str, Any]:
    if not isinstance(grader, FunctionGrader):
        return {}
    plain = replace(grader, timeout=1.0, memory_mb=512, description="")
    return {name: value for name in _LIMITS if (value := getattr(grader, name)) != getattr(plain, name)}
