"""verl: one `compute_score`, named in the config under `reward.custom_reward_function`.

It gets the completion, the reference and the row's extra columns; the prompt is not passed. The number or the dict it
returns is the reward; other keys become metrics, and every row has to return the same ones.

Source: verl 0.9.1 (`workers/reward_manager`, `experimental/reward_loop`), read and run.
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.target import TEXT, ExportPlan

_LINES = """

def compute_score(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    metadata = _wb_with_reference({"data_source": data_source, **(extra_info or {})}, ground_truth)
    answers = _wb_drive(_wb_ask(_wb_graders, _wb_thread, [("assistant", solution_str)], metadata))
    score = _wb_number(_wb_whole(answers), ON_ERROR)
    return RETURNED
"""
_PARTS = '{**{name: _wb_number(answer, _wb_math.nan) for name, answer in answers.items()}, "score": score}'


def _lines(plan: ExportPlan) -> str:
    returned = _PARTS if len(plan.parts) > 1 else "score"
    return _LINES.replace("ON_ERROR", repr(plan.on_error)).replace("RETURNED", returned)


register_target(
    "verl",
    "verl compute_score",
    lines=_lines,
    columns="a key of the row's extra_info",
    use=lambda _: (
        "reward.custom_reward_function.path=THIS_FILE reward.custom_reward_function.name=compute_score"
    ),
    reads=TEXT,
    public=("compute_score",),
    combines=True,
    words=False,
    reward="verl",
    no_score="verl's naive reward manager stops the run there; its limited one records 0.0.",
    signature="verl",
    example="def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return float(ground_truth in solution_str)\n",
)
