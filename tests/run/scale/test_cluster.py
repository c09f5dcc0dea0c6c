"""Dask frames: graded in this process or in a cluster's workers, the report is that of the same rows in memory."""

import os
import signal
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from tests.run.scale.graders import SOURCE
from workbench.core.errors import ReportError, SamplesError
from workbench.judges.protocol import JudgeServerError

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

N = 400
PARTITIONS = 7
FRAME = pd.DataFrame(
    {
        "prompt": [f"q{row // 4}" for row in range(N)],
        "completion": ["" if row % 13 == 4 else f"a{row % 5}" for row in range(N)],
        "answer": [f"a{row % 3}" for row in range(N)],
        "n": np.arange(N),
        "share": [None if row % 9 == 1 else row / 7 for row in range(N)],
        "tags": [["x", str(row)] for row in range(N)],
        "good": [row % 2 == 0 for row in range(N)],
    }
)
USAGE = {"prompt_tokens": 390, "completion_tokens": 10, "total_tokens": 400}
PASS = completion('{"reasoning": "yes", "score": "PASS"}') | {"usage": USAGE}


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process of its own."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        yield made


@pytest.fixture
def client(cluster):
    """Its client, the one that Dask computes with while the test runs."""
    with distributed.Client(cluster) as made:
        yield made


def frame_of_dask():
    with dask.config.set(
        {"dataframe.convert-string": False}
    ):  # else a list becomes its repr, before we see it
        return dd.from_pandas(FRAME, npartitions=PARTITIONS)


def suite_of():
    return wb.Suite(
        [
            wb.Entry(wb.ExactMatch(), "exact", negate=True, extractor="last_assistant"),
            wb.FunctionGrader.from_source(SOURCE, name="code"),
        ],
        combine=wb.combine.Mean(),
        gate=wb.combine.SimpleGate(metric_key="exact", op="gte", value=0.1),
    )


def check_same(report, expected):
    """Grades row by row, findings, gate, and the rows that show them."""
    pd.testing.assert_frame_equal(
        report.frame.drop(columns="seconds"), expected.frame.drop(columns="seconds")
    )
    assert list(map(str, report.findings)) == list(map(str, expected.findings))
    assert report.gate.passed == expected.gate.passed
    rows, others = (one.rows("code", sort=None, limit=50) for one in (report, expected))
    assert rows.astype(object).where(rows.notna(), None).to_dict() == others.astype(object).where(others.notna(), None).to_dict()  # fmt: skip


@pytest.fixture(scope="module")
def expected():
    return suite_of().run(FRAME, progress=False, labels="good")


def test_without_a_cluster(expected):
    """Partitions are computed as they are needed, and graded in this process."""
    with dask.config.set(scheduler="threads"):
        check_same(suite_of().run(frame_of_dask(), progress=False, labels="good"), expected)


def test_on_a_cluster(client, expected):
    """Each worker grades the partitions it has; progress says how far it is."""
    seen = []
    report = suite_of().run(frame_of_dask(), progress=seen.append, labels="good")
    check_same(report, expected)
    assert seen[-1].done == seen[-1].total == 2 * N
    assert seen[-1].failed == N // 50
    assert report.isolation == expected.isolation


def test_samples_of_a_dask_frame_are_those_of_the_frame():
    """Whatever is read of them, in whatever order."""
    samples, others = wb.Samples(frame_of_dask()), wb.Samples(FRAME)
    assert len(samples) == N
    order = np.random.default_rng(3).permutation(N)[:50]
    for one, other in ((samples, others), (samples.take(order), others.take(order)), (samples[350:60:-7], others[350:60:-7])):  # fmt: skip
        assert list(one.ids) == list(other.ids)
        assert [thread.get_turns() for thread in one.threads] == [
            thread.get_turns() for thread in other.threads
        ]
        assert [thread.metadata for thread in one.threads] == [thread.metadata for thread in other.threads]
        assert list(one.references) == list(other.references)
        assert one.group_codes.tolist() == other.group_codes.tolist()
        assert one.completions() == other.completions()
    assert samples.column("share").tolist() == pytest.approx(others.column("share").tolist(), nan_ok=True)
    named = FRAME.set_index(pd.Index([f"r{row}" for row in range(N)], name="id"), drop=True)
    assert list(wb.Samples(dd.from_pandas(named, npartitions=3, sort=False)).ids) == list(
        wb.Samples(named).ids
    )


