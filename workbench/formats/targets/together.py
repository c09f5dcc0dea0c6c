"""Together's reinforcement learning: a function of the prediction and the target, in 0..1.

Source: Together's RL cookbook.
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.target import TEXT

_LINES = """

def reward(prediction, target):
    turns, metadata = [("assistant", prediction)], _wb_with_reference({}, target)
    return _wb_number(_wb_whole(_wb_drive(_wb_ask(_wb_graders, _wb_thread, turns, metadata))), ON_ERROR)
"""


register_target(
    "together",
    "Together reward function",
    lines=lambda plan: _LINES.replace("ON_ERROR", repr(plan.on_error)),
    use=lambda _: "the reward function of a dataset in the registry",
    reads=TEXT,
    public=("reward",),
    combines=True,
    words=False,
    no_score="the exception fails the job's call.",
    clips=(0.0, 1.0),
    remarks=("a row has only its target: other columns that a grader reads are missing",),
    signature="together",
    example="def exact(prediction, target):\n    return float(prediction.strip() == target.strip())\n",
)
