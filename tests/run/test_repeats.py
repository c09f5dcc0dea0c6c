"""Runs that grade every row several times: what is repeated, in which order, what is kept, what it costs."""

from __future__ import annotations

import itertools
import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.core.errors import ReportError
from workbench.core.grade import ErrorKind, Grade
from workbench.core.grades import Grades
from workbench.graders.repeats import REDUCERS, reduce_repeats, shuffled_rows

ROWS = [{"prompt": f"Question {row}", "completion": f"Answer {row}"} for row in range(40)]
PASS, FAIL = (json.dumps({"reasoning": "r", "score": word}) for word in ("PASS", "FAIL"))


class Seen:
    """A custom grader that notes what it saw, and scores by how often it was called."""

    def __init__(self):
        self.texts = []

    def __call__(self, thread):
        self.texts.append(thread.completion())
        return float(len(self.texts) > 40)


def judge(answer=lambda _: PASS, **settings):
    return wb.BinaryJudge("is polite", client=wb.ScriptedClient(answer), max_tokens=50, **settings)


def test_rows_are_shuffled_between_repeats_and_put_back():
    """The first pass sees the rows as they are given, the others in orders of their own; scores belong to their rows."""
    seen = Seen()
    report = wb.CustomGrader(seen, name="seen").run(ROWS, repeats=3, progress=False)
    # Threads take rows in order, but a thread may be late by a few rows.
    passes = [seen.texts[start : start + 40] for start in (0, 40, 80)]
    assert all(sorted(one) == sorted(passes[0]) for one in passes)
    assert not any(passes[a] == passes[b] for a, b in itertools.combinations(range(3), 2))
    assert [one.scores.mean() for one in report.repeats["seen"]] == [0.0, 1.0, 1.0]

    by_length = wb.CustomGrader(lambda thread: float(thread.completion().split()[1]), name="number")
    report = by_length.run(ROWS, repeats=3, progress=False)
    assert all(list(one.scores) == list(range(40)) for one in report.repeats["number"])
    assert report.noise.loc["number", ["flips", "sd_within"]].tolist() == [0, 0]


def test_orders_are_fixed():
    """A resumed run asks in the order of the first; the first pass keeps the given one."""
    assert list(shuffled_rows(5, 0)) == [0, 1, 2, 3, 4]
    assert list(shuffled_rows(50, 1)) == list(shuffled_rows(50, 1)) != list(shuffled_rows(50, 2))


def test_the_workbench_own_rules_are_graded_once():
    """They give the same grade always: a note says so, and no noise is made up."""
    moments = []
    suite = wb.Suite([wb.Contains("1"), judge()], combine=wb.combine.Mean())
    report = suite.run(ROWS, repeats=3, progress=moments.append)
    assert "contains: graded once, not 3 times, because it is deterministic." in report.notes
    assert {name: len(passes) for name, passes in report.repeats.items()} == {
        "binary-judge": 3,
        "combined": 3,
    }
    assert (moments[-1].done, moments[-1].total) == (160, 160)


def test_a_whole_is_repeated_part_by_part():
    """The combined column's repeats are made of the same repeat of its parts."""
    count = itertools.count()
    flipping = judge(lambda _: PASS if next(count) < 40 else FAIL, name="flips")
    suite = wb.Suite([flipping, wb.Contains("Answer")], combine=wb.combine.Mean())
    report = suite.run(ROWS, repeats=2, progress=False)
    assert [one.scores.mean() for one in report.repeats["combined"]] == [1.0, 0.5]
    assert report.grades["combined"].scores.mean() == 1.0


@pytest.mark.parametrize(
    ("reduce", "score"), [("first", 1.0), ("mean", 1 / 3), ("median", 0.0), ("majority", 0.0)]
)
def test_ways_to_reduce(reduce, score):
    """A judge that passes every row at first and fails it twice has these scores."""
    count = itertools.count()
    report = judge(lambda _: PASS if next(count) < 40 else FAIL).run(
        ROWS, repeats=3, reduce=reduce, progress=False
    )
    assert report.scores["binary-judge"].tolist() == pytest.approx([score] * 40)
    assert report.frame["passed"].tolist() == [reduce == "first"] * 40
    assert report.noise.loc["binary-judge", "flips"] == 40


