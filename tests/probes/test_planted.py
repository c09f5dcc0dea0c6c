"""Planted holes are named, each with a text that shows it; sound graders raise no alarm."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.probes.healthy import HEALTHY
from tests.probes.planted import PLANTED
from tests.probes.tasks import samples


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name.replace(" ", "-"))
def test_a_planted_hole_is_named(planted):
    """One of the findings is the hole, and has rows of the probe's report that show it."""
    probe = wb.probe(wb.FunctionGrader.from_source(planted.source), samples(planted.task), progress=False)
    found = [finding for finding in probe.findings if finding.kind in planted.kinds]
    assert found, str(probe)
    assert len(found[0].rows)
    assert "report" not in probe.__dict__  # nobody asked for it yet
    rows = probe.report.rows(where=found[0])
    assert len(rows) == len(found[0].rows)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_sound_grader_raises_no_alarm(name):
    """No finding for graders that do what graders should."""
    task, source = HEALTHY[name]
    probe = wb.probe(wb.FunctionGrader.from_source(source), samples(task), progress=False)
    assert probe.findings == (), str(probe)
    assert probe.ok
    assert "no hole found" in str(probe)
