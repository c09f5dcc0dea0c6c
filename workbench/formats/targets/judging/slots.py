"""The placeholders in a judge's prompt that a row fills. These functions are copied into exported files."""

from __future__ import annotations

from typing import Any

from workbench.data.templates.template import context_text
from workbench.judges.kinds.rubric import _question
from workbench.judges.prompts.files import question, question_and_context

__all__ = [
    "column_text",
    "slot_context",
    "slot_other_turns",
    "slot_question",
    "slot_questions",
    "slot_reference",
    "slot_system",
    "slot_turns",
]


def _turns(turns: Any) -> str:
    return context_text([{"role": turn.role, "content": turn.content} for turn in turns])


def slot_question(sample: Any) -> str:
    """The last user turn before the completion."""
    return question(sample.thread)


def slot_context(sample: Any) -> str:
    """The other turns before the completion, without the system prompt."""
    return question_and_context(sample.thread)[1]


def slot_turns(sample: Any) -> str:
    """All turns before the completion."""
    return _turns(sample.thread.messages())


def slot_other_turns(sample: Any) -> str:
    """All turns before the completion except the last user turn."""
    turns = sample.thread.messages()
    last = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=None)
    return _turns(turn for at, turn in enumerate(turns) if at != last)


def slot_questions(sample: Any) -> str:
    """The user turns; several as a Python list."""
    return _question(sample.thread)


def slot_system(sample: Any) -> str:
    """The first system turn before the completion."""
    return next((turn.content for turn in sample.thread.messages() if turn.role == "system"), "")


def slot_reference(sample: Any) -> str:
    """The reference."""
    return "" if sample.reference is None else str(sample.reference)


def column_text(sample: Any, name: str) -> str:
    """A column that is a text or a whole number.

    Raises:
        ValueError: The row has no such column, or its value has another type.
    """
    columns = sample.thread.metadata if isinstance(sample.thread.metadata, dict) else {}
    value = columns.get(name, sample.reference if name == "reference" else None)
    if isinstance(value, str) or (type(value) is int and abs(value) < 2**53):
        return str(value)
    raise ValueError(f"the judge's prompt needs the column {name!r} as a text; it is {value!r:.80}")
