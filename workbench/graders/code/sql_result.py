"""The grader that compares the results of SQL queries, in SQLite, or in DuckDB in separate processes.

The queries are a model's. DuckDB runs them in memory with `enable_external_access` off and its configuration locked: without
files, networks and extensions. A time limit interrupts a query, and ends its process if that does not help.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from workbench.core.discovery import check_installed
from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.core.user_functions import LateError
from workbench.core.user_processes import ProcessLostError, ProcessPool
from workbench.data.samples import Sample, Samples
from workbench.graders.arguments import LIMIT, check_choice, check_time_limit
from workbench.graders.base import Grader, is_number, kind
from workbench.graders.code.function import FunctionGrader
from workbench.graders.concurrent_rows import Control
from workbench.graders.portable import sliced
from workbench.graders.portable_rule import PythonBody, refusal
from workbench.graders.rules.sql import Rows, sql_result

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


_MAX_FILE = 8_000_000
"""Bytes of a database file: it is copied into a worker for each row."""
_OWN = frozenset({"timeout", "memory", "crash", "runtime"})
"""Errors of a run that a query causes."""


@kind("sql-result", family="code")
@dataclass(frozen=True, kw_only=True)
class SqlResult(Grader):
    """1.0 if the completion's query returns the rows of the reference, else 0.0: both run on the row's database.

    The query is the last SQL code block, or the whole text: one statement that returns rows. Each query gets a fresh copy of
    the database in memory, in a confined worker. NULL equals NULL only, 3 is 3.0, "3" is not 3, and repeated rows count. Order
    counts if the reference has ORDER BY outside brackets; the order of ties is the database's.

    Attributes:
        database: SQL that makes the database; "" takes `column`.
        column: The metadata column with the database: SQL, tables as `{"name": [{"column": value}]}`, or, with `folder`, a name.
        folder: Folder with files `name.sqlite`, `name.db` or `name/name.sqlite` (Spider, BIRD); no other file is read.
        order: "auto", "always" or "never".
        duplicates: "count" or "ignore".
        columns: "position" (names do not count), "names" (names in any order), or "any" (any order of columns).
        tolerance: Accepted difference of numbers, from 0 on; 12 digits are compared in any case.
        dialect: "sqlite", or "duckdb" (extra `duckdb`): in a separate process with DuckDB's access to files, networks and
            extensions switched off, not in the sandbox.
        timeout: Seconds for both queries of a row, above 0, at most 60.

    The reference is a query, or the expected rows as a list of lists. The details contain the numbers of `rows`, and the `failure`:
    query, columns, rows or order.

    Error kinds: sample (no database, a reference without a result), sandbox (this machine cannot confine code).
    """

    hidden_from_dir = "javascript_body python_body"

    database: str = field(default="", kw_only=False)
    column: str = "database"
    folder: str = ""
    order: str = "auto"
    duplicates: str = "count"
    columns: str = "position"
    tolerance: float = 0.0
    dialect: str = "sqlite"
    timeout: float = field(default=5.0, metadata=LIMIT)

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls("CREATE TABLE t (a); INSERT INTO t VALUES (4);")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("database", "column", "folder"):
            if not isinstance(getattr(self, name), str):
                raise FormatError(f"{name} must be text", found=repr(getattr(self, name))[:80])
        check_choice("order", self.order, ("auto", "always", "never"))
        check_choice("duplicates", self.duplicates, ("count", "ignore"))
        check_choice("columns", self.columns, ("position", "names", "any"))
        check_choice("dialect", self.dialect, ("sqlite", "duckdb"))
        if self.folder and self.dialect != "sqlite":
            raise FormatError(
                "folder has files of SQLite",
                found=f"dialect={self.dialect!r}",
                hint="put the SQL into a column",
            )
        check_time_limit(self.timeout)
        if not is_number(self.tolerance) or self.tolerance < 0:
            raise FormatError("tolerance must be a finite number from 0 on", found=repr(self.tolerance)[:80])

    @property
    def at_once(self) -> int:
        """Number of rows graded concurrently: each starts a worker."""
        return 4

    async def grade(self, sample: Sample) -> Grade:
        """Run both queries of one row in a worker."""
        if sample.reference is None or sample.reference == "":
            return Grade.failed(ErrorKind.SAMPLE, "no reference: this row has no expected query")
        database = self._database_of(sample)
        if database is None:
            return Grade.failed(
                ErrorKind.SAMPLE, f"this row has no database: no column {self.column!r}, or no such file"
            )
        request = {
            "text": sample.thread.completion() or "",
            "expected": sample.reference,
            "database": database,
        }
        if self.dialect == "duckdb":
            check_installed("duckdb")
            return _as_grade(await compared(request, self._settings(), min(60.0, self.timeout + 2.0)))
        # The worker's limit is above the queries' own, which end first and name the query.
        program = FunctionGrader.from_source(
            _program(self._settings()), imported=True, timeout=min(60.0, self.timeout + 2.0)
        )
        control = Control(workers=1)
        control.looks_again = False
        row = Samples([{"completion": json.dumps(request)}])
        return _as_grade((await program.grade_all(row, control))[0])

    def check_ready(self) -> None:
        """Raise any error that would end a run before its first row.

        Raises:
            MissingPackageError: DuckDB is not installed.
        """
        if self.dialect == "duckdb":
            check_installed("duckdb")

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row; with DuckDB its processes stay for the run."""
        if self.dialect == "sqlite":
            return await super().grade_all(samples, control)
        async with engine_processes().run():
            return await super().grade_all(samples, control)

    def _database_of(self, sample: Sample) -> Any:
        if self.database:
            return self.database
        value = (sample.thread.metadata or {}).get(self.column)
        if not self.folder:
            if isinstance(value, str) and value.lstrip().startswith("{"):
                return json.loads(value)
            return value or None
        return _file(self.folder, str(value))

    def _settings(self) -> dict[str, Any]:
        names = ("order", "duplicates", "columns", "tolerance")
        return {**{name: getattr(self, name) for name in names}, "seconds": self.timeout / 2}

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The body of a Python function that scores the same."""
        if self.dialect != "sqlite":
            raise refusal(
                self, "dialect", "code of other platforms cannot load DuckDB", 'use dialect="sqlite"'
            )
        if self.folder:
            raise refusal(
                self, "folder", "code of other platforms cannot read files", "put the databases into a column"
            )
        database = repr(self.database) if self.database else f"(thread.metadata or {{}}).get({self.column!r})"
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings().items())
        lines = (
            f"database, expected = {database}, reference_of(thread, {reference_names!r})",
            "if not database or expected is None or expected == '':",
            "    raise ValueError('no database or no reference')",
            f"return sql_result(thread.completion() or '', expected, database, {settings})[0]",
        )
        return PythonBody(("sql.sql_result", "threads.reference_of"), lines)

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """Not supported: always raises."""
        raise refusal(self, "", "SQLite has no JavaScript form here", "export it as Python")


def _as_grade(grade: Grade) -> Grade:
    if grade.error is not None:
        if str(grade.error.kind) in _OWN:
            return Grade(
                0.0,
                passed=False,
                reasoning=f"Query failed: {grade.error.message}"[:300],
                metadata={"failure": "query"},
            )
        return grade
    try:
        reply = json.loads(grade.reasoning or "")
    except ValueError:
        return Grade.failed(ErrorKind.RUNTIME, "the worker's reply cannot be read")
    if "invalid" in reply:
        return Grade.failed(ErrorKind.SAMPLE, reply["invalid"])
    score, reason, details = reply["verdict"]
    return Grade(score, passed=score >= 1.0, reasoning=reason, metadata=details)


def _file(folder: str, name: str) -> Any:
    """The bytes of a database file in a folder; None if there is none."""
    root = Path(folder).resolve()
    for path in (root / f"{name}.sqlite", root / f"{name}.db", root / name / f"{name}.sqlite"):
        inside = path.resolve()
        if inside.is_relative_to(root) and inside.is_file() and inside.stat().st_size <= _MAX_FILE:
            return {"base64": base64.b64encode(inside.read_bytes()).decode("ascii")}
    return None


def _program(settings: dict[str, Any]) -> str:
    return _text(json.dumps(settings, sort_keys=True))


@lru_cache(maxsize=16)
def _text(settings: str) -> str:
    """The module that compares two queries, out of the rules that exports have, too."""
    imports, pieces = sliced([("workbench.graders.rules.sql", "sql_result")])
    main = f'''async def grade(thread):
    """Compares the queries of a request."""
    request = json.loads(thread.completion())
    try:
        reply = {{"verdict": sql_result(request["text"], request["expected"], request["database"], **{json.loads(settings)!r})}}
    except ValueError as error:
        reply = {{"invalid": str(error)[:300]}}
    return Grade(0.0, reasoning=json.dumps(reply))
'''
    head = ["from __future__ import annotations", "", *imports, "", "from workbench import Grade"]
    return "\n".join(head) + "\n\n\n" + "\n\n\n".join([*pieces, main])
