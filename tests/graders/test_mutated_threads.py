"""Mutated threads get a grade of every grader, or an error that says what is wrong with the row."""

import pytest

from benchmarks.fault_parts.threads import fates, mutated_rows
from tests.graders.examples import EXAMPLES

ROWS = mutated_rows(120, 1)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_mutated_threads(kind):
    """The same rows every time; `benchmarks/faults.py threads` grades ten thousand."""
    found = fates(EXAMPLES[kind](), ROWS)
    assert set(found) <= {"scored", "failed", "skipped"}
    assert sum(found.values()) == len(ROWS)