def column(*grades):
    grades_of_rows = Grades.empty(len(grades))
    for row, grade in enumerate(grades):
        grades_of_rows.put(row, grade)
    return grades_of_rows


@pytest.mark.parametrize("reduce", sorted(set(REDUCERS) - {"first"}))
def test_a_failed_repeat_is_no_number(reduce):
    """Rows are scored by their scored repeats where these are half at least; else they have the commonest other status."""
    failed, skipped = Grade.failed(ErrorKind.JUDGE_PARSE, "no verdict"), Grade.skipped("n/a")
    one, none = Grade(1.0, passed=True, reasoning="good"), Grade(0.0, passed=False, reasoning="bad")
    passes = [
        column(failed, failed, skipped, failed, one),
        column(one, failed, skipped, one, none),
        column(one, one, one, skipped, one),
        column(one, skipped, skipped, one, one),
    ]
    reduced = reduce_repeats(passes, reduce)
    assert list(reduced.statuses) == ["scored", "failed", "skipped", "scored", "scored"]
    np.testing.assert_allclose(reduced.scores[[0, 3]], 1.0)
    assert reduced.scores[4] == (0.75 if reduce == "mean" else 1.0)
    assert reduced.errors[1].kind is ErrorKind.JUDGE_PARSE
    assert reduced.reasoning[0] == reduced.reasoning[4] == "good"
    assert len(reduced.repeats) == 4


GRADES = st.one_of(
    st.builds(
        lambda score, passed: Grade(score, passed=passed),
        st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False),
        st.sampled_from([None, True, False]),
    ),
    st.just(Grade.failed(ErrorKind.RUNTIME, "no")),
    st.just(Grade.skipped("n/a")),
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(GRADES, min_size=4, max_size=4), min_size=1, max_size=5),
    st.sampled_from(sorted(REDUCERS)),
)
def test_any_repeats_are_reduced_soundly(passes, reduce):
    """A score lies between the row's lowest and highest, no row without a scored repeat has one, all repeats are kept."""
    reduced = reduce_repeats([column(*grades) for grades in passes], reduce)
    for row, grade in enumerate(reduced):
        scores = [grades[row].score for grades in passes if grades[row].score is not None]
        if grade.score is None:
            assert np.isnan(reduced.scores[row])
            assert len(scores) < len(passes)
        else:
            assert scores
            assert (
                min(scores) - 1e-9 * abs(min(scores)) <= grade.score <= max(scores) + 1e-9 * abs(max(scores))
            )
        assert grade.error is None or any(grades[row].error == grade.error for grades in passes)
    assert len(reduced.repeats) == (len(passes) if len(passes) > 1 else 0)


def test_a_tie_of_verdicts_is_none():
    """As many for as against: the score decides by the pass mark, and no verdict is made up."""
    passes = [column(Grade(0.2, passed=False)), column(Grade(0.6, passed=True))]
    reduced = reduce_repeats(passes, "mean")
    assert (reduced.scores[0], reduced.passed[0]) == (pytest.approx(0.4), -1)


def test_what_was_paid_is_added_up():
    """Time, tokens and cost of a row are those of all its repeats; a cost without a price makes the sum unknown."""
    passes = [
        column(Grade(1.0, seconds=1.0, tokens=10, cost=0.1), Grade(1.0, tokens=10, cost=0.1)),
        column(Grade(0.0, seconds=2.0, tokens=20, cost=0.2), Grade(0.0, tokens=20)),
    ]
    reduced = reduce_repeats(passes)
    assert (reduced.scores[0], reduced.seconds[0], reduced.tokens[0]) == (1.0, 3.0, 30.0)
    assert reduced.cost[0] == pytest.approx(0.3)
    assert np.isnan(reduced.cost[1])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"repeats": 0}, "found: 0\n  expected: 1 to 1,000"),
        ({"repeats": -1}, "found: -1"),
        ({"repeats": "2"}, "found: '2'"),
        ({"repeats": 1.5}, "found: 1.5"),
        ({"repeats": True}, "found: True"),
        ({"repeats": 2, "reduce": "best"}, "found: 'best'"),
        ({"workers": 0}, "found: 0"),
        ({"workers": "2"}, "found: '2'"),
    ],
)
def test_wrong_settings_are_refused(wrong, said):
    """Before anything is graded, with what was found, what would be right, and the next step."""
    for run in (judge().run, wb.Suite([judge()]).run):
        with pytest.raises(ReportError, match="must be") as refused:
            run(ROWS, progress=False, **wrong)
        assert said in str(refused.value)
        assert "next step: " in str(refused.value)


