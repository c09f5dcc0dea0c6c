"""A grade function as another platform's module: its text, unchanged, between two marks, and a few lines around it.

The lines build the thread that the function expects from what the platform passes, and run it. On import,
the text between the marks is the grader again, byte for byte.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection
from functools import lru_cache

from workbench.core.errors import FormatError
from workbench.formats.shared import Losses
from workbench.formats.shared.module_text import (
    CLASSES,
    MARKS,
    outcomes_in,
    with_outcomes,
    with_own_names,
    without_own_names,
)
from workbench.graders.capture.source_edit import parsed

MARK = "Written by grader workbench"
"""Part of the first line of every exported module."""

BEGIN = "# --- grader workbench: the grader's own text begins ---"
END = "# --- grader workbench: the grader's own text ends ---"
_MOVED_TO_TOP = "# moved to the top: "

_THREAD = """
class StringThread:
    "The conversation as the grader below reads it."

    def __init__(self, turns=(), metadata=None):
        self._turns = [_wb_Turn(role, content) for role, content in turns]
        self.metadata = metadata
        self.tools = []
        self._calls = {}
        self._answers = {}

    def completion(self):
        last = self._turns[-1] if self._turns else None
        return last.content if last and last.role == "assistant" else None

    def messages(self):
        ends = self._turns and self._turns[-1].role == "assistant"
        return self._turns[:-1] if ends else list(self._turns)

    def get_turns(self):
        return list(self._turns)

    def last_content(self):
        return self._turns[-1].content

    def tool_calls(self):
        return [call for index in sorted(self._calls) for call in self._calls[index]]

    def turn_calls(self, index):
        return list(self._calls.get(index) or [])

    def turn_answers(self, index):
        return self._answers.get(index)


_wb_Turn = _wb_namedtuple("Turn", "role content")
_wb_Thread = StringThread


class _wb_names:
    "What the grader below imports from the workbench; no module is made or changed."

    StringThread = StringThread
"""

_DRIVE = """

def _wb_drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("the grader waits for an event loop, and there is none here")
"""

_OPENAI = """
_wb_grade = grade


def grade(sample, item):
    thread = _wb_Thread([("assistant", sample.get("output_text") or "")], dict(item))
    thread._calls = {0: list(sample.get("output_tools") or [])}
    return _wb_drive(_wb_grade(thread))
"""

# A grader reads the reference by its column name, which these platforms do not pass.
_REFERENCE = """

def _wb_with_reference(metadata, reference):
    names = () if reference is None else ("reference", "expected", "ground_truth", "label", "answer")
    return {**dict.fromkeys(names, reference), **(metadata or {})}
"""

# Without annotations: Letta compares them with its classes, and they may be strings here.
_LETTA = """
_wb_grade = grade


@_wb_grader
def NAME(sample, submission):
    given = sample.input if isinstance(sample.input, str) else "\\n".join(map(str, sample.input or []))
    metadata = getattr(sample, "metadata", None) or sample.agent_args
    thread = _wb_Thread(
        [("user", given), ("assistant", submission)], _wb_with_reference(metadata, sample.ground_truth)
    )
    return _wb_GradeResult(score=_wb_drive(_wb_grade(thread)), rationale="")
"""

_OSMOSIS = """

def _wb_blocks(content, name):
    return [part[name] for part in content if isinstance(part, dict) and name in part] if isinstance(content, list) else []


def _wb_text(content):
    if not isinstance(content, list):
        return content or ""
    inner = [_wb_text(one.get("content")) for one in _wb_blocks(content, "toolResult")]
    return "".join([text for text in _wb_blocks(content, "text") if isinstance(text, str)] + inner)


def _wb_calls(message):
    used = _wb_blocks(message.get("content"), "toolUse")
    named = [
        {
            "id": one.get("toolUseId"),
            "type": "function",
            "function": {"name": one.get("name"), "arguments": _wb_dumps(one.get("input"))},
        }
        for one in used
    ]
    return list(message.get("tool_calls") or []) + named


def _wb_answered(message):
    results = [one.get("toolUseId") for one in _wb_blocks(message.get("content"), "toolResult")]
    return message.get("tool_call_id") or (results[0] if results else None)


_wb_grade = grade


class WorkbenchGrader(_wb_Grader):
    async def grade(self, ctx):
        for sample_id, sample in ctx.samples.items():
            metadata = _wb_with_reference(ctx.metadata, ctx.label)
            turns = [(message["role"], _wb_text(message.get("content"))) for message in sample.messages]
            thread = _wb_Thread(turns, metadata)
            thread._calls = {at: _wb_calls(message) for at, message in enumerate(sample.messages)}
            thread._answers = {at: _wb_answered(message) for at, message in enumerate(sample.messages)}
            ctx.set_sample_reward(sample_id, await _wb_grade(thread))
