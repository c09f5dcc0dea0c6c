"""What the built-in prompts show of a thread: the question, and what was said around it."""

from __future__ import annotations

from workbench.templates.variables import context_text
from workbench.thread import StringThread, Turn

__all__ = ["asked_and_context", "conversation", "question"]


def question(thread: StringThread) -> str:
    """The last user turn before the answer, "" where there is none."""
    return next((turn.content for turn in reversed(thread.messages()) if turn.role == "user"), "")


def asked_and_context(thread: StringThread) -> tuple[str, str]:
    """The last question, and the turns around it as text, without the system's and the answer."""
    turns = thread.messages()
    asked = max((at for at, turn in enumerate(turns) if turn.role == "user"), default=None)
    around = [turn for at, turn in enumerate(turns) if at != asked and turn.role != "system"]
    return ("" if asked is None else turns[asked].content), _text(around)


def conversation(thread: StringThread, *, leave: str = "") -> str:
    """All turns before the answer as text, without those of the role `leave`."""
    return _text([turn for turn in thread.messages() if turn.role != leave])


def _text(turns: list[Turn]) -> str:
    return context_text([{"role": turn.role, "content": turn.content} for turn in turns])
