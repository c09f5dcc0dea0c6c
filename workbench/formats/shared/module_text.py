"""A grader's text inside an exported module: its outcomes, its imports of the workbench, and the thread members it reads.

An exported module of another platform defines `StringThread` itself. The grader's line
`import workbench as wb` becomes a comment and, below it, `wb = _wb_names`: the file then works without the
workbench, and an installed one is unchanged. Removing the comments restores the author's text byte for byte.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared import Losses
from workbench.graders.capture.modules import GIVEN
from workbench.graders.capture.source_edit import parsed

CLASSES = """

class Skip(Exception):
    "Raised if the grader below does not apply to a row."


class Grade:
    "What the grader below may return instead of a number."

    def __init__(
        self, score=None, *, passed=None, reasoning=None, error=None, metadata=None, seconds=None, tokens=None, cost=None,
        printed=None,
    ):
        self.score, self.passed, self.reasoning, self.error = score, passed, reasoning, error
        self.metadata = dict(metadata or {})

    @classmethod
    def failed(cls, kind, message, **rest):
        return cls(error=f"{kind}: {message}", **rest)

    @classmethod
    def skipped(cls, reasoning=None, **rest):
        return cls(reasoning=reasoning, **rest)


_wb_names.Grade, _wb_names.Skip = Grade, Skip
_wb_Grade, _wb_Skip = Grade, Skip
"""
"""Precedes the grader's own text in a platform's module if that text names either class."""

_CLASSES = frozenset({"Grade", "Skip"})
_SCORE = """

def _wb_score(value):
    if not isinstance(value, _wb_Grade):
        return value
    if value.error is not None:
        raise RuntimeError(value.error)
    if value.score is None:
        raise _wb_Skip(value.reasoning)
    return value.score
"""
_ASYNC = """

def _wb_scored(function):
    async def scored(thread):
        return _wb_score(await function(thread))

    return scored
"""
_LETTA_RESULT = """

def _wb_result(value):
    rest = {}
    if isinstance(value, _wb_Grade):
        rest = {"rationale": value.reasoning or "", "metadata": value.metadata or None}
    return _wb_GradeResult(**{"score": _wb_score(value), "rationale": "", **rest})
"""
_OSMOSIS_REWARD = "            ctx.set_sample_reward(sample_id, await _wb_grade(thread))\n"
_OSMOSIS_SKIP = """            try:
                ctx.set_sample_reward(sample_id, await _wb_grade(thread))
            except _wb_Skip:
                ctx.set_sample_reward(sample_id, 0.0)  # every sample needs one; that of a removed sample is unused
                sample.remove_sample = True
"""
_KEPT = {"letta": {"reasoning"}, "osmosis": {"skip"}, "openai": set[str](), "adaptive": set[str]()}


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def outcomes_in(text: str) -> frozenset[str]:
    """Which of `Grade` and `Skip` a grader's text names."""
    nodes = ast.walk(parsed(text) or ast.Module([], []))
    return frozenset(
        name
        for node in nodes
        for name in (getattr(node, "attr", ""), getattr(node, "id", ""))
        if name in _CLASSES
    )


def note_outcomes(text: str, platform: str, losses: Losses, name: str) -> bool:
    """Report what a platform loses of a grader that returns more than a number.

    Args:
        text: The grader's module.
        platform: The platform whose module will contain it.
        losses: Collects the report.
        name: The grader's.

    Returns:
        Whether the platform can represent the grader at all.
    """
    named = outcomes_in(text)
    if named and platform == "adaptive":
        losses.add(
            name, f"source (wb.{min(named)})", "Adaptive's grade functions return only a number",
            hint="return only the number, and select the rows it applies to before grading",
        )  # fmt: skip
        return False
    if "Grade" in named and "reasoning" not in _KEPT[platform]:
        losses.add(
            name, "source (wb.Grade)", "the platform takes only the score; reasoning and metadata are dropped",
            hint="return only the number",
        )  # fmt: skip
    if "Skip" in named and "skip" not in _KEPT[platform]:
        losses.add(
            name, "source (wb.Skip)", "the platform has no skipped rows: the row counts as failed there",
            hint="run the grader on rows it applies to",
        )  # fmt: skip
    return True


def with_outcomes(tail: str, platform: str) -> str:
    """The lines after a grader's text, for a grader that returns a `Grade` or raises a `Skip`.

    | platform | reasoning | metadata | a skipped row |
    | --- | --- | --- | --- |
    | letta | `rationale` | `metadata` | fails there: reported as a loss |
    | osmosis | dropped: reported as a loss | dropped | the platform's `remove_sample` |
    | openai | dropped: reported as a loss | dropped | fails there: reported as a loss |
    | adaptive | its functions return only a number: refused | | |
    """
    if platform == "letta":
        call = '_wb_GradeResult(score=_wb_drive(_wb_grade(thread)), rationale="")'
        return _SCORE + _LETTA_RESULT + tail.replace(call, "_wb_result(_wb_drive(_wb_grade(thread)))")
    scored = tail.replace("_wb_grade = grade\n", "_wb_grade = _wb_scored(grade)\n")
    return _SCORE + _ASYNC + scored.replace(_OSMOSIS_REWARD, _OSMOSIS_SKIP)


_COMMENTED_OUT = "# given by this file: "
_REPLACEMENT = "  # in its place"
MARKS = (_COMMENTED_OUT, _REPLACEMENT)
"""What a text must not contain, so that its imports can be restored."""

_MODULES = frozenset({"workbench", "workbench.core.thread", "workbench.core.grade", "adaptive_harmony"})
"""The workbench modules that graders can import when they run in the workbench."""
_BLANK = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT})

