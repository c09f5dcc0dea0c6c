"""`MathEqual` with the package math-verify behind it."""

import threading

import pytest

import workbench as wb
from workbench.core import discovery
from workbench.core.errors import FormatError, MissingPackageError
from workbench.graders.portable import portable
from workbench.graders.values import math_equal

pytest.importorskip("math_verify")


def says(text):
    return wb.StringThread([("user", "q"), ("assistant", text)])


@pytest.mark.parametrize(
    ("text", "expected", "score"),
    [
        (r"It is $\frac{1}{2}$.", r"\frac{2}{4}", 1.0),
        (r"\boxed{x^2 - 1}", r"$(x-1)(x+1)$", 1.0),
        (r"So $\{1, 2, 3\}$", r"\{3,2,1\}", 1.0),
        ("It is $3$.", "4", 0.0),
        ("nothing", "4", 0.0),
    ],
)
def test_the_package_compares(text, expected, score):
    """Its own rules and search; a text without a result scores 0.0."""
    grade = wb.MathEqual(expected, engine="math-verify", timeout=60)(says(text))
    assert (grade.score, grade.passed, grade.metadata["engine"]) == (score, score == 1.0, "math-verify"), (
        grade
    )


def test_a_row_that_takes_too_long_is_ended():
    """Its process is killed at the limit, whatever it computes; other rows of the run have their scores."""
    rows = [
        {"prompt": "q", "completion": text, "answer": "4"} for text in ("$4$", "$9^{9^{9^{9}}}$", "$2+2$")
    ]
    report = wb.MathEqual(engine="math-verify", timeout=2).run(rows, progress=False)
    assert report.frame["score"].tolist()[::2] == [1.0, 1.0]
    assert report.errors["error_kind"].tolist() == ["timeout"]


def test_the_limit_holds_for_any_code(monkeypatch):
    """Real time, in a function that never returns by itself."""
    pool = math_equal.ProcessPool(_endless)
    monkeypatch.setattr(math_equal, "engine_processes", lambda: pool)
    grade = wb.MathEqual("4", engine="math-verify", timeout=0.5)(says("$4$"))
    assert (grade.score, grade.error.kind) == (None, "timeout")


def _endless(_pair):
    threading.Event().wait()


def test_an_unreadable_reference_fails_its_row():
    """A row that cannot be compared has no score."""
    grade = wb.MathEqual("$$", engine="math-verify", timeout=60)(says("$4$"))
    assert (grade.score, grade.error.kind) == (None, "sample")
    assert wb.MathEqual(engine="math-verify")(says("$4$")).error.kind == "sample"


@pytest.mark.parametrize("setting", [{"relative": 0.1}, {"evaluated": True}, {"whole": True}])
def test_settings_of_the_other_rules_are_refused(setting):
    with pytest.raises(FormatError, match="math-verify has no setting"):
        wb.MathEqual("4", engine="math-verify", **setting)


def test_the_engine_is_part_of_the_grader(monkeypatch):
    """It survives a file, is not exported as code, and is named with its command if it is not installed."""
    grader = wb.MathEqual("4", engine="math-verify")
    assert grader.spec()["engine"] == "math-verify"
    with pytest.raises(FormatError, match="cannot load math-verify"):
        portable(grader)
    monkeypatch.setattr(discovery, "is_installed", lambda _: False)
    with pytest.raises(MissingPackageError, match=r"grader-workbench\[math\]"):
        grader.check_ready()
