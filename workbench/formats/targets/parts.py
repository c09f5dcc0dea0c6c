"""The parts of a suite that a target's file can contain: each grader's text and settings, or a loss that names it."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from symtable import Symbol, SymbolTable, symtable
from typing import Any

from workbench.core.errors import FormatError
from workbench.core.python_text import parse
from workbench.data.extractors import Extractor
from workbench.data.samples.columns import LABEL_NAMES
from workbench.formats.frame import check_free, framed
from workbench.formats.shared import Losses
from workbench.formats.shared.unsupported import (
    add_kind_loss,
    check_entry,
    check_signature,
    identifier,
    looks_at_calls,
    reads_beyond,
)
from workbench.formats.targets.judges import tell_judge, why_not
from workbench.formats.targets.target import ENTRY_SETTINGS, LIMITS, TRAINERS, OwnJudge, Part, Target
from workbench.graders import FunctionGrader, Grader
from workbench.graders.capture.analysis import columns_read
from workbench.graders.capture.source_edit import parsed
from workbench.graders.combine import Entry
from workbench.graders.portable import is_portable, portable
from workbench.graders.rule_grader import RuleGrader
from workbench.judges.kinds import Judge


def tell_columns(target: Target, entry: Entry, text: str, losses: Losses) -> None:
    """Report which columns a grader's text reads by name, and where the target's rows have them.

    The usual names of a reference are available for every row with a reference, and so is the column in `reference=`.

    Raises:
        FormatError: Losses are refused, and the grader reads a column that the target never passes.
    """
    read = columns_read(text, getattr(entry.grader, "signature", "thread"))
    always = {
        *LABEL_NAMES,
        losses.reference,
        *(("data_source",) if target.signature == "verl" else ()),
    }
    for column in sorted(read.both - always):
        if target.columns:
            losses.note(
                entry.name,
                f"column {column!r}",
                f"the grader reads it: each row needs it as {target.columns}",
            )
            continue
        losses.add(
            entry.name, f"column {column!r}", "the grader reads it, but a row has only its label",
            hint=f"reference={column!r} if the label contains it; else a target that passes columns, such as trl",
            instead="the unchanged grader, which finds no such column",
        )  # fmt: skip


def needs_namespace(texts: Sequence[str], taken: Iterable[str] = ()) -> list[bool]:
    """For each module whether it needs a namespace separate from the modules before it.

    It does if it binds a builtin name, or binds or reads a name that the file itself binds; if it binds a name
    to something other than another module does, or to something mutable; if it reads a name that it does not bind
    and another module binds; and if it is recursive and not alone: each grader is called `grade`.

    Args:
        texts: The modules, in the order of the file.
        taken: Names that the file binds for its target.
    """
    modules = list(map(_module_names, texts))
    changed = set().union(*(module.changeable for module in modules))
    file_names, shared, read = set(taken), dict[str, str](), set[str]()
    apart = []
    for module in modules:
        own, names = module.bound, module.read
        clashes = {
            name for name in own.keys() & shared.keys() if own[name] != shared[name] or name in changed
        }
        others = (names - own.keys()) & shared.keys() | (read - shared.keys()) & own.keys()
        calls_itself = len(texts) > 1 and "grade" in names
        taken_by_file = (own.keys() | names) & file_names | own.keys() & _BUILTINS
        apart.append(bool(clashes or others or calls_itself or taken_by_file))
        if not apart[-1]:
            shared |= own
            read |= names
    return apart


@dataclass(frozen=True)
class _ModuleNames:
    """How a grader's module uses names.

    Attributes:
        bound: Names bound at its top level, each with what it is bound to; without `grade`.
        read: See `read_names`.
        changeable: See `_changeable_names`.
    """

    bound: dict[str, str]
    read: frozenset[str]
    changeable: frozenset[str]


# Cached because several writers check the same text.
@lru_cache(maxsize=256)
def _module_names(text: str) -> _ModuleNames:
    tree = parsed(text) or ast.Module([], [])
    return _ModuleNames(dict(_bound(tree)), frozenset(read_names(text)), frozenset(_changeable_names(tree)))


def quoted_block(text: str) -> tuple[str, str]:
    """The opening and closing quotes of a raw string that contains a text unchanged.

    Raises:
        FormatError: The text contains both kinds of triple quotes.
    """
    for mark in (chr(34) * 3, chr(39) * 3):
        if mark not in text:
            return f"r{mark}", mark
    raise FormatError(
        "a grader's text contains both kinds of triple quotes", found=chr(34) * 3 + " and " + chr(39) * 3,
        hint="use one kind of them in the grader",
    )  # fmt: skip


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names bound at the top level of a module, each with what it is bound to; without `grade`."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imported(node)
        else:
            yield from ((name, ast.unparse(node)) for name in _names_bound_by(node) if name != "grade")


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Each name separately: `import json, re` and `import re` bind the same `re`."""
    module = getattr(node, "module", "") or ""
    for alias in node.names if module != "__future__" else ():
        yield alias.asname or alias.name.partition(".")[0], f"{module}:{alias.name}"


