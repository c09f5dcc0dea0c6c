"""Live functions of trainers and evaluators, called with one row as these call them: TRL, verl, OpenRLHF, eval-protocol, inspect.

Functions of a verifiers rubric, and others of which a parameter has a name for the completion, are called by their parameters' names:
those of no other meaning are columns of the row. The `verify` of a NeMo Gym server and the
`Rubric` of OpenEnv get objects with the attributes that these have. Environments of TRL that own their reward are in
`environment_reward.py`.

Source: TRL 1.16, verl 0.9.1 (`reward_score`), OpenRLHF 0.11.2, reward-kit and eval-protocol (`@reward_function`), verifiers 0.4,
NeMo Gym 0.7 (`SimpleResourcesServer.verify`), OpenEnv 0.2 (`Rubric.forward`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from workbench.core.errors import SamplesError
from workbench.core.grade import Grade
from workbench.data.samples import Sample
from workbench.data.samples.plain import NotPlainError, plain
from workbench.graders.code.inspect_scorer import (
    arguments_of,
    grade_of_score,
    is_scorer,
    scorer_name,
    scorer_of,
)
from workbench.graders.code.rollout import EnvironmentReward, environment_of

_TEXT = frozenset({
    "solution_str", "predict_str", "model_output", "completion", "prediction", "response", "output", "solution",
    "text", "pred", "generated", "given_answer", "model_response", "generation",
})  # fmt: skip
_REFERENCE = frozenset({
    "ground_truth", "reference", "target", "expected", "gold", "label", "labels", "answer", "solution", "test_cases",
    "correct_answer", "golden_answers", "golden_answer", "gt", "expected_output", "references",
})  # fmt: skip
"""Parameters that get the row's reference, if the row has no column of that name."""
_PROMPT = frozenset({"input", "prompt", "query", "question"})
_STATE = frozenset({"info", "metadata", "row", "state", "task"})
"""Parameters that get the row's columns; verifiers' `state` has the parts of the row, too."""
_FROM_A_TRAINER = frozenset(
    {"completion_ids", "prompt_ids", "trainer_state", "environments", "completions_ids"}
)


