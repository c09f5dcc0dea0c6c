"""Code graders as self-contained Python modules and JavaScript functions, sliced from the rule files with all dependencies."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from workbench.core.python_text import parse
from workbench.data.samples.column_names import ROLES
from workbench.graders.base import Grader
from workbench.graders.portable_rule import Portable, article, refusal

_PACKAGE = Path(__file__).parents[1]
_RULES = "workbench.graders.rules."

_SHIMS = {"_assistant_messages": ("threads", "_assistant_messages"), "Pattern": ("threads", "Pattern")}
"""Extractor functions that other platforms lack, to their replacements."""


# Compared by identity, so that the slices of its pieces can be cached.
@dataclass(frozen=True, eq=False)
class _File:
    """A parsed source file: its top-level pieces, its imports by the name they bind: module, name, name in this file."""

    lines: tuple[str, ...]
    pieces: dict[str, ast.stmt]
    imports: dict[str, tuple[str, str, str]]


@lru_cache(maxsize=1024)
def _text(file: _File, name: str) -> str:
    """A piece as written; the workbench's decorators are removed, others retained."""
    node = file.pieces[name]
    first_line = node.lineno
    decorators = getattr(node, "decorator_list", [])
    if decorators and not _is_ours(decorators[0]):
        first_line = decorators[0].lineno
    return "\n".join(file.lines[first_line - 1 : node.end_lineno])


