"""Attacks by whoever has read the source: none gets through, and those that the filter stops get through without it."""

import asyncio
import os
import platform
import sys

import pytest

from tests.sandbox.hostile import BROKE, ENV_NAME, LAYER_SETS, stage
from tests.sandbox.hostile_internals import CASES, MARK, SPY, STAYING, InternalsArena, StayArena
from workbench.sandbox.host.program import Limits, Program

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernel confinement is Linux's")
X86_64 = platform.machine() == "x86_64"
HERE = [case for case in CASES if X86_64 or case.family != "calls"]  # calls by their numbers of one machine
ALIVE = [case for case in HERE if case.open_without_locks]


def named(cases):
    return [pytest.param(case, id=f"{case.family}: {case.name}") for case in cases]


@pytest.fixture(scope="module")
def locked():
    with InternalsArena(LAYER_SETS["all"]) as arena:
        yield arena


@pytest.fixture(scope="module")
def staying():
    with StayArena(LAYER_SETS["all"]) as arena:
        yield arena


@linux
@pytest.mark.parametrize("case", named(HERE))
def test_attack_fails(case, locked):
    """No attack reads a canary, says what only the host may say, breaks a grade, or leaves anything behind."""
    assert locked.wounds(case) == []


@linux
@pytest.mark.parametrize("case", named(STAYING))
def test_attack_on_a_worker_that_stays_fails(case, staying):
    """The same where calls follow each other in one worker, and for the next caller of another grader."""
    assert staying.wounds(case) == []


@linux
@pytest.mark.parametrize("layers", [(), ("seccomp",)], ids=["no layer", "seccomp"])
def test_the_filter_alone_stops_the_calls(layers):
    """Without a layer each of these calls gets through, so its failing means something; under the filter alone none does."""
    with InternalsArena(layers) as arena, stage() as scene:
        found = {case.name: bool(arena._attack(case, scene)) for case in ALIVE}
    assert found == {case.name: not layers for case in ALIVE}


LASTING = ("gc.", "hook", "signal", "orig_argv", "in_dll", "setprofile", "settrace")
"""Words of cases that change the process they run in, or look where a variable that is set later does not stand."""


@pytest.mark.parametrize(
    "case",
    named(c for c in CASES if c.family == "frames" and not any(word in c.body for word in LASTING)),
)
def test_what_frames_lead_to_is_there_in_the_host(case, monkeypatch):
    """In a process that has the variable the same code finds it: only the fresh interpreter keeps it away."""
    monkeypatch.setitem(os.environ, ENV_NAME, "1")
    with stage() as scene:
        space = {"__name__": "grader"}
        exec(compile(case.text(scene), "<case>", "exec"), space)
        assert asyncio.run(space["grade"](None)) == BROKE


@linux
@pytest.mark.parametrize(
    "leaves", ["import builtins\nbuiltins.left = MARK", "import os\nos.environ['x'] = MARK", "KEPT = [MARK]"]
)
def test_the_spy_sees_what_is_left(leaves, locked):
    """Where a trace is left in the very worker, the grader that looks for one finds it."""
    program = Program(f"MARK = {MARK!r}\n{leaves}\n{SPY}", Limits(row_seconds=5, memory_mb=256))
    assert set(locked.pool.run(program, locked.packed, workers=1).grades.scores) == {-2.0}


def test_there_are_enough_attacks():
    """At least five hundred attacks, each under its own name and with its own text."""
    cases = [*CASES, *STAYING]
    assert len({(case.family, case.name) for case in cases}) == len(cases)
    assert len({(case.family, case.body, case.module) for case in cases}) == len(cases) >= 500
    assert len(ALIVE) >= 45 or not X86_64
