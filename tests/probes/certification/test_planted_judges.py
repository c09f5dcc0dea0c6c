"""Planted defects of judges are named, and judges without one get no alarm."""

import pytest

from tests.probes.certification.scripted_judges import DEFECTS, HEALTHY, run


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_named(defect):
    """The check that is about the defect fails, or the rate that it lowers is below the limit."""
    named, case = DEFECTS[defect]
    found = run(case())
    failed = [check.name for check in found.failed]
    assert named in failed or (named in ("TPR", "TNR") and named in found.reason), found.lines
    if named not in ("annotators", "replacement"):
        assert found.verdict == "not certified"
        assert found.advice


@pytest.mark.parametrize("healthy", HEALTHY)
@pytest.mark.parametrize("seed", range(2))
def test_a_healthy_judge_gets_no_alarm(healthy, seed):
    """No check fails, and the verdict is that it is certified or that more rows are needed."""
    found = run(HEALTHY[healthy](seed))
    assert not found.failed, found.lines
    assert found.verdict in ("certified", "cannot be said yet")
    if found.verdict == "cannot be said yet":
        assert any(found.needs.values())


def test_there_are_enough_defects():
    """At least 20 defects are planted."""
    assert len(DEFECTS) >= 20
