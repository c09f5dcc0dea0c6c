"""Classes that set a row's reward themselves: Osmosis `Grader` subclasses run as written, and environments.

An environment is TRL's (1.16, `environment_factory`): a class with `reset(**columns)`, public methods as tools, and `get_reward()`.
The tool calls of a row are repeated on a new instance, which then returns the reward.
"""

from __future__ import annotations

import ast
import asyncio
import copy
import inspect
import json
import sys
import types
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from workbench.core.errors import CaptureError
from workbench.core.files import read_bytes
from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.core.user_functions import attempt_async
from workbench.data.row_columns import metadata_key
from workbench.data.samples import Sample, Samples
from workbench.data.samples.plain import plain
from workbench.graders.base import Grader, kind
from workbench.graders.capture.source import Source
from workbench.graders.capture.source_edit import parsed
from workbench.graders.code import SourceGrader, plain_thread
from workbench.graders.concurrent_rows import Control
from workbench.sandbox.platforms import osmosis, osmosis_legacy
from workbench.sandbox.platforms.modules import OSMOSIS, stand_ins
from workbench.sandbox.platforms.osmosis import discover_grader, validate_backend
from workbench.sandbox.platforms.osmosis_rows import NEITHER, Settled, context, graded


@contextmanager
def osmosis_names() -> Iterator[None]:
    """Make `from osmosis_ai.rollout import ...` give this package's classes; restore the earlier modules afterwards."""
    modules = stand_ins(OSMOSIS, osmosis, osmosis_legacy)
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "osmosis_ai"}
    # The whole installed package must be removed, or its submodules would be found next to the replacement.
    for name in before:
        del sys.modules[name]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(before)


@kind("rollout", family="code")
@dataclass(frozen=True, kw_only=True)
class RolloutGrader(SourceGrader):
    r"""An Osmosis `Grader` subclass over a `GraderContext`, exactly as written, in the sandbox.

    `from osmosis_ai.rollout import Grader, GraderContext, GraderConfig, RolloutSample` imports the workbench's classes
    with the same contract; the package itself is not needed, and no other third-party package is available. The
    module contains one `Grader` subclass and at most one `GraderConfig`; the class is instantiated as `cls(config)`.

    A row's reference is `ctx.label` (as text), its metadata without the reference `ctx.metadata` (None when
    empty). The conversation is the one sample, named by the row's id; a metadata value `samples` of the form
    `{id: messages}` or `{id: {"messages": [...], ...}}` defines several. A row with neither label nor metadata
    is skipped, as Osmosis does not grade it.

    The score is the mean reward of the samples that were not removed; `metadata` contains every reward and the
    artifacts. A sample without a reward, or with one that is not a finite number, fails the row. Artifacts that are not
    a JSON object, or more than 65,536 bytes of it, get Osmosis' `_error` mark.

    Attributes:
        source: The captured module.
        timeout: Seconds per row, 1.0 by default.
        memory_mb: MiB of address space beyond the initial size of a worker, 512 by default.
        trusted_sha256: Hash of the text that may run even if the machine cannot confine it; "" for none.

    Error kinds: timeout, memory, crash, load, runtime (the message starts with Osmosis' category:
    `validation_error`, `http_error`, `agent_error`), return_type, not_finite, sandbox, sample.

    Source: Osmosis' grader document; osmosis-sdk-python 0.2.27.

    Example:
        >>> import workbench as wb
        >>> text = '''
        ... from osmosis_ai.rollout import Grader, GraderContext
        ... class Always(Grader):
        ...     async def grade(self, ctx: GraderContext) -> None:
        ...         for sample_id in ctx.samples:
        ...             ctx.set_sample_reward(sample_id, 0.5)
        ... '''
        >>> rows = wb.Samples([{"prompt": "2+2?", "completion": "4", "ground_truth": "4"}])
        >>> RolloutGrader.from_source(text)(rows[0]).score
        0.5
    """

    language: ClassVar[str] = "rollout"

    @classmethod
    def from_source(
        cls, text: str, *, name: str = "", imported: bool = False, **settings: Any
    ) -> RolloutGrader:
        """Create a grader from a module's text, unchanged. None of it runs in this process.

        Args:
            text: A module with one `Grader` subclass.
            name: Its name in reports; the class's name by default.
            imported: The text is from an untrusted source: it runs only with kernel confinement.
            settings: Other fields.

        Raises:
            CaptureError: The text is too large.
        """
        return cls(source=_module(text, imported=imported), name=name, **settings)

    @staticmethod
    def in_process(grader: Any, config: Any = None, *, name: str = "") -> InProcessRollout:
        """A grader class run in this process, with your rights: third-party packages and network allowed.

        Only for trusted code. It is marked `isolation: none` and cannot be saved; nothing of it is captured.

        Args:
            grader: A module's text or a `Path` to it, which is executed in this process with the workbench's classes
                as `osmosis_ai`; a module; or a `Grader` subclass. One grader class, and at most one config.
            config: The config for the class; the module's config by default.
            name: Its name in reports; the class's name by default.

        Raises:
            ValueError: There is not exactly one grader class, or it cannot be instantiated; Osmosis' codes are named.
        """
        module = _executed(grader) if isinstance(grader, str | Path) else grader
        return _in_process(module, config, name)

    @property
    def takes_rows(self) -> bool:
        """Always."""
        return True


