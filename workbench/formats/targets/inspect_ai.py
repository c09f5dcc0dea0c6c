"""inspect_ai: one scorer per grader, over the task's state and target; `inspect score LOG --scorer FILE@NAME` scores old logs.

An unscored row is `Score.unscored`, which inspect stores and excludes from every metric.

Source: inspect_ai 0.3.285 (`scorer/_metric.py`), read and run.
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.module import functions_of, whole_of
from workbench.formats.targets.target import ExportPlan

_IMPORTS = """import json as _wb_json

from inspect_ai.scorer import Score, mean, scorer, stderr"""
_ROW = """

def _wb_call(call):
    function = {"name": call.function, "arguments": _wb_json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _wb_message(message):
    calls = [_wb_call(call) for call in getattr(message, "tool_calls", None) or []]
    answered = getattr(message, "tool_call_id", None)
    return {"role": message.role, "content": message.text, "tool_calls": calls, "tool_call_id": answered}


def _wb_row(state, target):
    messages = [_wb_message(one) for one in state.messages]
    if not any(one["role"] == "assistant" for one in messages):
        messages.append({"role": "assistant", "content": state.output.completion})
    texts = list(target)
    reference = texts if len(texts) > 1 else (texts[0] if texts and texts[0] else None)
    return _wb_thread_of(messages, _wb_with_reference(state.metadata, reference))


def _wb_score(answer, state, parts=None):
    note = {"answer": state.output.completion, "metadata": parts or answer.metadata}
    if answer.score is None:
        word = "scoring_failed" if answer.failure else "skipped"
        return Score.unscored(reason=word, explanation=_wb_why(answer), **note)
    return Score(value=answer.score, explanation=answer.reason or None, **note)
"""
_FUNCTION = """

@scorer(metrics=[mean(), stderr()])
def FUNCTION():
    async def score(state, target) -> Score:
        answers = await _wb_ask({NAME: _wb_graders[NAME]}, _wb_row, state, target)
        return _wb_score(answers[NAME], state)

    return score
"""
_WHOLE = '''

@scorer(metrics=[mean(), stderr()])
def combined():
    """RULE, with each grader's score as metadata."""

    async def score(state, target) -> Score:
        answers = await _wb_ask(_wb_graders, _wb_row, state, target)
        return _wb_score(_wb_whole(answers), state, {name: answer.score for name, answer in answers.items()})

    return score
'''


def _lines(plan: ExportPlan) -> str:
    return _ROW + functions_of(plan, _FUNCTION) + whole_of(plan, _WHOLE)


def _use(plan: ExportPlan) -> str:
    name = plan.parts[0].function if plan.rule is None else "combined"
    listed = ", ".join(f"{function}()" for function in plan.functions)
    return f"Task(..., scorer=[{listed}]), or: inspect score LOG --scorer THIS_FILE.py@{name}"


register_target(
    "inspect",
    "inspect_ai scorers",
    lines=_lines,
    columns="a key of the sample's metadata",
    imports=_IMPORTS,
    use=_use,
    public=("combined", "Score", "mean", "scorer", "stderr"),
    no_score="Score.unscored, which inspect stores and excludes from every metric.",
)
