"""Function graders that answer with more than a number: a `Grade` returned, a `Skip` raised."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from workbench import Skip
from workbench.app.widgets.notebook import make
from workbench.core.grade import ErrorKind

TEXT = '''import workbench as wb


async def grade(thread: wb.StringThread) -> float | wb.Grade:
    """Some rows are none of its business."""
    text = thread.completion() or ""
    print("looks at", text)
    if "skip" in text:
        raise wb.Skip("not a maths row")
    if "why" in text:
        return wb.Grade(0.25, passed=True, reasoning="because", metadata={"steps": [1, 2]})
    if "bad" in text:
        return wb.Grade.failed("judge_server", "it says so")
    return 1.0
'''
ROWS = [{"prompt": "p", "completion": text} for text in ("fine", "skip", "why", "bad")]


async def halves(thread: wb.StringThread) -> float | wb.Grade:
    if "skip" in (thread.completion() or ""):
        raise Skip("no")
    return wb.Grade(0.5, reasoning="half")


def said(text: str) -> wb.StringThread:
    return wb.StringThread([("user", "p"), ("assistant", text)])


def test_a_run_keeps_scores_reasons_verdicts_and_skips():
    """A scored row has its reasoning, verdict and metadata; a skipped one is neither scored nor failed."""
    grader = wb.FunctionGrader.from_source(TEXT, name="maths")
    report = grader.run(ROWS, progress=False)
    fine, skipped, why, bad = (report.grades["maths"][row] for row in range(4))
    assert (fine.score, fine.reasoning) == (1.0, None)
    assert (skipped.status, skipped.reasoning) == ("skipped", "not a maths row")
    assert (why.score, why.passed, why.reasoning, why.metadata) == (0.25, True, "because", {"steps": [1, 2]})
    # A grader must not choose a kind that says something of servers or of the run.
    assert bad.error is not None
    assert (bad.error.kind, bad.error.message) == (ErrorKind.RUNTIME, "judge_server: it says so")


def test_a_mixed_frame_is_not_a_broken_grader():
    """Where a grader skips the rows of other tasks, no finding calls it broken."""
    grader = wb.FunctionGrader.from_source(TEXT, name="maths")
    report = grader.run([{"prompt": str(n), "completion": "skip" if n % 3 else "fine"} for n in range(300)],
                        progress=False)  # fmt: skip
    assert report.summary.loc["maths", ["scored", "failed", "skipped"]].tolist() == [100, 0, 200]
    assert "broken" not in {finding.kind for finding in report.findings}


def test_one_call_shows_what_was_printed():
    """Trying one sample gives what the grader printed; rows of a run do not carry it."""
    grader = wb.FunctionGrader.from_source(TEXT)
    grade = grader(said("why"))
    assert grade.printed == "looks at why\n"
    assert "looks at why" in repr(grade)
    assert grader.run([said("why")], progress=False).grades["grade"][0].printed is None
    loud = wb.FunctionGrader.from_source(
        "async def grade(thread):\n    print('x' * 100_000)\n    return 1.0\n"
    )
    assert len(loud(said("")).printed or "") == 4000


def test_a_captured_function_may_use_them():
    """`@wb.grader` captures a function with `wb.Grade` and `Skip` under any of their names."""
    maths = wb.grader(halves)
    validation = maths.validate()
    assert validation.ok
    assert not validation.warnings
    assert maths(said("skip")).reasoning == "no"
    assert maths(said("4")).reasoning == "half"


def test_a_cell_may_use_them():
    """`%%grader` takes a cell with them; so does a file, whose text comes back from the native format."""
    shell = InteractiveShell()
    cell = make("maths", TEXT, shell.user_ns)
    assert cell(said("skip")).status == "skipped"
    cell.validate()
    again = wb.loads(wb.Suite([cell]).entries[0].grader.source.text, "python", trust=True)
    assert again.graders[0](said("why")).reasoning == "because"


@pytest.mark.parametrize("raised", ["wb.Skip('other task')", "wb.Skip()"])
def test_graders_in_this_process_may_skip(raised):
    """A `CustomGrader`'s function, sync or async, and a kind of one's own skip in the same way."""

    def sync(thread):
        raise eval(raised)

    async def later(thread):
        raise eval(raised)

    for function in (sync, later):
        grade = wb.CustomGrader(function)(said("x"))
        assert grade.status == "skipped"
        assert grade.reasoning == ("other task" if "other" in raised else None)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("wb.Grade(True)", "runtime"),
        ("wb.Grade(float('nan'))", "runtime"),
        ("wb.Grade('0.5')", "runtime"),
        ("wb.Grade", "return_type"),
        ("wb.Skip('returned, not raised')", "return_type"),
        ("None", "return_type"),
        ("True", "return_type"),
    ],
)
def test_what_is_no_grade_fails_its_row(answer, kind):
    """A bool, NaN or text is no score inside a `Grade` either, and a `Skip` is raised, not returned."""
    text = f"import workbench as wb\nasync def grade(thread):\n    # Grade or Skip\n    return {answer}\n"
    grade = wb.FunctionGrader.from_source(text)(said("x"))
    assert grade.score is None
    assert grade.error is not None
    assert grade.error.kind == kind


def test_a_forged_grade_is_refused():
    """What a grader does to its own `Grade` class ends in a failed row, never in a score that is none."""
    text = """import workbench as wb


async def grade(thread):
    made = wb.Grade(0.5)
    object.__setattr__(made, "score", float("inf"))
    return made
"""
    grade = wb.FunctionGrader.from_source(text)(said("x"))
    assert (grade.score, grade.error and grade.error.kind) == (None, "not_finite")
