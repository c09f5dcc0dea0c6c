"""Repeats of a judge: each is asked for itself, none is answered out of another, and a resumed run pays nothing twice."""

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_resumed_runs import ROWS, judge, passing_answer, rows_of
from workbench.judges.judge_run import JudgeRun


@pytest.fixture
def store(tmp_path):
    return f"sqlite:///{tmp_path}/answers.db"


def asked(requests, times):
    assert rows_of(requests) == dict.fromkeys(range(60), times)


def test_a_kept_answer_is_no_repeat(store):
    """With a store and temperature 0, every row is asked as often as it has repeats."""
    with server(passing_answer) as (address, requests):
        report = judge(address).run(ROWS, repeats=3, store=store, progress=False)
        asked(requests, 3)
    assert [one.n_scored for one in report.repeats["binary-judge"]] == [60, 60, 60]


def test_a_resumed_run_asks_nothing_twice(store):
    """Neither the same repeats again, nor a run without repeats: the first repeat has the key it always had."""
    with server(passing_answer) as (address, requests):
        judge(address).run(ROWS, store=store, progress=False)
        asked(requests, 1)
        judge(address).run(ROWS, repeats=3, store=store, progress=False)
        asked(requests, 3)
        report = judge(address).run(ROWS, repeats=3, store=store, progress=False)
        asked(requests, 3)
    assert report.grades["binary-judge"].cost.sum() == 0


def test_a_budget_ends_the_repeats_and_the_next_run_goes_on(store):
    """Within its budget, run after run gets further, first repeats first."""
    with server(passing_answer) as (address, requests):
        scored = []
        for _ in range(3):
            budget = wb.Budget(calls=70)
            report = judge(address).run(ROWS, repeats=3, store=store, budget=budget, progress=False)
            scored.append([one.n_scored for one in report.repeats["binary-judge"]])
        asked(requests, 3)
    assert scored == [[60, 10, 0], [60, 60, 20], [60, 60, 60]]


def test_a_failed_repeat_is_a_failure_of_that_repeat(store):
    """A server that refuses the second time: the first grade stands, and only the failed repeat is asked again."""
    broken = []

    def refuses_later(path, body, headers):
        return (
            (400, {}, {"error": {"message": "no"}})
            if len(broken) >= 60
            else broken.append(1) or passing_answer()
        )

    with server(refuses_later) as (address, _):
        report = judge(address).run(ROWS, repeats=2, store=store, progress=False)
        assert [one.n_scored for one in report.repeats["binary-judge"]] == [60, 0]
        assert report.grades["binary-judge"].n_failed == 0
        broken.clear()
        again = judge(address).run(ROWS, repeats=2, store=store, progress=False)
    assert [one.n_scored for one in again.repeats["binary-judge"]] == [60, 60]


def test_equal_rows_are_told_apart_from_repeats(store):
    """Rows with one text share an answer within a repeat at temperature 0, and get another one in the next."""
    rows = [{"prompt": "the same", "completion": "text"}] * 5
    with server(passing_answer) as (address, requests):
        judge(address).run(rows, repeats=2, store=store, progress=False)
    assert len(requests) == 2


def test_a_judge_above_temperature_0_is_asked_for_every_row_and_repeat(store):
    """Five equal rows, two repeats: ten answers, and none again in the second run."""
    rows = [{"prompt": "the same", "completion": "text"}] * 5
    with server(passing_answer) as (address, requests):
        client = wb.judges.OpenAIClient(base_url=address)
        warm = wb.BinaryJudge("is polite", model="gpt-4o-mini", temperature=0.7, client=client)
        for _ in range(2):
            warm.run(rows, repeats=2, store=store, progress=False)
    assert len(requests) == 10


def test_a_run_begins_with_the_first_repeat():
    """What asks without repeats, such as a trial of one row, has the key of the first."""
    assert JudgeRun().repeat == 0
