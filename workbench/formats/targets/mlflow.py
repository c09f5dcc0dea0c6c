"""MLflow: one scorer per grader, which returns a `Feedback` with its value and its reason.

An unscored row is `Feedback(error=...)`: MLflow records it and excludes it from the aggregates. Judges become, on
request, MLflow's native judges: `judging/make_judge.py`.

Source: MLflow 3.17.2 (`genai/scorers`), read and run.
"""

from __future__ import annotations

from workbench.formats.targets.base import TEXT, ExportPlan
from workbench.formats.targets.judging.make_judge import MAKE_JUDGE, judges_text
from workbench.formats.targets.langsmith import RECORD_LINES
from workbench.formats.targets.module import functions_of, whole_of
from workbench.formats.targets.registering import register_target

_IMPORTS = """import json as _wb_json

from mlflow.entities import AssessmentError, Feedback
from mlflow.genai.scorers import scorer"""
_ROW = """

def _wb_feedback(answer, parts=None):
    if answer.score is None:
        word = "GRADER_FAILED" if answer.failure else "GRADER_SKIPPED"
        return Feedback(error=AssessmentError(error_code=word, error_message=_wb_why(answer)))
    metadata = {name: str(value) for name, value in (parts or answer.metadata or {}).items()}
    return Feedback(value=answer.score, rationale=answer.reason or None, metadata=metadata or None)
"""
_FUNCTION = """

@scorer(name=NAME)
def FUNCTION(*, inputs=None, outputs=None, expectations=None):
    answers = _wb_drive(_wb_ask({NAME: _wb_graders[NAME]}, _wb_record, inputs, outputs, expectations))
    return _wb_feedback(answers[NAME])
"""
_WHOLE = '''

@scorer(name=WHOLE)
def combined(*, inputs=None, outputs=None, expectations=None):
    """RULE, with each grader's score as metadata."""
    answers = _wb_drive(_wb_ask(_wb_graders, _wb_record, inputs, outputs, expectations))
    return _wb_feedback(_wb_whole(answers), {name: answer.score for name, answer in answers.items()})
'''


def _lines(plan: ExportPlan) -> str:
    functions = functions_of(plan, _FUNCTION) + judges_text(plan) + whole_of(plan, _WHOLE)
    shared = RECORD_LINES + _ROW if plan.parts else ""
    return f"{shared}{functions}\n\nscorers = [{', '.join(plan.functions)}]\n"


register_target(
    "mlflow",
    "MLflow scorers",
    lines=_lines,
    columns="a key of inputs or expectations",
    imports=_IMPORTS,
    use=lambda _: "mlflow.genai.evaluate(data=..., scorers=scorers)",
    reads=TEXT | {"messages", "get_turns", "last_content"},
    public=("combined", "scorers", "AssessmentError", "Feedback", "scorer"),
    own_judges=MAKE_JUDGE,
    no_score="Feedback(error=...), which MLflow records and excludes from the aggregates.",
)
