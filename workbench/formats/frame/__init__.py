"""One frame for every exported Python file: the marks around a grader's text, its imports of the workbench, and the code it needs.

Files of platforms (`wrapping`) and of targets define `StringThread` themselves. The grader's line
`import workbench as wb` becomes a comment and, below it, `wb = _wb_names`: the file then works without the
workbench, and an installed one is unchanged. Removing the comments restores the author's text byte for byte.
The code around the graders is sliced from `runtime` and `combining`: only the parts that a file needs.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from workbench.core.errors import FormatError
from workbench.core.python_text import parse
from workbench.formats.frame import combining, runtime
from workbench.graders.capture.modules import GIVEN
from workbench.graders.capture.source_edit import parsed
from workbench.graders.portable import sliced

BEGIN = "# --- grader workbench: the grader's own text begins ---"
END = "# --- grader workbench: the grader's own text ends ---"
_MOVED_TO_TOP = "# moved to the top: "


def framed(text: str) -> tuple[str, str]:
    """A grader's text as written between the marks, and its future imports, which must come first in the file.

    Raises:
        FormatError: An import of the workbench shares its line with other code.
    """
    own, future = with_future_at_top(text)
    return with_own_names(own).rstrip(), future


def unframed(own: str) -> str:
    """The author's text, restored from the output of `framed`."""
    return without_own_names(
        "".join(line.removeprefix(_MOVED_TO_TOP) for line in own.splitlines(keepends=True))
    )


def with_future_at_top(text: str) -> tuple[str, str]:
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


class Frame(NamedTuple):
    """The code of a file around the graders' texts, without the lines that only this file has.

    Attributes:
        imports: Lines of the standard library.
        before: What the graders' texts read, as source.
        after: The rest, as source.
    """

    imports: list[str]
    before: list[str]
    after: list[str]


def frame_of(before: Collection[str], lines: str) -> Frame:
    """The frame of a file.

    Args:
        before: Names of the runtime that the graders' texts need.
        lines: The lines after the graders, which name what they need.
    """
    modules = _modules_by_name()
    named = sorted(set(re.findall(r"\b_wb_\w+\b", lines)) & modules.keys())
    imports, pieces = sliced([(modules[name], name) for name in dict.fromkeys([*before, *named])])
    first = sliced([(modules[name], name) for name in before])[1]
    return Frame(imports, first, [piece for piece in pieces if piece not in first])


@cache
def _modules_by_name() -> dict[str, str]:
    """The names that a file can contain, with the module of each."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = dict.fromkeys(("_wb_Answer", "_wb_Thread", "_wb_Grade", "_wb_Skip"), runtime.__name__)
    for module in (runtime, combining):
        tree = parse(Path(str(module.__file__)).read_text("utf-8"))
        found |= {node.name: module.__name__ for node in tree.body if isinstance(node, kinds)}
    return found


def names_class(names: Iterable[str]) -> str:
    """The class through which the graders' texts get these names of the workbench."""
    title = '    """What the graders below import from the workbench; no module is made or changed."""'
    return "\n".join(["class _wb_names:", title, "", *(f"    {name} = {name}" for name in names)])