_Import = ast.Import | ast.ImportFrom


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def with_own_names(text: str) -> str:
    """The text with every workbench import as a comment, followed by an assignment.

    Raises:
        FormatError: Such an import shares its line with other code that spans several lines.
    """
    tree = parsed(text)
    imports = [node for node in ast.walk(tree) if _is_ours(node)] if tree is not None else []
    if not imports:
        return text
    lines = text.split("\n")
    # From the last line up: a replacement has more lines than the original and shifts everything below.
    for first_line, last_line in reversed(_logical_lines(text)):
        imports_here = [node for node in imports if first_line <= node.lineno <= last_line]  # type: ignore[attr-defined]
        if imports_here:
            old_lines = lines[first_line - 1 : last_line]
            new = _replaced(old_lines, imports_here, first_line)
            lines[first_line - 1 : last_line] = [
                *(_COMMENTED_OUT + line for line in old_lines),
                new + _REPLACEMENT,
            ]
    return "\n".join(lines)


def without_own_names(text: str) -> str:
    """The author's text, restored from the output of `with_own_names`."""
    own_lines = [line for line in text.split("\n") if not line.endswith(_REPLACEMENT)]
    return "\n".join(line.removeprefix(_COMMENTED_OUT) for line in own_lines)


def _is_ours(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and node.module in _MODULES
    return isinstance(node, ast.Import) and any(alias.name in _MODULES for alias in node.names)


def _logical_lines(text: str) -> list[tuple[int, int]]:
    """First and last line of each logical line."""
    spans: list[tuple[int, int]] = []
    first_line = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            spans.append((first_line, token.start[0]))
            first_line = 0
        elif not first_line and token.type not in _BLANK:
            first_line = token.start[0]
    return spans


def _replaced(lines: list[str], imports: list[ast.AST], first_line: int) -> str:
    """One logical line with its imports replaced by other text."""
    # In bytes, because `ast` counts columns in bytes.
    data = "\n".join(lines).encode()
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()) + 1)
    nodes = [node for node in imports if isinstance(node, _Import)]
    for node in sorted(nodes, key=lambda statement: (statement.lineno, statement.col_offset), reverse=True):
        begin = starts[node.lineno - first_line] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - first_line] + (node.end_col_offset or 0)
        data = data[:begin] + "; ".join(_replacement(node)).encode() + data[end:]
    if b"\n" in data:
        raise FormatError(
            "an import of the workbench shares its line with other code", where=f"line {first_line}",
            found=lines[0].strip()[:120], hint="put the import on a separate line",
        )  # fmt: skip
    return data.decode()


def _replacement(node: _Import) -> Iterator[str]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            bound = alias.asname or alias.name.partition(".")[0]
            yield f"{bound} = _wb_names" if alias.name in _MODULES else f"import {ast.unparse(alias)}"
        elif alias.name in {*GIVEN, "*"}:
            name = "StringThread" if alias.name == "*" else alias.name
            yield f"{alias.asname or name} = _wb_names.{name}"
        else:
            yield f"raise ImportError({f'{node.module} has no {alias.name}'!r})"


# The thread members that the lines around a grade function can provide.
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


def check_reads(
    text: str, platform: str, losses: Losses, name: str, *, allowed: Collection[str] = ()
) -> bool:
    """Whether a platform passes all that a grade function reads of the thread; missing members are reported.

    Members that the text checks with `hasattr` are optional; see `check_calls`.

    Args:
        text: The function's module.
        platform: Whose shim it would run in.
        losses: Collects the report.
        name: The grader's.
        allowed: Members that may be read because the platform's part of them is enough.
    """
    lacking = reads_beyond(text, _READS[platform] | set(allowed))
    for missing in lacking:
        losses.add(
            name, f"source (thread.{missing})", "the platform does not pass the whole conversation to code",
            hint="read only the completion and the metadata, or use an endpoint",
        )  # fmt: skip
    return note_outcomes(text, platform, losses, name) and not lacking


def reads_beyond(text: str, known: Collection[str]) -> list[str]:
    """Unknown members of a thread that a text reads without checking them with `hasattr`."""
    return sorted(_members_needed(text) - set(known))


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def _members_needed(text: str) -> frozenset[str]:
    nodes = list(ast.walk(parsed(text) or ast.Module([], [])))
    # The text does not show whose attribute it is, so all of these names count.
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)} & _THREAD_NAMES
    return frozenset(read - _optional(nodes))


def _optional(nodes: list[ast.AST]) -> set[str]:
    """Names that the text checks with `hasattr`."""
    calls = [
        node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr"
    ]
    arguments = [call.args[-1] for call in calls if len(call.args) == 2]
    return {str(argument.value) for argument in arguments if isinstance(argument, ast.Constant)}


def check_calls(grader: Any, platform: str, losses: Losses, name: str) -> bool:
    """Whether a code grader needs no tool calls, or the platform passes them to code; otherwise a loss is reported."""
    if "tool_calls" in _READS[platform] or not looks_at_calls(grader):
        return True
    losses.add(name, "kind", "the platform does not pass tool calls to code",
               hint="export as umbraco, osmosis or openai")  # fmt: skip
    return False


def looks_at_calls(grader: Any) -> bool:
    """Whether a code grader's rule reads tool calls."""
    extractor = getattr(getattr(grader, "extractor", None), "name", "")
    templates = f"{getattr(grader, 'input', '')}{getattr(grader, 'reference', '')}"
    looks = grader.kind == "tool-call" or extractor in {"tool_arguments", "tool_output"}
    return looks or "output_tools" in templates or "choices" in templates