def test_repeats(client):
    """Each partition's rows are graded as often, in another order each time."""
    grader = wb.FunctionGrader.from_source("import random\nasync def grade(thread):\n    return random.random()", name="chance")  # fmt: skip
    report = grader.run(frame_of_dask(), progress=False, repeats=2, reduce="mean")
    first, second = report.grades["chance"].repeats
    assert first.n_scored == second.n_scored == N
    np.testing.assert_allclose(report.grades["chance"].scores, (first.scores + second.scores) / 2)


def test_a_stop_invents_no_repeats(client, tmp_path):
    """A partition that never began its second repeat has none, and gets it when the run goes on."""
    text = "import random\nasync def grade(thread):\n    return random.random() + 0 * sum(range(200_000))"
    grader = wb.FunctionGrader.from_source(text, name="chance")
    path = tmp_path / "run.parquet"
    first = grader.run(frame_of_dask(), progress=lambda now: now.done < 1, repeats=3, resume=path)
    passes = first.grades["chance"].repeats
    for one, other in pairwise(passes):
        same = (one.codes == 1) & (other.codes == 1)
        assert (one.scores[same] != other.scores[same]).all()
    second = grader.run(frame_of_dask(), progress=False, repeats=3, resume=path)
    assert [one.n_scored for one in second.grades["chance"].repeats] == [N] * 3
    for one, other in pairwise(second.grades["chance"].repeats):
        assert (one.scores != other.scores).all()
    with pytest.raises(ReportError, match="more repeats"):
        grader.run(frame_of_dask(), progress=False, resume=path)


class Judging:
    """A judge's server that counts what it is asked, and how many questions are under way."""

    def __init__(self):
        self.asked, self.most, self._now, self._lock = Counter(), 0, 0, threading.Lock()

    def __call__(self, path, body, headers):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self.asked[str(body["messages"])] += 1
        time.sleep(0.01)
        with self._lock:
            self._now -= 1
        return 200, {}, PASS


def judge_of(address, concurrency=64):
    client = wb.judges.OpenAIClient(base_url=address, concurrency=concurrency)
    return wb.BinaryJudge(criteria="is polite", model="gpt-4o-mini", client=client, max_tokens=20)


def unlike(rows):
    """Rows that ask different questions."""
    return dd.from_pandas(
        FRAME.head(rows).assign(completion=[f"answer {row}" for row in range(rows)]), npartitions=5
    )


@pytest.mark.parametrize("concurrency", [1, 5])
def test_questions_under_way_are_shared(client, concurrency):
    """The server never sees more at once than one client may have."""
    counting = Judging()
    with server(counting) as (address, _):
        report = judge_of(address, concurrency).run(unlike(60), progress=False)
    assert report.summary["scored"].tolist() == [60]
    assert counting.most <= concurrency
    assert set(counting.asked.values()) == {1}


@pytest.mark.parametrize("limits", [{"calls": 23}, {"money": 0.0015}, {"tokens": 10_000}])
def test_a_budget_is_shared(client, limits):
    """All partitions together keep it, and what one leaves goes to others."""
    counting = Judging()
    with server(counting) as (address, _):
        report = judge_of(address).run(unlike(120), progress=False, budget=wb.Budget(**limits))
    (grades,) = report.grades.values()
    spent = {
        "calls": counting.asked.total(),
        "money": np.nansum(grades.cost),
        "tokens": np.nansum(grades.tokens),
    }
    ((name, limit),) = limits.items()
    assert 0 < spent[name] <= limit
    assert grades.n_scored + grades.n_failed == 120
    assert any(note.startswith("Budget exhausted") for note in report.notes)
    if name == "calls":
        assert spent["calls"] == limit


