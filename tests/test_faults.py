"""The parts of `benchmarks/faults.py` at small sizes: each promise is kept."""

import sys

import pytest

from benchmarks.fault_parts.common import Line
from benchmarks.faults import PARTS, SMALL, main, run_part
from workbench.store import replies

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc")
ELSEWHERE = {"documents", "threads"}
"""Tested by format and by grader, in `tests/formats` and `tests/graders`."""
SIZES = {
    **SMALL,
    "kernel": {"rows": 200, "kills": 2, "at_once": 8},
    "store": {"rows": 100, "at_once": 8},
    "two_processes": {"rows": 100},
    "clock": {"rows": 60},
    "soak": {"rows": 4_000, "runs": 20},
}


@pytest.mark.parametrize("part", sorted(set(PARTS) - ELSEWHERE))
def test_a_part_keeps_its_promises(part, monkeypatch):
    """With real processes, a real server, and the faults of one seed."""
    # A store that broke leaves leases, which the next run of `store` waits for.
    monkeypatch.setattr(replies, "LEASE_SECONDS", 5.0)
    monkeypatch.setattr(replies, "RENEW_SECONDS", 1.0)
    lines = run_part(part, 0, SIZES[part])
    assert lines
    assert [line for line in lines if not line.kept] == []


def test_a_broken_promise_is_told(monkeypatch, capsys):
    """The program ends with 1, and says which."""
    monkeypatch.setitem(PARTS, "clock", lambda seed: [BROKEN])
    monkeypatch.setattr(sys, "argv", ["faults.py", "clock"])
    assert main() == 1
    assert "BROKEN" in capsys.readouterr().out


BROKEN = Line("a fault", "a loss", "none", kept=False)
