"""Attacks by scripts, rollouts and functions of other platforms: none gets through."""

import sys

import pytest

from tests.sandbox.hostile import LAYER_SETS
from tests.sandbox.hostile_programs import CASES, ProgramArena

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernel confinement is Linux's")


def named(cases):
    return [pytest.param(case, id=f"{case.family}: {case.name}") for case in cases]


@pytest.fixture(scope="module")
def locked():
    with ProgramArena(LAYER_SETS["all"]) as arena:
        yield arena


@pytest.fixture(scope="module")
def bare():
    with ProgramArena(LAYER_SETS["none"]) as arena:
        yield arena


@linux
@pytest.mark.parametrize("case", named(CASES))
def test_attack_fails_under_all_layers(case, locked):
    """No attack hurts the host, another row or its note, or the run that comes next, or ends otherwise than it should."""
    assert locked.wounds(case) == []


@linux
@pytest.mark.parametrize("case", named(case for case in CASES if case.open_without_locks))
def test_canary_is_alive(case, bare):
    """Without any layer the attack gets through, so its failing elsewhere means something."""
    assert bare.wounds(case) != []


def test_there_are_enough_attacks():
    """More than fifty scripts and as many programs of other platforms, under different names."""
    assert len({(case.family, case.name) for case in CASES}) == len(CASES)
    scripts = sum(case.family == "javascript" for case in CASES)
    assert min(scripts, len(CASES) - scripts) >= 50
