"""slime: an async `custom_rm` over one sample, or over a group of them with `--group-rm`.

Source: slime 624b824 (`rollout/rm_hub`), read; it has no release to install.
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.target import TEXT, ExportPlan

_LINES = """

def _wb_row(sample):
    asked = [] if sample.prompt is None else _wb_as_messages(sample.prompt, "user")
    metadata = _wb_with_reference(sample.metadata, sample.label)
    return _wb_thread_of([*asked, *_wb_answer_messages(sample.response)], metadata)


async def custom_rm(args, sample, **kwargs):
    if isinstance(sample, list):  # --group-rm
        return [await custom_rm(args, one, **kwargs) for one in sample]
    answers = await _wb_ask(_wb_graders, _wb_row, sample)
    score = _wb_number(_wb_whole(answers), ON_ERROR)
    return RETURNED
"""
_PARTS = '{**{name: answer.score for name, answer in answers.items()}, "score": score}'


def _lines(plan: ExportPlan) -> str:
    returned = _PARTS if len(plan.parts) > 1 else "score"
    return _LINES.replace("ON_ERROR", repr(plan.on_error)).replace("RETURNED", returned)


def _use(plan: ExportPlan) -> str:
    key = " --reward-key score" if len(plan.parts) > 1 else ""
    return f"--custom-rm-path THIS_FILE.custom_rm{key}"


register_target(
    "slime",
    "slime custom_rm",
    lines=_lines,
    columns="a key of the sample's metadata",
    use=_use,
    reads=TEXT | {"messages", "get_turns", "last_content"},
    public=("custom_rm",),
    combines=True,
    words=False,
    reward="slime",
    served="/slime",
    no_score="slime cannot represent a missing score: the exception ends the rollout.",
)
