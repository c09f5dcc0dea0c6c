"""Results of SQL queries."""

import json
import sqlite3

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders.portable import portable
from workbench.graders.rules.sql import is_ordered, query_in

DATA = """CREATE TABLE t (id INTEGER, name TEXT, price REAL);
INSERT INTO t VALUES (1, 'pen', 1.5), (2, 'cap', 2.5), (3, 'pen', NULL), (4, NULL, 0.1);"""


def sample(query, reference, database=DATA):
    """A row with a query."""
    thread = wb.StringThread([("user", "q"), ("assistant", query)], {"database": database})
    return wb.Sample(id="0", thread=thread, reference=reference, group="0")


@pytest.mark.parametrize(
    ("query", "reference", "settings", "score"),
    [
        ("SELECT name FROM t WHERE id = 1", "SELECT name FROM t WHERE price = 1.5", {}, 1.0),
        ("```sql\nSELECT id FROM t\n```", "SELECT id FROM t", {}, 1.0),
        ("SELECT id FROM t;", "SELECT id FROM t", {}, 1.0),
        ("SELECT id FROM t ORDER BY id DESC", "SELECT id FROM t", {}, 1.0),
        ("SELECT id FROM t ORDER BY id DESC", "SELECT id FROM t ORDER BY id", {}, 0.0),  # DAMO-ConvAI#177
        ("SELECT id FROM t ORDER BY id DESC", "SELECT id FROM t ORDER BY id", {"order": "never"}, 1.0),
        ("SELECT id FROM t ORDER BY id DESC", "SELECT id FROM t", {"order": "always"}, 0.0),
        ("SELECT name FROM t WHERE name = 'pen'", "SELECT DISTINCT name FROM t WHERE name = 'pen'", {}, 0.0),  # DAMO-ConvAI#177
        ("SELECT name FROM t WHERE name = 'pen'", "SELECT DISTINCT name FROM t WHERE name = 'pen'", {"duplicates": "ignore"}, 1.0),
        ("SELECT 0", "SELECT NULL", {}, 0.0),  # Spider2#157: NULL was 0
        ("SELECT NULL", "SELECT NULL", {}, 1.0),
        ("SELECT ''", "SELECT NULL", {}, 0.0),
        ("SELECT '3'", "SELECT 3", {}, 0.0),
        ("SELECT 3.0", "SELECT 3", {}, 1.0),
        ("SELECT 0.1 + 0.2", "SELECT 0.3", {}, 1.0),
        ("SELECT 0.31", "SELECT 0.3", {}, 0.0),
        ("SELECT 0.31", "SELECT 0.3", {"tolerance": 0.05}, 1.0),
        ("SELECT price + 0.01 FROM t ORDER BY 1 DESC", "SELECT price FROM t", {"tolerance": 0.05}, 1.0),
        ("SELECT 9007199254740993", "SELECT 9007199254740992", {}, 0.0),
        ("SELECT name, id FROM t", "SELECT id, name FROM t", {}, 0.0),
        ("SELECT name, id FROM t", "SELECT id, name FROM t", {"columns": "any"}, 1.0),  # DAMO-ConvAI#162
        ("SELECT name, id FROM t", "SELECT id, name FROM t", {"columns": "names"}, 1.0),
        ("SELECT id AS x FROM t", "SELECT id FROM t", {}, 1.0),
        ("SELECT id AS x FROM t", "SELECT id FROM t", {"columns": "names"}, 0.0),
        ("SELECT id, id FROM t", "SELECT id FROM t", {}, 0.0),
        ("SELECT avg(id) FROM t", "SELECT max(id) FROM t", {}, 0.0),  # spider#31: avg passed for max
        ("SELECT id FROM t WHERE 0", "SELECT id FROM t WHERE id > 9", {}, 1.0),
        ("SELECT id, name FROM t WHERE 0", "SELECT id FROM t WHERE id > 9", {}, 0.0),
        ("SELECT id FROM t", [[1], [2], [3], [4]], {}, 1.0),
        ("SELECT id FROM t", "[[4], [3], [2], [1]]", {}, 1.0),
        ("SELEC id FROM t", "SELECT id FROM t", {}, 0.0),
        ("SELECT id FROM missing", "SELECT id FROM t", {}, 0.0),
        ("SELECT id FROM t; SELECT id FROM t", "SELECT id FROM t", {}, 0.0),
        ("DELETE FROM t", "SELECT id FROM t", {}, 0.0),
        ("I do not know", "SELECT id FROM t", {}, 0.0),
        ("", "SELECT id FROM t", {}, 0.0),
        ("<think>SELECT id FROM t</think>SELECT 1", "SELECT id FROM t", {}, 0.0),
        ("SELECT id FROM u", "SELECT id FROM u", {"database": "CREATE TABLE u (id); INSERT INTO u VALUES (1)"}, 1.0),
    ],
)  # fmt: skip
def test_results(query, reference, settings, score):
    """Rows, their order if it is asked for, duplicates, NULL, numbers, columns."""
    grade = wb.SqlResult(**settings)(sample(query, reference))
    assert grade.error is None
    assert grade.score == score, grade.reasoning


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
        "SELECT length(randomblob(900000000))",
        "ATTACH DATABASE '/tmp/x.db' AS y",
        "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')",
        "PRAGMA writable_schema = 1",
    ],
)
def test_hostile_queries_score_zero(query):
    """No file, no endless query: a row's own worker ends it."""
    grade = wb.SqlResult(timeout=1.0)(sample(query, "SELECT 1"))
    assert (grade.score, grade.error, grade.metadata["failure"]) == (0.0, None, "query")


