"""Graders with a hole and the same graders repaired: how they are probed, and what has to be found."""

from __future__ import annotations

import workbench as wb

HEAD = "import json, math, re, sqlite3\n\n\ndef grade(sample, item):\n    text = sample['output_text']\n"


def probed(source, rows):
    """The probe of the body of a grade function on rows without a reference, unless they have a column of that name."""
    return wb.probe(
        wb.FunctionGrader.from_source(HEAD + source, name="graded"),
        wb.read_samples(rows, columns={} if "reference" in rows[0] else {"reference": None}),
        progress=False,
    )


def check_hole(kind, rows, source, old, new):
    """The hole is named with a text, and the repaired grader is not accused."""
    probe = probed(source, rows)
    assert kind in [one.kind for one in probe.findings[:3]], str(probe)
    assert len(probe.texts(kind))
    assert old in source
    repaired = probed(source.replace(old, new), rows)
    assert repaired.ok, str(repaired)
    assert kind not in [one.kind for one in repaired.findings]
