"""Graders of a past run, graded again on the completions of that run."""

import pytest

import workbench as wb
from workbench.core.errors import ReportError


def rows(n, **scores):
    """Rows whose completions equal the reference, with past scores of `match`."""
    return wb.Samples(
        [
            {"id": f"r{at}", "prompt": f"{at}?", "completion": str(at), "expected": str(at), "scores": {"match": scores.get(f"r{at}", 1.0)}}
            for at in range(n)
        ]
    )  # fmt: skip


def replay(samples, grader=None):
    return (grader or wb.ExactMatch(name="match")).run(samples, progress=False).replay()["match"]


def test_differing_rows_are_counted_and_described():
    """How many rows are equal, and for the others both scores, the texts and the reason."""
    found = replay(rows(10, r3=0.0, r7=0.5))
    assert (found.compared, found.equal, found.differing.tolist()) == (10, 8, [3, 7])
    assert found.sentence == "match: replayed, 8 of 10 rows have the score of the past run, 2 differ"
    line = next(found.lines())
    assert line.startswith("row r3: 0.000 then, 1.000 now; completion '3', reference '3'")
    assert list(found.frame["then"]) == [0.0, 0.5]
    assert list(found.frame["now"]) == [1.0, 1.0]


def test_equal_scores_are_said_in_one_sentence():
    """Rounding of an export is no difference."""
    found = replay(rows(4, r1=1.0 - 1e-9))
    assert found.sentence == "match: replayed, all 4 rows have the score of the past run"
    assert not list(found.lines())


def test_a_row_that_fails_now_differs():
    """The error is the reason; a row without a past score is counted apart."""
    grader = wb.FunctionGrader.from_source(
        "async def grade(thread):\n    return 1.0 if thread.completion() != '2' else 1 / 0\n", name="match"
    )
    found = replay(rows(4, r1=None), grader)
    assert (found.equal, found.differing.tolist(), found.only_now) == (2, [2], 1)
    assert "division by zero" in found.frame["why"].iloc[0]
    assert found.sentence.endswith("1 differs; 1 row had no score then")


def test_a_report_describes_the_replay():
    """The text of a report has the sentence and the first rows; all graders that have the name are replayed."""
    report = wb.Suite([wb.ExactMatch(name="Match"), wb.Length(5, name="other")]).run(
        rows(6, r1=0.0), progress=False
    )
    text = str(report)
    assert "Match: replayed, 5 of 6 rows have the score of the past run, 1 differs" in text
    assert "row r1: 0.000 then, 1.000 now" in text
    assert list(report.replay()) == ["Match"]
    assert report.replay().n_differing == 1


def test_without_past_scores_there_is_nothing_to_replay():
    """The error has the next step, also if no name fits."""
    with pytest.raises(ReportError, match="no scores of a past run"):
        wb.Length(5).run([{"prompt": "p", "completion": "c"}], progress=False).replay()
    both = wb.Suite([wb.Length(5, name="a"), wb.Length(5, name="b")])
    with pytest.raises(ReportError, match="no grader of the report is one of the past run"):
        both.run(rows(3), progress=False).replay()


def test_the_only_grader_is_that_of_the_only_past_score():
    """A reward under another name is compared if there is one of each."""
    assert list(wb.ExactMatch(name="mine").run(rows(3), progress=False).replay()) == ["mine"]