def form_of(fn: Any) -> str:
    """The form of a live function by its parameters, such as "trl" or "verl"; "" for any other."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return ""
    names = [one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    has_rest = any(one.kind is one.VAR_KEYWORD for one in parameters)
    required = [one.name for one in parameters if one.default is one.empty and one.name in names]
    if len(required) == 1 and annotated_row(next(one for one in parameters if one.name == required[0])):
        return ""
    return _of_trainer(names, has_rest=has_rest) or _of_evaluator(names, required, has_rest=has_rest)


def annotated_row(parameter: inspect.Parameter) -> str:
    """The class of a parameter that is annotated as a row, "Sample" or "StringThread"; "" for any other."""
    annotation = parameter.annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    class_name = name.strip("'\" ").rpartition(".")[2]
    return class_name if class_name in {"Sample", "StringThread"} else ""


def _of_trainer(names: Sequence[str], *, has_rest: bool) -> str:
    if "completions" in names and names[0] in {"prompts", "completions"} and (len(names) > 1 or has_rest):
        return "trl"
    forms = {
        "verl": {"data_source", "solution_str"},
        "verl_batch": {"data_sources", "solution_strs"},
        "openrlhf": {"queries", "prompts", "labels"},
    }
    return next((form for form, needs in forms.items() if needs <= set(names)), "")


def _of_evaluator(names: Sequence[str], required: Sequence[str], *, has_rest: bool) -> str:
    forms = {
        "inspect": is_scorer(names),
        "messages": names[:1] == ["messages"] and (len(names) > 1 or has_rest),
        "nemo": required == ["body"],
        "openenv": required == ["action", "observation"],
        "two": _is_pair(names, required) and not _STATE & set(names),
        "names": bool(set(required) & _TEXT),
    }
    return next((form for form, fits in forms.items() if fits), "")


def _is_pair(names: Sequence[str], required: Sequence[str]) -> bool:
    """Whether a function takes a completion and a reference."""
    return len(names) >= 2 and len(required) <= 2 and names[0] in _TEXT and names[1] in _REFERENCE


class LiveReward:
    """A trainer's function that takes a sample and returns a grade or a number.

    Args:
        fn: The function.
        form: As of `form_of`.

    Attributes:
        made_by: The function under `@scorer` that made it, for a scorer of inspect; else the function itself.
    """

    def __init__(self, fn: Callable[..., Any], form: str) -> None:
        self.fn, self.form = fn, form
        self.made_by = fn
        self.__name__ = scorer_name(fn) or getattr(fn, "__name__", type(fn).__name__)
        self.__doc__ = fn.__doc__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LiveReward) and other.fn == self.fn

    def __hash__(self) -> int:
        return hash(self.fn)

    def __call__(self, sample: Sample) -> Any:
        """The result for one row."""
        value = self._called(sample)
        return self._awaited(value) if inspect.isawaitable(value) else self._read(value)

    async def _awaited(self, value: Any) -> Any:
        return self._read(await value)

    def _called(self, sample: Sample) -> Any:
        metadata = sample.thread.metadata
        columns = dict(metadata) if isinstance(metadata, Mapping) else {}
        if self.form == "two":
            return self.fn(_answer(sample), sample.reference)
        if self.form == "inspect":
            return self.fn(**arguments_of(sample))
        return self.fn(**self._accepted(_ARGUMENTS[self.form](self, sample, columns), sample, columns))

    def _accepted(self, given: dict[str, Any], sample: Sample, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that the function takes; a parameter that is neither given nor a column gets the reference."""
        batched = self.form == "trl"
        parameters = inspect.signature(self.fn).parameters.values()
        takes_rest = any(one.kind is one.VAR_KEYWORD for one in parameters)
        if takes_rest:
            rest = {name: [value] if batched else value for name, value in columns.items()}
            given = {**rest, **given} if self.form in {"trl", "messages", "names"} else given
        accepted = {}
        for one in parameters:
            if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            if one.name in given:
                accepted[one.name] = given.pop(one.name)
            elif one.name in columns:
                accepted[one.name] = [columns[one.name]] if batched else columns[one.name]
            elif one.default is one.empty and one.name in _REFERENCE:
                accepted[one.name] = [sample.reference] if batched else sample.reference
            elif one.default is one.empty and one.name in _FROM_A_TRAINER:
                accepted[one.name] = None
            elif one.default is one.empty:
                raise SamplesError(
                    f"the row has no column {one.name!r}, which {self.__name__} takes",
                    found=f"columns {', '.join(map(str, columns)) or 'none'}",
                    hint=f"name the column {one.name!r}, or give the parameter a default",
                )
        if self.form == "names":
            given = {name: value for name, value in given.items() if name in columns}
        return {**given, **accepted} if takes_rest else accepted

    def _read(self, value: Any) -> Any:
        if self.form == "inspect":
            return grade_of_score(value)
        if self.form in {"trl", "openrlhf", "verl_batch"}:
            value = value.get("rewards") if isinstance(value, Mapping) else value
            items = value.tolist() if hasattr(value, "tolist") else value
            value = items[0] if isinstance(items, list | tuple) and len(items) == 1 else items
            if value is None and self.form == "trl":
                return Grade.skipped("None: no score")
        return _grade(value)


