"""The function grader: captured, proved, run, refused."""

import pickle

import pytest

import workbench as wb
from workbench.core.errors import IsolationError, NotValidatedError
from workbench.sandbox.host import pool
from workbench.sandbox.host.pool import Pool

HALF = "async def grade(thread: StringThread) -> float:\n    return 0.5\n"


@wb.grader
async def says_yes(thread: wb.StringThread) -> float:
    """Whether the answer is yes.

    More words.
    """
    return 1.0 if (thread.completion() or "") == "yes" else 0.0


@wb.grader(name="named", description="told", timeout=2.0, memory_mb=128)
async def other(thread: wb.StringThread) -> float:
    return 0.25


def thread(text):
    return wb.StringThread([("user", "q"), ("assistant", text)], {})


def test_decorator_captures():
    """The decorated name is a grader with the function's name and first docstring line."""
    assert isinstance(says_yes, wb.FunctionGrader)
    assert (says_yes.name, says_yes.description) == ("says_yes", "Whether the answer is yes.")
    assert "async def grade" in says_yes.source.text
    assert "wb.grader" not in says_yes.source.text


def test_decorator_settings():
    """Settings in brackets reach the grader."""
    assert (other.name, other.description, other.timeout, other.memory_mb) == ("named", "told", 2.0, 128)


def test_calling_grades_one():
    """A thread or a sample in, a grade out."""
    assert says_yes(thread("yes")).score == 1.0
    assert says_yes(wb.Samples([{"prompt": "q", "completion": "no"}])[0]).score == 0.0
    with pytest.raises(TypeError, match="a Sample or a StringThread, not str"):
        says_yes("yes")


def test_failure_is_a_grade():
    """What goes wrong in a row is told in its grade, never raised."""
    bad = wb.FunctionGrader.from_source("async def grade(t):\n    return 1 / 0\n")
    grade = bad(thread("x"))
    assert grade.score is None
    assert grade.error.kind == "runtime"
    assert "ZeroDivisionError" in grade.error.message


def test_proof_is_remembered_and_required():
    """Only a grader that passed its checks may be saved."""
    fresh = wb.FunctionGrader.from_source(HALF)
    with pytest.raises(NotValidatedError, match="not validated"):
        fresh.require_validated()
    assert fresh.validate().ok
    fresh.require_validated()
    broken = wb.FunctionGrader.from_source("async def grade(t):\n    return None\n")
    broken.validate()
    with pytest.raises(NotValidatedError, match="test_run"):
        broken.require_validated()


def test_payload_may_be_samples():
    """Samples of one's own join the test run."""
    samples = wb.Samples([{"prompt": "q", "completion": "no"}, {"prompt": "q", "completion": "yes"}])
    validation = says_yes.validate(samples)
    assert [check.message for check in validation.checks][-2:] == [
        "test thread 1 scores 0.0",
        "test thread 2 scores 1.0",
    ]


def test_unreadable_rows_fail_as_samples():
    """A row that cannot be read is failed, not scored as an empty thread."""
    rows = wb.Samples(
        [{"messages": "[{]", "id": "a"}, {"messages": [{"role": "assistant", "content": "yes"}], "id": "b"}]
    )
    report = says_yes.run(rows, progress=False)
    assert report.frame["status"].tolist() == ["failed", "scored"]
    assert report.frame["error_kind"].tolist()[0] == "sample"


def test_equality_repr_pickle_spec():
    """A grader is a value."""
    copy = pickle.loads(pickle.dumps(says_yes))
    assert copy == says_yes
    assert type(says_yes).build({k: v for k, v in says_yes.spec().items() if k != "kind"}) == says_yes
    assert "says_yes" in repr(says_yes)
    assert says_yes != other


@pytest.mark.parametrize("settings", [{"timeout": 0}, {"timeout": -1}, {"memory_mb": 0}])
def test_limits_out_of_range_are_refused(settings):
    """A limit of zero or less is a mistake."""
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        wb.FunctionGrader.from_source(HALF, **settings)


def test_imported_source_needs_the_kernel(monkeypatch):
    """Where the machine cannot confine it, imported source is refused unless it is trusted."""
    weak = Pool(("rlimits",))
    monkeypatch.setattr(pool, "_POOL", weak)
    from dataclasses import replace

    mine = wb.FunctionGrader.from_source(HALF)
    theirs = replace(mine, source=replace(mine.source, imported=True))
    assert mine(thread("x")).score == 0.5
    with pytest.raises(IsolationError, match="trust=True"):
        theirs.validate()
    with pytest.raises(IsolationError):
        theirs.run(wb.Samples([{"prompt": "q", "completion": "a"}]), progress=False)
    assert theirs(thread("x")).error.kind == "sandbox"
    trusted = theirs.trusted()
    assert trusted(thread("x")).score == 0.5
    other = wb.FunctionGrader.from_source(HALF + "# another text\n", imported=True).source
    assert not replace(trusted, source=other).trust
    weak.close()


def test_validate_takes_functions_and_text():
    """`wb.validate` proves whatever can become a grader."""
    assert wb.validate(HALF).ok
    assert wb.validate(says_yes).ok
    assert not wb.validate("async def grade():\n    return 1.0\n").ok


def test_html_is_escaped():
    """The notebook view shows source as text."""
    html = wb.FunctionGrader.from_source("# <script>alert(1)</script>\n" + HALF)._repr_html_()
    assert "<script>alert" not in html


def test_numpy_metadata_reaches_the_grader_as_numbers():
    """A right answer is right whether the expected number is Python's or numpy's."""
    import numpy as np

    same = wb.FunctionGrader.from_source("async def grade(t):\n    return float(t.metadata['gold'] == 4)\n")
    assert same(wb.StringThread([("assistant", "4")], {"gold": np.int64(4)})).score == 1.0
    assert same.validate(
        wb.StringThread([("assistant", "4")], {"gold": np.int64(4)})
    ).failure.message.startswith("on the mock")