"""

_NAMEDTUPLE = "from collections import namedtuple as _wb_namedtuple\n"
_HEADS = {
    "openai": _NAMEDTUPLE,
    "letta": f"{_NAMEDTUPLE}\nfrom letta_evals.decorators import grader as _wb_grader\n"
    "from letta_evals.models import GradeResult as _wb_GradeResult\n",
    "osmosis": f"{_NAMEDTUPLE}from json import dumps as _wb_dumps\n\n"
    "from osmosis_ai.rollout import Grader as _wb_Grader\n",
}
_TAILS = {
    "openai": _DRIVE + "\n" + _OPENAI,
    "letta": _DRIVE + _REFERENCE + "\n" + _LETTA,
    "osmosis": _REFERENCE + _OSMOSIS,
}
_EARLIER = {
    "openai": "e20360160536e81c0701689442b2358aca8dac60fdf5d67ab809ea916843f19f",
    "letta": "dcb6bf633a4d9d72842d0015398382e4cfdcdb8a5c779ad49647e6134f1415bd",
    "osmosis": "69f5781868b8473b99a888d2995461f3c3d16f516e1402d92582902a95d78ee9",
}
"""SHA-256 of the lines around the grader in files exported by 0.1, which are still read."""


def wrap(text: str, platform: str, *, name: str = "grade") -> str:
    """The platform's module around a module with `async def grade(thread)`.

    It does not need the workbench and changes nothing outside itself: the module defines what the text imports
    from the workbench.

    Args:
        text: The grader's module.
        platform: "openai", "letta" or "osmosis".
        name: The function's name in the platform's module (Letta only).

    Raises:
        FormatError: The text contains one of the marks, or a name that the lines around it need.
    """
    check_free(text, {"letta": (name,), "osmosis": ("WorkbenchGrader",)}.get(platform, ()))
    own, future = framed(text)
    head = f"# {MARK}. Edit the grader between the two marks.\n{future}{_HEADS[platform]}\n{_THREAD}"
    tail = _TAILS[platform].replace("NAME", name)
    if outcomes_in(text):
        head, tail = head + CLASSES, with_outcomes(tail, platform)
    return f"{head}\n\n{BEGIN}\n{own}\n{END}\n{tail}"


def framed(text: str) -> tuple[str, str]:
    """A grader's text as written between the marks, and its future imports, which must come first in the file.

    Raises:
        FormatError: An import of the workbench shares its line with other code.
    """
    own, future = _without_future(text)
    return with_own_names(own).rstrip(), future


def unframed(own: str) -> str:
    """The author's text, restored from the output of `framed`."""
    return without_own_names(
        "".join(line.removeprefix(_MOVED_TO_TOP) for line in own.splitlines(keepends=True))
    )


def check_free(text: str, reserved: Collection[str]) -> None:
    """Refuse a text that cannot be embedded unchanged between the lines of a module.

    Args:
        text: The grader's module.
        reserved: Names that the lines around it bind, in addition to those that begin with `_wb_`.

    Raises:
        FormatError: It contains one of the marks, or a name that the lines around it need.
    """
    if mark := next(
        (known_mark for known_mark in (BEGIN, END, _MOVED_TO_TOP, *MARKS) if known_mark in text), ""
    ):
        raise FormatError("the grader's text contains a mark that this format uses", found=mark.strip())
    taken = re.findall(r"\b_wb_\w+", text)
    taken += sorted(set(reserved) & names_in(text))
    if taken:
        raise FormatError(
            "the grader uses a name that the exported file reserves", found=taken[0],
            hint="rename it in the grader",
        )  # fmt: skip


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def names_in(text: str) -> frozenset[str]:
    """Every name that a text binds or reads."""
    nodes = ast.walk(parsed(text) or ast.Module([], []))
    found = (getattr(node, field, None) for node in nodes for field in ("id", "name", "asname", "arg"))
    return frozenset(name for name in found if isinstance(name, str))


def wrapped(text: str, platform: str, entry: str, losses: Losses, *, name: str = "grade") -> str | None:
    """As `wrap`; a text that cannot be embedded is reported as a loss of that grader."""
    try:
        return wrap(text, platform, name=name)
    except FormatError as error:
        losses.add(entry, "source", f"{error.what}: {error.found}", hint=error.hint)
        return None


def unwrap(text: str, platform: str, *, name: str = "grade") -> str | None:
    """The grader's own text in a module that `wrap` made; None for any other, or if its frame was changed."""
    # Line ends that an editor or Git converted do not count as a change of the frame.
    text = text.replace("\r\n", "\n")
    head, begin, after_begin = text.partition(BEGIN + "\n")
    framed, end, tail = after_begin.partition(END)
    if not (begin and end):
        return None
    own = "".join(line.removeprefix(_MOVED_TO_TOP) for line in framed.splitlines(keepends=True))
    try:
        if _is_earlier(head, own, tail, platform, name):
            return own
        own = without_own_names(own)
        # Generated again and compared: an edited frame has an effect that must not be dropped.
        return own if wrap(own, platform, name=name) == text else None
    except (FormatError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_earlier(head: str, own: str, tail: str, platform: str, name: str) -> bool:
    """Whether these are the lines that releases up to 0.1 wrote around a grader."""
    start = f"# {MARK}. Edit the grader between the two marks.\n{_without_future(own)[1]}"
    frame = head.removeprefix(start) + tail.replace(f"def {name}(sample: ", "def NAME(sample: ", 1)
    digest = hashlib.sha256(frame.encode()).hexdigest()
    return head.startswith(start) and digest == _EARLIER[platform]


def _without_future(text: str) -> tuple[str, str]:
    """The text with its future imports as comments, and those imports: they must come first in the file."""
    tree = parsed(text)
    if tree is None:
        return text, ""
    future_imports = [
        statement
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    ]
    lines = text.split("\n")
    for node in future_imports:
        for at in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[at] = _MOVED_TO_TOP + lines[at]
    future = "".join(f"{ast.unparse(node)}\n" for node in future_imports)
    return "\n".join(lines), future + "\n" if future else ""
