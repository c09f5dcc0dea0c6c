"""Parquet read as it is needed: what comes out is what the whole file in memory gives."""

import asyncio
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import SamplesError
from workbench.core.grade import ErrorKind
from workbench.data.samples import encoding, parquet_columns
from workbench.graders.concurrent_rows import Control

ROWS = 60
LENGTH = """
async def grade(thread):
    return float(len(thread.completion() or "")) + thread.metadata["n"]
"""


def frame_of(rows=ROWS):
    """Columns of many kinds: text with gaps, whole numbers with gaps, floats, truth values, lists, categories."""
    return pd.DataFrame(
        {
            "id": [f"r{row // 2}" for row in range(rows)],
            "prompt": [f"question é {row // 4}" for row in range(rows)],
            "completion": [None if row % 11 == 5 else f"answer {row % 5}" for row in range(rows)],
            "expected": [f"answer {row % 3}" for row in range(rows)],
            "n": range(rows),
            "gap": [None if row % 7 == 0 else float(row) for row in range(rows)],
            "share": [row / 7 for row in range(rows)],
            "good": [row % 2 == 0 for row in range(rows)],
            "tags": [["a", str(row)] for row in range(rows)],
            "kind": pd.Categorical([f"k{row % 3}" for row in range(rows)]),
        }
    )


def contents(samples):
    """Everything that is read of samples, in a form that can be compared."""
    return repr(
        [
            list(samples.ids),
            [(thread.get_turns(), thread.metadata) for thread in samples.threads],
            list(samples.references),
            list(samples.groups),
            samples.group_codes.tolist(),
            samples.completions(),
            samples.completion_lengths().tolist(),
            samples.problems,
            samples.columns,
            [(str(name), samples.column(name).tolist()) for name in samples.column_names],
        ]
    )


@pytest.fixture
def small(monkeypatch):
    """Batches of seven rows, so that these files have many."""
    monkeypatch.setattr(parquet_columns, "_BATCH", 7)


@pytest.fixture
def path(tmp_path, small):
    path = tmp_path / "rows.parquet"
    frame_of().to_parquet(path, row_group_size=25)
    return path


def test_the_same_samples(path):
    """Threads, metadata, references, prompts, ids, lengths, columns; of the whole and of any choice of rows."""
    eager, lazy = wb.read_samples(str(path)), wb.read_samples(str(path), lazy=True)
    assert contents(lazy) == contents(eager)
    assert repr(lazy) == repr(eager)
    for rows in ([], [59, 0, 30, 30, 24, 25], range(20, 40), range(59, -1, -1)):
        assert contents(lazy.take(rows)) == contents(eager.take(rows))
    assert contents(lazy.draw(9, seed=1, by="kind")) == contents(eager.draw(9, seed=1, by="kind"))
    limit = 30  # noqa: F841 (the queries read it)
    assert contents(lazy.where("n > @limit and good")) == contents(eager.where("n > @limit and good"))
    for query in ("index < 5", "share == share.max()"):
        assert contents(lazy.where(query)) == contents(eager.where(query))
    assert contents(lazy.where(lambda rows: rows["share"] > 3)) == contents(
        eager.where(lambda rows: rows["share"] > 3)
    )
    pd.testing.assert_frame_equal(lazy.frame, eager.frame)
    assert lazy[17].thread.completion() == eager[17].thread.completion()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, ROWS - 1), max_size=12), st.integers(0, ROWS), st.integers(0, ROWS))
def test_rows_in_any_order_at_any_time(path, rows, start, stop):
    """Reading goes on where it ended or begins anew; what was read before changes nothing."""
    lazy, eager = _both(path)
    assert lazy.take(rows).completions() == eager.take(rows).completions()
    assert list(lazy[start:stop].column("n")) == list(eager[start:stop].column("n"))
    assert repr([sample.thread.metadata for sample in lazy.take(rows)]) == repr(
        [sample.thread.metadata for sample in eager.take(rows)]
    )


