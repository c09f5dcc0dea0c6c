"""Rewards inside the trainers themselves, each in a process of its own with that trainer's packages."""

from pathlib import Path

import pytest

from tests.targets.environments import python_of
from tests.targets.scripts import last_line

HERE = Path(__file__).parent

pytestmark = pytest.mark.install


def test_trl_steps_on_while_rows_hang(tmp_path):
    """GRPO on the CPU: the rows of one prompt hang, have no score, and the step goes on with the others."""
    found = last_line(HERE / "trl_step.py", tmp_path, python=python_of("train"))
    assert len(found["calls"]) == 2
    for call in found["calls"]:
        hung = [kind == "hang" for kind in call["kinds"]]
        assert sum(hung) == 4
        assert [score is None for score in call["scores"]] == hung
    assert found["failed"] == {"steady": {"timeout": 8}, "right": {}}
    assert found["logs"]["steady/failed"] == 4.0
    assert "rewards/steady/mean" in found["logs"]


def test_a_ray_actor_grades_64_calls_at_once():
    """The reward is sent to the actor, its workers start there, and one row that hangs costs itself."""
    found = last_line(HERE / "ray_actor.py", python=python_of("train"), first=True)
    assert found["elsewhere"]
    assert found["scores"] == [-1.0, *map(float, range(1, 64))]


def test_verifiers_scores_a_task_with_it(tmp_path):
    """Plugged in by the configuration; a row without a score is an error of its rollout."""
    right, wrong, hung = last_line(HERE / "verifiers_score.py", tmp_path, python=python_of("evaluate"))
    assert (right, wrong) == ([1.0, 0.5], [0.0, 0.5])
    assert "timed out" in hung
