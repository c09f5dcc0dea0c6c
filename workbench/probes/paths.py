"""Paths through a grader's code: which branches a text reaches, so that a search can follow the texts that reach new ones.

The source is instrumented: every comparison, condition, loop and handler notes whether it was taken, and the score of the
instrumented grader is the number of that path. It runs in the sandbox like any grader's code, so a search can be guided by
branches without a tracer in the worker, which confinement forbids: as fuzzers do since AFL (Zalewski 2014).
"""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from workbench.core.errors import WorkbenchError
from workbench.core.python_text import parse
from workbench.graders.code.function import FunctionGrader
from workbench.graders.serialization import parts
from workbench.probes.board import Board, Pair
from workbench.run.suite import Suite

_SIGNATURES = frozenset({"thread", "openai", "verl", "together", "osmosis", "trl"})
"""Ways of calling a function in which the path can be returned as the score."""
_BATCHED = frozenset({"trl"})
_SEEN, _HIT, _INNER, _LINE = "_wb_branches", "_wb_branch", "_wb_grade", "_wb_line"
_PRIME, _BASE = 2_147_483_647, 1_000_003
"""Of the number of a path: it fits a float, and two paths among thousands rarely have the same one."""


def path_grader(grader: FunctionGrader, *, lines: bool = False) -> FunctionGrader | None:
    """The grader whose score is the number of the path that a text takes; None if its source cannot be instrumented.

    Args:
        grader: A function with a source; none of it runs here.
        lines: Return the line of the source whose `return` was reached instead; 0 for none.
    """
    if grader.signature not in _SIGNATURES:
        return None
    try:
        text = _instrumented(grader.source.text, grader.signature in _BATCHED, lines=lines)
        return None if text is None else replace(grader, source=replace(grader.source, text=text))
    except (SyntaxError, ValueError, RecursionError, WorkbenchError):
        return None  # nested too deeply, or too large with its notes


def _instrumented(source: str, is_batched: bool, *, lines: bool) -> str | None:
    """The source with notes, and a function `grade` that returns what they state; None without branches to note."""
    tree = parse(source)
    graded = [
        one
        for one in tree.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == "grade"
    ]
    if len(graded) != 1 or graded[0].decorator_list:
        return None
    changed = _Branches()
    body = [changed.visit(one) for one in tree.body]
    if not changed.count:
        return None
    _Lines().generic_visit(graded[0])
    # The function keeps its name, which the module may use; the wrapper takes it over at the end.
    wrapper = ast.parse(f"{_INNER} = grade\n" + _wrapper(graded[0], is_batched, lines=lines)).body
    start = _after_docstring(body)
    module = ast.Module([*body[:start], *ast.parse(_NOTES).body, *body[start:], *wrapper], [])
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


_NOTES = f"""
{_SEEN} = set()
{_LINE} = [0]

def {_HIT}(place, value):
    try:
        {_SEEN}.add(2 * place + bool(value))
    except Exception:
        {_SEEN}.add(2 * place)
    return value
"""


class _Lines(ast.NodeTransformer):
    """Notes the line of each `return` before it is reached; `generic_visit` of a function, so that those inside it are left out."""

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        """The note, and the statement."""
        return [*ast.parse(f"{_LINE}[0] = {node.lineno}").body, node]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """A function inside it."""
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        """The same, asynchronous."""
        return node


def _wrapper(function: ast.FunctionDef | ast.AsyncFunctionDef, is_batched: bool, *, lines: bool) -> str:
    """A function of the same parameters that returns the number of the path, or a line, instead of the score."""
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    call = ", ".join(
        [
            *names,
            *([f"*{given.vararg.arg}"] if given.vararg else []),
            *(f"{one.arg}={one.arg}" for one in given.kwonlyargs),
            *([f"**{given.kwarg.arg}"] if given.kwarg else []),
        ]
    )
    is_async = isinstance(function, ast.AsyncFunctionDef)
    number = f"float({_LINE}[0])" if lines else "float(_wb_number)"
    result = f"[{number}]" if is_batched else number
    return f"""
{"async " if is_async else ""}def grade({ast.unparse(given)}):
    {_SEEN}.clear()
    {_LINE}[0] = 0
    _wb_number = 1
    try:
        {"await " if is_async else ""}{_INNER}({call})
    except Exception:
        _wb_number = 2
    for _wb_place in sorted({_SEEN}):
        _wb_number = (_wb_number * {_BASE} + _wb_place + 1) % {_PRIME}
    return {result}
"""