def test_a_spent_budget_asks_nothing_more(client):
    """Not even one question of each partition, whose judges have no limit for an answer."""
    counting = Judging()
    with server(counting) as (address, _):
        judge = wb.BinaryJudge(
            criteria="is polite", model="gpt-4o-mini", client=wb.judges.OpenAIClient(base_url=address)
        )
        rows = FRAME.head(200).assign(completion=[f"answer {row}" for row in range(200)])
        suite = wb.Suite([judge, wb.Length(maximum=99)])
        report = suite.run(
            dd.from_pandas(rows, npartitions=20), progress=False, budget=wb.Budget(tokens=1200)
        )
    assert counting.asked.total() <= 6
    assert report.grades["length"].n_scored == 200
    assert {str(error.kind) for error in report.grades["binary-judge"].errors.values()} == {"budget"}


def test_what_is_said_of_all_rows_hangs_on_no_partition(client, expected):
    """A lost partition does not make a judge of a rule."""
    frame = frame_of_dask()
    samples = wb.Samples(frame)
    samples.dask_columns._parts = frame.map_partitions(broken_at_the_end, meta=frame._meta).to_delayed()
    report = wb.ExactMatch().run(samples, progress=False)
    assert report.grades["exact-match"].code
    assert "no such bucket" in report.grades["exact-match"].ended


def broken_at_the_end(frame):
    if len(frame) and frame["n"].iloc[-1] == N - 1:
        raise RuntimeError("no such bucket")
    return frame


def test_kept_grades_stay_where_another_grader_lacks_some(client, tmp_path):
    """Only what is missing is graded: the other grader's score is the first one."""
    away = tmp_path / "away"
    away.touch()
    flaky = wb.BinaryJudge(criteria="is polite", client=wb.ScriptedClient(Away(str(away))))
    chance = wb.FunctionGrader.from_source("import random\nasync def grade(thread):\n    return random.random()", name="chance")  # fmt: skip
    suite = wb.Suite([chance, flaky])
    first = suite.run(unlike(40), progress=False, resume=tmp_path / "run.parquet")
    away.unlink()
    second = suite.run(unlike(40), progress=False, resume=tmp_path / "run.parquet")
    assert second.grades["binary-judge"].n_scored == 40
    np.testing.assert_array_equal(first.grades["chance"].scores, second.grades["chance"].scores)


class Away:
    """Answers unless a file is there; a class, since it travels to the workers."""

    def __init__(self, path):
        self.path = path

    def __call__(self, messages):
        if Path(self.path).exists():
            raise JudgeServerError("the server is away")
        return '{"reasoning": "yes", "score": "PASS"}'


def test_answers_are_stored_by_each_worker(client, tmp_path):
    """A second run asks nothing, also where no cluster is."""
    counting, store = Judging(), f"sqlite:///{tmp_path}/answers.db"
    with server(counting) as (address, _):
        judge_of(address).run(unlike(40), progress=False, store=store)
        assert counting.asked.total() == 40
        again = judge_of(address).run(unlike(40), progress=False, store=store)
        assert counting.asked.total() == 40
    assert "40 rows from the store" in again.spending


def test_an_open_store_is_refused(client):
    """Workers need its address."""
    with wb.open_store("sqlite://") as store, pytest.raises(ReportError, match="open the store themselves"):
        wb.ExactMatch().run(frame_of_dask(), progress=False, store=store)
    with pytest.raises(ReportError, match="must not pass its password") as error:
        wb.Suite(wb.ExactMatch()).map_batches(store="postgresql://me:secret@host/db")
    assert "secret" not in str(error.value)


def killing(frame, log):
    """Ends the worker that computes this partition, the first time."""
    if len(frame) and frame["n"].iloc[0] == 0:
        path = Path(log)
        if not path.exists():
            path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return frame