_known = {}


def _both(path):
    if path not in _known:
        _known[path] = wb.read_samples(str(path), lazy=True), wb.read_samples(str(path))
    return _known[path]


def test_a_folder_of_files(tmp_path, small):
    """Files in the order of their paths; folders named key=value make a column; both ways read the same."""
    for at, name in enumerate(("a=1/x", "a=2/b", "a=2/a")):
        file = tmp_path / f"{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        frame_of(20).assign(part=at).to_parquet(file, row_group_size=8)
    eager, lazy = wb.read_samples(str(tmp_path)), wb.read_samples(str(tmp_path), lazy=True)
    assert list(lazy.column("part")) == [0] * 20 + [2] * 20 + [1] * 20
    assert list(lazy.column("a")) == [1] * 20 + [2] * 40
    assert contents(lazy) == contents(eager)


@pytest.mark.parametrize("kept", [0, 160_000])
def test_the_same_report(path, monkeypatch, kept):
    """Code, rules and findings; whether the rows are kept encoded or sent as they are graded."""
    monkeypatch.setattr(encoding, "CACHED_ROWS", kept)
    graders = [wb.FunctionGrader.from_source(LENGTH, name="code"), wb.ExactMatch(), wb.Length(maximum=7)]
    reports = [
        wb.Suite(graders).run(wb.read_samples(str(path), lazy=lazy), labels="good", progress=False, workers=2)
        for lazy in (False, True)
    ]
    eager, lazy = (report.frame.drop(columns="seconds") for report in reports)
    pd.testing.assert_frame_equal(lazy, eager)
    assert [str(finding) for finding in reports[1].findings] == [
        str(finding) for finding in reports[0].findings
    ]
    told = [report.summary.drop(columns="seconds_total") for report in reports]
    pd.testing.assert_frame_equal(told[1], told[0])
    pd.testing.assert_frame_equal(reports[1].rows("code").head(), reports[0].rows("code").head())


def test_a_row_grader_reads_rows_as_it_goes(path):
    """Graders that are asked row by row, as judges are, get every row once."""
    seen = []

    def grade(thread):
        seen.append(thread.metadata["n"])
        return 1.0

    grades = asyncio.run(
        wb.CustomGrader(grade, name="one").grade_all(wb.read_samples(str(path), lazy=True), Control())
    )
    assert grades.n_scored == ROWS
    assert sorted(seen) == list(range(ROWS))


def test_only_what_is_asked_for_is_read(path, monkeypatch):
    """The first rows do not read the file, and one column reads no other."""
    read = []
    original = parquet_columns.ParquetColumns._read

    def note(self, piece, column):
        for batch in original(self, piece, column):
            read.append((column, len(batch)))
            yield batch

    monkeypatch.setattr(parquet_columns.ParquetColumns, "_read", note)
    samples = wb.read_samples(str(path), lazy=True)
    read.clear()
    samples[0:3].completions()
    assert {column for column, _ in read} <= {"completion"}
    assert sum(rows for _, rows in read) <= 7


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(5),
        pd.RangeIndex(2, 12, 2, name="n"),
        pd.Index([3, 1, 4, 1, 5]),
        pd.Index(list("abcde"), name="id"),
        pd.MultiIndex.from_arrays([[1, 1, 2, 2, 3], list("abcde")]),
        pd.MultiIndex.from_arrays([[1.5, 1, 2, 2, 3], list("abcde")], names=[None, "id"]),
    ],
)
@pytest.mark.filterwarnings("ignore:no (prompt|reference) was found")
def test_the_index_of_a_frame(tmp_path, index):
    """An index that says something is a column, one without a name is not."""
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"completion": list("vwxyz")}, index=index).to_parquet(path)
    eager, lazy = wb.read_samples(str(path)), wb.read_samples(str(path), lazy=True)
    assert lazy.columns == eager.columns
    assert list(lazy.ids) == list(eager.ids)
    assert [str(name) for name in lazy.column_names] == [str(name) for name in eager.column_names]
    assert contents(lazy) == contents(eager)
    assert contents(lazy.take([3, 1])) == contents(eager.take([3, 1]))