def test_a_stopped_run_keeps_what_was_graded():
    """Stopped in the second repeat: the first stands whole, rows not reached are cancelled, no further repeat is there."""
    reached, released, count = threading.Event(), threading.Event(), itertools.count()

    def blocks(thread):
        if next(count) >= 250:
            reached.set()
            released.wait(60)
        return 1.0

    def stop(moment):
        if reached.is_set():
            released.set()
        return not reached.is_set()

    rows = [{"prompt": f"Question {row}", "completion": "Answer"} for row in range(200)]
    grader = wb.CustomGrader(blocks, name="blocks")
    report = wb.Suite([grader]).start(rows, repeats=4, progress=stop).report(timeout=60)
    first, second = report.repeats["blocks"]
    assert report.grades["blocks"].n_scored == first.n_scored == 200
    assert 50 <= second.n_scored < 200
    assert {error.kind for error in second.errors.values()} == {ErrorKind.CANCELLED}
    assert report.notes == (f"Interrupted: {200 + second.n_scored} of 800 grades completed.",)


def test_a_grader_that_scored_nothing_is_not_repeated():
    """Every row failed at first: nothing would be learned from failing again."""
    count = itertools.count()

    def fails(thread):
        next(count)
        raise ValueError("no")

    report = wb.CustomGrader(fails, name="fails").run(ROWS, repeats=5, progress=False)
    assert next(count) == 40
    assert report.repeats == {}


def test_a_budget_holds_over_all_repeats():
    """A budget for 100 calls ends in the third repeat: two stand whole, and no row is a zero."""
    report = judge().run(ROWS, repeats=4, budget=wb.Budget(calls=100), progress=False)
    assert [one.n_scored for one in report.repeats["binary-judge"]] == [40, 40, 20, 0]
    assert report.grades["binary-judge"].n_scored == 40
    assert "Budget exhausted: 100 of 160 grades completed." in report.notes


def test_reports_with_repeats_are_seen(tmp_path):
    """In text, HTML, notebook, figure and by the rows of each bar."""
    count = itertools.count()
    report = judge(lambda _: FAIL if next(count) % 5 == 0 else PASS).run(ROWS, repeats=3, progress=False)
    flips = int(report.noise.loc["binary-judge", "flips"])
    assert f"noise: binary-judge graded 40 rows 3 times; {flips} got different verdicts" in str(report)
    assert "got different verdicts" in report._repr_html_()
    assert "got different verdicts" in report.to_html(tmp_path / "r.html").read_text()
    bars = report.plot(figure="noise").data[0]
    assert (bars.y[0], bars.y[-1]) == (40 - flips, flips)
    rows = report.row_numbers({"grader": "binary-judge", "spread": [0.95, 1]})
    assert len(rows) == flips
    assert set(report.rows("binary-judge", list(rows))["repeats"]) <= {
        "0, 1, 1",
        "1, 0, 1",
        "1, 1, 0",
        "0, 0, 1",
        "0, 1, 0",
        "1, 0, 0",
    }
    assert set(report.repeats) == {"binary-judge"}


def test_a_difference_below_the_noise_is_said_to_be():
    """Two judges that draw alike: their difference is below what two runs of the same two differ by."""
    rng = np.random.default_rng(0)
    both = [judge(lambda _: PASS if rng.random() < 0.6 else FAIL, name=name) for name in ("a", "b")]
    compared = wb.Suite(both).run(ROWS, repeats=3, progress=False).compare("a", "b")
    assert compared.is_noise == (abs(compared.difference) < compared.noise_floor)
    assert ("below the noise floor" if compared.is_noise else "above the noise floor") in compared.verdict
    assert "noise floor" in str(compared)


def test_without_repeats_no_floor_is_made_up():
    """One grade a row of a judge shows no noise, so that nothing is said of it."""
    compared = (
        wb.Suite([judge(name="a"), wb.Contains("1")]).run(ROWS, progress=False).compare("a", "contains")
    )
    assert np.isnan(compared.noise_floor)
    assert not compared.is_noise
    assert "noise" not in compared.verdict
