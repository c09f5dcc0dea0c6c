"""Versions of graders that were saved in a session."""

from __future__ import annotations

from datetime import UTC, datetime

import workbench as wb
from workbench.app.session.versions import SavedVersions

FIRST, SECOND = wb.Contains(expected="a", name="g"), wb.Contains(expected="b", name="g")


def test_versions_are_counted_by_name_oldest_first():
    """Each name has separate versions, with text and time."""
    kept = SavedVersions()
    before = datetime.now(UTC)
    kept.note("g", FIRST)
    kept.note("g", SECOND)
    kept.note("other", FIRST)
    assert [(version.number, version.grader) for version in kept.of("g")] == [(1, FIRST), (2, SECOND)]
    assert kept.last("g").number == 2
    assert kept.last("other").number == 1
    assert '"b"' in kept.last("g").text
    assert before <= kept.last("g").at <= datetime.now(UTC)


def test_an_equal_grader_is_no_new_version():
    """Only its report is taken; none takes nothing away."""
    kept = SavedVersions()
    report = wb.Suite([FIRST]).run([{"completion": "a"}], progress=False)
    first = kept.note("g", FIRST)
    assert kept.note("g", wb.Contains(expected="a", name="g"), report=report).report is report
    assert kept.note("g", FIRST).report is report
    assert [(version.number, version.at) for version in kept.of("g")] == [(1, first.at)]


def test_an_unknown_name_has_no_version():
    """Nothing, and no error."""
    kept = SavedVersions()
    assert (kept.of("g"), kept.last("g")) == ((), None)
