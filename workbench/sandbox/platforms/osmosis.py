"""Osmosis' names for graders written against that SDK: `Grader`, `GraderContext`, `GraderConfig` and the rest.

Standard library only, without package imports: the sandbox loads this file by its path as
`osmosis_ai`; user graders that run in this process may subclass these classes too. The rules are those of
osmosis-sdk-python 0.2.27 (`osmosis_ai/rollout/`). `Model` implements only what the config classes need of pydantic, which is not installed where
graders run.
"""

from __future__ import annotations

import copy
import inspect
import json
import re
import sys
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = [
    "AgentWorkflow",
    "AgentWorkflowConfig",
    "BaseConfig",
    "ConcurrencyConfig",
    "Grader",
    "GraderConfig",
    "GraderContext",
    "RolloutSample",
    "discover_grader",
    "error_category",
    "grader_runs",
    "require_rewards",
    "sanitize_artifacts",
    "validate_backend",
]

GIVEN = ("Grader", "GraderConfig", "GraderContext", "RolloutSample")
"""Names a grader module has without importing them: the shorter examples of the documentation rely on them."""

MAX_ARTIFACT_BYTES = 65536
"""Largest artifacts in bytes of compact UTF-8 JSON, inclusive."""
_MISSING = object()
NAMES: dict[str, Any] = {"typing": typing, "Any": Any}
"""Names in the annotations of these classes, which would not be found: the sandbox hides this module from `sys.modules`."""


def _fields(cls: type) -> dict[str, Any]:
    """Annotated public names of a config class with their types, in the order they were defined."""
    fields: dict[str, Any] = {}
    # Base classes first, so that a subclass overrides its bases.
    for base in reversed(cls.__mro__):
        names = [name for name in inspect.get_annotations(base) if not name.startswith("_")]
        hints = _hints(base) if names else {}
        fields.update({name: hints.get(name, Any) for name in names})
    return fields


def _hints(cls: Any) -> dict[str, Any]:
    """Annotations as types, as far as they can be read: a name in quotes may not exist."""
    hints, error = _attempted(
        lambda: typing.get_type_hints(cls, {**vars(sys.modules.get(cls.__module__, types)), **NAMES})
    )
    return dict.fromkeys(inspect.get_annotations(cls), Any) if error is not None else hints


