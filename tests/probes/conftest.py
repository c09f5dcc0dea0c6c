"""Probes of graders given as text."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.probes.planted import HEAD
from tests.probes.tasks import samples


@pytest.fixture
def probed():
    """A function from a task, the lines of a grade function and settings to the probe of it."""

    def probe(task, body, **settings):
        lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
        grader = wb.FunctionGrader.from_source(f"{HEAD}async def grade(thread):\n{lines}\n")
        rows = samples(task) if isinstance(task, str) else task
        return wb.probe(grader, rows, progress=False, **settings)

    return probe
