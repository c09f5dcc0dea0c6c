"""TRL: a list of reward functions for `GRPOTrainer` and related trainers; Unsloth takes the same.

A function gets the whole batch and returns a list of floats, None for an unscored row; every column of the dataset
is passed as a list. TRL adds the functions' scores by `reward_weights`, ignoring None.

Source: TRL 1.16 (`GRPOTrainer._calculate_rewards`), read and run on a CPU.
"""

from __future__ import annotations

from workbench.formats.targets import register_target
from workbench.formats.targets.module import functions_of, quoted, whole_of
from workbench.formats.targets.target import ExportPlan
from workbench.graders.combine import Mean, Sum

_ROW = """

_WB_NOT_COLUMNS = {"completion_ids", "prompt_ids", "trainer_state", "log_extra", "log_metric", "environments"}


def _wb_row(prompt, completion, columns):
    asked = [] if prompt is None else _wb_as_messages(prompt, "user")
    return _wb_thread_of([*asked, *_wb_answer_messages(completion)], columns)


def _wb_answers(graders, prompts, completions, columns):
    own = {key: values for key, values in columns.items() if key not in _WB_NOT_COLUMNS}
    # CHECK
    for key, values in own.items():
        if isinstance(values, (str, bytes, dict)) or len(values) != len(completions):
            raise ValueError(f"{key} must be a list with one value per completion")
    rows = [{key: values[at] for key, values in own.items()} for at in range(len(prompts))]
    return [_wb_drive(_wb_ask(graders, _wb_row, *row)) for row in zip(prompts, completions, rows, strict=True)]


def _wb_scores(name, prompts, completions, columns):
    graders = {name: _wb_graders[name]}
    return [answers[name].score for answers in _wb_answers(graders, prompts, completions, columns)]
"""
_CHECK = """    if REFERENCE not in own:
        raise ValueError("missing column " + REFERENCE + "; there are " + (", ".join(own) or "none"))
"""
_FUNCTION = """

def FUNCTION(prompts, completions, **columns):
    return _wb_scores(NAME, prompts, completions, columns)
"""
_WHOLE = '''

def reward(prompts, completions, log_extra=None, log_metric=None, **columns):
    """RULE; each grader's score is a column of the log."""
    answers = _wb_answers(_wb_graders, prompts, completions, columns)
    for name in _wb_graders if log_extra else ():
        log_extra(name, [row[name].score for row in answers])
    return [_wb_whole(row).score for row in answers]
'''
_USE = "GRPOTrainer(reward_funcs=reward_funcs, args=GRPOConfig(reward_weights=reward_weights, ...), ...)"
_WHOLE_USE = (
    "TRL adds the scores of the graders that returned one. The suite's rule leaves a row unscored if a grader failed;\n"
    "to use it: GRPOTrainer(reward_funcs=[reward], ...)"
)


def _lines(plan: ExportPlan) -> str:
    weights = _weights(plan)
    functions = functions_of(plan, _FUNCTION) if weights else ""
    whole = whole_of(plan, _WHOLE) if len(plan.parts) > 1 else ""
    names = ", ".join(part.function for part in plan.parts) if weights else "reward"
    row = _ROW.replace(
        "    # CHECK\n", _CHECK.replace("REFERENCE", quoted(plan.reference)) if plan.reference else ""
    )
    return f"{row}{functions}{whole}\n\nreward_funcs = [{names}]\nreward_weights = {weights or [1.0]}\n"


def _use(plan: ExportPlan) -> str:
    both = plan.rule is not None and len(plan.parts) > 1 and bool(_weights(plan))
    return f"{_USE}\n{_WHOLE_USE}" if both else _USE


def _weights(plan: ExportPlan) -> list[float]:
    """The weights that TRL multiplies each score with; none if the rule is not a weighted sum."""
    weights = [part.weight for part in plan.parts]
    if isinstance(plan.rule, Mean):
        return [weight / sum(weights) for weight in weights]
    return weights if plan.rule is None or isinstance(plan.rule, Sum) else []


register_target(
    "trl",
    "TRL reward functions (GRPO, RLOO; Unsloth)",
    lines=_lines,
    columns="a column of the dataset",
    use=_use,
    public=("reward", "reward_funcs", "reward_weights"),
    reward="trl",
    no_score="None, which TRL excludes from the row's sum.",
    signature="trl",
    example="def reward(prompts, completions, answer, **kwargs):\n    return [float(a in c) for a, c in zip(answer, completions)]\n",
)