def test_databases(tmp_path):
    """A script, tables as rows, a file of a folder; nothing outside the folder."""
    tables = {"t": [{"id": 1, "odd name": None}, {"id": 2}]}
    for database in (tables, json.dumps(tables)):
        assert (
            wb.SqlResult()(sample('SELECT id, "odd name" FROM t', "SELECT id, NULL FROM t", database)).score
            == 1.0
        )
    with sqlite3.connect(tmp_path / "shop.sqlite") as file:
        file.executescript(DATA)
    file.close()
    grader = wb.SqlResult(folder=str(tmp_path))
    assert grader(sample("SELECT count(*) FROM t", "SELECT 4", "shop")).score == 1.0
    for name in ("none", "../shop", "/etc/passwd", ""):
        assert grader(sample("SELECT 1", "SELECT 1", name)).error.kind == "sample"


@pytest.mark.parametrize(
    "row",
    [
        sample("SELECT 1", "SELEC 1"),
        sample("SELECT 1", None),
        sample("SELECT 1", "SELECT 1", None),
        sample("SELECT 1", "SELECT 1", "CREATE"),
        sample("SELECT 1", "DELETE FROM t"),
    ],
)
def test_rows_that_cannot_be_graded_fail(row):
    """A reference without a result, and a row without a database."""
    assert wb.SqlResult()(row).error.kind == "sample"


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a)", False),
        ("SELECT 'order by' FROM t", False),
        ("SELECT a FROM t -- order by a", False),
        ("SELECT row_number() OVER (ORDER BY a) FROM t", False),
        ("SELECT a FROM t\norder\n by (SELECT 1)", True),
    ],
)
def test_order_is_read_outside_brackets(query, ordered):
    """Order in a subquery, a window, a string or a comment does not order the result."""
    assert is_ordered(query) is ordered


def test_the_query_of_a_completion():
    """The last SQL block, or the text."""
    assert query_in("```sql\nSELECT 1\n```\nor\n```sql\nSELECT 2\n```") == "SELECT 2"
    assert query_in("```python\nx\n```\n```sql\nSELECT 1\n```\n```text\nout\n```") == "SELECT 1"
    assert query_in("SELECT 1") == "SELECT 1"


def test_it_is_exported_as_python():
    """SQLite is in the standard library; files cannot be read elsewhere."""
    code = wb.FunctionGrader.from_source(portable(wb.SqlResult(DATA)))
    for query in ("SELECT id FROM t ORDER BY id DESC", "SELECT 1", "x"):
        row = wb.StringThread([("assistant", query)], {"expected": "SELECT id FROM t"})
        assert code(row).score == wb.SqlResult(DATA)(row).score
    with pytest.raises(FormatError, match="read files"):
        portable(wb.SqlResult(folder="x"))


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"order": "yes"}, "order"),
        ({"columns": "some"}, "columns"),
        ({"duplicates": "no"}, "duplicates"),
        ({"tolerance": -1}, "tolerance"),
        ({"timeout": 0}, "timeout"),
        ({"database": 1}, "database"),
    ],
)
def test_bad_settings_are_refused(settings, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        wb.SqlResult(**settings)


@pytest.mark.slow
def test_its_probe_has_no_error():
    """No other query is accepted, and no equivalent form of a right one is rejected; the search is complete."""
    rows = [
        {"prompt": f"Items after {n}?", "completion": f"SELECT id, name FROM t WHERE id > {n}",
         "answer": f"SELECT id, name FROM t WHERE id > {n} AND id < 99", "database": DATA}
        for n in range(2)
    ]  # fmt: skip
    probe = wb.probe(wb.SqlResult(), wb.Samples(rows), progress=False, seconds=900)
    assert not any("Interrupted" in note for note in probe.run_notes)
    assert not [one for one in probe.findings if one.severity == "error"]
