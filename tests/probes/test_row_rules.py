"""What sets rows apart is named only if it is true of just these rows."""

from __future__ import annotations

import pytest

import workbench as wb

SOURCE = "import re\nasync def grade(thread):\n    found = re.findall(r'\\d+', thread.completion() or '')\n    return float(found[-1:] == [str((thread.metadata or {}).get('expected'))])\n"


@pytest.mark.parametrize(
    ("references", "says"),
    [
        ([-7, -21, -30, 8, 12, 25, 31, 44], "all rows whose reference is negative"),
        ([-7, 8, 12, 25, 31, 44, 52, 63], ""),  # a single row shows nothing
    ],
)
def test_negative_references_are_the_cause(references, says):
    """A pattern without a sign rejects the negative references, and only these."""
    rows = [{"prompt": f"p{n}", "expected": str(n), "completion": f"It is {n}"} for n in references]
    probe = wb.probe(wb.FunctionGrader.from_source(SOURCE), rows, progress=False)
    finding = next(finding for finding in probe.findings if finding.kind == "as-it-is")
    assert (says in finding.message) if says else ("all rows" not in finding.message), finding.message
