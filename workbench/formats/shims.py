"""A grade function in another platform's clothes: its own text, unchanged, between two marks, and a few lines around it.

The lines give the function the thread it expects out of what the platform passes, and drive it. On the way
back the text between the marks is the grader again, byte for byte.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from workbench.errors import FormatError
from workbench.formats.base import Losses
from workbench.sandbox.capture.statements import parsed

__all__ = ["MARK", "check_calls", "check_reads", "unwrap", "wrap"]

MARK = "Written by grader workbench"
"""Stands in the first line of every module that is written."""

_BEGIN = "# --- grader workbench: the grader's own text begins ---"
_END = "# --- grader workbench: the grader's own text ends ---"
_ASIDE = "# moved to the top: "

_THREAD = '''
class StringThread:
    """The conversation as the grader below reads it."""

    def __init__(self, turns=(), metadata=None):
        self._turns = [_Turn(role, content) for role, content in turns]
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


_Turn = collections.namedtuple("Turn", "role content")
for _name in ("workbench", "workbench.thread", "adaptive_harmony"):
    sys.modules[_name] = types.ModuleType(_name)
    sys.modules[_name].StringThread = StringThread
'''

_DRIVE = """

def _drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("the grader waits for something")
"""

_OPENAI = """
_grade = grade


def grade(sample, item):
    thread = StringThread([("assistant", sample.get("output_text") or "")], dict(item))
    thread._calls = {0: list(sample.get("output_tools") or [])}
    return _drive(_grade(thread))
"""

# A grader reads the reference under its column's own name, which these platforms do not keep.
_REFERENCE = """

def _with_reference(metadata, reference):
    names = () if reference is None else ("reference", "expected", "ground_truth", "label", "answer")
    return {**dict.fromkeys(names, reference), **(metadata or {})}
"""

_LETTA = """
_grade = grade


@grader
def NAME(sample: Sample, submission: str) -> GradeResult:
    given = sample.input if isinstance(sample.input, str) else "\\n".join(map(str, sample.input or []))
    metadata = getattr(sample, "metadata", None) or sample.agent_args
    thread = StringThread(
        [("user", given), ("assistant", submission)], _with_reference(metadata, sample.ground_truth)
    )
    return GradeResult(score=_drive(_grade(thread)), rationale="")
"""

_OSMOSIS = """

def _blocks(content, name):
    return [part[name] for part in content if isinstance(part, dict) and name in part] if isinstance(content, list) else []


def _text(content):
    if not isinstance(content, list):
        return content or ""
    inner = [_text(one.get("content")) for one in _blocks(content, "toolResult")]
    return "".join([text for text in _blocks(content, "text") if isinstance(text, str)] + inner)


def _calls(message):
    used = _blocks(message.get("content"), "toolUse")
    named = [
        {
            "id": one.get("toolUseId"),
            "type": "function",
            "function": {"name": one.get("name"), "arguments": json.dumps(one.get("input"))},
        }
        for one in used
    ]
    return list(message.get("tool_calls") or []) + named


def _answered(message):
    results = [one.get("toolUseId") for one in _blocks(message.get("content"), "toolResult")]
    return message.get("tool_call_id") or (results[0] if results else None)