def _after_docstring(body: Sequence[ast.stmt]) -> int:
    """The first statement after the docstring and the imports from __future__."""
    at = 0
    for one in body:
        is_text = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
        if not is_text and not (isinstance(one, ast.ImportFrom) and one.module == "__future__"):
            break
        at += 1
    return at


class _Branches(ast.NodeTransformer):
    """Wraps what decides: comparisons, conditions, calls in a condition, and the starts of loops and handlers."""

    def __init__(self) -> None:
        self.count = 0

    def _noted(self, value: ast.expr) -> ast.expr:
        self.count += 1
        name, place = ast.Name(_HIT, ast.Load()), ast.Constant(self.count)
        return ast.Call(name, [place, value], [])

    def _start(self) -> ast.stmt:
        return ast.Expr(self._noted(ast.Constant(value=True)))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """A comparison, also of a result that is returned."""
        self.generic_visit(node)
        return self._noted(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Each part of a condition."""
        self.generic_visit(node)
        node.values = [self._once(one) for one in node.values]
        return node

    def visit_If(self, node: ast.If) -> ast.stmt:
        """A statement with a condition."""
        self.generic_visit(node)
        node.test = self._once(node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:
        """A loop with a condition."""
        self.generic_visit(node)
        node.test = self._once(node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """An expression with a condition."""
        self.generic_visit(node)
        node.test = self._once(node.test)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        """The conditions of a comprehension."""
        self.generic_visit(node)
        node.ifs = [self._once(one) for one in node.ifs]
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:
        """Whether a loop has anything to do."""
        self.generic_visit(node)
        node.body.insert(0, self._start())
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        """Whether something failed."""
        self.generic_visit(node)
        node.body.insert(0, self._start())
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        """Which case matched; its pattern contains no conditions."""
        node.guard = None if node.guard is None else self._once(self.visit(node.guard))
        node.body = [self._start(), *(self.visit(one) for one in node.body)]
        return node

    def _once(self, node: ast.expr) -> ast.expr:
        is_noted = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _HIT
        return node if is_noted or isinstance(node, ast.BoolOp) else self._noted(node)


_ROUNDS, _AT_RANDOM, _IDLE = 24, 60, 6
"""Rounds of the search, texts at random per round, and rounds without a new path after which it ends. Workbench limits."""
_MAX_PIECES = 48
"""Pieces that are added to each text with a new path, one at a time. Workbench limit."""
_PART_OF_TIME = 0.2
"""Part of a probe's remaining time in which paths are followed. Workbench limit."""
_LONGEST = 4_000
"""Maximum characters of a text that the search composes. Workbench limit."""
_REPEATS = (2, 10, 60)


@dataclass
class PathSearch:
    """Composes texts of pieces, and collects those that take a new path through the grader's code.

    Attributes:
        board: Grades with the instrumented grader.
        rows: Positions of the rows on which a text is tried, (k,).
        pieces: What texts are composed of.
        random: The source of choices.
        tries: Maximum number of texts.
        seen: The paths taken so far, by row.
        kept: The texts that took a new one, in order.
    """

    board: Board
    rows: Sequence[int]
    pieces: Sequence[str]
    random: Random
    tries: int
    seen: set[tuple[int, float]] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
    _followed: set[str] = field(default_factory=set)

    def texts(self, starts: Iterable[str]) -> list[str]:
        """The texts that took new paths.

        Args:
            starts: Texts from which the search begins, such as accepted completions.
        """
        self._try([*dict.fromkeys(["", *starts, *self.pieces])])
        idle = 0
        for _ in range(_ROUNDS):
            before = len(self.kept)
            if not self.kept or idle >= _IDLE or self.tries <= 0 or self.board.stopped:
                break
            self._try([*dict.fromkeys(self._composed())])
            idle = 0 if len(self.kept) > before else idle + 1
        return self.kept

    def _try(self, texts: Sequence[str]) -> None:
        all_pairs: list[Pair] = [(row, text) for row in self.rows for text in texts]
        pairs = all_pairs[: max(0, self.tries)]
        self.tries -= len(pairs)
        self.board.grade(pairs)
        for row, text in pairs:
            outcome = self.board.outcomes.get((row, text))
            if outcome is None or math.isnan(outcome.score) or (row, outcome.score) in self.seen:
                continue
            self.seen.add((row, outcome.score))
            if text is not None and text not in self.kept:
                self.kept.append(text)

    def _composed(self) -> Iterator[str]:
        # The newest path first: each piece after it, since conditions add up; then changes of any text at random.
        newest = next((text for text in reversed(self.kept) if text not in self._followed), None)
        if newest is not None:
            self._followed.add(newest)
            yield from (f"{newest}\n{piece}" for piece in self.pieces[:_MAX_PIECES])
        later = self.kept[len(self.kept) // 2 :]
        for _ in range(_AT_RANDOM):
            parent = self.random.choice(self.kept if self.random.random() < 1 / 3 else later)
            change = self.random.choice(_CHANGES)
            text = change(parent, self.random.choice(self.pieces), self.random)
            if 0 < len(text) <= _LONGEST:
                yield text


def _added(text: str, piece: str, random: Random) -> str:
    glue = random.choice((" ", "\n", ""))
    return f"{text}{glue}{piece}" if random.random() < 2 / 3 else f"{piece}{glue}{text}"


def _inserted(text: str, piece: str, random: Random) -> str:
    at = random.randint(0, len(text))
    return text[:at] + piece + text[at:]


def _without(text: str, _: str, random: Random) -> str:
    words = text.split(" ")
    del words[random.randrange(len(words))]
    return " ".join(words)


def _exchanged(text: str, piece: str, random: Random) -> str:
    words = text.split(" ")
    words[random.randrange(len(words))] = piece
    return " ".join(words)


def _repeated(text: str, _: str, random: Random) -> str:
    return random.choice((" ", "\n", "")).join([text] * random.choice(_REPEATS))


def _recased(text: str, _: str, random: Random) -> str:
    return random.choice((text.upper(), text.lower(), text.title()))


_CHANGES: tuple[Callable[[str, str, Random], str], ...] = (
    _added, _added, _added, _inserted, _without, _exchanged, _exchanged, _repeated, _recased,
)  # fmt: skip
"""Changes of a text; the first is more frequent, since conditions add up."""


def path_board(board: Board, *, lines: bool = False) -> Board | None:
    """A board on which each text's score is the number of its path; None for a grader whose code has no branches.

    Args:
        board: The board of a single grader.
        lines: As in `path_grader`.
    """
    leaves = [part for entry in board.suite.entries for part in parts(entry.grader)]
    if len(leaves) != 1 or not isinstance(leaves[0], FunctionGrader):
        return None
    made = path_grader(leaves[0], lines=lines)
    if made is None:
        return None
    now = time.monotonic()
    deadline = None if board.deadline is None else now + _PART_OF_TIME * max(0.0, board.deadline - now)
    return Board(Suite(made), board.samples, deadline=deadline)


def line_of(board: Board, pair: Pair) -> int:
    """The line of the source whose `return` a text reaches, from 1 on; 0 if it is not known.

    Args:
        board: The board of the grader.
        pair: The row and the text.
    """
    lines = path_board(board, lines=True)
    if lines is None:
        return 0
    lines.grade([pair])
    score = lines.outcomes[pair].score if pair in lines.outcomes else math.nan
    return 0 if math.isnan(score) else int(score)