def _grade(value: Any) -> Any:
    """A number or a grade of what the function returned: a number, a dict or an object with a score, or a tuple of it first."""
    if isinstance(value, Grade):
        return value
    if isinstance(value, tuple) and value:
        return _grade(value[0])
    if isinstance(value, Mapping):
        key = next((key for key in ("score", "reward") if key in value), None)
        if key is None:
            raise TypeError(f"the dict has no score; its keys are {', '.join(map(str, value))[:80]}")
        rest = {name: part for name, part in value.items() if name != key}
        return _noted(value[key], rest, None)
    if hasattr(value, "reward") and not hasattr(value, "score"):
        return _number(value.reward)
    if hasattr(value, "score") and not isinstance(value, int | float):
        reason = getattr(value, "reason", None)
        return _noted(value.score, {}, reason if isinstance(reason, str) else None)
    return _number(value)


def _noted(score: Any, rest: Mapping[str, Any], reason: str | None) -> Any:
    try:
        metadata = plain(dict(rest))
    except NotPlainError:
        metadata = {}
    number = _number(score)
    if number is None:
        return Grade.skipped(reason)
    return Grade(number, reasoning=reason, metadata=metadata) if math.isfinite(number) else number


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        return float(value)  # trainers take True as 1.0
    item = getattr(value, "item", None)
    return _number(item()) if callable(item) else value


def _answer(sample: Sample) -> str:
    return sample.thread.completion() or ""


def _messages(sample: Sample) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The messages of the prompt, up to the last of the user, and those of the completion."""
    turns = [{"role": turn.role, "content": turn.content} for turn in sample.thread.get_turns()]
    users = [at for at, turn in enumerate(turns) if turn["role"] == "user"]
    first = users[-1] + 1 if users else 0
    return turns[:first], turns[first:]


def _prompt_text(sample: Sample) -> str:
    return "\n".join(message["content"] for message in _messages(sample)[0])


def _prompt_and_completion(live: LiveReward, sample: Sample) -> tuple[Any, Any]:
    """Both as messages if the function reads messages, else as text."""
    return _messages(sample) if _reads_messages(live.fn) else (_prompt_text(sample), _answer(sample))


def _of_trl(live: LiveReward, sample: Sample, _: Mapping[str, Any]) -> dict[str, Any]:
    prompt, completion = _prompt_and_completion(live, sample)
    return {
        "prompts": [prompt],
        "completions": [completion],
        "log_extra": _discard_log,
        "log_metric": _discard_log,
    }


def _of_verl(_: LiveReward, sample: Sample, columns: Mapping[str, Any]) -> dict[str, Any]:
    own = columns.get("extra_info")
    extra = {**columns, **own} if isinstance(own, Mapping) else dict(columns)
    return {
        "data_source": columns.get("data_source", ""),
        "solution_str": _answer(sample),
        "ground_truth": _truth(sample, columns),
        "extra_info": extra,
    }


def _of_verl_batch(live: LiveReward, sample: Sample, columns: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name.removesuffix('s')}s": [value] for name, value in _of_verl(live, sample, columns).items()}


def _truth(sample: Sample, columns: Mapping[str, Any]) -> Any:
    model = columns.get("reward_model")
    if sample.reference is None and isinstance(model, Mapping):
        return model.get("ground_truth")
    return sample.reference


def _of_openrlhf(_: LiveReward, sample: Sample, __: Mapping[str, Any]) -> dict[str, Any]:
    prompt = _prompt_text(sample)
    return {"queries": [prompt + _answer(sample)], "prompts": [prompt], "labels": [sample.reference]}


def _of_messages(_: LiveReward, sample: Sample, __: Mapping[str, Any]) -> dict[str, Any]:
    prompt, completion = _messages(sample)
    return {"messages": [*prompt, *completion], "ground_truth": sample.reference}


def _of_names(live: LiveReward, sample: Sample, columns: Mapping[str, Any]) -> dict[str, Any]:
    prompt, completion = _prompt_and_completion(live, sample)
    state = {
        **columns,
        "prompt": prompt,
        "completion": completion,
        "answer": sample.reference,
        "info": dict(columns),
    }
    parts = {
        **dict.fromkeys(_PROMPT, prompt),
        **dict.fromkeys(_TEXT - _REFERENCE, completion),
        **{key: dict(columns) for key in _STATE},
        "state": state,
    }
    return {**parts, "task": columns.get("task", "default")}


def _of_nemo(_: LiveReward, sample: Sample, columns: Mapping[str, Any]) -> dict[str, Any]:
    prompt = _messages(sample)[0]
    part = {"type": "output_text", "text": _answer(sample), "annotations": []}
    message = {"type": "message", "role": "assistant", "id": "msg", "status": "completed", "content": [part]}
    body = {
        "responses_create_params": {"input": prompt},
        "response": {"id": "resp", "output": [message], "output_text": _answer(sample)},
    }
    reference = (
        {}
        if sample.reference is None
        else dict.fromkeys(("expected_answer", "ground_truth", "answer"), sample.reference)
    )
    return {"body": _Attributes({**reference, **columns, **body})}


class _Attributes(dict[str, Any]):
    """An object of JSON whose entries are attributes, as of the models of a server."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"the row has no {name!r}")
        return _with_attributes(self[name])

    def model_dump(self, **_: Any) -> dict[str, Any]:
        """The entries, as of a model of pydantic."""
        return dict(self)


