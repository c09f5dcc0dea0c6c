"""`map_batches`: the same grades as `run` gives, whatever an engine hands over."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core.errors import SamplesError

N = 40
FRAME = pd.DataFrame(
    {
        "prompt": [f"q{row}" for row in range(N)],
        "completion": [None if row % 9 == 4 else f"a{row % 5}" for row in range(N)],
        "answer": [f"a{row % 3}" for row in range(N)],
        "n": np.arange(N),
    },
    index=np.arange(N) * 2,
)
SOURCE = """
async def grade(thread):
    if thread.metadata["n"] % 7 == 3:
        raise ValueError("broken")
    return len(thread.completion()) / 4
"""
SUITE = wb.Suite(
    [wb.Entry(wb.ExactMatch(), "exact", negate=True), wb.FunctionGrader.from_source(SOURCE, name="code")],
    combine=wb.combine.Mean(),
)
NAMES = ("exact", "code", "combined")


@pytest.fixture(scope="module")
def whole():
    """The columns of a report."""
    return SUITE.run(FRAME, progress=False)


def check(found, whole):
    """Every grade is that of the report, row by row."""
    for name in NAMES:
        grades = whole.grades[name]
        assert list(found[f"{name}.status"]) == grades.statuses.tolist()
        np.testing.assert_array_equal(np.asarray(found[f"{name}.score"], float), grades.scores)
        passed = [None if verdict < 0 else bool(verdict) for verdict in grades.passed]
        assert [None if pd.isna(verdict) else verdict for verdict in found[f"{name}.passed"]] == passed
        reasons = [grades.reasoning.get(row) for row in range(N)]
        assert [None if pd.isna(text) else text for text in found[f"{name}.reasoning"]] == reasons
        kinds = [str(grades.errors[row].kind) if row in grades.errors else None for row in range(N)]
        assert [None if pd.isna(kind) else kind for kind in found[f"{name}.error_kind"]] == kinds


def test_a_frame(whole):
    """Grades stand beside the rows, whose index and columns stay."""
    found = SUITE.map_batches()(FRAME)
    check(found, whole)
    pd.testing.assert_frame_equal(found[list(FRAME)], FRAME)


def test_arrow(whole):
    """A table, and a batch of one."""
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    grade = SUITE.map_batches()
    found = grade(table)
    check(found.to_pandas(), whole)
    assert {name: found.schema.field(name).type for name in grade.added} == grade.added
    (batch,) = table.to_batches()
    check(grade(batch).to_pandas(), whole)


def test_arrays(whole):
    """A dict of arrays, as Ray Data hands over by default; several dimensions are lists."""
    batch = {name: FRAME[name].to_numpy() for name in FRAME} | {"vector": np.zeros((N, 3))}
    found = SUITE.map_batches()(batch)
    check(found, whole)
    assert all(isinstance(column, np.ndarray) for column in found.values())


def test_no_rows_and_rows_that_are_graded_again():
    """An empty batch has the columns, and columns that are there are replaced."""
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    grade = SUITE.map_batches()
    (batch,) = table.slice(0, 1).to_batches()
    assert grade(batch.slice(0, 0)).schema.names == [*FRAME, *grade.added]
    assert grade(grade(table)).schema.names == [*FRAME, *grade.added]


def test_an_interrupt_ends_a_loop(monkeypatch):
    """A run that was stopped is no batch that was graded."""
    monkeypatch.setattr("workbench.run.whole_run.WholeRun.go", lambda run, listen: True)
    with pytest.raises(KeyboardInterrupt):
        SUITE.map_batches()(FRAME)


def test_an_iterator_of_frames(whole):
    """As Spark's `mapInPandas` calls it, which needs the columns' kinds in its words."""
    grade = SUITE.map_batches()
    found = pd.concat(list(grade(iter([FRAME.iloc[:11], FRAME.iloc[11:]]))))
    check(found, whole)
    kinds = dict(part.rsplit(" ", 1) for part in grade.spark_schema.split(", "))
    assert kinds["`exact.score`"] == "double"
    assert kinds["`exact.passed`"] == "boolean"
    assert kinds["`code.error`"] == "string"
    assert [name.strip("`") for name in kinds] == list(grade.added)


def test_the_kinds_of_columns_do_not_hang_on_the_rows():
    """An engine learns them from an empty batch."""
    grade = SUITE.map_batches()
    assert grade(FRAME.head(0)).dtypes.equals(grade(FRAME).dtypes)
    assert grade(FRAME.head(0)).dtypes.equals(grade(FRAME.iloc[3:4]).dtypes)


def test_it_pickles_as_plain_data(whole):
    """What another process gets is the spec, where there is one."""
    data = pickle.dumps(SUITE.map_batches())
    assert b"FunctionGrader" not in data
    check(pickle.loads(data)(FRAME), whole)


def test_a_judge_with_a_client_of_its_own():
    """A client is in no spec: the judge itself is pickled, without its key."""
    answer = completion('{"reasoning": "yes", "score": "PASS"}')
    with server(lambda *_: (200, {}, answer)) as (address, requests):
        client = wb.judges.OpenAIClient(base_url=address)
        judge = wb.BinaryJudge(criteria="is polite", model="gpt-4o-mini", client=client)
        grade = pickle.loads(pickle.dumps(wb.Suite(judge).map_batches()))
        assert grade(FRAME.head(3))["binary-judge.score"].tolist() == [1.0] * 3
        assert len(requests) == 3


def test_a_batch_in_which_no_row_can_be_read():
    """Its rows fail, as those of a larger frame would."""
    found = SUITE.map_batches(columns={"messages": "m"})(pd.DataFrame({"m": [1, 2], "n": [1, 2]}))
    assert found["exact.error_kind"].tolist() == ["sample", "sample"]


def test_what_is_no_batch_is_refused():
    """With what is expected."""
    with pytest.raises(SamplesError, match="not a batch"):
        SUITE.map_batches()([1, 2])
    with pytest.raises(SamplesError):
        SUITE.map_batches()(pd.DataFrame({"x": [1]}))
