"""Shapes of rows that tools write: how each is detected, and what its rows are. One module per family registers them.

A shape is read before columns get roles: its rows become prompt, completion and reference under these names, and the scores
that they come with become old grades.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.discovery import refuse_taken
from workbench.core.errors import SamplesError

Row = Mapping[str, Any]
ReadRow = Callable[[Row], "ShapedRow | Iterable[ShapedRow] | None"]

LOOKED_AT = 50
"""First rows by which a shape is detected."""


@dataclass(frozen=True)
class Score:
    """The result of an earlier grader for a row.

    Attributes:
        value: A number, a truth value, or a text that is a number; anything else is not a score.
        passed: Its verdict; None without.
        reason: Its reasoning; "" without.
        error: Why it failed; "" if it did not.
    """

    value: Any = None
    passed: bool | None = None
    reason: str = ""
    error: str = ""


@dataclass
class ShapedRow:
    """One row in the form in which it is read.

    Attributes:
        prompt: The prompt: a text, messages, or an API's request.
        completion: The completion; a list of several becomes a row each.
        messages: The whole conversation, instead of both.
        system: The system prompt.
        tools: Tool definitions.
        reference: The reference.
        id: The row's id.
        group: What all completions of its prompt share, if it is not the prompt.
        columns: Further columns.
        scores: Results of earlier graders, by their names.
        error: Why there is no completion; "" if there is one.
    """

    prompt: Any = None
    completion: Any = None
    messages: Any = None
    system: Any = None
    tools: Any = None
    reference: Any = None
    id: Any = None
    group: Any = None
    columns: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Score] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True)
class Shape:
    """A shape of rows.

    Attributes:
        name: Its name, which starts with the tool's.
        needs: Paths of which a row has all; alternatives are separated by a vertical bar.
        read: From a row to what it is; None leaves it out.
        example: A small row, for the docs and for tests.
        fits: A further condition on the names of the columns and the first rows.
        prepare: Changes all rows before they are read, such as joining events of a sample.
        left: What the rows are that `read` leaves out.
        no_completions: Why there are no completions, and what to read instead; "" if there are.
        takes: What is taken for what, for the docs.
    """

    name: str
    needs: tuple[str, ...]
    read: ReadRow
    example: Any
    takes: str = ""
    fits: Callable[[Sequence[str], Sequence[Row]], bool] | None = None
    prepare: Callable[[list[Row]], list[Row]] | None = None
    left: str = "rows without a model's completion"
    no_completions: str = ""

    def could_be_of(self, names: Sequence[str]) -> bool:
        """Whether rows with these columns can have this shape."""
        return all(any(_could_have(names, path) for path in need.split("|")) for need in self.needs)

    def is_of(self, names: Sequence[str], rows: Sequence[Row]) -> bool:
        """Whether rows have this shape.

        Args:
            names: The columns.
            rows: The first rows, without their missing cells.
        """
        if not self.could_be_of(names):
            return False
        if not any(
            all(any(has(row, path) for path in need.split("|")) for need in self.needs) for row in rows
        ):
            return False
        return self.fits is None or self.fits(names, rows)

    def refusal(self, rows: int, source: str) -> SamplesError:
        """The error for rows without completions."""
        return SamplesError(
            f"these are rows of {self.name}, which have no completions, and graders score completions",
            where=source, found=f"{rows:,} rows", expected="rows with completions", hint=self.no_completions,
        )  # fmt: skip


def refusal_of(shape: Shape | None, rows: int, source: str) -> SamplesError | None:
    """The error for rows of a shape that has no completions; None for others."""
    return shape.refusal(rows, source) if shape is not None and shape.no_completions else None


SHAPES: dict[str, Shape] = {}
"""Every shape by its name."""

DOCUMENTS: dict[str, Callable[[Row], list[Any] | None]] = {}
"""From a tool's document to its rows, or None, by the name of the document."""


def shape(name: str, *needs: str, **settings: Any) -> Callable[[ReadRow], ReadRow]:
    """Register a function as the reader of a shape; see `Shape`."""

    def register(read: ReadRow) -> ReadRow:
        taken = SHAPES.get(name)
        refuse_taken("shape", name, taken and taken.read, read)
        SHAPES[name] = Shape(name, needs, read, **settings)
        return read

    return register


def document(name: str) -> Callable[[Callable[[Row], list[Any] | None]], Callable[[Row], list[Any] | None]]:
    """Register a function that finds the rows in a tool's document."""

    def register(find: Callable[[Row], list[Any] | None]) -> Callable[[Row], list[Any] | None]:
        refuse_taken("document", name, DOCUMENTS.get(name), find)
        DOCUMENTS[name] = find
        return find

    return register


