"""promptfoo: `get_assert(output, context)` for a `python` assertion, and one function per grader; its configs are read.

An exception counts as score 0, not passed: promptfoo cannot represent a missing score in a Python assertion.

Source: promptfoo 0.123.1 (`assertions/python`), read and run.
"""

from __future__ import annotations

from workbench.formats.platforms import promptfoo
from workbench.formats.targets import register_target
from workbench.formats.targets.module import functions_of
from workbench.formats.targets.target import TEXT, ExportPlan

_ROW = """

def _wb_row(output, context):
    text = output if output is None or isinstance(output, str) else _wb_json.dumps(output, ensure_ascii=False)
    turns = [("user", context.get("prompt") or ""), ("assistant", text)]
    return _wb_thread(turns, context.get("vars") or {})


def _wb_result(answer, answers):
    score = _wb_number(answer, ON_ERROR)
    if answer.score is None:
        return {"pass": False, "score": score, "reason": f"no score: {_wb_why(answer)}", "namedScores": {}}
    passed = score > 0 if answer.passed is None else answer.passed  # as promptfoo reads a bare number
    parts = {name: one.score for name, one in answers.items() if one.score is not None}
    return {"pass": passed, "score": score, "reason": answer.reason or f"score {score:g}", "namedScores": parts}


def get_assert(output, context):
    answers = _wb_drive(_wb_ask(_wb_graders, _wb_row, output, context))
    return _wb_result(_wb_whole(answers), answers)
"""
_FUNCTION = """

def FUNCTION(output, context):
    answers = _wb_drive(_wb_ask({NAME: _wb_graders[NAME]}, _wb_row, output, context))
    return _wb_result(answers[NAME], answers)
"""


def _lines(plan: ExportPlan) -> str:
    functions = functions_of(plan, _FUNCTION) if len(plan.parts) > 1 else ""
    return _ROW.replace("ON_ERROR", repr(plan.on_error)) + functions


register_target(
    "promptfoo",
    "promptfoo Python assertions",
    lines=_lines,
    documents=(promptfoo.detect, promptfoo.read),
    columns="a variable of the test (vars)",
    imports="import json as _wb_json",
    use=lambda _: "assert: [{type: python, value: 'file://THIS_FILE.py'}]",
    reads=TEXT | {"messages", "get_turns", "last_content"},
    public=("get_assert",),
    combines=True,
    words=False,
    no_score="promptfoo counts an exception as score 0, not passed.",
)
