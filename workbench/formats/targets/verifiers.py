"""verifiers 0.4, and prime-rl with it: async rewards that a task's config names, each with its weight.

A reward gets the task's data, whose own fields are the row's columns, and the trace of the rollout. If a reward raises, the
rollout is an error and none of its rewards counts: verifiers retries or drops it.

Source: verifiers 0.4.0 (`v1/task.py`, `v1/trace.py`), read and run (`Task.score`).
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.module import functions_of, mapped, whole_of
from workbench.formats.targets.target import ExportPlan
from workbench.graders.combine import Mean, Sum

_ROW = """

def _wb_message(message):
    own = message.model_dump()
    calls = own.get("tool_calls") or []
    own["tool_calls"] = [{"id": one["id"], "type": "function", "function": one} for one in calls]
    return own


def _wb_row(task, trace):
    branches = trace.branches
    messages = [_wb_message(one) for one in (branches[-1].messages if branches else [])]
    # The root agent's reply is not in a branch.
    if getattr(trace, "root_reply", None) is not None or not messages or messages[-1]["role"] != "assistant":
        prompt = getattr(task, "prompt_text", None)
        asked = [] if prompt is None else _wb_as_messages(prompt, "user")
        messages = [*asked, *_wb_answer_messages(trace.last_reply)]
    return _wb_thread_of(messages, task.model_dump())


async def _wb_score(name, task, trace):
    answers = await _wb_ask({name: _wb_graders[name]}, _wb_row, task, trace)
    return _wb_number(answers[name], None)
"""
_FUNCTION = """

async def FUNCTION(task, trace) -> float:
    return await _wb_score(NAME, task, trace)
"""
_WHOLE = '''

async def reward(task, trace) -> float:
    """RULE."""
    return _wb_number(_wb_whole(await _wb_ask(_wb_graders, _wb_row, task, trace)), None)
'''


def _lines(plan: ExportPlan) -> str:
    functions = functions_of(plan, _FUNCTION) + whole_of(plan, _WHOLE)
    return f"{_ROW}{functions}\n\nREWARDS = {mapped(_rewards(plan))}\n"


def _rewards(plan: ExportPlan) -> dict[str, float]:
    """Function to weight: verifiers adds up their scores."""
    weights = {part.function: part.weight for part in plan.parts}
    if plan.rule is None or isinstance(plan.rule, Sum):
        return weights
    if isinstance(plan.rule, Mean):
        return {name: weight / sum(weights.values()) for name, weight in weights.items()}
    return {"reward": 1.0}


def _use(plan: ExportPlan) -> str:
    rewards = [
        f'{name} = {{ fn = "THIS_FILE.py:{name}", weight = {weight!r} }}'
        for name, weight in _rewards(plan).items()
    ]
    return "\n".join(["In the config of the environment:", "[env.taskset.task.rewards]", *rewards])


register_target(
    "verifiers",
    "verifiers rewards (prime-rl)",
    lines=_lines,
    columns="a field of the task",
    use=_use,
    public=("reward", "REWARDS"),
    reward="verifiers",
    no_score="an exception, which makes the rollout an error: it is retried or dropped.",
)