class WorkbenchGrader(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        for sample_id, sample in ctx.samples.items():
            metadata = _with_reference(ctx.metadata, ctx.label)
            thread = StringThread([(m["role"], _text(m.get("content"))) for m in sample.messages], metadata)
            thread._calls = {at: _calls(m) for at, m in enumerate(sample.messages)}
            thread._answers = {at: _answered(m) for at, m in enumerate(sample.messages)}
            ctx.set_sample_reward(sample_id, await grade(thread))
"""

_HEADS = {
    "openai": "import collections\nimport sys\nimport types\n",
    "letta": "import collections\nimport sys\nimport types\n\nfrom letta_evals.decorators import grader\n"
    "from letta_evals.models import GradeResult, Sample\n",
    "osmosis": "import collections\nimport json\nimport sys\nimport types\n\n"
    "from osmosis_ai.rollout import Grader, GraderContext\n",
}
_TAILS = {
    "openai": _DRIVE + "\n" + _OPENAI,
    "letta": _DRIVE + _REFERENCE + "\n" + _LETTA,
    "osmosis": _REFERENCE + _OSMOSIS,
}

# What a platform's shim can give a grade function.
_READS = {
    "adaptive": {
        "completion",
        "metadata",
        "messages",
        "get_turns",
        "last_content",
        "system",
        "user",
        "assistant",
        "tool",
    },
    "openai": {"completion", "metadata", "tool_calls"},
    "letta": {"completion", "metadata"},
    "osmosis": {
        "completion",
        "metadata",
        "messages",
        "get_turns",
        "last_content",
        "tool_calls",
        "turn_calls",
        "turn_answers",
    },
}
_THREAD_NAMES = {
    "messages", "get_turns", "last_content", "tool_calls", "tools", "turn_calls", "turn_answers", "from_messages",
    "system", "user", "assistant", "tool", "to_wire",
}  # fmt: skip


def wrap(text: str, platform: str, *, name: str = "grade") -> str:
    """The platform's module around a module with `async def grade(thread)`.

    Args:
        text: The grader's module.
        platform: "openai", "letta" or "osmosis".
        name: The function's name in the platform's module (Letta only).

    Raises:
        FormatError: The text holds one of our marks.
    """
    if _BEGIN in text or _END in text or _ASIDE in text:
        raise FormatError("the grader's text holds the marks that this format needs", found=_BEGIN)
    own, future = _without_future(text)
    head = f"# {MARK}. Edit the grader between the two marks.\n{future}{_HEADS[platform]}\n{_THREAD}"
    tail = _TAILS[platform].replace("NAME", name)
    return f"{head}\n\n{_BEGIN}\n{own.rstrip()}\n{_END}\n{tail}"


def unwrap(text: str, platform: str, *, name: str = "grade") -> str | None:
    """The grader's own text out of a module that `wrap` made; None for any other, or if its frame was changed."""
    text = text.replace("\r\n", "\n")
    _, begin, rest = text.partition(_BEGIN + "\n")
    kept, end, _ = rest.partition(_END)
    if not (begin and end):
        return None
    own = "".join(line.removeprefix(_ASIDE) for line in kept.splitlines(keepends=True))
    try:
        return own if wrap(own, platform, name=name) == text else None
    except (FormatError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def check_reads(
    text: str, platform: str, losses: Losses, name: str, *, allowed: Collection[str] = ()
) -> bool:
    """Whether a platform passes all that a grade function reads of the thread; what is missing is told.

    What the text asks for with `hasattr` first, it can do without; see `check_calls`.

    Args:
        text: The function's module.
        platform: Whose shim it would run in.
        losses: Who is told.
        name: The grader's.
        allowed: Members that may be read because the platform's part of them is enough.
    """
    nodes = list(ast.walk(parsed(text) or ast.Module([], [])))
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & _THREAD_NAMES
    lacking = sorted(read - _READS[platform] - _optional(nodes) - set(allowed))
    for missing in lacking:
        losses.add(
            name, f"source (thread.{missing})", "the platform does not pass the whole conversation to code",
            way_out="read the completion and the metadata only, or use an endpoint",
        )  # fmt: skip
    return not lacking


def _optional(nodes: list[ast.AST]) -> set[str]:
    """Names that the text asks for with `hasattr`."""
    calls = [
        node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr"
    ]
    asked = [call.args[-1] for call in calls if len(call.args) == 2]
    return {str(one.value) for one in asked if isinstance(one, ast.Constant)}


def check_calls(grader: Any, platform: str, losses: Losses, name: str) -> bool:
    """Whether a code grader does without tool calls, or the platform passes them to code; else it is told."""
    if "tool_calls" in _READS[platform]:
        return True
    extractor = getattr(getattr(grader, "extractor", None), "name", "")
    templates = f"{getattr(grader, 'input', '')}{getattr(grader, 'reference', '')}"
    looks = grader.kind == "tool-call" or extractor in {"tool_arguments", "tool_output"}
    if not (looks or "output_tools" in templates or "choices" in templates):
        return True
    losses.add(name, "kind", "the platform does not pass tool calls to code",
               way_out="export as umbraco, osmosis or openai")  # fmt: skip
    return False


def _without_future(text: str) -> tuple[str, str]:
    """The text with its future imports set aside as comments, and those imports: they must come first of all."""
    tree = parsed(text)
    if tree is None:
        return text, ""
    found = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    lines = text.split("\n")
    for node in found:
        for at in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[at] = _ASIDE + lines[at]
    future = "".join(f"{ast.unparse(node)}\n" for node in found)
    return "\n".join(lines), future + "\n" if future else ""
