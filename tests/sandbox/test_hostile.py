"""Attacks on the sandbox: none gets through all layers, and those that layers stop get through none."""

import asyncio
import sys

import pytest

from tests.sandbox.hostile import BROKE, CASES, LAYER_SETS, Arena, is_safe, stage

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernel confinement is Linux's")

HOLES: set[str] = set()
"""Attacks that get through today. Strict, so that the one who closes a hole takes it out here."""
QUICK = [case for case in CASES if case.family in {"read", "write", "network", "process", "tricks"}]


def marked(case):
    marks = [pytest.mark.xfail(strict=True, reason="known hole")] if case.name in HOLES else []
    return pytest.param(case, id=f"{case.family}: {case.name}", marks=marks)


@pytest.fixture(scope="module")
def locked():
    with Arena(LAYER_SETS["all"]) as arena:
        yield arena


@pytest.fixture(scope="module")
def bare():
    with Arena(LAYER_SETS["none"]) as arena:
        yield arena


@linux
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_attack_fails_under_all_layers(case, locked):
    """No attack reads a canary, harms a thing, hurts the host, or touches the run that comes next."""
    assert locked.wounds(case) == []


@linux
@pytest.mark.parametrize("name", ["seccomp", "rlimits"])
def test_layers_stop_what_they_are_said_to_stop(name):
    """Each layer by itself stops the attacks that say so: the filter stops all but memory."""
    cases = [case for case in QUICK if case.stopped_by and case.stopped_under(LAYER_SETS[name])]
    assert len(cases) >= 50
    with Arena(LAYER_SETS[name]) as arena:
        assert {case.name: found for case in cases if (found := arena.wounds(case))} == {}


@linux
@pytest.mark.parametrize(
    "case", [marked(case) for case in CASES if case.open_without_locks and case.name not in HOLES]
)
def test_canary_is_alive(case, bare):
    """Without any layer the attack gets through, so its failing elsewhere means something.

    A worker that became another program is ended at once, which on a busy machine may come before that program did
    anything: this one has a few tries.
    """
    tries = 5 if (case.family, case.name) == ("process", "exec") else 1
    assert next(filter(None, (bare.wounds(case) for _ in range(tries))), []) != []


@pytest.mark.parametrize(
    "case", [marked(case) for case in CASES if case.family == "clean exec" and "find(" not in case.body]
)
def test_what_a_clean_exec_hides_is_there_in_the_host(case):
    """In the host's own process the same code finds the canary: only the fresh interpreter hides it."""
    with Arena(()) as arena, stage() as scene:
        space = {}
        exec(compile(case.text(scene), "<case>", "exec"), space)
        assert asyncio.run(space["grade"](None)) in {BROKE, float(arena.canary)}


@linux
def test_a_pool_of_its_own_says_the_same():
    """The verdict does not come from sharing a pool: one case of each kind by itself."""
    case = CASES[0]
    assert is_safe(case, LAYER_SETS["all"])
    assert not is_safe(case, ())


def test_there_are_enough_attacks():
    """At least two hundred attacks under different names, 55 of them alive where nothing is locked."""
    assert len({(case.family, case.name) for case in CASES}) == len(CASES) >= 195
    assert sum(case.open_without_locks for case in CASES) >= 55
    assert all("seccomp" in case.stopped_by for case in QUICK if case.stopped_by)
