"""Attacks on the sandbox, under all layers and under the filter alone."""

import sys

import pytest

from tests.sandbox.hostile import CASES, LAYER_SETS, is_safe
from workbench.sandbox.pool import Pool

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernel confinement is Linux's")


@linux
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.family}: {case.name}")
def test_attack_fails_under_all_layers(case):
    """No attack reads a canary, changes a file, reaches a listener or leaves a process."""
    assert is_safe(case, Pool())


@linux
@pytest.mark.parametrize("family", ["read", "write", "network", "process"])
def test_filter_alone_is_enough(family):
    """Where Landlock is missing, the filter and the limits hold every attack of a family."""
    layers = LAYER_SETS["seccomp + rlimits"]
    assert [case.name for case in CASES if case.family == family and not is_safe(case, Pool(layers))] == []


@linux
def test_canaries_can_die():
    """Without any layer attacks do get through: the canaries are alive."""
    broken = [case.name for case in CASES if not is_safe(case, Pool(()))]
    assert {"open", "unlink", "tcp connect", "udp send", "fork", "subprocess", "directory list"} <= set(
        broken
    )


def test_there_are_enough_attacks():
    """The table holds at least sixty attacks under different names."""
    assert len({(case.family, case.name) for case in CASES}) == len(CASES) >= 60
