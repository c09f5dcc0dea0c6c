"""DuckDB as the database of `SqlResult`: in separate processes, without access to files, networks and extensions.

The queries are a model's. DuckDB runs them in memory with `enable_external_access` off and its configuration locked; a time limit
interrupts a query, and ends its process if that does not help.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import Any

from workbench.core.grade import ErrorKind, Grade
from workbench.core.packages import OPTIONAL, is_installed, missing
from workbench.core.user_functions import LateError
from workbench.core.user_processes import ProcessLostError, ProcessPool
from workbench.graders.rules.sql import Rows, sql_result

_PACKAGE = next(package for package in OPTIONAL if package.module == "duckdb")
_MAX_ROWS = 100_000
"""Rows of a result, as for SQLite."""
_LOCKS = (
    "SET enable_external_access=false",
    "SET autoinstall_known_extensions=false",
    "SET autoload_known_extensions=false",
    "SET memory_limit='512MB'",
    "SET threads=1",
    "SET lock_configuration=true",
)


def check_installed() -> None:
    """Raise if the package is not installed.

    Raises:
        MissingPackageError: With the command that installs it.
    """
    if not is_installed(_PACKAGE):
        raise missing(_PACKAGE)


@cache
def engine_processes() -> ProcessPool:
    """The processes of all graders with this engine."""
    return ProcessPool(_Comparer())


async def compared(request: Mapping[str, Any], settings: Mapping[str, Any], seconds: float) -> Grade:
    """The grade of a query.

    Args:
        request: `text`, `expected` and `database`, as for `sql_result`.
        settings: Further arguments of `sql_result`.
        seconds: After which the process is ended.
    """
    try:
        reply = await engine_processes().call(json.dumps([request, settings]), seconds)
    except LateError:
        return Grade.failed(ErrorKind.TIMEOUT, f"timed out: no result within {seconds:g} s")
    except ProcessLostError as error:
        return Grade.failed(ErrorKind.CRASH, f"DuckDB's process ended: {error}")
    return Grade(0.0, reasoning=reply)


class _Comparer:
    """The function of the processes. Loading it there loads the package, before any row's time starts."""

    def __call__(self, request: str) -> str:
        raise NotImplementedError("called only in a separate process")

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, ()


def _loaded() -> Any:
    import_module("duckdb")
    return _compare


def _compare(request: str) -> str:
    """The verdict as JSON, in a separate process."""
    row, settings = json.loads(request)
    reply: dict[str, Any]
    try:
        reply = {
            "verdict": sql_result(row["text"], row["expected"], row["database"], run=result_of, **settings)
        }
    except ValueError as error:
        reply = {"invalid": str(error)[:300]}
    return json.dumps(reply)


def result_of(query: str, database: Any, seconds: float) -> tuple[list[str], Rows]:
    """The names of the columns and the rows of a query, on a fresh database in memory.

    Raises:
        ValueError: The database cannot be made; the query fails, takes too long, or has too many rows.
    """
    duckdb = import_module("duckdb")
    connection = duckdb.connect(":memory:")
    timer = threading.Timer(seconds, connection.interrupt)
    try:
        for lock in _LOCKS:
            connection.execute(lock)
        _fill(connection, database)
        timer.start()
        if len(connection.extract_statements(query)) != 1:
            raise ValueError("it is not one query")
        cursor = connection.execute(query)
        if cursor.description is None:
            raise ValueError("it is not a query: it returns no rows")
        names = [one[0] for one in cursor.description]
        rows = cursor.fetchmany(_MAX_ROWS + 1)
    except duckdb.InterruptException:
        raise ValueError(f"it takes longer than {seconds:g} s") from None
    except duckdb.Error as error:
        raise ValueError(str(error)[:300]) from None
    finally:
        timer.cancel()
        connection.close()
    if len(rows) > _MAX_ROWS:
        raise ValueError(f"it returns more than {_MAX_ROWS} rows")
    return names, [tuple(map(_plain, row)) for row in rows]


def _fill(connection: Any, database: Any) -> None:
    """Make the tables: of an SQL script, or of lists of rows."""
    try:
        if not isinstance(database, Mapping):
            connection.execute(str(database))
            return
        for name, rows in database.items():
            _add_table(connection, str(name), rows)
    except (import_module("duckdb").Error, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"the database cannot be made: {error}"[:200]) from None


def _add_table(connection: Any, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[row.get(column) for column in columns] for row in rows]
    kinds = [_kind([row[at] for row in cells]) for at in range(len(columns))]
    quoted = [f"{_quoted(column)} {kind}" for column, kind in zip(columns, kinds, strict=True)]
    connection.execute(f"CREATE TABLE {_quoted(name)} ({', '.join(quoted)})")
    if cells:
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {_quoted(name)} VALUES ({marks})", cells)  # noqa: S608 (quoted)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _kind(values: Sequence[Any]) -> str:
    """The type of a column, by its values."""
    types = {type(value) for value in values if value is not None}
    if types == {bool}:
        return "BOOLEAN"
    if types == {int}:
        return "BIGINT"
    return "DOUBLE" if types and types <= {int, float} else "VARCHAR"


def _plain(value: Any) -> Any:
    """A cell as SQLite would have it: numbers, texts and NULL; other types as text."""
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return str(value.total_seconds()) if isinstance(value, timedelta) else str(value)
