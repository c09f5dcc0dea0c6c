"""LangSmith and openevals: one evaluator per grader, over inputs, outputs and reference outputs.

An unscored row has `score: None` and the reason in its comment.

Source: LangSmith 0.15.0 (`evaluation/evaluator.py`), openevals 0.2.2, read and run.
"""

from __future__ import annotations

from workbench.formats.targets.base import TEXT, ExportPlan
from workbench.formats.targets.module import functions_of, whole_of
from workbench.formats.targets.records import RECORD_LINES
from workbench.formats.targets.registering import register_target

_ROW = """

def _wb_result(key, answer):
    comment = _wb_why(answer) if answer.score is None else answer.reason
    return {"key": key, "score": answer.score, "comment": comment or None}
"""
_FUNCTION = """

def FUNCTION(inputs=None, outputs=None, reference_outputs=None):
    answers = _wb_drive(_wb_ask({NAME: _wb_graders[NAME]}, _wb_record, inputs, outputs, reference_outputs))
    return _wb_result(NAME, answers[NAME])
"""
_WHOLE = '''

def combined(inputs=None, outputs=None, reference_outputs=None):
    """RULE."""
    answers = _wb_drive(_wb_ask(_wb_graders, _wb_record, inputs, outputs, reference_outputs))
    return _wb_result(WHOLE, _wb_whole(answers))
'''


def _lines(plan: ExportPlan) -> str:
    functions = functions_of(plan, _FUNCTION) + whole_of(plan, _WHOLE)
    return f"{RECORD_LINES}{_ROW}{functions}\n\nevaluators = [{', '.join(plan.functions)}]\n"


register_target(
    "langsmith",
    "LangSmith and openevals evaluators",
    lines=_lines,
    columns="a key of inputs or reference outputs",
    imports="import json as _wb_json",
    use=lambda _: "client.evaluate(target, data=..., evaluators=evaluators)",
    reads=TEXT | {"messages", "get_turns", "last_content"},
    public=("combined", "evaluators"),
    no_score="score None, with the reason as the comment.",
)
