"""Replace a grader's imports of the workbench with names that the exported file defines, and restore them.

An exported module of another platform defines `StringThread` itself. The grader's line
`import workbench as wb` becomes a comment and, below it, `wb = _wb_names`: the file then works without the
workbench, and an installed one is unchanged. Removing the comments restores the author's text byte for byte.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from functools import lru_cache

from workbench.core.errors import FormatError
from workbench.graders.capture.modules import GIVEN
from workbench.graders.capture.statements import parsed

__all__ = ["MARKS", "with_own_names", "without_own_names"]

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