def _names_bound_by(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    stored = (one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return dict.fromkeys(one.id for one in stored)


def read_names(text: str) -> set[str]:
    """The module's names and builtins that a text reads: not arguments and locals of its functions."""
    try:
        table = symtable(text, "grader", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return {symbol.get_name() for symbol in _global_symbols(table) if symbol.is_referenced()}


def _global_symbols(table: SymbolTable) -> Iterator[Symbol]:
    at_top = table.get_type() == "module"
    yield from (symbol for symbol in table.get_symbols() if at_top or symbol.is_global())
    for child in table.get_children():
        yield from _global_symbols(child)


def _changeable_names(tree: ast.Module) -> set[str]:
    """Names bound to something other than an import, a definition or a constant: two graders could change it."""
    changeable = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    for node in tree.body:
        if isinstance(
            node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            continue
        value = getattr(node, "value", None)
        if not (isinstance(node, ast.Assign | ast.AnnAssign) and value is not None and _is_constant(value)):
            changeable |= set(_names_bound_by(node))
    return changeable


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression is an immutable literal or a compiled pattern."""
    if isinstance(node, ast.Tuple):
        return all(map(_is_constant, node.elts))
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in {"re.compile", "frozenset"} and not node.keywords
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, ast.Constant)


_BUILTINS = frozenset(dir(builtins))


_WAY_OUT = "write it as a function grader, or remove it"


def parts_of(target: Target, entries: Sequence[Entry], losses: Losses) -> tuple[Part, ...]:
    """The graders that the target's file can contain; the others are reported by name.

    Raises:
        FormatError: Losses are refused.
    """
    texts = [(entry, text) for entry in entries if (text := _text(target, entry, losses)) is not None]
    functions: list[str] = []
    for entry, _ in texts:
        functions.append(identifier(entry.name, [*target.public, "StringThread", *_BUILTINS, *functions]))
    return tuple(
        Part(entry.name, function, text, _settings(entry))
        for (entry, text), function in zip(texts, functions, strict=True)
    )


def _text(target: Target, entry: Entry, losses: Losses) -> str | None:
    grader = entry.grader
    if isinstance(grader, Judge):
        tell_judge(target, entry, losses)
        return None
    if not isinstance(grader, FunctionGrader | RuleGrader):
        add_kind_loss(entry, losses, hint=_WAY_OUT)
        return None
    if not check_entry(entry, losses, knows=ENTRY_SETTINGS) or not _sees_enough(target, entry, losses):
        return None
    try:
        column = losses.reference or None
        text = (
            grader.source.text
            if isinstance(grader, FunctionGrader)
            else portable(grader, reference_field=column)
        )
        check_free(text, ())
        framed(text)
        quoted_block(text)
    except FormatError as error:
        losses.add(
            entry.name,
            error.where or "source",
            f"{error.what}: {error.found}" if error.found else error.what,
            hint=error.hint or _WAY_OUT,
        )
        return None
    if _enough_of_thread(target, entry, text, losses) is None:
        return None
    tell_columns(target, entry, text, losses)
    return text


def own_judges_of(target: Target, entries: Sequence[Entry], parts: Sequence[Part]) -> tuple[OwnJudge, ...]:
    """The judges that the target runs natively, in addition to the graders in its file."""
    judges = [
        entry for entry in entries if isinstance(entry.grader, Judge) and why_not(target, entry) is None
    ]
    held = {part.name for part in parts} | {entry.name for entry in judges}
    order = [entry.name for entry in entries if entry.name in held]
    functions = [part.function for part in parts]
    for entry in judges:
        functions.append(identifier(entry.name, [*target.public, "StringThread", *_BUILTINS, *functions]))
    return tuple(
        OwnJudge(entry.name, function, judge, order.index(entry.name), _settings(entry))
        for entry, function in zip(judges, functions[len(parts) :], strict=True)
        if isinstance(judge := entry.grader, Judge)
    )


def _sees_enough(target: Target, entry: Entry, losses: Losses) -> bool:
    if isinstance(entry.grader, FunctionGrader):
        return _can_be_called(target, entry, losses)
    extractor = getattr(entry.grader, "extractor", None)
    if "get_turns" not in target.reads and extractor is not None and extractor != Extractor():
        losses.add(entry.name, "extractor", f"the target passes only the completion, and {extractor.name!r} may read more",
                   hint='use the extractor "last_assistant", or a target that passes messages, such as trl')  # fmt: skip
        return False
    if "tool_calls" in target.reads or not looks_at_calls(entry.grader):
        return True
    losses.add(entry.name, "kind", "the target does not pass tool calls to code",
               hint="export to a target that passes chat messages, such as trl or inspect")  # fmt: skip
    return False


def _can_be_called(target: Target, entry: Entry, losses: Losses) -> bool:
    """Whether a function with this signature can be called from the target's file."""
    signature = getattr(entry.grader, "signature", "thread")
    if signature not in TRAINERS:
        return check_signature(entry, losses)
    text = getattr(entry.grader, "source").text  # noqa: B009 (a function grader has one)
    if signature == "trl" and "messages" not in target.reads and _reads_prompts(text):
        losses.add(entry.name, "source (prompts)", "the target does not pass the prompt to code",
                   hint="export to a target that passes messages, such as slime or inspect")  # fmt: skip
        return False
    return True


def _reads_prompts(text: str) -> bool:
    nodes = ast.walk(parse(text))
    return any(isinstance(node, ast.Name) and node.id == "prompts" for node in nodes)


def _enough_of_thread(target: Target, entry: Entry, text: str, losses: Losses) -> str | None:
    # A workbench rule reads only the completion, through all turns; other needs were checked above.
    is_rule = isinstance(entry.grader, RuleGrader) or is_portable(text)
    known = {*target.reads, *({"get_turns", "turn_calls"} if is_rule else ())}
    lacking = reads_beyond(text, known)
    for missing in lacking:
        losses.add(
            entry.name, f"source (thread.{missing})", "the target does not pass the whole conversation to code",
            hint="read only the completion and the metadata, or export to a target that passes messages",
        )  # fmt: skip
    return None if lacking else text


def _settings(entry: Entry) -> dict[str, Any]:
    """A grader's settings, other than its text; defaults omitted."""
    plain = Entry(entry.grader)
    changed = {
        name: getattr(entry, name) for name in ENTRY_SETTINGS if getattr(entry, name) != getattr(plain, name)
    }
    if entry.on_error != "fail":
        opposite = entry.negate and entry.negate_errors
        changed |= {"on_error": entry.on_error, **({"opposite": True} if opposite else {})}
    if (signature := getattr(entry.grader, "signature", "thread")) != "thread":
        changed["signature"] = signature
    if getattr(entry.grader, "gives_verdict", False) and (entry.negate or entry.pass_threshold is not None):
        changed["verdict"] = True
    is_judge = isinstance(entry.grader, Judge)
    return changed | ({"spec": entry.grader.spec()} if is_judge else _limits(entry.grader))


def _limits(grader: Grader) -> dict[str, Any]:
    if not isinstance(grader, FunctionGrader):
        return {}
    plain = replace(grader, timeout=1.0, memory_mb=512, description="")
    return {name: value for name in LIMITS if (value := getattr(grader, name)) != getattr(plain, name)}
