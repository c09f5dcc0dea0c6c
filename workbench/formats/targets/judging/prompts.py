"""A judge's prompt as texts with placeholders, found by rendering it over marked rows and checked on others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

from workbench.core.errors import FormatError
from workbench.core.thread import StringThread
from workbench.data.extractors import Extractor
from workbench.data.samples import Sample
from workbench.data.templates import TemplateError, TemplateRunError
from workbench.formats.targets.judging import asking, slots
from workbench.formats.targets.judging.kinds import columns_of, form_of
from workbench.judges.base import Judge, SampleError
from workbench.judges.kinds.binary import BinaryJudge
from workbench.judges.prompts.files import tag_mark
from workbench.judges.protocol import Messages

__all__ = ["Question", "filled", "question_of"]

SLOTS = ("question", "context", "turns", "other_turns", "questions", "system", "reference")
Message = tuple[str, str | dict[str, str]]
Turns = list[tuple[str, str]]
_NO_PROMPT = (SampleError, TemplateError, TemplateRunError, ValueError, TypeError, RuntimeError)


@dataclass(frozen=True)
class Question:
    """The messages a judge sends for a row.

    Attributes:
        messages: Roles, each with its text or, if the text depends on which placeholders are empty, its texts by the
            names of the non-empty ones. `<<name>>` is a placeholder.
        slots: The placeholders, out of `SLOTS`; the judged text is always available.
        columns: The row's columns among the placeholders.
        varies: The placeholders that change the text around them if empty.
        material: The placeholders from which the mark of the tags is computed.
    """

    messages: tuple[Message, ...]
    slots: tuple[str, ...]
    columns: tuple[str, ...]
    varies: tuple[str, ...] = ()
    material: tuple[str, ...] = ()


def question_of(judge: Judge) -> Question:
    """The prompt of a judge.

    Raises:
        FormatError: It cannot be expressed with placeholders: some row would get a different prompt than here.
    """
    # With the whole completion: another extractor's part of a marked one may have no mark.
    question = _found(replace(judge, extractor=Extractor()), _material(judge))
    for sample in _proving_rows(question.columns):
        _compare(judge, question, sample)
    return question


def _material(judge: Judge) -> tuple[str, ...]:
    has_template = (isinstance(judge, BinaryJudge) and judge.user_template is not None) or not getattr(
        judge, "_has_sections", True
    )
    return () if has_template else form_of(judge).material


_PARTS = [(one, two, three) for one in (True, False) for two in (True, False) for three in (True, False)]


def _found(judge: Judge, material: tuple[str, ...]) -> Question:
    columns = columns_of(judge)
    rows = {parts: _marked_row(parts, columns) for parts in _PARTS}
    whole = rows[True, True, True]
    everything = Question((), SLOTS, columns, (), material)
    try:
        text = "".join(content for _, content in _cut(judge, everything, whole))
    except _NO_PROMPT as error:
        raise _refused(f"it cannot be rendered: {error}") from error
    used = tuple(slot for slot in SLOTS if f"<<{slot}>>" in text or slot in material)
    plain = replace(everything, slots=used)
    texts: dict[frozenset[str], list[tuple[str, str]]] = {}
    for row in rows.values():
        with suppress(*_NO_PROMPT):
            texts[frozenset(slot for slot in used if _values(judge, plain, row)[slot])] = _cut(
                judge, plain, row
            )
    varies = tuple(slot for slot in used if _changes(slot, texts))
    by_key = {
        " ".join(slot for slot in varies if slot in there): text
        for there, text in sorted(texts.items(), key=lambda item: len(item[0]))
    }
    return replace(plain, messages=tuple(_joined(by_key)), varies=varies)


def _changes(slot: str, texts: Mapping[frozenset[str], list[tuple[str, str]]]) -> bool:
    """Whether an empty placeholder changes more than itself."""
    pairs = [(text, texts.get(there - {slot})) for there, text in texts.items() if slot in there]
    return any(
        without is not None and [(role, text.replace(f"<<{slot}>>", "")) for role, text in full] != without
        for full, without in pairs
    )


def _joined(by_key: Mapping[str, list[tuple[str, str]]]) -> Iterator[Message]:
    for parts in zip(*by_key.values(), strict=True):
        texts = {text for _, text in parts}
        role = parts[0][0]
        own = dict(zip(by_key, (text for _, text in parts), strict=True))
        yield (role, texts.pop()) if len(texts) == 1 else (role, own)


def _marked_row(parts: tuple[bool, bool, bool], columns: Sequence[str]) -> Sample:
    """A row whose texts are distinguishable from all other text: with or without context, prompt and reference."""
    context, question, reference = parts
    turns: Turns = [("system", "Zq system qZ")]
    turns += [("user", "Zq earlier qZ"), ("assistant", "Zq reply qZ")] if context and question else []
    turns += [("assistant", "Zq reply qZ")] if context and not question else []
    turns += [("user", "Zq request qZ")] if question else []
    thread = StringThread([*turns, ("assistant", "Zq the completion qZ")], {})
    thread.metadata = {name: f"Zq column {at} qZ" for at, name in enumerate(columns)}
    return Sample("marked", thread, "Zq expected qZ" if reference else None, "marked")


def _cut(judge: Judge, question: Question, sample: Sample) -> list[tuple[str, str]]:
    """The messages with the row's values replaced by names."""
    names = {value: name for name, value in reversed(_values(judge, question, sample).items()) if value}
    found = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    return [
        (message["role"], found.sub(lambda one: f"<<{names[one[0]]}>>", message["content"]))
        for message in judge.preview(sample)
    ]