@dataclass(frozen=True, kw_only=True)
class InProcessRollout(Grader):
    """An Osmosis grader object run in this process; see `RolloutGrader.in_process`."""

    grader: Any

    async def grade(self, sample: Sample) -> Grade:
        """Grade one sample on the workbench's event loop."""
        score, note, error = await self._settled(sample)
        details: dict[str, Any] = {"reasoning": note.get("reasoning"), "metadata": note.get("metadata") or {}}
        if error is not None:
            return Grade.failed(*error, **details)
        return Grade.skipped(**details) if score is None else Grade(score, **details)

    async def _settled(self, sample: Sample) -> Settled:
        thread, reference = plain_thread(sample.thread), plain(sample.reference)
        key = metadata_key(thread.metadata, reference)
        metadata = {k: v for k, v in (thread.metadata or {}).items() if not key or k != key}
        ctx = context(thread, reference, metadata, str(sample.id))
        if ctx is None:
            return None, {"reasoning": NEITHER}, None
        return await graded(self.grader, ctx, _problem)

    @property
    def runs_in_process(self) -> bool:
        """Always."""
        return True

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails."""
        return "turn"

    async def grade_all(self, samples: Samples, control: Control) -> Grades:
        """Grade every row in this process; the grades have the isolation level `none`."""
        grades = await super().grade_all(samples, control)
        grades.isolation = "none"
        return grades

    def spec(self) -> dict[str, Any]:
        """Not supported: there is no text to save.

        Raises:
            CaptureError: Always; pass the module's text to `RolloutGrader.from_source`.
        """
        raise CaptureError(
            f"grader {self.name!r} runs in this process and cannot be saved",
            hint="RolloutGrader.from_source(text) saves a module that needs the standard library only",
        )


def _executed(text_or_path: str | Path) -> types.ModuleType:
    """The module of a text or file, executed in this process with the workbench's classes as `osmosis_ai`."""
    path = str(text_or_path) if isinstance(text_or_path, Path) else "<rollout>"
    text = text_or_path if isinstance(text_or_path, str) else read_bytes(text_or_path, CaptureError).decode()
    module = types.ModuleType(f"workbench_rollout_{Source(text).sha256[:12]}")
    module.__dict__.update({name: getattr(osmosis, name) for name in osmosis.GIVEN})
    sys.modules[module.__name__] = module  # dataclasses and annotations look up their module by name
    with osmosis_names():
        exec(compile(text, path, "exec"), module.__dict__)  # noqa: S102 (the caller trusts it, as documented)
    return module