def _attempted(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """The result of a user's code (an annotation, a class's `__init__`), or its exception, which may be any."""
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001 (see above)
        return None, error


def _fitted(value: Any, expected: Any, where: str) -> Any:
    """The value as its annotation requires; an equivalent number or text is converted.

    Raises:
        ValueError: The value does not match the annotation.
    """
    origin, parts = typing.get_origin(expected), typing.get_args(expected)
    if expected is Any or isinstance(expected, str | typing.TypeVar):
        return value
    if origin in (typing.Union, types.UnionType):
        return _fitted_any(value, parts, where)
    if origin is typing.Literal:
        valid = value in parts
    elif isinstance(expected, type) and issubclass(expected, Model) and isinstance(value, dict):
        return expected(**value)
    elif expected in (int, float, bool):
        valid, value = _number(value, expected)
    else:
        kind = origin or expected
        valid = not isinstance(kind, type) or isinstance(value, kind)
    if not valid:
        type_name = getattr(expected, "__name__", str(expected))
        raise ValueError(f"{where}: {value!r} ({type(value).__name__}) is not a valid {type_name}")
    return value


def _fitted_any(value: Any, parts: tuple[Any, ...], where: str) -> Any:
    # An exact type has priority: otherwise 1 would become True for `bool | int`.
    if any(isinstance(part, type) and type(value) is part for part in parts):
        return value
    problem = ValueError(f"{where}: no type of the annotation matches")
    for part in parts:
        try:
            return _fitted(value, part, where)
        except ValueError as error:
            problem = error
    raise problem


def _number(value: Any, expected: type) -> tuple[bool, Any]:
    if expected is bool:
        booleans = {"true": True, "false": False, "1": True, "0": False}
        boolean = booleans.get(str(value).lower()) if isinstance(value, str | int | bool) else None
        return boolean is not None, value if boolean is None else boolean
    if not isinstance(value, str | int | float):
        return False, value
    try:
        number = float(value)
        valid = expected is float or number.is_integer()
        return valid, (expected(value) if isinstance(value, int) else expected(number)) if valid else value
    except (ValueError, OverflowError):
        return False, value


def _dumped(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump()
    if isinstance(value, dict):
        return {key: _dumped(item) for key, item in value.items()}
    return [_dumped(item) for item in value] if isinstance(value, list | tuple) else value


class Model:
    """Named values: annotated class attributes are fields with their defaults, other keys are stored too.

    Args:
        values: Checked against the annotations, at construction and at assignment.

    Raises:
        ValueError: A field without a default is missing, or a value does not match its annotation.
    """

    def __init__(self, **values: Any) -> None:
        fields = _fields(type(self))
        for key in [*fields, *(key for key in values if key not in fields)]:
            if key in values:
                setattr(self, key, values[key])
            elif (default := getattr(type(self), key, _MISSING)) is _MISSING:
                raise ValueError(f"{type(self).__name__}: field {key!r} is required")
            else:
                # Not checked, as in pydantic; a copy, since a default list or dict must not be shared.
                object.__setattr__(self, key, copy.deepcopy(default))

    def __setattr__(self, key: str, value: Any) -> None:
        expected = _fields(type(self)).get(key, Any)
        object.__setattr__(self, key, _fitted(value, expected, f"{type(self).__name__}.{key}"))

    def model_dump(self) -> dict[str, Any]:
        """The values as a dict."""
        return {key: _dumped(value) for key, value in vars(self).items()}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class ConcurrencyConfig(Model):
    """The maximum concurrency: `max_concurrent` is None, for no limit, or at least 1."""

    max_concurrent: int | None = None

    def __setattr__(self, key: str, value: Any) -> None:
        super().__setattr__(key, value)
        if key == "max_concurrent" and self.max_concurrent is not None and self.max_concurrent < 1:
            raise ValueError(f"max_concurrent must be None or at least 1, not {value!r}")


# The classes below mention it in annotations that are text here, and are evaluated with these names.
NAMES["ConcurrencyConfig"] = ConcurrencyConfig


class BaseConfig(Model):
    """Settings of a named part; `name` is required."""

    name: str
    description: str | None = None


class GraderConfig(BaseConfig):
    """A grader's settings. `concurrency` is part of the model and limits nothing, as upstream."""

    concurrency: ConcurrencyConfig = ConcurrencyConfig()


class AgentWorkflowConfig(BaseConfig):
    """An agent workflow's settings, for modules that contain one next to the grader."""

    concurrency: ConcurrencyConfig = ConcurrencyConfig()


class RolloutSample:
    """An agent's output for one sample: `messages` as it wrote them, and the reward assigned to it."""

    def __init__(
        self, id: str, messages: Sequence[Mapping[str, Any]] = (), label: str | None = None,  # noqa: A002 (upstream's name)
        reward: float | None = None, **rest: Any,
    ) -> None:  # fmt: skip
        self.id, self.messages, self.label, self.reward = id, list(messages), label, reward
        self.remove_sample: bool = rest.pop("remove_sample", False)
        self.metrics: dict[str, Any] = rest.pop("metrics", None) or {}
        self.extra_fields: dict[str, Any] = rest.pop("extra_fields", None) or {}
        if rest:
            raise TypeError(f"RolloutSample has no field {next(iter(rest))!r}")

    def __repr__(self) -> str:
        return f"RolloutSample({self.id!r}, {len(self.messages)} messages, reward={self.reward!r})"


class GraderContext:
    """The argument of `Grader.grade`: one dataset row and the agent's output for it.

    Attributes:
        label: Reference; None if the row has none.
        samples: Outputs by sample id.
        project_path: Set by the harness, None here.
        metadata: The row's metadata; None if it has none.
        artifacts: Data that the grader attached; None before `set_artifacts`.
    """

    def __init__(
        self, label: str | None = None, samples: dict[str, RolloutSample] | None = None,
        project_path: str | None = None, metadata: dict[str, Any] | None = None,
        artifacts: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.label, self.project_path, self.metadata = label, project_path, metadata
        self.samples = {} if samples is None else samples
        self.artifacts = artifacts

    def get_samples(self) -> dict[str, RolloutSample]:
        """The samples."""
        return self.samples

    def set_sample_reward(self, sample_id: str, reward: float) -> None:
        """Give one sample its reward; the last one counts.

        Raises:
            ValueError: The sample does not exist.
        """
        if sample_id not in self.samples:
            raise ValueError(f"Sample {sample_id} not found")
        self.samples[sample_id].reward = reward

    def set_artifacts(self, artifacts: dict[str, Any]) -> None:
        """Attach data for inspection, replacing earlier data.

        Raises:
            TypeError: The data are not a dict.
        """
        if not isinstance(artifacts, dict):
            raise TypeError(f"artifacts must be a dict, not {type(artifacts).__name__}")
        self.artifacts = artifacts


class Grader(ABC):
    """Base of reward functions: subclass it and write `async def grade(self, ctx)`."""

    def __init__(self, config: GraderConfig | None = None) -> None:
        self.config: Any = config

    @abstractmethod
    async def grade(self, ctx: GraderContext) -> Any:
        """Give every sample in `ctx.samples` a reward."""
        raise NotImplementedError


class AgentWorkflow(ABC):
    """Base of agent workflows, for modules that contain one next to the grader. Nothing here runs it."""

    def __init__(self, config: AgentWorkflowConfig | None = None) -> None:
        self.config: Any = config

    @abstractmethod
    async def run(self, ctx: Any) -> Any:
        """Run the agent."""
        raise NotImplementedError


def sanitize_artifacts(artifacts: Any, max_bytes: int = MAX_ARTIFACT_BYTES) -> Any:
    """The artifacts if they may be delivered, or a small mark that describes the problem.

    Args:
        artifacts: A dict, or None.
        max_bytes: Largest size in bytes of compact UTF-8 JSON, inclusive.
    """
    if artifacts is None:
        return None
    if not isinstance(artifacts, dict):
        return {"_error": {"code": "artifacts_invalid_type", "type": type(artifacts).__name__}}
    try:
        text = json.dumps(artifacts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        return {"_error": {"code": "artifacts_not_serializable", "detail": str(error)[:500]}}
    if size > max_bytes:
        problem = {"code": "artifacts_too_large", "size_bytes": size, "max_size_bytes": max_bytes}
        return {"_error": problem}
    return artifacts


def grader_runs(label: Any, metadata: Any) -> bool:
    """Whether a row is graded at all: it has a label or metadata; "" and {} count."""
    return label is not None or metadata is not None


def require_rewards(samples: Mapping[str, RolloutSample]) -> None:
    """Refuse a grader's result that is not a reward for every sample.

    Raises:
        ValueError: No samples, or one without a reward.
    """
    if not samples:
        raise ValueError("No samples after grading")
    for name, sample in samples.items():
        if sample.reward is None:
            raise ValueError(f"Sample {name} has no reward after grading")


def error_category(error: BaseException) -> str:
    """`timeout`, `validation_error`, `http_error` or `agent_error`, by the exception's kind."""
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ValueError | TypeError | AssertionError):
        return "validation_error"
    names = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(error).__mro__}
    http = any(name.endswith(("HTTPError", "HTTPStatusError", "HTTPException", "URLError")) for name in names)
    return "http_error" if http else "agent_error"


def discover_grader(module: Any) -> tuple[Any, Any]:
    """The one grader class and the one config among a module's names, each None if there is none.

    Every subclass of `Grader` counts, imported ones too; two names for one class are one class.

    Args:
        module: A module, or a mapping of names.

    Raises:
        ValueError: Two classes, or two configs; they are named.
    """
    names = module if isinstance(module, Mapping) else vars(module)
    classes = {name: v for name, v in names.items() if isinstance(v, type) and _is_grader(v)}
    configs = {name: v for name, v in names.items() if isinstance(v, GraderConfig)}
    return _only(classes, "Grader classes"), _only(configs, "GraderConfig instances")


def _is_grader(cls: type) -> bool:
    return _is_base(Grader, *cls.__mro__[1:])


def _is_base(base: type, *classes: type) -> bool:
    """Whether one of this package's base classes, or the original of that name, is among some classes."""
    namesakes = [cls for cls in classes if cls.__name__ == base.__name__]
    return any(cls is base or cls.__module__.partition(".")[0] == "osmosis_ai" for cls in namesakes)


def _only(candidates: dict[str, Any], plural: str) -> Any:
    by_identity: dict[int, list[str]] = {}
    for name, value in candidates.items():
        by_identity.setdefault(id(value), []).append(name)
    if len(by_identity) > 1:
        raise ValueError(f"Multiple {plural} found: {', '.join(names[0] for names in by_identity.values())}")
    return next(iter(candidates.values()), None)


def validate_backend(
    grader: Any, grader_config: Any = None, *, workflow: Any = None, workflow_config: Any = None,
    agent_name: str | None = None,
) -> list[tuple[str, str]]:  # fmt: skip
    """All errors in a rollout's parts, as (code, message); nothing is run.

    Args:
        grader: The grader class; it is built as `grader(grader_config)`.
        grader_config: Its config, or None.
        workflow: An agent workflow class, checked if given.
        workflow_config: Its config, or None.
        agent_name: The agent's name, checked if given: letters, digits, `-`, `_` and `.`.
    """
    issues: list[tuple[str, str]] = []
    if grader is None:
        issues.append(("MISSING_GRADER", "there is no Grader subclass"))
    else:
        wrong = ("INVALID_GRADER_CLASS", "GRADER_GRADE_NOT_ASYNC", "GRADER_INIT_FAILED")
        issues += _part_issues(grader, grader_config, (Grader, "grade"), wrong)
    if workflow is not None:
        wrong = ("INVALID_WORKFLOW_CLASS", "WORKFLOW_RUN_NOT_ASYNC", "WORKFLOW_INIT_FAILED")
        issues += _part_issues(workflow, workflow_config, (AgentWorkflow, "run"), wrong)
    if agent_name is not None and not re.fullmatch(r"[A-Za-z0-9._-]+", str(agent_name)):
        issues.append(("INVALID_AGENT_NAME", f"{agent_name!r} is not a valid agent name"))
    return issues


def _part_issues(
    cls: Any, config: Any, part: tuple[Any, str], codes: tuple[str, str, str]
) -> list[tuple[str, str]]:
    base, method = part
    invalid, not_async, failed = codes
    if not isinstance(cls, type) or not _is_base(base, *cls.__mro__[1:]):
        return [(invalid, f"{cls!r} is not a subclass of {base.__name__}")]
    issues = []
    if not inspect.iscoroutinefunction(getattr(cls, method)):
        issues.append((not_async, f"{cls.__name__}.{method} must be async"))
    _, error = _attempted(lambda: cls(config))
    if error is not None:
        issues.append((failed, f"{cls.__name__}(config) failed: {type(error).__name__}: {error}"))
    return issues
