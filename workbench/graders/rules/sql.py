"""Results of SQL queries on a small database, compared by rows. Standard library only."""

from __future__ import annotations

import base64
import itertools
import json
import math
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.graders.rules.json_compare import matching
from workbench.graders.rules.numbers import after_thinking
from workbench.graders.rules.text import Verdict

_MAX_ROWS = 100_000
"""Rows of a result."""
_MAX_PAIRED = 400
"""Rows that are compared one with another if numbers may differ."""
_MAX_ORDERS = 5_000
"""Orders of columns that are tried."""
_BLOCK = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
Rows = list[tuple[Any, ...]]


def query_in(text: str) -> str:
    """The query of a completion: its last SQL code block, else its last code block, else the whole text."""
    text = after_thinking(text)
    blocks = [(name.lower(), block) for _, name, block in _BLOCK.findall(text)]
    named = [block for name, block in blocks if name in {"sql", "sqlite", "duckdb"}]
    return str((named or [block for _, block in blocks] or [text])[-1]).strip()


def is_ordered(query: str) -> bool:
    """Whether a query orders its result: ORDER BY outside strings, comments and brackets."""
    plain = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", " ", query, flags=re.DOTALL)
    before = ""
    while before != plain:
        before, plain = plain, re.sub(r"\([^()]*\)", " ", plain)
    return re.search(r"\border\s+by\b", plain, re.IGNORECASE) is not None


def opened(database: Any) -> sqlite3.Connection:
    """A database in memory: an SQL script, tables as lists of rows, or a file's bytes in base64.

    Raises:
        ValueError: It cannot be made.
    """
    connection = sqlite3.connect(":memory:")
    try:
        if isinstance(database, Mapping) and set(database) == {"base64"}:
            connection.deserialize(base64.b64decode(database["base64"]))
        elif isinstance(database, Mapping):
            for name, rows in database.items():
                _add_table(connection, str(name), rows)
        else:
            connection.executescript(str(database))
    except (sqlite3.Error, ValueError, TypeError, AttributeError) as error:
        connection.close()
        raise ValueError(f"the database cannot be made: {error}"[:200]) from None
    return connection