def test_refusals(tmp_path, path):
    """Other kinds of files and data, no file, no Parquet, and a file that was changed meanwhile."""
    (tmp_path / "rows.jsonl").write_text('{"completion": "a"}')
    with pytest.raises(SamplesError, match="only Parquet can be read"):
        wb.read_samples(str(tmp_path / "rows.jsonl"), lazy=True)
    with pytest.raises(SamplesError, match="only Parquet can be read"):
        wb.read_samples([{"completion": "a"}], lazy=True)
    with pytest.raises(SamplesError, match="cannot be opened"):
        wb.read_samples(str(tmp_path / "none.parquet"), lazy=True)
    (tmp_path / "bad.parquet").write_text("no Parquet")
    with pytest.raises(SamplesError, match="not Parquet"):
        wb.read_samples(str(tmp_path / "bad.parquet"), lazy=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SamplesError, match="a folder cannot be read"):
        wb.read_samples(str(tmp_path / "empty"), lazy=True)
    samples = wb.read_samples(str(path), lazy=True)
    os.truncate(path, 100)
    with pytest.raises(SamplesError, match="changed since it was opened"):
        samples.completions()


GRADERS = [
    wb.FunctionGrader.from_source(LENGTH, name="length"),
    wb.ExactMatch(name="exact"),
    wb.Length(minimum=1, name="length of text"),
]


@pytest.mark.parametrize("kept", [0, 10**6])
def test_a_file_that_is_written_anew_while_it_is_graded(path, monkeypatch, kept):
    """Rows that were not read before the change fail; a row that is graded has the old file's values throughout."""
    monkeypatch.setattr(encoding, "CACHED_ROWS", kept)
    before = wb.Suite(GRADERS).run(wb.read_samples(str(path)), progress=False).scores
    samples = wb.read_samples(str(path), lazy=True)
    samples[0:3].completions()
    frame_of().assign(completion="another").to_parquet(path, row_group_size=25)
    os.utime(path, (1, 1))
    report = wb.Suite(GRADERS).run(samples, progress=False)
    # Each column keeps three batches: the first rows from the line above, the last ones of the second and of the third row
    # group from opening the file. Whether a part of the run begins within one depends on how fast its workers are.
    already_read = {*range(7), *range(46, 50), *range(57, ROWS)}
    for name, grades in report.grades.items():
        graded = set(range(ROWS)) - set(grades.errors)
        assert graded <= already_read
        # Row 49 has no completion: where its batch had been read, that is why it fails.
        others = {error.kind for row, error in grades.errors.items() if row != 49}
        assert others == {ErrorKind.SAMPLE}
        assert "changed since it was opened" in grades.errors[30].message
        for row in graded:
            np.testing.assert_equal(grades.scores[row], before[name].to_numpy()[row])


def spoil(path, number):
    """Break every column of a row group; size and time of the file stay."""
    group, times, data = (
        pq.ParquetFile(path).metadata.row_group(number),
        path.stat(),
        bytearray(path.read_bytes()),
    )
    for at in range(group.num_columns):
        column = group.column(at)
        start = min(column.dictionary_page_offset or column.data_page_offset, column.data_page_offset)
        data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_file_of_which_a_part_cannot_be_read(tmp_path, small):
    """Its rows fail, the rows before and behind it are graded by every kind of grader."""
    path = tmp_path / "rows.parquet"
    frame_of().to_parquet(path, row_group_size=20, compression="none")
    samples = wb.read_samples(str(path), lazy=True)
    spoil(path, 1)
    report = wb.Suite(GRADERS).run(samples, progress=False)
    for grades in report.grades.values():
        scored = np.flatnonzero(grades.statuses == "scored").tolist()
        assert set(range(10)) - {5} <= set(scored)
        assert set(range(48, 60)) - {49} <= set(scored)
        assert grades.errors[5].kind is ErrorKind.NO_COMPLETION  # as every eleventh row
        assert all(grades.errors[row].kind is ErrorKind.SAMPLE for row in range(21, 38))