def _is_ours(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "extractor"


@lru_cache(maxsize=32)
def _file(module: str) -> _File:
    text = (_PACKAGE / (module.removeprefix("workbench.").replace(".", "/") + ".py")).read_text("utf-8")
    pieces: dict[str, ast.stmt] = {}
    imports: dict[str, tuple[str, str, str]] = {}
    for node in parse(text).body:
        pieces.update(dict.fromkeys(_bound(node), node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            origin = f"{node.module or ''}" if isinstance(node, ast.ImportFrom) else ""
            bound = ((alias.asname or alias.name, alias.name) for alias in node.names)
            imports.update({own.partition(".")[0]: (origin, name, own) for own, name in bound})
    return _File(tuple(text.splitlines()), pieces, imports)


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        found = (one for target in node.targets for one in ast.walk(target))
        return [one.id for one in found if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def sliced(pieces: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Import lines and pieces of source, dependencies before their users.

    Args:
        pieces: Pairs of a module's full name and a name in it.
    """
    taken = _Taken()
    for module, name in pieces:
        taken.take(module, name)
    return sorted(taken.imports, key=lambda line: (line.startswith("from"), line)), list(
        dict.fromkeys(text for _, text in taken.done.values())
    )


class _Taken:
    """The collected slices: each piece's module and text by its name, and lines of imports."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.done: dict[str, tuple[str, str]] = {}

    def take(self, module: str, name: str) -> None:
        """Add a piece, after its dependencies."""
        file = _file(module)
        if name in self.done:
            assert self.done[name][0] in {module, ""}, f"two rules are called {name!r}"
            return
        if name not in file.pieces:
            raise ValueError(f"{module} has no function {name!r}, which a grader names as its rule")
        self.done[name] = ("", "")  # reserves its place: functions may call each other recursively
        for used in _names(file, name):
            self._follow(file, module, name, used)
        # Reinserted, so that it follows its dependencies.
        del self.done[name]
        self.done[name] = (module, _text(file, name))

    def _follow(self, file: _File, module: str, name: str, used: str) -> None:
        if module.startswith("workbench.data.extractors.") and used in _SHIMS:
            self.take(_RULES + _SHIMS[used][0], _SHIMS[used][1])
        elif used in file.pieces and used != name:
            self.take(module, used)
        elif used in file.imports:
            self._import(*file.imports[used])

    def _import(self, origin: str, name: str, own: str) -> None:
        if origin == "workbench.core.thread":
            return  # every module refers to StringThread by its name
        if origin.startswith("workbench."):
            self.take(origin, name)
        else:
            renamed = f" as {own}" if own != name else ""
            self.imports.add(f"from {origin} import {name}{renamed}" if origin else f"import {name}{renamed}")


@lru_cache(maxsize=1024)
def _names(file: _File, name: str) -> tuple[str, ...]:
    """The names a piece reads from its module: not its parameters and locals, not the workbench's decorators."""
    node = file.pieces[name]
    if isinstance(node, ast.FunctionDef) and node.decorator_list and _is_ours(node.decorator_list[0]):
        node.decorator_list = []
    nodes = list(ast.walk(node))
    names = [child for child in nodes if isinstance(child, ast.Name)]
    bound = {child.arg for child in nodes if isinstance(child, ast.arg)}
    bound |= {child.id for child in names if not isinstance(child.ctx, ast.Load)}
    return tuple(dict.fromkeys(child.id for child in names if child.id not in bound))


_TITLE = " grader, written by the grader workbench."
_PYTHON_NAME = "score_before_negation"  # of the function with the rule, if `grade` negates it


def portable(grader: Grader, *, reference_field: str | None = None, negate: bool = False) -> str:
    """A self-contained Python module `async def grade(thread: StringThread) -> float` that scores the same.

    The rules are sliced from the workbench's files with their helpers and imports; only the standard library is
    used, and the module loads without `StringThread`: only annotations mention it. A row that fails here
    raises there. Patterns have no separate time limit: the platform's applies.

    Args:
        grader: A code grader.
        reference_field: Key of the reference in the thread's metadata; None for the first of `reference`,
            `expected`, `ground_truth`, `label`, `answer`.
        negate: Return 1 - score, as a negated entry of a suite does; a row that fails still raises.

    Raises:
        FormatError: This grader, or one of its settings, cannot be exported; the error names the field and a hint.
    """
    if not isinstance(grader, Portable):
        raise refusal(grader, "", grader.why_not_portable)
    body = grader.python_body((reference_field,) if reference_field else ROLES["reference"])
    imports, pieces = sliced(list(map(_place, body.rules)))
    title = f'"""{article(grader.kind).capitalize()}{_TITLE}"""'
    head = [title, "", "from __future__ import annotations", "", *imports]
    statements = "\n".join(f"    {line}" for line in body.lines)
    # The rule's lines return at several points, so a function around them inverts the score.
    if negate:
        pieces = [*pieces, f"def {_PYTHON_NAME}(thread: StringThread) -> float:\n{statements}"]
        statements = f"    return 1.0 - {_PYTHON_NAME}(thread)"
    main = f"async def grade(thread: StringThread) -> float:\n{statements}\n"
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join([*pieces, main])


def is_portable(text: str) -> bool:
    """Whether a module was written by `portable`, by its first line: its rule reads only the last completion."""
    return text.partition("\n")[0].rstrip('"').endswith(_TITLE)


def _place(rule: str) -> tuple[str, str]:
    """The module that contains a rule, and its name there."""
    module, _, name = rule.rpartition(".")
    if not module:
        raise ValueError(f"a rule must be named module.function, such as text.contains, not {rule!r}")
    return (module if module.startswith("workbench.") else f"workbench.graders.rules.{module}"), name


_JAVASCRIPT_RULES = Path(__file__).parent / "rules" / "rules.js"
# In `rules.js` a function ends at the first brace at the start of a line.
_FUNCTION = re.compile(r"^function (\w+)\(.*?^\}$", re.MULTILINE | re.DOTALL)
_JAVASCRIPT_NAME = "scoreBeforeNegation"  # as `_PYTHON_NAME`


def portable_javascript(grader: Grader, *, reference_field: str | None = None, negate: bool = False) -> str:
    """A `function grade(input)` that scores the same, for vLLora and for script graders.

    The graded text is `input.response`, or, if the last turn only calls tools, the preceding assistant
    text; a conversation that does not end with the assistant is graded as "". The reference is read from
    `input.metadata`, where JavaScript cannot distinguish 4.0 from 4. A row that fails here throws there. Regular
    expressions can be exported if each of their constructs means the same in both languages or can be translated
    safely.

    Args:
        grader: A code grader.
        reference_field: Key of the reference in the metadata; None for the first of `reference`, `expected`,
            `ground_truth`, `label`, `answer`.
        negate: Return 1 - score, as a negated entry of a suite does; a row that fails still throws.

    Raises:
        FormatError: This grader, or one of its settings, cannot be exported; the error names the field and a hint.
    """
    if not isinstance(grader, Portable):
        raise refusal(grader, "", "this kind has no JavaScript form")
    lines = grader.javascript_body((reference_field,) if reference_field else ROLES["reference"])
    body = "\n".join(f"  {line}" for line in lines)
    name = _JAVASCRIPT_NAME if negate else "grade"
    functions = [*_called_rules(body), f"function {name}(input) {{\n{body}\n}}\n"]
    if negate:
        functions.append(f"function grade(input) {{\n  return 1.0 - {name}(input);\n}}\n")
    return "\n\n".join(functions)


@lru_cache(maxsize=1)
def _rules() -> dict[str, str]:
    return {match[1]: match[0] for match in _FUNCTION.finditer(_JAVASCRIPT_RULES.read_text("utf-8"))}


def _called_rules(text: str) -> list[str]:
    """The rules that a text calls, and those they call, in the order of their file."""
    rules, called = _rules(), set[str]()
    texts = [text]
    while texts:
        names = set(re.findall(r"\b(\w+)\b", texts.pop())) & set(rules)
        texts += [rules[name] for name in names - called]
        called |= names
    return [source for name, source in rules.items() if name in called]