def _with_attributes(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _Attributes(value)
    return [_with_attributes(one) for one in value] if isinstance(value, list) else value


class _TextAction(str):
    """A completion as the action of an environment: a text that is the value of the usual fields of a message, too."""

    __slots__ = ()

    def __getattr__(self, name: str) -> str:
        if name not in {"answer", "code", "completion", "content", "message", "response", "text"}:
            raise AttributeError(
                f"a completion has no {name!r}; call the rubric in a function of a thread that makes its action"
            )
        return str(self)


def _of_openenv(_: LiveReward, sample: Sample, columns: Mapping[str, Any]) -> dict[str, Any]:
    prompt = _prompt_text(sample)
    seen = {
        "reference": sample.reference,
        "prompt": prompt,
        "done": True,
        "reward": None,
        **columns,
        "metadata": dict(columns),
    }
    return {"action": _TextAction(_answer(sample)), "observation": _Attributes(seen)}


_ARGUMENTS: dict[str, Callable[[LiveReward, Sample, Mapping[str, Any]], dict[str, Any]]] = {
    "trl": _of_trl, "verl": _of_verl, "verl_batch": _of_verl_batch, "openrlhf": _of_openrlhf, "messages": _of_messages, "names": _of_names,
    "nemo": _of_nemo, "openenv": _of_openenv,
}  # fmt: skip


def _discard_log(*_: Any, **__: Any) -> None:
    """The log of a reward, which is discarded."""


def _reads_messages(fn: Any) -> bool:
    """Whether a function, or one inside it, reads completions as messages: it uses their keys."""
    while not isinstance(fn, FunctionType):
        method = getattr(type(fn), "__call__", None)  # noqa: B004 (its code is needed)
        inner = getattr(fn, "__func__", None) or getattr(fn, "func", None) or method
        if inner is None or inner is fn or not callable(inner):
            return False
        fn = inner
    codes = [
        fn.__code__,
        *(code for code in [getattr(getattr(fn, "__wrapped__", None), "__code__", None)] if code),
    ]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        if {"content", "role"} & set(filter(lambda one: isinstance(one, str), code.co_consts)):
            return True
    return False


def as_called(fn: Any) -> Any:
    """A trainer's function as one of a sample; any other callable unchanged."""
    if isinstance(fn, LiveReward | EnvironmentReward):
        return fn
    if (factory := environment_of(fn)) is not None:
        return EnvironmentReward(fn, factory)
    if not callable(fn) or isinstance(fn, type):
        return fn
    made = scorer_of(fn)
    form = form_of(fn if made is None else made)
    if not form:
        return fn
    live = LiveReward(fn if made is None else made, form)
    live.made_by = fn
    return live
