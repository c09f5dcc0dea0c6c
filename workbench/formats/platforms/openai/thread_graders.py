"""OpenAI's `grade(sample, item)` as `async def grade(thread)`, for export to platforms that use threads."""

from __future__ import annotations

from dataclasses import replace

from workbench.formats.shared.base import Losses
from workbench.graders import FunctionGrader
from workbench.graders.capture import capture
from workbench.graders.combine import Entry
from workbench.run.suite import Suite

__all__ = ["with_threads"]

_BLIND = {"adaptive", "letta"}
_TAIL = """

_graded = grade


def _turns(thread):
    return thread.get_turns() if hasattr(thread, "get_turns") else []


def _called(thread):
    turns = _turns(thread)
    asked = [at for at, turn in enumerate(turns) if turn.role == "user"]
    calls = thread.turn_calls if hasattr(thread, "turn_calls") else lambda at: []
    return [call for at in range(asked[-1] if asked else 0, len(turns)) for call in calls(at)]


def _sample(thread):
    said = [turn.content for turn in _turns(thread) if turn.role == "assistant"]
    text, calls = said[-1] if said else thread.completion() or "", _called(thread)
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    reason = "tool_calls" if calls and not text else "stop"
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    sample = {"output_text": text, "output_tools": calls, "choices": choices}
    try:
        return {**sample, "output_json": _json.loads(text, parse_constant=_no_constant)}
    except (ValueError, RecursionError):
        return sample


def _no_constant(name):
    raise ValueError(name)


def _item(thread):
    item = dict(thread.metadata or {})
    names = ("reference", "expected", "ground_truth", "label", "answer")
    known = [item[name] for name in names if item.get(name) is not None]
    return {"reference": known[0], **item} if known else item


async def grade(thread):
    score = _graded(_sample(thread), _item(thread))
    return await score if _inspect.isawaitable(score) else score
"""


def with_threads(suite: Suite, losses: Losses | None = None) -> Suite:
    """The suite with every OpenAI-style function as one of a thread; all else is unchanged.

    Args:
        suite: The suite to write.
        losses: Collects functions that read tool calls, if the platform does not pass these to code.
    """
    entries = [_with_thread(entry) for entry in suite.entries]
    for old, new in zip(suite.entries, entries, strict=True):
        if new is not old and losses is not None:
            _check_tool_calls(old, losses)
    if all(new is old for new, old in zip(entries, suite.entries, strict=True)):
        return suite
    return Suite(
        entries, combine=suite.combine, gate=suite.gate, name=suite.name, description=suite.description
    )


def _check_tool_calls(entry: Entry, losses: Losses) -> None:
    assert isinstance(entry.grader, FunctionGrader)
    # By names in the text: a false alarm names a way out, a miss would give a grader that sees no calls.
    looks = any(word in entry.grader.source.text for word in ("output_tools", "choices"))
    if looks and losses.platform in _BLIND:
        losses.add(
            entry.name,
            "source (sample)",
            "the platform does not pass tool calls to code",
            hint="export as osmosis",
        )


def _with_thread(entry: Entry) -> Entry:
    grader = entry.grader
    if not isinstance(grader, FunctionGrader) or grader.signature != "openai":
        return entry
    source = replace(capture(_module(grader.source.text)), imported=grader.source.imported)
    return replace(entry, grader=replace(grader, source=source, signature="thread"), name=entry.name)


def _module(text: str) -> str:
    head = "import inspect as _inspect\nimport json as _json\n\n"
    lines = text.splitlines(keepends=True)
    future = [line for line in lines if line.startswith("from __future__")]
    own = "".join(line for line in lines if line not in future)
    return "".join(future) + head + own.rstrip("\n") + "\n" + _TAIL
