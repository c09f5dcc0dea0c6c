"""Planted holes are named, each with a text that shows it; sound graders raise no alarm."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.probes.healthy import ALL_HEALTHY, FORM_CHECKS, probe_healthy
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


@pytest.mark.parametrize("name", ALL_HEALTHY)
def test_a_sound_grader_raises_no_alarm(name):
    """No finding for graders that do what graders should."""
    probe = probe_healthy(name)
    assert probe.findings == (), str(probe)
    assert probe.ok
    assert "no hole found" in str(probe)


@pytest.mark.parametrize("name", FORM_CHECKS)
def test_what_a_check_of_the_form_takes_is_told(name):
    """The first note says that it checks only the form, and what it takes; nothing of it is labelled as wrong."""
    probe = probe_healthy(name, tries=0)
    assert probe.notes[0].kind == "form-only", str(probe)
    assert "checks only the form" in str(probe)
    assert "other-answer" not in [note.kind for note in probe.notes[1:]]  # said by the first


_OWN = "async def {name}(thread):\n    text = thread.completion() or ''\n    return {score}\n"


@pytest.mark.parametrize(
    ("name", "score", "kind"),
    [
        ("long_enough", "1.0 if 'because' in text or len(text) > 60 else 0.0", "gibberish"),
        ("grade", "1.0 if len(text) > 40 else 0.0", "gibberish"),
        ("length", "min(1.0, len(text) / 500)", "gibberish"),
        ("length", "0.95", "accepts-anything"),
        ("no_refusal_in_few_words", "0.0 if 'sorry' in text else 1.0", "accepts-anything"),
    ],
    ids=["a word or long", "does not say so", "pays for more", "looks at nothing", "looks for a word"],
)
def test_a_check_of_what_is_said_is_still_held_to_it(name, score, kind):
    """A grader of one's own without a reference is no check of the form because of its name alone."""
    rows = wb.Samples(samples("sentences").frame.drop(columns="expected"))
    grader = wb.FunctionGrader.from_source(_OWN.format(name=name, score=score))
    found = wb.probe(grader, rows, progress=False).findings
    assert found[0].kind == kind
