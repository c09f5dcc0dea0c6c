"""LangSmith and openevals: one evaluator per grader, over inputs, outputs and reference outputs.

An unscored row has `score: None` and the reason in its comment.

Source: LangSmith 0.15.0 (`evaluation/evaluator.py`), openevals 0.2.2, read and run.
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.module import functions_of, whole_of
from workbench.formats.targets.target import TEXT, ExportPlan

RECORD_LINES = '''

def _wb_first(record, names):
    """The value under the first of these names in the record, else the only value, else the record as JSON."""
    if not isinstance(record, dict):
        return record
    found = [record[name] for name in names if name in record] or (list(record.values()) if len(record) == 1 else [])
    return found[0] if found else record


def _wb_said(value):
    return value if isinstance(value, str) else _wb_json.dumps(value, ensure_ascii=False, default=str)


def _wb_record(inputs, outputs, expected):
    inputs = inputs if isinstance(inputs, dict) else {"prompt": inputs}
    expected = expected if isinstance(expected, dict) else {} if expected is None else {"reference": expected}
    asked = inputs.get("messages") or [
        {"role": "user", "content": _wb_said(_wb_first(inputs, ("prompt", "input", "question", "query", "user")))}
    ]
    answered = outputs.get("messages") if isinstance(outputs, dict) else None
    text = _wb_first(outputs, ("completion", "output", "response", "assistant", "answer", "content", "text"))
    if not answered and (text is None or text == {}):
        raise ValueError("there is no output")
    said = answered or [{"role": "assistant", "content": _wb_said(text)}]
    names = (*_WB_REFERENCE, "expected_response", "expected_output")
    reference = _wb_first(expected, names) if expected else None
    metadata = {key: value for key, value in {**inputs, **expected}.items() if key != "messages"}
    return _wb_thread_of([*asked, *said], _wb_with_reference(metadata, reference))
'''


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
