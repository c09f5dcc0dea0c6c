"""What is compared of a reference: numbers with words, programs without layout; where the truth is in another column."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.probes.tasks import samples
from workbench.probes.shapes import number_with_words, numbers_in
from workbench.probes.variants import is_same_program, other_digits, other_signs, with_body


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("33 kg", "33"),
        ("-4,923 euros", "-4,923"),
        ("$40", "40"),
        ("42", None),
        ("3 of 4", None),
        ("many", None),
    ],
)
def test_the_number_of_a_quantity(text, number):
    """A quantity has one number and words; a bare number and several numbers are none."""
    assert number_with_words(text) == number


def test_numbers_in_other_digits_are_read():
    """Raised and wide digits and a typographic minus are the same numbers."""
    assert numbers_in("33 kg²") == [33.0]
    assert numbers_in("−５ degrees") == [-5.0]


def test_a_program_is_compared_without_its_layout():
    """Comments, docstrings and spaces change nothing; a digit does; a text that does not parse equals nothing."""
    code = 'def f(x):\n    """Doc."""\n    return x + 1  # one\n'
    assert is_same_program(code, 'def f( x ):\n    """Other."""\n    return x+1')
    assert not is_same_program(code, code.replace("+ 1", "+ 2"))
    assert not is_same_program("not a program (", "not a program (")


def test_changed_programs_differ():
    """Digits and signs in comments are left alone."""
    code = "# cases: [1, 2]\ndef f(x):\n    return x + 3"
    changed = [*other_digits(code), *other_signs(code)]
    assert changed
    assert not any(is_same_program(code, other) for other in changed)
    assert "return x + 4" in changed[0]


def test_a_body_is_replaced_only_where_a_value_is_returned():
    """A function that returns nothing has no stub that differs."""
    assert with_body("def f(x):\n    return x", "pass") == "def f(x):\n    pass"
    assert with_body("def f(x):\n    print(x)", "pass") == ""
    assert with_body("no program (", "pass") == ""


GRADER = """
async def grade(thread):
    lines = [line.strip() for line in (thread.completion() or "").splitlines()]
    return 1.0 if sorted(lines) == sorted(thread.metadata["named"]) else 0.0
"""


def test_a_column_that_the_grader_reads_is_the_reference():
    """Where its values are accepted as completions, and rejected in other rows, transformations start from them."""
    probe = wb.probe(wb.FunctionGrader.from_source(GRADER), samples("people"), progress=False)
    tried = probe.table.set_index("transformation")
    assert probe.findings == (), str(probe)
    assert tried.loc["as-it-is", "rows"] == 20
    assert tried.loc["as-it-is", "wrong"] == 0
    assert {"entry-for-all", "entry-missing", "order-ignored"} & {*tried.index}