def _in_process(module_or_class: Any, config: Any, name: str) -> InProcessRollout:
    cls = module_or_class
    if not isinstance(module_or_class, type):
        cls, own_config = discover_grader(module_or_class)
        config = own_config if config is None else config
    if issues := validate_backend(cls, config):
        raise ValueError("; ".join(f"{code}: {message}" for code, message in issues))
    return InProcessRollout(grader=cls(config), name=name or cls.__name__)


def _module(text: str, *, imported: bool) -> Source:
    """The text as a source, with its imports and definitions; the checks handle a text that cannot be parsed."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    source = Source(text if text.endswith("\n") else text + "\n", "Grader", imported=imported)
    tree = parsed(source.text)
    classes = [node for node in (tree.body if tree else ()) if isinstance(node, ast.ClassDef)]
    graders = [node for node in classes if any(_is_grade(part) for part in node.body)]
    return replace(source, function=graders[-1].name) if graders else source


def _is_grade(node: Any) -> bool:
    return getattr(node, "name", None) == "grade"


def _problem(category: str, error: Exception) -> tuple[str, str]:
    return "timeout" if category == "timeout" else "runtime", f"{category}: {type(error).__name__}: {error}"


_OWN = frozenset({"get_reward", "reset"})
"""Public methods of an environment that are not tools."""


def environment_of(fn: Any) -> Callable[[], Any] | None:
    """What makes an environment for each row: of its class, an instance or its method `get_reward`; None for anything else."""
    owner = getattr(fn, "__self__", None) if getattr(fn, "__name__", "") == "get_reward" else fn
    if owner is None or not all(callable(getattr(owner, name, None)) for name in _OWN):
        return None
    return owner if isinstance(owner, type) else partial(copy.deepcopy, owner)


class EnvironmentReward:
    """The reward of an environment, as a function of a sample.

    As in TRL, `reset` gets the row's columns, a call of an unknown tool and a tool that raises change nothing, and the text of
    the completion is not seen by the environment.

    Args:
        made_by: The environment's class, an instance, or its method `get_reward`.
        factory: Makes an environment without arguments.
    """

    def __init__(self, made_by: Any, factory: Callable[[], Any]) -> None:
        self.made_by, self.factory = made_by, factory
        owner = getattr(made_by, "__self__", made_by)
        kind: Any = owner if isinstance(owner, type) else type(owner)
        self.fn = kind.get_reward
        self.__name__ = kind.__name__
        self.__doc__ = kind.__doc__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnvironmentReward) and other.made_by == self.made_by

    def __hash__(self) -> int:
        return hash(self.made_by)

    def __call__(self, sample: Sample) -> Any:
        """The reward of one row, as the environment returns it."""
        return asyncio.run(self._reward(sample))

    async def _reward(self, sample: Sample) -> Any:
        environment = self.factory()
        columns = sample.thread.metadata
        await _result(
            environment.reset(**_accepted(environment.reset, columns if isinstance(columns, Mapping) else {}))
        )
        for call in sample.thread.tool_calls():
            await self._repeat(environment, call)
        reward = await _result(environment.get_reward())
        item = getattr(reward, "item", None)
        return item() if callable(item) else float(reward) if isinstance(reward, bool) else reward

    async def _repeat(self, environment: Any, call: Mapping[str, Any]) -> None:
        function = call.get("function", call)
        name = str(function.get("name"))
        tool = getattr(environment, name, None)
        if name in _OWN or name.startswith("_") or not callable(tool):
            return

        async def called() -> None:
            arguments = function.get("arguments")
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
            await _result(tool(**(given or {})))

        await attempt_async(called())  # the model got the error of a tool, and the episode continued


async def _result(value: Any) -> Any:
    return await value if isinstance(value, Awaitable) else value


def _accepted(fn: Callable[..., Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that a function takes."""
    parameters = inspect.signature(fn).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return dict(columns)
    return {one.name: columns[one.name] for one in parameters if one.name in columns}