def document_rows(value: Row) -> list[Any] | None:
    """The rows of a known tool's document; None if it is none of them."""
    return next((rows for find in DOCUMENTS.values() if (rows := find(value)) is not None), None)


def shape_of(names: Sequence[str], rows: Sequence[Row]) -> Shape | None:
    """The shape of some rows, the one with the most conditions if there are several; None for plain rows."""
    fitting = [one for one in SHAPES.values() if one.is_of(names, rows)]
    return max(fitting, key=lambda one: len(one.needs), default=None)


def _could_have(names: Sequence[str], path: str) -> bool:
    head = path.split(".", 1)[0]
    return any(
        name in (head, path) or (name.startswith(f"{head}.") and path.startswith(name)) for name in names
    )


_ABSENT = object()


def at(row: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path: through objects, lists, JSON texts, and columns whose own name is dotted.

    Args:
        row: An object or a list.
        path: Names and indices, separated by dots.
        default: What is returned for a missing value.
    """
    found = _found(row, path)
    return default if found is _ABSENT or found is None else found


def has(row: Any, path: str) -> bool:
    """Whether there is a value other than None at a dotted path."""
    return at(row, path) is not None


def _found(value: Any, path: str) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        value = from_json(value)
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        if not head.isdecimal() or int(head) >= len(value):
            return _ABSENT
        return _found(value[int(head)], rest) if rest else value[int(head)]
    if not isinstance(value, Mapping):
        return _ABSENT
    if path in value:
        return value[path]
    place = path.find(".")
    while place > 0:
        if path[:place] in value:
            found = _found(value[path[:place]], path[place + 1 :])
            if found is not _ABSENT:
                return found
        place = path.find(".", place + 1)
    return _ABSENT


def regrouped(row: Row) -> dict[str, Any]:
    """A row whose dotted names are objects again: `inputs.question` is the entry `question` of `inputs`."""
    found: dict[str, Any] = {}
    for name, cell in row.items():
        *heads, last = str(name).split(".")
        place = found
        for head in heads:
            inner = place.setdefault(head, {})
            if not isinstance(inner, dict):
                break
            place = inner
        else:
            place[last] = cell
            continue
        found[str(name)] = cell  # another column has the name of its object
    return found


def first_of(row: Any, *paths: str) -> Any:
    """The first value that is there, of several paths."""
    return next((value for path in paths if (value := at(row, path)) is not None), None)


def from_json(cell: Any) -> Any:
    """The value of a JSON text; any other cell unchanged."""
    if not isinstance(cell, str):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell


def items(value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of an object, or of its JSON text; none of any other value."""
    value = from_json(value)
    if isinstance(value, Mapping):
        yield from ((str(key), inner) for key, inner in value.items())


def objects(value: Any) -> list[Row]:
    """The objects in a list, or in its JSON text; none of any other value."""
    value = from_json(value)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def scores_in(
    value: Any,
    *,
    value_name: str = "score|value",
    reason_name: str = "reason|rationale|explanation|comment|reasoning",
) -> dict[str, Score]:
    """Scores by grader: of an object with a number or an object per grader, or of a list of objects with a name."""
    named: Iterable[tuple[str, Any]] = items(value)
    if isinstance(from_json(value), list):
        named = ((str(first_of(one, "name", "key", "metric", "metric_name")), one) for one in objects(value))
    found: dict[str, Score] = {}
    for name, one in named:
        if isinstance(one, Mapping):
            passed = first_of(one, "passed", "pass", "success")
            found[free_name(name, found)] = Score(
                first_of(one, *value_name.split("|")),
                passed if isinstance(passed, bool) else None,
                str(first_of(one, *reason_name.split("|")) or ""),
                str(at(one, "error") or ""),
            )
        else:
            found[free_name(name, found)] = Score(one)
    return found


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """A name, with a number if it is taken: the second "contains" is "contains#2"."""
    if name not in taken:
        return name
    number = 2
    while f"{name}#{number}" in taken:
        number += 1
    return f"{name}#{number}"


def without(row: Row, *names: str) -> dict[str, Any]:
    """The other entries of a row."""
    return {str(key): value for key, value in row.items() if key not in names}


def with_columns(row: ShapedRow, columns: Mapping[str, Any]) -> ShapedRow:
    """A row with further columns."""
    return replace(row, columns={**row.columns, **columns})
