"""Rewards inside the trainers themselves, each in a process of its own; skipped where a trainer is not installed."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def needs(name):
    """Skip, visibly, where a package is missing."""
    return pytest.mark.skipif(
        importlib.util.find_spec(name) is None, reason=f"needs {name}: pip install {name}"
    )


def last_line(script, *arguments):
    done = subprocess.run(
        [sys.executable, str(HERE / script), *map(str, arguments)],
        capture_output=True, text=True, timeout=500, cwd=HERE.parents[1],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@needs("trl")
def test_trl_steps_on_while_rows_hang(tmp_path):
    """GRPO on the CPU: the rows of one prompt hang, have no score, and the step goes on with the others."""
    found = last_line("trl_step.py", tmp_path)
    assert len(found["calls"]) == 2
    for call in found["calls"]:
        hung = [kind == "hang" for kind in call["kinds"]]
        assert sum(hung) == 4
        assert [score is None for score in call["scores"]] == hung
    assert found["failed"] == {"steady": {"timeout": 8}, "right": {}}
    assert found["logs"]["steady/failed"] == 4.0
    assert "rewards/steady/mean" in found["logs"]


@needs("ray")
def test_a_ray_actor_grades_64_calls_at_once():
    """The reward is sent to the actor, its workers start there, and one row that hangs costs itself."""
    found = last_line("ray_actor.py")
    assert found["elsewhere"]
    assert found["scores"] == [-1.0, *map(float, range(1, 64))]


@needs("verifiers")
def test_verifiers_scores_a_task_with_it(tmp_path):
    """Plugged in by the configuration; a row without a score is an error of its rollout."""
    right, wrong, hung = last_line("verifiers_score.py", tmp_path)
    assert (right, wrong) == ([1.0, 0.5], [0.0, 0.5])
    assert "timed out" in hung
