"""Why nothing would be written, as the page shows it: sentences, and hints in the page's wording."""

from __future__ import annotations

from workbench.app.view.export import problem_lines
from workbench.core.errors import FormatError, WorkbenchError
from workbench.formats.shared import get_format

OPENAI = get_format("openai")


def test_nothing_is_wrong():
    """No sentence."""
    assert problem_lines(None, OPENAI) == []


def test_a_refusal_names_the_platform_and_both_ways_out():
    """One that a person takes, and the choice on the page."""
    hint = 'use combine=Mean(); on_loss="report" writes min(a, b) instead and reports the loss'
    refused = FormatError(
        "openai does not support this: several graders need a formula", where="the suite, combine", hint=hint
    )
    assert problem_lines(refused, OPENAI) == [
        "OpenAI: several graders need a formula (the suite, combine).",
        "Use combine=Mean().",
        "Or choose “drop and list” under “unsupported”: min(a, b) is written then.",
    ]


def test_what_may_be_left_out_is_said_to_be():
    """Without another way out it is the only one."""
    refused = FormatError(
        "openai does not support this: x", hint='on_loss="report" drops it and reports the loss'
    )
    assert problem_lines(refused, OPENAI)[1:] == [
        "Or choose “drop and list” under “unsupported”: it is omitted then."
    ]


def test_every_word_of_an_error_is_kept():
    """What was found in several lines, what was expected, a hint with semicolons, a sentence that ends."""
    error = WorkbenchError("it breaks.", found="one\ntwo: boom", expected="none", hint='use "a; b"')
    assert problem_lines(error, OPENAI) == [
        "It breaks.",
        "Found one\ntwo: boom.",
        "Expected none.",
        'Use "a; b".',
    ]


def test_proof_is_a_button_on_the_page():
    """Code that a person would have to run somewhere else is none."""
    lines = problem_lines(
        WorkbenchError("not validated", hint="call half.validate() first, or pass allow_unvalidated=True"),
        OPENAI,
    )
    assert lines[-1] == "Validate it above, or tick “export without validation”."
