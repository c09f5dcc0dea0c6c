"""OpenRLHF: a `reward_func` over lists of one query, prompt and label; the file's path is given as the reward's URL.

A query is the prompt and the completion with special tokens, so the completion is the text after the prompt, up to the
end tokens. A row has only its label.

Source: OpenRLHF 0.11.2 (`utils/agent.py`), read and run.
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.target import TEXT, ExportPlan
from workbench.graders.portable import sliced
from workbench.graders.rules.threads import completion_of

_LINES = """

def _wb_logs(answers):
    values = {name: _wb_number(answer, _wb_math.nan) for name, answer in answers.items()}
    failed = {f"{name}_failed": float(bool(answer.failure)) for name, answer in answers.items()}
    skipped = {f"{name}_skipped": float(answer.score is None and not answer.failure) for name, answer in answers.items()}
    return {**failed, **skipped, **values}


def _wb_row(query, prompt, label):
    return _wb_thread([("assistant", completion_of(query, prompt))], _wb_with_reference({}, label))


def reward_func(queries, prompts, labels, **kwargs):
    rows = zip(queries, prompts, labels, strict=True)
    found = [_wb_drive(_wb_ask(_wb_graders, _wb_row, *row)) for row in rows]
    scores = [_wb_number(_wb_whole(answers), ON_ERROR) for answers in found]
    logs = [_wb_logs(answers) for answers in found]
    if len(scores) == 1:
        return {"rewards": scores[0], "scores": scores[0], "extra_logs": logs[0]}
    together = {name: [row[name] for row in logs] for name in (logs[0] if logs else ())}
    return {"rewards": scores, "scores": scores, "extra_logs": together}
"""


def _lines(plan: ExportPlan) -> str:
    _, pieces = sliced([(completion_of.__module__, "completion_of")])
    return "".join(f"\n\n{piece}\n" for piece in pieces) + _LINES.replace("ON_ERROR", repr(plan.on_error))


register_target(
    "openrlhf",
    "OpenRLHF reward_func",
    lines=_lines,
    use=lambda _: "--reward.remote_url THIS_FILE.py --data.label_key REFERENCE_COLUMN",
    reads=TEXT,
    public=("SPECIAL_TOKENS", "completion_of", "reward_func"),
    combines=True,
    words=False,
    no_score="OpenRLHF logs the exception, and the run ends later.",
    remarks=("a row has only its label: other columns that a grader reads are missing",),
    reward="openrlhf",
    served="/openrlhf",
    signature="openrlhf",
    example="def reward_func(queries, prompts, labels):\n    return {'rewards': [float(l in q) for q, l in zip(queries, labels)]}\n",
)
