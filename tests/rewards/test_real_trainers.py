"""Rewards inside the trainers themselves, each in a process of its own with that trainer's packages."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.targets.environments import python_of

HERE = Path(__file__).parent

pytestmark = [pytest.mark.install, pytest.mark.turn(0, of=2)]

_BEHIND = "import runpy, sys; sys.path.append(sys.argv.pop(1)); sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"
"""Runs a script with the workbench's own packages behind those of the trainer."""


def last_line(script, *arguments, python, first=False):
    own = sysconfig.get_paths()["purelib"]
    # Processes that the script starts, such as an actor, find packages by the variable alone.
    path = [str(HERE.parents[1]), *([own] if first else [])]
    done = subprocess.run(
        [str(python), "-c", _BEHIND, own, str(HERE / script), *map(str, arguments)],
        capture_output=True, text=True, timeout=500, cwd=HERE.parents[1],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_trl_steps_on_while_rows_hang(tmp_path):
    """GRPO on the CPU: the rows of one prompt hang, have no score, and the step goes on with the others."""
    found = last_line("trl_step.py", tmp_path, python=python_of("train"))
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
    found = last_line("ray_actor.py", python=python_of("train"), first=True)
    assert found["elsewhere"]
    assert found["scores"] == [-1.0, *map(float, range(1, 64))]


def test_verifiers_scores_a_task_with_it(tmp_path):
    """Plugged in by the configuration; a row without a score is an error of its rollout."""
    right, wrong, hung = last_line("verifiers_score.py", tmp_path, python=python_of("evaluate"))
    assert (right, wrong) == ([1.0, 0.5], [0.0, 0.5])
    assert "timed out" in hung
