"""Runs that go on: what was graded before a stop or a kill is not graded again, and the end is that of one run."""

import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from tests.browser.lab import wait_until
from workbench.core.errors import FormatError, ReportError
from workbench.core.grade import ErrorKind, Grade, Skip
from workbench.data.extractors import Extractor
from workbench.graders.combine import Combined, Mean
from workbench.judges.protocol import JudgeServerError
from workbench.run import run_file

N = 600
ROWS = [
    {"prompt": f"q{row // 3}", "completion": f"<b>a{row % 5}</b> {row}", "answer": f"a{row % 2}"}
    for row in range(N)
]
SOURCE = """
async def grade(thread):
    number = int(thread.completion().split()[-1])
    if number % 50 == 7:
        raise ValueError(f"broken {number % 100}")
    return number % 10 / 10
"""
KILLED = """
import sys
import workbench as wb
from tests.run.test_run_file import ROWS, logging_grader
if __name__ == "__main__":
    wb.Suite([logging_grader(sys.argv[1])]).run(ROWS, resume=sys.argv[2], progress=False)
"""


def logging_grader(log):
    """Writes down each row that it grades."""

    def logged(thread):
        with Path(log).open("a") as file:
            file.write(thread.completion().split()[-1] + "\n")
        return 0.5

    return wb.CustomGrader(logged, name="logged")


class Counting:
    """A grader in this process with grades of each kind, that counts how often it is asked about each row."""

    def __init__(self):
        self.rows = Counter()

    def __call__(self, thread):
        number = int(thread.completion().split()[-1])
        self.rows[number] += 1
        if number % 7 == 3:
            raise Skip("does not apply")
        if number % 7 == 4:
            raise ValueError("broken")
        return Grade(
            number % 7 / 7, passed=number % 2 == 0, reasoning=f"because {number}", metadata={"n": [number]}, tokens=3, cost=0.5
        )  # fmt: skip


@pytest.fixture(autouse=True)
def written_often(monkeypatch):
    """Grades are written whenever the writer has nothing to do."""
    monkeypatch.setattr(run_file, "_SECONDS", 0.0)
    monkeypatch.setattr(run_file, "_SHARE", 0.0)


def until(done):
    """Stops a run when so many grades are given."""
    return lambda progress: progress.done < done


def suite_of(counting):
    """A grader of each way to grade, two with settings that change grades."""
    extractor = Extractor("pattern", {"pattern": "a[0-9]"})
    return wb.Suite(
        [
            wb.Entry(wb.CustomGrader(counting, name="own"), "own", negate=True, pass_threshold=0.3),
            wb.Entry(wb.FunctionGrader.from_source(SOURCE), "code", pass_threshold=0.5),
            wb.Entry(wb.ExactMatch(), "exact", extractor=extractor),
            wb.Entry(Combined([wb.Contains(expected="a1"), wb.FunctionGrader.from_source(SOURCE, name="inner")], combine=Mean()), "both"),
        ],
        combine=Mean(),
    )  # fmt: skip


def frame_of(report):
    return report.frame.drop(columns=["seconds"])


@pytest.fixture(scope="module")
def whole():
    """The report of a run that nobody stopped."""
    return suite_of(Counting()).run(ROWS, progress=False)


@pytest.mark.parametrize("at", [1, 150, 620, 1500, 2100, 4 * N - 1])
def test_a_stopped_run_goes_on(at, whole, tmp_path):
    """Wherever it was stopped, the second run grades the rest, and together they are one run."""
    path, counting = tmp_path / "run.parquet", Counting()
    suite = suite_of(counting)
    first = suite.run(ROWS, resume=path, progress=until(at))
    kept = sum(int((first.grades[name].statuses != "failed").sum()) for name in ("own", "code", "exact"))
    second = suite.run(ROWS, resume=path, progress=False)
    pd.testing.assert_frame_equal(frame_of(second), frame_of(whole))
    assert counting.rows == dict.fromkeys(range(N), 1)
    assert (
        any(note.startswith(f"{sum_kept(first):,} of {4 * N:,} grades were in") for note in second.notes)
        or not kept
    )
    assert [file.name for file in tmp_path.iterdir()] == ["run.parquet"]
    pd.testing.assert_frame_equal(frame_of(wb.read_report(path, wb.Samples(ROWS))), frame_of(whole))