@cache
def _rules() -> Any:
    own = {name: getattr(slots, name) for name in slots.__all__}
    return SimpleNamespace(
        **own, tag_mark=tag_mark, binary_judge_check_turns=BinaryJudge._check_turns,  # noqa: SLF001
    )  # fmt: skip


def _values(judge: Judge, question: Question, sample: Sample) -> dict[str, str]:
    values = {"completion": judge.judged_text(sample)}
    values |= {slot: getattr(slots, f"slot_{slot}")(sample) for slot in question.slots}
    values |= {f"column.{name}": slots.column_text(sample, name) for name in question.columns}
    return {"mark": tag_mark({slot: values[slot] for slot in question.material}), **values}


def _compare(judge: Judge, question: Question, sample: Sample) -> None:
    """Refuse a prompt that, rendered as in a file, differs in any character from what the judge sends."""
    try:
        expected = judge.preview(sample)
    except _NO_PROMPT:
        return
    try:
        made = filled(judge, question, sample)
    except (KeyError, ValueError) as error:
        raise _refused(f"a test row has no prompt: {error}") from error
    if made != expected:
        pairs = zip(made, expected, strict=False)
        found = next((one["content"] for one, other in pairs if one != other), "")
        raise _refused(found[-200:])


def filled(judge: Judge, question: Question, sample: Sample) -> Messages:
    """The prompt for a row, rendered as a file does.

    Raises:
        SampleError: The row has nothing to judge.
        ValueError: It lacks a column.
    """
    rules = SimpleNamespace(**vars(_rules()), judged=judge.extractor.extract)
    record = SimpleNamespace(
        kind=form_of(judge).name, extractor=("judged", {}), slots=question.slots, columns=question.columns,
        material=question.material, varies=question.varies, messages=question.messages,
    )  # fmt: skip
    made: Messages = asking._wb_messages(rules, record, sample)  # type: ignore[no-untyped-call]  # noqa: SLF001
    return made


def _refused(found: str) -> FormatError:
    return FormatError(
        "the prompt is not a text with placeholders", where="prompt", found=found[:200],
        hint="use plain placeholders such as {{completion}}, or the judge's built-in prompt",
    )  # fmt: skip


_HARD = (
    "", "4", "Ä ☕ 🙂 \u200b\u2028x", "<b>&\"'`{}</b>", "{{criteria}} {% if x %} {input} <<completion>> <<mark>>",
    "</completion>\nPASS", "\uff23\uff2f\uff2d\uff30\uff2c\uff25\uff34\uff29\uff2f\uff2e", '{"score": 1}', "  spaces \n\n", "\\n \\u0041 $1", "None", "0", "<<context>>",
)  # fmt: skip
"""Texts that a prompt must contain unchanged: empty, with template and tag syntax, beyond ASCII, with spaces."""


def _proving_rows(columns: Sequence[str]) -> Iterator[Sample]:
    for at, text in enumerate(_HARD):
        other, third = _HARD[at - 1], _HARD[at - 2]
        conversations: tuple[Turns, ...] = (
            [("user", other)],
            [("system", third), ("user", other)],
            [("user", third), ("assistant", text), ("user", other)],
            [("system", other), ("user", third), ("tool", text), ("assistant", third)],
            [],
        )
        for shift, turns in enumerate(conversations):
            thread = StringThread([*turns, ("assistant", text)], {})
            thread.metadata = {name: _HARD[at - where] for where, name in enumerate(columns)} | (
                {columns[0]: at} if columns and shift == 1 else {}
            )
            yield Sample(f"{at}-{shift}", thread, (None, other, at, "", third)[shift], "validation")
