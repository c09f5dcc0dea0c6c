"""The parts of a thread that the built-in prompts show: the prompt, and the conversation around it."""

from __future__ import annotations

from workbench.core.thread import StringThread, Turn
from workbench.data.templates.variables import context_text

__all__ = ["conversation", "question", "question_and_context"]


def question(thread: StringThread) -> str:
    """The last user turn before the completion; "" if there is none."""
    return next((turn.content for turn in reversed(thread.messages()) if turn.role == "user"), "")


def question_and_context(thread: StringThread) -> tuple[str, str]:
    """The last user turn, and the other turns as text, without the system prompt and the completion."""
    turns = thread.messages()
    last = max((index for index, turn in enumerate(turns) if turn.role == "user"), default=None)
    context = [turn for index, turn in enumerate(turns) if index != last and turn.role != "system"]
    return ("" if last is None else turns[last].content), _text(context)


def conversation(thread: StringThread, *, exclude_role: str = "") -> str:
    """All turns before the completion as text, without those of one role."""
    return _text([turn for turn in thread.messages() if turn.role != exclude_role])


def _text(turns: list[Turn]) -> str:
    return context_text([{"role": turn.role, "content": turn.content} for turn in turns])