def sum_kept(report):
    """Grades that the next run need not give again."""
    columns = [report.grades[name] for name in ("own", "code", "exact", "both")]
    again = [
        error for column in columns for error in column.errors.values() if error.kind is ErrorKind.CANCELLED
    ]
    return 4 * N - len(again)


def test_a_finished_run_is_not_graded_again(tmp_path, whole):
    """All of its rows are in the file, whose report is as it was; labels and preset may be others."""
    path, counting = tmp_path / "run.parquet", Counting()
    suite = suite_of(counting)
    suite.run(ROWS, resume=path, progress=False)
    seen = []
    again = suite.run(ROWS, resume=path, progress=seen.append, labels=[True] * N)
    assert counting.rows == dict.fromkeys(range(N), 1)
    pd.testing.assert_frame_equal(frame_of(again)[list(frame_of(whole))], frame_of(whole))
    assert (seen[-1].done, seen[-1].rate) == (4 * N, pytest.approx(seen[-1].done / seen[-1].seconds))
    assert again.labels is not None


@pytest.mark.parametrize("at", [100, N + 200, 2 * N + 300])
def test_repeats_go_on(at, tmp_path):
    """Each repeat has its own grades, in whatever order its rows were graded."""
    path, counting = tmp_path / "run.parquet", Counting()
    suite = wb.Suite([wb.CustomGrader(counting, name="own")])
    suite.run(ROWS, resume=path, progress=until(at), repeats=3)
    report = suite.run(ROWS, resume=path, progress=False, repeats=3, reduce="mean")
    assert counting.rows == dict.fromkeys(range(N), 3)
    expected = wb.Suite([wb.CustomGrader(Counting(), name="own")]).run(
        ROWS, progress=False, repeats=3, reduce="mean"
    )
    pd.testing.assert_frame_equal(frame_of(report), frame_of(expected))
    for one, other in zip(report.grades["own"].repeats, expected.grades["own"].repeats, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        assert (one.errors, one.reasoning, one.metadata) == (other.errors, other.reasoning, other.metadata)


def test_more_repeats_later(tmp_path):
    """The first is in the file already."""
    path, counting = tmp_path / "run.parquet", Counting()
    suite = wb.Suite([wb.CustomGrader(counting, name="own")])
    suite.run(ROWS, resume=path, progress=False)
    assert len(suite.run(ROWS, resume=path, progress=False, repeats=2).grades["own"].repeats) == 2
    assert counting.rows == dict.fromkeys(range(N), 2)


def test_a_killed_run_goes_on(tmp_path):
    """Rows that were written before the kill are not graded again, and all others are once."""
    log, path = tmp_path / "log", tmp_path / "run.parquet"
    log.touch()
    command = [sys.executable, "-c", KILLED, str(log), str(path)]
    with subprocess.Popen(command) as process:
        wait_until(lambda: n_written(path) or process.poll() is not None, what="grades are written")
        process.send_signal(signal.SIGKILL)
    before = len(log.read_text().split())
    report = wb.Suite([logging_grader(log)]).run(ROWS, resume=path, progress=False)
    graded = log.read_text().split()
    kept = next(
        (int(note.split()[0].replace(",", "")) for note in report.notes if "grades were in" in note), 0
    )
    assert kept > 0
    assert len(graded) == before + N - kept
    assert set(graded) == {str(row) for row in range(N)}
    assert report.summary["scored"].tolist() == [N]


def n_written(path):
    """Bytes of grades beside a run's file."""
    unfinished = path.with_name(path.name + ".unfinished")
    return path.exists() or (unfinished.exists() and unfinished.stat().st_size > 12_288)


def test_failures_that_may_be_mended_are_graded_again(tmp_path):
    """A judge's server was away for the first run."""
    away = True

    def reply(messages):
        if away:
            raise JudgeServerError("the server is away")
        return '{"reasoning": "yes", "score": "PASS"}'

    judge = wb.BinaryJudge(criteria="is polite", client=wb.judges.ScriptedClient(reply))
    first = judge.run(ROWS[:5], resume=tmp_path / "run.parquet", progress=False)
    assert not first.grades["binary-judge"].n_scored
    away = False
    second = judge.run(ROWS[:5], resume=tmp_path / "run.parquet", progress=False)
    assert second.grades["binary-judge"].n_scored == 5


def test_a_failure_inside_that_may_be_mended_is_no_final_score(tmp_path):
    """An outage counts as 0.0 in the whole, by the entry's own setting; it is graded again all the same."""
    away, asked = True, []

    def reply(messages):
        asked.append(messages)
        if away:
            raise JudgeServerError("the server is away")
        return '{"reasoning": "yes", "score": "PASS"}'

    judge = wb.BinaryJudge(criteria="is polite", client=wb.judges.ScriptedClient(reply))
    counting = Counting()
    rule = wb.CustomGrader(counting, name="own")
    whole = Combined([wb.Entry(judge, on_error="zero"), wb.Entry(rule, on_error="skip")], combine=Mean())
    path, rows = tmp_path / "run.parquet", [ROWS[row] for row in (0, 1, 2, 5, 6, 7)]
    first = whole.run(rows, resume=path, progress=False)
    assert len(list(tmp_path.iterdir())) == 2
    away = False
    second = whole.run(rows, resume=path, progress=False)
    expected = whole.run(rows, progress=False)
    np.testing.assert_array_equal(second.grades["combined"].scores, expected.grades["combined"].scores)
    assert (first.grades["combined"].scores < second.grades["combined"].scores).all()
    assert set(counting.rows.values()) == {2}  # of the first run and of the one without a file
    assert [file.name for file in tmp_path.iterdir()] == ["run.parquet"]


def test_rows_that_cannot_be_read_are_not_kept_as_empty_ones(tmp_path):
    """The sandbox is sent an empty thread for them; stopped or not, they fail by what is wrong with them."""
    rows = [
        {"messages": [{"role": "assistant", "content": f"x {row}"}] if row % 3 else 5} for row in range(N)
    ]
    suite = wb.Suite(
        [wb.FunctionGrader.from_source("async def grade(thread):\n    return float(not thread.get_turns())")]
    )
    suite.run(rows, resume=tmp_path / "run.parquet", progress=until(100))
    report = suite.run(rows, resume=tmp_path / "run.parquet", progress=False)
    (grades,) = report.grades.values()
    assert [grades.errors[row].kind for row in range(0, N, 3)] == [ErrorKind.SAMPLE] * (N // 3)
    assert grades.n_scored == N - N // 3


def test_lazy_files_go_on(tmp_path):
    """Rows that are read as they are needed, by row groups."""
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "rows.parquet", row_group_size=64)
    samples, counting = wb.read_samples(tmp_path / "rows.parquet", lazy=True), Counting()
    suite = suite_of(counting)
    suite.run(samples, resume=tmp_path / "run.parquet", progress=until(300))
    report = suite.run(samples, resume=tmp_path / "run.parquet", progress=False)
    assert counting.rows == dict.fromkeys(range(N), 1)
    pd.testing.assert_frame_equal(frame_of(report), frame_of(suite_of(Counting()).run(ROWS, progress=False)))


def test_a_report_of_to_parquet_goes_on(tmp_path):
    """A stopped run whose report was written by hand."""
    counting = Counting()
    suite = wb.Suite([wb.CustomGrader(counting, name="own")])
    samples = wb.Samples([{**row, "id": f"r{number}"} for number, row in enumerate(ROWS)])
    suite.run(samples, progress=until(100)).to_parquet(tmp_path / "run.parquet")
    before = counting.rows.total()
    suite.run(samples, resume=tmp_path / "run.parquet", progress=False)
    assert counting.rows.total() - before <= N - before + 1
    assert len(counting.rows) == N


def test_a_report_of_to_parquet_without_ids_is_refused(tmp_path):
    """Places of rows do not tell whose they are; their contents tell it of the first and the last ones only."""
    wb.ExactMatch().run(ROWS, progress=False).to_parquet(tmp_path / "run.parquet")
    for rows, message in ((ROWS, "does not identify its rows"), (ROWS[::-1], "other contents")):
        with pytest.raises(ReportError, match=message):
            wb.ExactMatch().run(rows, resume=tmp_path / "run.parquet", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]


def test_how_far_rows_were_compared_is_told(tmp_path):
    """Of many rows the middle is not looked at, so that a changed row there keeps its old grade."""
    few, many = ROWS[:9], [{"completion": str(row), "answer": "1"} for row in range(1101)]
    for rows, told in ((few, False), (many, True)):
        path = tmp_path / f"{len(rows)}.parquet"
        wb.ExactMatch().run(rows, resume=path, progress=False)
        again = wb.ExactMatch().run(rows, resume=path, progress=False)
        assert ("first 1,000 and the last 100" in again.notes[0]) is told


def test_fewer_repeats_are_refused(tmp_path):
    """The report at the end would not hold the others."""
    grader = wb.CustomGrader(Counting(), name="own")
    grader.run(ROWS[:9], resume=tmp_path / "run.parquet", progress=False, repeats=2)
    with pytest.raises(ReportError, match="more repeats"):
        grader.run(ROWS[:9], resume=tmp_path / "run.parquet", progress=False)


def test_metadata_that_json_cannot_hold(tmp_path):
    """Its text is kept; no run ends because of it."""
    loop = {"n": 1}
    loop["self"] = loop
    grader = wb.CustomGrader(lambda thread: Grade(0.5, metadata={(1, 2): 3, "loop": loop}), name="odd")
    report = grader.run(ROWS[:3], resume=tmp_path / "run.parquet", progress=False)
    assert report.grades["odd"].n_scored == 3
    assert wb.read_report(tmp_path / "run.parquet", ROWS[:3]).grades["odd"].metadata[0]["(1, 2)"] == "3"


def test_a_folder_in_the_place_of_the_file(tmp_path):
    """A clear error."""
    (tmp_path / "run.parquet.unfinished").mkdir()
    with pytest.raises(ReportError, match="cannot be stored or read"):
        wb.ExactMatch().run(ROWS[:3], resume=tmp_path / "run.parquet", progress=False)


def code(number):
    """Takes about a millisecond a row, so that a run can be stopped."""
    return wb.FunctionGrader.from_source(
        f"async def grade(thread):\n    return {number} + 0 * sum(range(60_000))", name="code"
    )


OTHERS = {
    "another grader": (lambda rows: ([code(2.0)], rows), "another 'code': source"),
    "other graders": (
        lambda rows: ([wb.Length(maximum=3)], rows),
        "a grader 'code', which is not in this run",
    ),
    "one more": (lambda rows: ([code(1.0), wb.Length(maximum=3)], rows), "no grader 'length'"),
    "fewer rows": (lambda rows: ([code(1.0)], rows[:-1]), f"{N:,} rows"),
    "other rows": (
        lambda rows: ([code(1.0)], [{**row, "completion": "x"} for row in rows]),
        "other contents",
    ),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("stopped", [False, True])
def test_the_file_of_another_run_is_refused(other, stopped, tmp_path):
    """And stays what it is."""
    path = tmp_path / "run.parquet"
    wb.Suite([code(1.0)]).run(ROWS, resume=path, progress=until(10) if stopped else False)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(before) == 1 + stopped
    change, message = OTHERS[other]
    graders, rows = change(ROWS)
    with pytest.raises(ReportError) as error:
        wb.Suite(graders).run(rows, resume=path, progress=False)
    assert message in str(error.value)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_settings_that_no_grade_hangs_on_may_change(tmp_path):
    """A weight, a rule, labels and a preset."""
    path, counting = tmp_path / "run.parquet", Counting()
    own = wb.CustomGrader(counting, name="own")
    wb.Suite([wb.Entry(own, weight=0.5), wb.Length(maximum=3)]).run(ROWS, resume=path, progress=until(100))
    suite = wb.Suite([wb.Entry(own, weight=0.9, on_error="zero"), wb.Length(maximum=3)], combine=Mean())
    suite.run(ROWS, resume=path, progress=False, preset="seed")
    assert counting.rows == dict.fromkeys(range(N), 1)


def test_other_files_are_refused(tmp_path):
    """The samples' own file, a text, a damaged database, a missing folder, a file in use."""
    suite, path = wb.Suite([code(1.0)]), tmp_path / "run.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path)
    with pytest.raises(ReportError, match="no report"):
        suite.run(ROWS, resume=path, progress=False)
    path.write_text("no parquet")
    with pytest.raises(ReportError, match="cannot read"):
        suite.run(ROWS, resume=path, progress=False)
    assert path.read_text() == "no parquet"
    with pytest.raises(FormatError, match="no folder"):
        suite.run(ROWS, resume=tmp_path / "none" / "run.parquet", progress=False)
    unfinished = tmp_path / "new.parquet.unfinished"
    unfinished.write_bytes(b"no database" * 100)
    with pytest.raises(ReportError, match="cannot be stored or read"):
        suite.run(ROWS, resume=tmp_path / "new.parquet", progress=False)
    assert unfinished.read_bytes() == b"no database" * 100


def test_damaged_grades_are_refused(tmp_path):
    """Nothing is graded over them."""
    path, suite = tmp_path / "run.parquet", wb.Suite([code(1.0)])
    suite.run(ROWS, resume=path, progress=until(10))
    database = sqlite3.connect(f"{path}.unfinished")
    with database:
        database.execute("INSERT INTO grades VALUES ('[\"code\", 0]', '{}', x'00')")
    database.close()
    path.unlink()
    with pytest.raises(ReportError, match="cannot be stored or read"):
        suite.run(ROWS, resume=path, progress=False)


def test_two_runs_do_not_share_a_file(tmp_path):
    """The second is told of the first."""
    path, refused = tmp_path / "run.parquet", []

    def try_another(progress):
        if not refused:
            with pytest.raises(ReportError, match="locked by a running evaluation") as error:
                wb.Suite([code(1.0)]).run(ROWS, resume=path, progress=False)
            refused.append(error)

    wb.Suite([code(1.0)]).run(ROWS, resume=path, progress=try_another)
    assert refused


def test_a_newer_release_is_told(tmp_path, monkeypatch):
    """Its file may have what this one does not know."""
    path = tmp_path / "run.parquet"
    monkeypatch.setattr(run_file, "_VERSION", 2)
    wb.Suite([code(1.0)]).run(ROWS, resume=path, progress=until(10))
    monkeypatch.undo()
    path.unlink()
    with pytest.raises(ReportError, match="newer release"):
        wb.Suite([code(1.0)]).run(ROWS, resume=path, progress=False)


def test_a_full_disk_loses_no_grade(tmp_path, monkeypatch):
    """The report is returned whole, and says what could not be written."""

    def full(rows, grades):
        raise OSError(28, "No space left on device")

    def no_room(*_, **__):
        raise FormatError("the file cannot be written", found="No space left on device")

    monkeypatch.setattr(run_file, "records", full)
    monkeypatch.setattr(run_file, "write_report", no_room)
    report = wb.Suite([code(1.0)]).run(ROWS, resume=tmp_path / "run.parquet", progress=False)
    assert report.grades["code"].n_scored == N
    assert len([note for note in report.notes if "No space left" in note]) == 2


def test_no_rows(tmp_path):
    """A run over nothing ends as one."""
    samples = wb.Samples(ROWS).take(np.arange(0))
    report = wb.Suite([code(1.0)]).run(samples, resume=tmp_path / "run.parquet", progress=False)
    assert len(report) == 0
    wb.Suite([code(1.0)]).run(samples, resume=tmp_path / "run.parquet", progress=False)
