"""A judge's prompt as texts with placeholders.

The placeholders are found by rendering the prompt for marked rows. The result is then filled for test rows, and refused if it
differs from the judge's prompt in any character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from workbench.core.errors import FormatError
from workbench.core.thread import StringThread
from workbench.data.samples import Sample
from workbench.data.templates.values import TemplateError, TemplateRunError
from workbench.graders.portable_rule import article
from workbench.judges import BinaryJudge, CriteriaJudge, GuardrailJudge, LabelJudge, RubricJudge, ScoreJudge
from workbench.judges.kinds import Judge
from workbench.judges.kinds.openai import TemplatedJudge
from workbench.judges.kinds.rubric import _question
from workbench.judges.prompts import question, question_and_context, tag_mark, turns_text
from workbench.judges.protocol import Messages, SampleError

Message = tuple[str, str | dict[str, str]]
Turns = list[tuple[str, str]]

PLACE = re.compile(r"<<([\w.]+)>>")
_TEMPLATE_PLACE = re.compile(r"\{\{\{?\s*[\w.]+\s*\}?\}\}")
_TEMPLATE_COLUMN = re.compile(r"\{\{\{?\s*(?:item|metadata)\.(\w+)\s*\}?\}\}")
_NO_PROMPT = (SampleError, TemplateError, TemplateRunError, ValueError, TypeError, RuntimeError)
_MATERIAL: Mapping[type[Judge], tuple[str, ...]] = {
    BinaryJudge: ("context", "question", "completion"),
    CriteriaJudge: ("question", "completion"),
    GuardrailJudge: ("completion",),
    RubricJudge: ("questions", "reference", "completion"),
    ScoreJudge: (),
    LabelJudge: (),
}
"""The supported kinds, each with the texts between tags in its built-in prompt, in the order used to compute their mark."""


@dataclass(frozen=True)
class PlaceholderPrompt:
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


def placeholder_prompt(judge: Judge) -> PlaceholderPrompt:
    """The prompt of a judge that gets the whole completion.

    Raises:
        FormatError: It cannot be expressed with placeholders: some row would get a different prompt than here.
    """
    check_kind(judge)
    for text, dialect in _templates(judge):
        _check_places(text, dialect)
    prompt = _found(judge, _material(judge))
    for sample in _test_rows(prompt.columns):
        _compare(judge, prompt, sample)
    return prompt


def check_kind(judge: Judge) -> None:
    """Refuse a judge that sends several requests, or whose reply is read by other rules than its kind's."""
    if type(judge) not in _MATERIAL:
        raise FormatError(
            f"the target's native judge cannot represent {article(judge.kind)}: it sends other requests or reads replies by "
            "other rules",
            where="kind",
            hint="write it as a rubric, binary, criteria, guardrail, score or label judge, or remove it",
        )
    if getattr(judge, "logprobs", False):
        raise FormatError(
            "the target's native judge cannot represent scores weighted by probabilities", where="logprobs",
            hint="set logprobs=False",
        )  # fmt: skip
    if judge.examples and not judge.has_own_examples:
        raise FormatError(
            "the target's native judge cannot represent examples", where="examples", found=f"{len(judge.examples)} of them",
            hint="write them into the prompt, or remove them",
        )  # fmt: skip


def _templates(judge: Judge) -> Iterator[tuple[str, str]]:
    """The author's templates, with their dialects; Letta's have only placeholders."""
    if isinstance(judge, BinaryJudge):
        yield from ((text, "handlebars") for text in (judge.system_template, judge.user_template) if text)
    elif isinstance(judge, TemplatedJudge):
        yield from ((message["content"], "openai") for message in judge.input)
    elif isinstance(judge, RubricJudge) and judge.dialect not in {"", "braces"}:
        yield judge.prompt, judge.dialect


def _check_places(text: str, dialect: str) -> None:
    """Refuse a template with more than placeholders: its effect cannot be derived from sample rows."""
    rest = _TEMPLATE_PLACE.sub("", text)
    signs = ("{{", "{%", "{#") if dialect == "jinja2" else ("{{",)
    if found := next((sign for sign in signs if sign in rest), ""):
        at = rest.index(found)
        raise FormatError(
            "a template with conditions, loops or filters", where="prompt", found=rest[at : at + 40],
            hint="use only plain placeholders such as {{completion}}",
        )  # fmt: skip


def _columns(judge: Judge) -> tuple[str, ...]:
    """The columns of the row that a judge's prompt shows."""
    named = [name for text, _ in _templates(judge) for name in _TEMPLATE_COLUMN.findall(text)]
    named += judge.rubric_vars if isinstance(judge, RubricJudge) else ()
    return tuple(dict.fromkeys(named))


def _other_turns(sample: Sample) -> str:
    turns = sample.thread.messages()
    last = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=None)
    return turns_text(turn for at, turn in enumerate(turns) if at != last)


