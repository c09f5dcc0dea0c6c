"""The five checks: order, messages, warnings, and how they print."""

import pytest

from workbench.core.errors import ValidationError
from workbench.core.thread import StringThread
from workbench.sandbox.host.pool import pool
from workbench.sandbox.host.program import CHECKS, Limits, Program
from workbench.sandbox.host.validation import Validation, mock_thread

GOOD = "async def grade(thread: StringThread) -> float:\n    return 0.5\n"


def validate_text(text, *, threads=(), limits=None):
    """The validation of a grade function's text, on the mock thread and on others."""
    rows = [("the mock thread", mock_thread().to_wire())]
    rows += [(f"test thread {number}", thread.to_wire()) for number, thread in enumerate(threads, 1)]
    return pool().check(Program(text, limits or Limits()), rows)


def test_a_good_grader_gets_five_ticks():
    """All five checks are reached, in order, without a warning."""
    validation = validate_text(GOOD)
    assert validation.ok
    assert tuple(check.name for check in validation.checks) == CHECKS
    assert validation.warnings == ()
    validation.raise_for_failure()


@pytest.mark.parametrize(
    ("text", "check", "part"),
    [
        ("async def grade(t:\n", "syntax", "line 1"),
        ("\x00", "syntax", "null"),
        ("x = " + "(" * 500 + ")" * 500, "syntax", "nested"),
        ("def grade(t):\n    return 1.0\n", "structure", "must be async"),
        ("x = 1\n", "structure", "no top-level"),
        ("async def other(t):\n    return 1.0\n", "structure", "other"),
        ("class grade:\n    pass\n", "structure", "a class"),
        ("def f():\n    async def grade(t):\n        return 1.0\n", "structure", "nested"),
        ("if True:\n    async def grade(t):\n        return 1.0\n", "structure", "nested"),
        (
            "async def grade(t):\n    return 1.0\ndef grade(t):\n    return 1.0\n",
            "structure",
            "must be async",
        ),
        ("async def grade():\n    return 1.0\n", "signature", "none"),
        ("async def grade(a, b):\n    return 1.0\n", "signature", "a, b"),
        ("async def grade(a, b=1):\n    return 1.0\n", "signature", "exactly one"),
        ("async def grade(*a):\n    return 1.0\n", "signature", "takes 1 (a)"),
        ("async def grade(a, **k):\n    return 1.0\n", "signature", "k"),
        ("async def grade(a, *, k=1):\n    return 1.0\n", "signature", "k"),
        (
            "raise RuntimeError('x')\nasync def grade(t):\n    return 1.0\n",
            "execution",
            "RuntimeError: x (line 1",
        ),
        ("L = nowhere\nasync def grade(t):\n    return 1.0\n", "execution", "nowhere"),
        ("import numpy\nasync def grade(t):\n    return 1.0\n", "execution", "only the standard library"),
        ("async def grade(t):\n    return 1.0\ngrade = 3\n", "execution", "not callable"),
        ("import os\nos._exit(1)\nasync def grade(t):\n    return 1.0\n", "execution", "exit code 1"),
        ("async def grade(t):\n    return 'good'\n", "test_run", "'good' (str)"),
        ("async def grade(t):\n    pass\n", "test_run", "None"),
        ("async def grade(t):\n    return t.metadata['expected']\n", "test_run", "KeyError: 'expected'"),
        ("async def grade(t):\n    yield 1.0\n", "test_run", "async_generator"),
        ("import os\nasync def grade(t):\n    os._exit(1)\n", "test_run", "exit code 1"),
    ],
)
def test_first_cross_stops(text, check, part):
    """The failing check is the last one listed, and its message says what to look at."""
    validation = validate_text(text)
    assert not validation.ok
    assert validation.checks[-1].name == check == validation.failure.name
    assert part in validation.failure.message
    assert [c.passed for c in validation.checks] == [True] * (len(validation.checks) - 1) + [False]
    with pytest.raises(ValidationError, match=f"^{check}: "):
        validation.raise_for_failure()


def test_endless_loop_times_out():
    """A grader that never ends fails its test run with the time limit named."""
    validation = validate_text("async def grade(t):\n    while True: pass\n", limits=Limits(row_seconds=0.2))
    assert validation.failure.name == "test_run"
    assert "timed out" in validation.failure.message


def test_endless_module_times_out():
    """A module that never finishes loading fails the execution check."""
    text = "while True: pass\nasync def grade(t):\n    return 1.0\n"
    validation = validate_text(text, limits=Limits(load_seconds=0.2))
    assert validation.failure.name == "execution"
    assert "timed out" in validation.failure.message


@pytest.mark.parametrize(
    ("signature", "count"),
    [
        ("(t)", 2),
        ("(t: StringThread)", 1),
        ("(t) -> float", 1),
        ("(t: StringThread) -> float", 0),
        ("(t: 'StringThread') -> 'float'", 0),
        ("(t: dict) -> int", 2),
    ],
)
def test_annotation_warnings(signature, count):
    """Missing and other annotations warn and do not fail."""
    validation = validate_text(f"async def grade{signature}:\n    return 0.5\n")
    assert validation.ok
    assert len(validation.warnings) == count


def test_metadata_get_warns_once():
    """`.get` on metadata is pointed out, with its line."""
    validation = validate_text(GOOD.replace("0.5", "float(thread.metadata.get('a', 1))"))
    assert validation.ok
    assert len(validation.warnings) == 1
    assert validation.warnings[0].startswith("line 2: metadata is None")


def test_payload_runs_after_the_mock_thread():
    """A thread of one's own is a sixth line, and its failure names it."""
    text = "async def grade(t: StringThread) -> float:\n    return float(t.completion())\n"
    good = validate_text(text, threads=[StringThread([("assistant", "7")])])
    assert [c.message for c in good.checks][-2:] == ["the mock thread scores 4.0", "test thread 1 scores 7.0"]
    bad = validate_text(text, threads=[StringThread([("assistant", "seven")])])
    assert "on test thread 1" in bad.failure.message


def test_mock_thread_is_adaptives():
    """The mock thread is the one the SDK sends."""
    assert [tuple(turn) for turn in mock_thread().get_turns()] == [
        ("user", "What is 2+2?"),
        ("assistant", "4"),
    ]
    assert mock_thread().metadata == {}


def test_checklist_prints():
    """In a terminal the result is a checklist with the label."""
    text = str(validate_text("async def grade():\n    return 1.0\n"))
    assert text.splitlines()[2].startswith("✗ signature")
    assert "- test_run   not reached" in text
    assert text.splitlines()[-1].startswith("sandbox: ")


def test_html_is_escaped():
    """A message with markup is shown, not run."""
    validation = validate_text(
        "raise ValueError('<img src=x onerror=alert(1)>')\nasync def grade(t):\n    return 1.0\n"
    )
    html = validation._repr_html_()
    assert "<img" not in html
    assert "&lt;img" in html


def test_prints_are_kept():
    """What the source printed while it was checked can be read."""
    assert "hello" in validate_text("print('hello')\n" + GOOD).output


def test_what_was_not_reached_is_not_passed():
    """A result that stops short without a cross raises too."""
    with pytest.raises(ValidationError, match="syntax: not reached"):
        Validation(()).raise_for_failure()