def test_the_file_of_a_folder_that_cannot_be_read_is_named(tmp_path, small):
    """Of many files a person has to find the one."""
    for name in "abc":
        frame_of(20).to_parquet(tmp_path / f"{name}.parquet", compression="none")
    samples = wb.read_samples(str(tmp_path), lazy=True)
    path = tmp_path / "b.parquet"
    spoil(path, 0)
    with pytest.raises(SamplesError) as error:
        samples.column("completion")
    assert error.value.where == str(path)


def test_repeats_read_the_file_once_each(path, monkeypatch):
    """Rows of a repeat are shuffled some at a time, so that reading goes on."""
    read = []
    before = parquet_columns.ParquetColumns._read

    def note(self, group, column):
        read.append((group.first, column))
        return before(self, group, column)

    monkeypatch.setattr(parquet_columns.ParquetColumns, "_read", note)
    monkeypatch.setattr("workbench.run.part_run.BATCH_ROWS", 5)
    monkeypatch.setattr(encoding, "CACHED_ROWS", 0)
    samples = wb.read_samples(str(path), lazy=True)
    read.clear()
    wb.Suite(GRADERS[0]).run(samples, progress=False, repeats=3, workers=1)
    # Two or three times a repeat: the thread that reads ahead and the one that grades may read a group at the same time. If
    # reading did not go on with the rows, each batch of each repeat would read each group: dozens of times.
    assert max(read.count(each) for each in set(read)) <= 12


def test_a_column_of_hashes_is_as_good_as_one_of_texts(tmp_path):
    """Prompts of a file are told apart without holding them: the same rows stand together."""
    path = tmp_path / "rows.parquet"
    rng = np.random.default_rng(0)
    table = pa.table({"prompt": [f"p{n}" for n in rng.integers(0, 50, 500)], "completion": ["a"] * 500})
    pq.write_table(table, path, row_group_size=64)
    eager, lazy = wb.Samples(table.to_pandas()), wb.read_samples(str(path), lazy=True)
    assert lazy.group_codes.tolist() == eager.group_codes.tolist()


def test_rows_of_a_tools_shape_need_memory(tmp_path):
    """Prompts inside objects are refused with the way out, instead of being read as JSON text."""
    rows = [
        {"item": {"q": str(at)}, "sample": {"output_text": str(at)}, "completion": {"a": at}}
        for at in range(3)
    ]
    path = tmp_path / "items.parquet"
    pd.DataFrame(rows).to_parquet(path)
    with pytest.raises(SamplesError, match="OpenAI items and samples, which can be read in memory only"):
        wb.read_samples(path, lazy=True)
    assert len(wb.Samples(pd.read_parquet(path))) == 3


def test_rows_of_a_shape_with_texts_are_read_by_name(tmp_path):
    """Texts need no conversion; a note reports that past scores are not read."""
    frame = pd.DataFrame(
        {
            "step": [1, 1],
            "prompt": ["a", "b"],
            "completion": ["x", "y"],
            "accuracy_reward": [1.0, 0.0],
            "advantage": [0.1, 0.2],
        }
    )
    path = tmp_path / "completions.parquet"
    frame.to_parquet(path)
    with pytest.warns(wb.errors.SamplesWarning, match="rows of TRL logged completions are read by the names"):
        samples = wb.read_samples(path, lazy=True)
    assert samples.completions() == ["x", "y"]


def test_plain_rows_read_on_demand_have_no_note(tmp_path):
    """Columns of no tool's shape are not looked into."""
    pd.DataFrame({"prompt": ["a", "b"], "completion": ["x", "y"]}).to_parquet(tmp_path / "r.parquet")
    assert wb.read_samples(tmp_path / "r.parquet", lazy=True).notes == ()