def _add_table(connection: sqlite3.Connection, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
    table = '"' + name.replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE {table} ({', '.join(quoted)})")
    marks = ", ".join("?" * len(columns))
    insertion = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 (quoted)
    connection.executemany(insertion, [[row.get(column) for column in columns] for row in rows])


def result_of(query: str, database: Any, seconds: float) -> tuple[list[str], Rows]:
    """The names of the columns and the rows of a query, on a fresh copy of the database.

    Raises:
        ValueError: It is not one query, fails, takes too long, or has too many rows.
    """
    connection = opened(database)
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        cursor = connection.execute(query)
        if cursor.description is None:
            raise ValueError("it is not a query: it returns no rows")
        rows = cursor.fetchmany(_MAX_ROWS + 1)
    except (sqlite3.Error, sqlite3.Warning) as error:
        cause = f"it takes longer than {seconds:g} s" if str(error) == "interrupted" else str(error)
        raise ValueError(cause) from None
    finally:
        connection.close()
    if len(rows) > _MAX_ROWS:
        raise ValueError(f"it returns more than {_MAX_ROWS} rows")
    return [one[0] for one in cursor.description], rows


def sql_result(  # noqa: PLR0913 (the grader's settings)
    text: str, expected: Any, database: Any, *, order: str = "auto", duplicates: str = "count", columns: str = "position", tolerance: float = 0.0, seconds: float = 5.0,
    run: Callable[[str, Any, float], tuple[list[str], Rows]] = result_of,
) -> Verdict:  # fmt: skip
    """Whether a query returns the rows of the reference.

    Args:
        text: The completion.
        expected: The expected query, or its rows as a list of lists.
        database: See `opened`.
        order: "auto" (as the expected query has ORDER BY), "always" or "never".
        duplicates: "count" or "ignore".
        columns: "position", "names" or "any".
        tolerance: Accepted difference of numbers.
        seconds: Time limit of each query.
        run: Runs a query; SQLite by default.

    Raises:
        ValueError: The reference has no result.
    """
    if isinstance(expected, str) and expected.lstrip().startswith("["):
        expected = json.loads(expected)
    if isinstance(expected, str):
        try:
            names, wanted = run(expected, database, seconds)
        except ValueError as error:
            raise ValueError(f"the reference: {error}") from None
        in_order = order == "always" or (order == "auto" and is_ordered(expected))
    else:
        names, wanted, in_order = [], [tuple(row) for row in expected], order == "always"
        run("SELECT 1", database, seconds)  # refuses a database that cannot be made
    try:
        own_names, found = run(query_in(text), database, seconds)
    except ValueError as error:
        return 0.0, f"Query failed: {error}"[:300], {"failure": "query"}
    details = {"rows": len(found), "expected_rows": len(wanted)}
    if duplicates == "ignore":
        found, wanted = list(dict.fromkeys(found)), list(dict.fromkeys(wanted))
    width = len(wanted[0]) if wanted else len(names) or len(own_names)
    if len(own_names) != width:
        return 0.0, f"{len(own_names)} columns, expected {width}", {**details, "failure": "columns"}
    for chosen in _orders(found, wanted, (own_names, names), columns):
        arranged = [tuple(row[at] for at in chosen) for row in found]
        if _same_rows(arranged, wanted, in_order, tolerance):
            return 1.0, f"The expected {len(wanted)} rows", details
    kind = "order" if in_order and _same_rows(found, wanted, False, tolerance) else "rows"
    return 0.0, f"Other {kind}: {len(found)} rows, expected {len(wanted)}", {**details, "failure": kind}


def _orders(found: Rows, wanted: Rows, names: tuple[Sequence[str], Sequence[str]], columns: str) -> Any:
    """The orders of the columns to try."""
    width = len(names[0])
    if columns == "names":
        own, other = ([name.casefold() for name in one] for one in names)
        return (
            [[own.index(name) for name in other]]
            if sorted(own) == sorted(other) and len(set(own)) == width
            else []
        )
    if columns == "position" or width < 2:
        return [range(width)]
    bags = [
        [Counter(map(_key, (row[at] for row in rows))) for at in range(width)] for rows in (found, wanted)
    ]
    fitting = [[at for at in range(width) if bags[0][at] == bag] or list(range(width)) for bag in bags[1]]
    orders = (one for one in itertools.product(*fitting) if len(set(one)) == width)
    return itertools.islice(orders, _MAX_ORDERS)


def _key(value: Any) -> Any:
    """A value by which equal ones are found: numbers by value up to rounding, NULL and texts as such."""
    if isinstance(value, int | float):
        return ("number", f"{value:.12g}" if isinstance(value, float) else _whole(value))
    return (type(value).__name__, value)


def _whole(value: int) -> str:
    return f"{float(value):.12g}" if abs(value) < 2**53 else str(value)


def _same_rows(found: Rows, wanted: Rows, in_order: bool, tolerance: float) -> bool:
    if len(found) != len(wanted):
        return False
    if in_order:
        return all(_same_row(one, other, tolerance) for one, other in zip(found, wanted, strict=True))
    keys = [Counter(tuple(map(_key, row)) for row in rows) for rows in (found, wanted)]
    if keys[0] == keys[1]:
        return True
    if not tolerance or len(found) > _MAX_PAIRED:
        return False
    return None not in matching(found, wanted, lambda one, other: _same_row(one, other, tolerance))


def _same_row(one: Sequence[Any], other: Sequence[Any], tolerance: float) -> bool:
    return len(one) == len(other) and all(
        _same_cell(a, b, tolerance) for a, b in zip(one, other, strict=True)
    )


def _same_cell(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or math.isclose(one, other, rel_tol=1e-11, abs_tol=tolerance)
    return type(one) is type(other) and bool(one == other)
