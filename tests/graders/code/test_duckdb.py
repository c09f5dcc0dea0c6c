"""`SqlResult` on DuckDB."""

import pytest

import workbench as wb
from workbench.core import discovery
from workbench.core.errors import FormatError, MissingPackageError
from workbench.graders.portable import portable

pytest.importorskip("duckdb")

SHOP = "CREATE TABLE items (name TEXT, price DECIMAL(6,2), sold DATE); INSERT INTO items VALUES ('pen', 1.5, '2026-01-02'), ('cap', NULL, NULL), ('pen', 2, NULL)"


def graded(query, reference="SELECT name, price FROM items ORDER BY price", **settings):
    thread = wb.StringThread([("user", "q"), ("assistant", query)])
    sample = wb.Sample(id="0", thread=thread, reference=reference, group="0")
    return wb.SqlResult(settings.pop("database", SHOP), dialect="duckdb", timeout=20, **settings)(sample)


@pytest.mark.parametrize(
    ("query", "score"),
    [
        ("SELECT name, price FROM items ORDER BY ALL DESC", 0.0),
        ("FROM items SELECT name, price ORDER BY price", 1.0),
        ("```sql\nSELECT name, price::DOUBLE FROM items ORDER BY price\n```", 1.0),
        ("SELECT name, price FROM items ORDER BY name, price", 0.0),
        ("SELECT name, coalesce(price, 0) FROM items ORDER BY price", 0.0),
        ("SELECT name FROM items", 0.0),
        ("SELEC", 0.0),
        ("SELECT 1; SELECT 2", 0.0),
    ],
)
def test_duckdbs_own_sql_is_compared_by_rows(query, score):
    """Its dialect and types; decimals are numbers, NULL is NULL only."""
    grade = graded(query)
    assert grade.score == score, grade


def test_rows_of_a_column_and_a_list_of_rows():
    """Tables as lists of rows have the types of their values; dates are compared as text."""
    rows = {"t": [{"a": 1, "b": "x"}, {"a": None, "b": "y"}]}
    assert (
        graded("SELECT a, b FROM t", [[1, "x"], [None, "y"]], database="", column="db").error.kind == "sample"
    )
    sample = wb.Samples(
        [{"prompt": "q", "completion": "SELECT sum(a) FROM t", "answer": "SELECT 1", "database": rows}]
    )
    report = wb.SqlResult(dialect="duckdb", timeout=20).run(sample, progress=False)
    assert report.frame["score"].tolist() == [1.0]
    assert graded("SELECT sold FROM items WHERE sold IS NOT NULL", [["2026-01-02"]]).score == 1.0


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{path}')",
        "SELECT * FROM read_text('{path}')",
        "COPY items TO '{path}.out'",
        "ATTACH '{path}.db' AS other",
        "INSTALL httpfs",
        "SET enable_external_access=true",
        "SELECT * FROM 'https://example.org/x.csv'",
    ],
)
def test_a_query_reaches_no_file_and_no_network(query, tmp_path):
    """A model's query is refused by DuckDB, scores 0.0, and leaves nothing behind."""
    path = tmp_path / "secret.csv"
    path.write_text("name,price\nsecret,1\n", "utf-8")
    grade = graded(query.format(path=path), [["secret", 1]])
    assert (grade.score, grade.metadata["failure"]) == (0.0, "query")
    assert "secret,1" not in str(grade)
    assert [one.name for one in tmp_path.iterdir()] == ["secret.csv"]


def test_a_query_without_end_scores_zero():
    """Its time is limited; the next query has a fresh database."""
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    thread = wb.StringThread([("user", "q"), ("assistant", endless)])
    sample = wb.Sample(id="0", thread=thread, reference="SELECT 1", group="0")
    grade = wb.SqlResult(SHOP, dialect="duckdb", timeout=1)(sample)
    assert (grade.score, grade.metadata["failure"]) == (0.0, "query")
    assert graded("SELECT count(*) FROM items", [[3]]).score == 1.0


def test_the_dialect_is_part_of_the_grader(monkeypatch):
    """It survives a file, is not exported as code, and is named with its command if it is not installed."""
    grader = wb.SqlResult(SHOP, dialect="duckdb")
    assert grader.spec()["dialect"] == "duckdb"
    with pytest.raises(FormatError, match="cannot load DuckDB"):
        portable(grader)
    with pytest.raises(FormatError, match="files of SQLite"):
        wb.SqlResult(folder="x", dialect="duckdb")
    monkeypatch.setattr(discovery, "is_installed", lambda _: False)
    with pytest.raises(MissingPackageError, match=r"grader-workbench\[duckdb\]"):
        grader.check_ready()
