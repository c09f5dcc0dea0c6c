"""Gemini reinforcement fine-tuning: `evaluate(example, response)` as a code reward, clipped there to -1..1.

It runs in a sandbox without network, 100 seconds per call; an exception is an error of that reward.
Judges become, on request, autoraters of the job's reward configuration: `judging/autoraters.py`.

Source: google-genai 3.4.0 (types), Google's documentation of `codeExecutionRewardScorer`.
"""

from __future__ import annotations

from workbench.formats.targets.base import TEXT, ExportPlan
from workbench.formats.targets.judging.autoraters import AUTORATERS, CONFIGURATION
from workbench.formats.targets.registering import register_target

_LINES = """

def _wb_said(content):
    return "".join(part.get("text") or "" for part in content.get("parts") or [] if not part.get("thought"))


def _wb_row(example, response):
    if not response.get("parts"):
        raise ValueError("the response has no parts")
    roles = {"model": "assistant"}
    turns = [(roles.get(one.get("role"), one.get("role") or "user"), _wb_said(one)) for one in example.get("contents") or []]
    system = example.get("systemInstruction")
    turns = [*([("system", _wb_said(system))] if system else []), *turns, ("assistant", _wb_said(response))]
    references = example.get("references") or {}
    only = next(iter(references.values())) if len(references) == 1 else None
    return _wb_thread(turns, _wb_with_reference(references, only))


def evaluate(example, response):
    return _wb_number(_wb_whole(_wb_drive(_wb_ask(_wb_graders, _wb_row, example, response))), ON_ERROR)
"""


def _lines(plan: ExportPlan) -> str:
    return _LINES.replace("ON_ERROR", repr(plan.on_error)) if plan.parts else ""


def _use(plan: ExportPlan) -> str:
    if plan.own_judges:
        return f"The tuning job's reward configuration, with this text in it, is the file in this folder that ends in {CONFIGURATION}."
    return '{"codeExecutionRewardScorer": {"pythonCodeSnippet": THE TEXT OF THIS FILE}}'


register_target(
    "gemini",
    "Gemini reinforcement fine-tuning: evaluate",
    lines=_lines,
    columns="a key of the example's references",
    use=_use,
    reads=TEXT | {"messages", "get_turns", "last_content"},
    public=("evaluate",),
    combines=True,
    words=False,
    no_score="Gemini reports the exception as the reward's error.",
    own_judges=AUTORATERS,
    clips=(-1.0, 1.0),
    remarks=("references are texts there: a grader that expects a number gets its text",),
)