def test_a_worker_is_killed(client, tmp_path, expected):
    """Its partitions are graded by another one; every row is there once."""
    frame = frame_of_dask()
    samples = wb.Samples(frame)
    dying = frame.map_partitions(killing, str(tmp_path / "killed"), meta=frame._meta)
    samples.dask_columns._parts = (
        dying.to_delayed()
    )  # the first time is when it is graded, not when it is counted
    report = suite_of().run(samples, progress=False, labels="good")
    assert (tmp_path / "killed").exists()
    pd.testing.assert_frame_equal(
        report.frame.drop(columns="seconds"), expected.frame.drop(columns="seconds")
    )


def broken(frame):
    if len(frame) and frame["n"].iloc[0] == 0:
        raise RuntimeError("no such bucket")
    return frame


def test_a_partition_that_cannot_be_computed(client):
    """Its rows fail and say why, all others have their grades."""
    frame = frame_of_dask()
    samples = wb.Samples(frame)
    samples.dask_columns._parts = frame.map_partitions(broken, meta=frame._meta).to_delayed()
    report = wb.Length(maximum=3).run(samples, progress=False)
    (grades,) = report.grades.values()
    first = int(samples.dask_columns.bounds[1])
    assert grades.n_failed == first
    assert "no such bucket" in grades.errors[0].message
    assert grades.n_scored == N - first


def test_a_frame_that_cannot_be_computed():
    """It is refused before anything is graded."""
    frame = frame_of_dask()
    with dask.config.set(scheduler="threads"), pytest.raises(SamplesError, match="no such bucket"):
        wb.Samples(frame.map_partitions(broken, meta=frame._meta))


def test_a_run_that_is_stopped_goes_on(client, tmp_path):
    """What was graded is kept, also of partitions that were under way, and not graded again."""
    counting = Judging()
    with server(counting) as (address, _):
        judge = judge_of(address, 2)
        first = judge.run(unlike(100), progress=lambda now: now.done < 20, resume=tmp_path / "run.parquet")
        (grades,) = first.grades.values()
        kept = grades.n_scored
        assert 20 <= kept < 100
        assert any(note.startswith(f"Interrupted: {kept}") for note in first.notes)
        before = Counter(counting.asked)
        second = judge.run(unlike(100), progress=False, resume=tmp_path / "run.parquet")
    assert second.summary["scored"].tolist() == [100]
    assert counting.asked.total() - before.total() == 100 - kept
    assert second.notes[0].startswith(f"{kept} of 100 grades were in")
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]


def test_some_rows_of_a_dask_frame_are_graded_here(client):
    """A draw is no whole frame: its rows are fetched, and graded in this process."""
    samples = wb.Samples(frame_of_dask()).draw(30, seed=1)
    report = suite_of().run(samples, progress=False)
    others = suite_of().run(wb.Samples(FRAME).draw(30, seed=1), progress=False)
    pd.testing.assert_frame_equal(report.frame.drop(columns="seconds"), others.frame.drop(columns="seconds"))


def test_map_partitions_takes_map_batches(client):
    """For results that stay where they are: written by each worker, or reduced there."""
    grade = suite_of().map_batches()
    frame = frame_of_dask()
    graded = frame.map_partitions(grade, meta=grade(frame._meta))
    expected = suite_of().run(FRAME, progress=False)
    assert graded["code.score"].mean().compute() == pytest.approx(np.nanmean(expected.grades["code"].scores))


def check_overview(overview, expected):
    """The numbers and findings of a report on all rows."""
    columns = ["n", "scored", "failed", "skipped", "mean", "sd", "min", "median", "max"]
    found, others = (one.summary[columns].astype(float) for one in (overview, expected))
    pd.testing.assert_frame_equal(found, others, rtol=1e-12)
    assert list(map(str, overview.findings)) == list(map(str, expected.findings))