def _system(sample: Sample) -> str:
    return next((turn.content for turn in sample.thread.messages() if turn.role == "system"), "")


SLOTS: Mapping[str, Callable[[Sample], str]] = {
    "question": lambda sample: question(sample.thread),
    "context": lambda sample: question_and_context(sample.thread)[1],
    "turns": lambda sample: turns_text(sample.thread.messages()),
    "other_turns": _other_turns,
    "questions": lambda sample: _question(sample.thread),
    "system": _system,
    "reference": lambda sample: "" if sample.reference is None else str(sample.reference),
}
"""The placeholders that a row fills: the last user turn before the completion, the other turns without the system prompt, all
turns, all turns except the last user turn, the user turns (several as a Python list), the first system turn, the reference."""


def _column_text(sample: Sample, name: str) -> str:
    """A column that is a text or a whole number.

    Raises:
        ValueError: The row has no such column, or its value has another type.
    """
    columns = sample.thread.metadata if isinstance(sample.thread.metadata, dict) else {}
    value = columns.get(name, sample.reference if name == "reference" else None)
    if isinstance(value, str) or (type(value) is int and abs(value) < 2**53):
        return str(value)
    raise ValueError(f"the judge's prompt needs the column {name!r} as a text; it is {value!r:.80}")


def _material(judge: Judge) -> tuple[str, ...]:
    has_template = (isinstance(judge, BinaryJudge) and judge.user_template is not None) or not getattr(
        judge, "_has_sections", True
    )
    return () if has_template else _MATERIAL[type(judge)]


_PARTS = [(one, two, three) for one in (True, False) for two in (True, False) for three in (True, False)]


def _found(judge: Judge, material: tuple[str, ...]) -> PlaceholderPrompt:
    columns = _columns(judge)
    rows = {parts: _marked_row(parts, columns) for parts in _PARTS}
    whole = rows[True, True, True]
    everything = PlaceholderPrompt((), tuple(SLOTS), columns, (), material)
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
    context, asked, reference = parts
    turns: Turns = [("system", "Zq system qZ")]
    turns += [("user", "Zq earlier qZ"), ("assistant", "Zq reply qZ")] if context and asked else []
    turns += [("assistant", "Zq reply qZ")] if context and not asked else []
    turns += [("user", "Zq request qZ")] if asked else []
    thread = StringThread([*turns, ("assistant", "Zq the completion qZ")], {})
    thread.metadata = {name: f"Zq column {at} qZ" for at, name in enumerate(columns)}
    return Sample("marked", thread, "Zq expected qZ" if reference else None, "marked")


def _cut(judge: Judge, prompt: PlaceholderPrompt, sample: Sample) -> list[tuple[str, str]]:
    """The messages with the row's values replaced by names."""
    names = {value: name for name, value in reversed(_values(judge, prompt, sample).items()) if value}
    found = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    return [
        (message["role"], found.sub(lambda one: f"<<{names[one[0]]}>>", message["content"]))
        for message in judge.preview(sample)
    ]


def _values(judge: Judge, prompt: PlaceholderPrompt, sample: Sample) -> dict[str, str]:
    values = {"completion": judge.judged_text(sample)}
    values |= {slot: SLOTS[slot](sample) for slot in prompt.slots}
    values |= {f"column.{name}": _column_text(sample, name) for name in prompt.columns}
    return {"mark": tag_mark({slot: values[slot] for slot in prompt.material}), **values}


def filled(judge: Judge, prompt: PlaceholderPrompt, sample: Sample) -> Messages:
    """The prompt for a row; each placeholder is filled once.

    Raises:
        KeyError: No text for the placeholders that are empty in this row.
        ValueError: The row lacks a column.
    """
    values = _values(judge, prompt, sample)
    key = " ".join(slot for slot in prompt.varies if values[slot])
    texts = [(role, text[key] if isinstance(text, dict) else text) for role, text in prompt.messages]
    return [
        {"role": role, "content": PLACE.sub(lambda place: values.get(place[1], place[0]), text)}
        for role, text in texts
    ]


def _compare(judge: Judge, prompt: PlaceholderPrompt, sample: Sample) -> None:
    """Refuse a prompt that, with its placeholders filled, differs in any character from what the judge sends."""
    try:
        expected = judge.preview(sample)
    except _NO_PROMPT:
        return
    try:
        made = filled(judge, prompt, sample)
    except (KeyError, ValueError) as error:
        raise _refused(f"a test row has no prompt: {error}") from error
    if made != expected:
        pairs = zip(made, expected, strict=False)
        found = next((one["content"] for one, other in pairs if one != other), "")
        raise _refused(found[-200:])


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


def _test_rows(columns: Sequence[str]) -> Iterator[Sample]:
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