def test_an_overview_on_a_cluster(client, tmp_path, expected):
    """Only sums and a sample come back; grades are where they were made, and a second call grades nothing again."""
    seen = []
    overview = suite_of().overview(frame_of_dask(), tmp_path, progress=seen.append, labels="good")
    check_overview(overview, expected)
    assert overview.report.gate.passed == expected.gate.passed
    assert seen[-1].done == seen[-1].total == 2 * N
    assert seen[-1].failed == N // 50
    assert len(list(tmp_path.iterdir())) == PARTITIONS
    again = suite_of().overview(frame_of_dask(), tmp_path, progress=False, labels="good")
    assert again.notes[0].startswith("800 grades were in")
    check_overview(again, expected)


def test_an_overview_is_that_of_one_process(client):
    """The sample, too, whatever the partitions."""
    there = suite_of().overview(frame_of_dask(), progress=False, sample=80)
    here = suite_of().overview(FRAME, progress=False, sample=80)
    assert there.report.samples.column("n").tolist() == here.report.samples.column("n").tolist()
    assert not there.whole
    columns = [name for name in here.summary if name != "seconds_total"]
    pd.testing.assert_frame_equal(there.summary[columns], here.summary[columns])
    # Parts are numbered as the partitions are.
    assert len(set(there.places["part"])) > 1


def test_an_overview_whose_worker_is_killed(client, tmp_path, expected):
    """Its partition is graded once more, what it had written is kept."""
    frame = frame_of_dask()
    samples = wb.Samples(frame)
    dying = frame.map_partitions(killing, str(tmp_path / "killed"), meta=frame._meta)
    samples.dask_columns._parts = dying.to_delayed()
    overview = suite_of().overview(samples, tmp_path / "graded", progress=False, labels="good")
    assert (tmp_path / "killed").exists()
    check_overview(overview, expected)


def check_overview_without_the_last_partition():
    """What cannot be computed is said, the others are summed up."""
    frame = frame_of_dask()
    samples = wb.Samples(frame)
    samples.dask_columns._parts = frame.map_partitions(broken_at_the_end, meta=frame._meta).to_delayed()
    samples.dask_columns._pieces.clear()  # partitions that are small stay
    left = int(samples.dask_columns.bounds[-2])
    overview = wb.Suite(wb.Length(maximum=3)).overview(samples, progress=False)
    assert len(overview) == left
    graded, note = overview.notes
    assert graded.endswith("rows were graded.")
    assert note.startswith(f"{N - left} rows of part {PARTITIONS - 1} were not graded")
    assert "no such bucket" in note


def test_an_overview_without_a_partition(client):
    """On a cluster."""
    check_overview_without_the_last_partition()


def test_an_overview_without_a_partition_here():
    """In this process."""
    with dask.config.set(scheduler="threads"):
        check_overview_without_the_last_partition()


def test_an_overview_shares_its_budget(client):
    """All partitions together keep it."""
    counting = Judging()
    with server(counting) as (address, _):
        suite = wb.Suite(judge_of(address))
        overview = suite.overview(unlike(120), progress=False, budget=wb.Budget(calls=23))
    assert counting.asked.total() == 23
    assert overview.summary["scored"].tolist() == [23]
    assert overview.notes[0] == "Budget exhausted."


def test_an_overview_that_is_stopped_goes_on(client, tmp_path):
    """What was graded of the partitions under way is kept, and not graded again."""
    counting = Judging()
    with server(counting) as (address, _):
        suite = wb.Suite(judge_of(address, 2))
        first = suite.overview(unlike(100), tmp_path, progress=lambda now: now.done < 20)
        assert any("Rerun with the folder" in note for note in first.notes)
        before = counting.asked.total()
        assert 20 <= before < 100
        second = suite.overview(unlike(100), tmp_path, progress=False)
    assert second.summary["scored"].tolist() == [100]
    assert counting.asked.total() == 100


def test_a_folder_of_another_run_is_refused_on_a_cluster(client, tmp_path):
    """A worker finds out, and the run stops."""
    suite_of().overview(frame_of_dask(), tmp_path, progress=False)
    with pytest.raises(ReportError, match="another folder"):
        wb.Suite(wb.Length(maximum=3)).overview(frame_of_dask(), tmp_path, progress=False)
