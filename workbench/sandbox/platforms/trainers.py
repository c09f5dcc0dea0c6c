"""Reward functions of trainers, called on one row as the trainer calls them. Loaded by its path in the sandbox.

`(prompts, completions, **columns)` is TRL's, `(data_source, solution_str, ground_truth, extra_info)` verl's (also without
the first),
`(queries, prompts, labels)` OpenRLHF's, `(prediction, target)` Together's. Sync and async both work. If a trainer
takes a batch, it gets a batch of one row.

Source: TRL 1.16, verl 0.9.1, OpenRLHF 0.11.2, Together's RL cookbook.
"""

from __future__ import annotations

import ast
import inspect
import sys
import time
from typing import Any

_checks = sys.modules["_wb_checks"]
_drive = sys.modules["_wb_drive"]
_signatures = sys.modules["_wb_signatures"]
CheckFailed = _checks.CheckFailed

_FROM_A_TRAINER = ("completion_ids", "prompt_ids", "trainer_state", "environments")
_GIVEN = ("prompts", "completions", "log_extra", "log_metric", *_FROM_A_TRAINER)
"""Arguments that TRL gives a reward in addition to the dataset's columns."""

_SLOW_SECONDS = 0.05
"""Maximum seconds per row for the full comparison; a slower reward is compared on two rows only."""
_SAME = 1e-9
"""Maximum difference of scores that count as equal."""

_OF_NOTHING = (TypeError, AttributeError, KeyError, ValueError)
"""Exceptions of a function that processes None."""
_NO_REFERENCE = (
    "no reference: this row has none, and the function got None for it; name its column one of reference, expected, "
    'ground_truth, label, `answer`, or map it with columns={"reference": ...}'
)


class TrainerLoading(_signatures.CalledLoading):  # type: ignore[misc, name-defined]  # loaded by path
    """Checks of a reward function; a subclass defines its parameters and their values."""

    needed: tuple[str, ...] = ()
    grade: Any

    def _loaded(self) -> str:
        message: str = super()._loaded()
        called = self.grade
        if self.options.get("batch"):
            self.grade = self._compared
            return message

        async def grade(row: Any) -> Any:
            try:
                return await called(row)
            except _OF_NOTHING as error:
                # The function's message on None would not lead the user to the column.
                if row.reference is None and self._takes_reference():
                    raise _drive.Refused("runtime", f"{_NO_REFERENCE}: {_checks.describe(error)}") from error
                raise

        self.grade = grade
        return message

    async def _compared(self, _: Any) -> float:
        """1.0 if rows of the option `batch` get other scores together than alone, reproducibly; else 0.0."""
        rows = [_signatures.Row.from_wire(wire) for wire in self.options["batch"]]
        start = time.perf_counter()
        first = await self._scores(rows[:1])
        if time.perf_counter() - start > _SLOW_SECONDS:
            rows = rows[:2]

        async def alone() -> list[Any]:
            return [score for row in rows for score in await self._scores([row])]

        single, together = await alone(), await self._scores(rows)
        # Without a score for each row there is nothing to compare: that is another error.
        if single[:1] != first or len(together) != len(rows) or _are_same(single, together):
            return 0.0
        is_steady = _are_same(single, await alone()) and _are_same(together, await self._scores(rows))
        return float(is_steady)

    async def _scores(self, rows: list[Any]) -> list[Any]:
        """The scores of one call with several rows, None for a row without one."""
        value = self._call_together(self.namespace["grade"], rows)
        value = await value if inspect.isawaitable(value) else value
        return [None if one is None else float(one) for one in self._list_of(value)]

    def _call_together(self, function: Any, rows: list[Any]) -> Any:
        raise NotImplementedError

    def _list_of(self, value: Any) -> Any:
        """The scores in what a call with several rows returned."""
        return value

    def _takes_reference(self) -> bool:
        """Whether the function gets the row's reference as a separate argument, not as one of the columns."""
        return True

    def _signature(self) -> str:
        names, _ = self._parameters()
        if missing := [name for name in self.needed if name not in names]:
            raise CheckFailed(f"grade must take {self.usage}; {missing[0]} is missing")
        return f"parameters {', '.join(names)}"

    def _parameters(self) -> tuple[tuple[str, ...], bool]:
        """The parameters by name, and whether any other is accepted."""
        args = self._definition.args
        named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        return tuple(arg.arg for arg in named), args.kwarg is not None

    def _accepted(self, given: dict[str, Any]) -> dict[str, Any]:
        """The row as the function's argument; a trainer's dataset has the columns that its rewards name."""
        names, rest = self._parameters()
        return given if rest else {name: value for name, value in given.items() if name in names}

    def _read(self, value: Any) -> Any:
        # Trainers accept True as 1.0.
        return float(value) if type(value) is bool else value


class TRLLoading(TrainerLoading):
    """`f(prompts, completions, **columns) -> list[float | None]`: None is a row without a score."""

    usage = "grade(prompts, completions, **columns)"
    needed = ("completions",)

    def _takes_reference(self) -> bool:
        return False

    def _signature(self) -> str:
        message: str = super()._signature()
        args = self._definition.args
        required = [arg.arg for arg in args.args[: len(args.args) - len(args.defaults)]]
        if unknown := [name for name in required if name in _FROM_A_TRAINER]:
            raise CheckFailed(
                f"grade reads {unknown[0]}, which only a trainer has; give it a default of None"
            )
        self._chat = _reads_messages(self._tree)
        return message + ("; completions are lists of messages" if self._chat else "; completions are texts")

    def _required_columns(self) -> list[str]:
        args = self._definition.args
        positional = [*args.posonlyargs, *args.args]
        required = positional[: len(positional) - len(args.defaults)]
        required += [
            arg for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None
        ]
        names = [arg.arg for arg in required] + (self._keys_read(args.kwarg.arg) if args.kwarg else [])
        return [name for name in names if name not in _GIVEN]

    def _call(self, function: Any, row: Any) -> Any:
        return self._call_together(function, [row])

    def _call_together(self, function: Any, rows: list[Any]) -> Any:
        split = [_split(row.thread) for row in rows]
        metadata = [row.thread.metadata if isinstance(row.thread.metadata, dict) else {} for row in rows]
        columns = {
            name: [one.get(name) for one in metadata]
            for name in dict.fromkeys(key for one in metadata for key in one)
        }
        texts = ["\n".join(one["content"] for one in asked) for asked, _ in split]
        given = {
            **columns,
            "prompts": [asked for asked, _ in split] if self._chat else texts,
            "completions": [said for _, said in split] if self._chat else [row.answer() for row in rows],
            "log_extra": _nowhere,
            "log_metric": _nowhere,
        }
        return function(**self._accepted(given))

    def _read(self, value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != 1:
            raise _drive.Refused(
                "return_type", f"grade must return a list of one score per row, not {value!r:.80}"
            )
        if value[0] is None:
            return _drive.Noted(None, {"reasoning": "None: no score"})
        return super()._read(value[0])


class VerlLoading(TrainerLoading):
    """`f(data_source, solution_str, ground_truth, extra_info=None) -> float | dict` with the key `score`."""

    usage = "grade(data_source, solution_str, ground_truth, extra_info=None)"
    # verl's functions for one dataset have no data_source: its default_compute_score has selected them by it.
    needed = ("solution_str",)

    def _takes_reference(self) -> bool:
        names, rest = self._parameters()
        return rest or "ground_truth" in names

    def _call(self, function: Any, row: Any) -> Any:
        metadata = row.metadata if isinstance(row.metadata, dict) else {}
        given = {
            "data_source": metadata.get("data_source", ""),
            "solution_str": row.answer(),
            "ground_truth": row.reference,
            "extra_info": _extra_info(metadata),
        }
        return function(**self._accepted(given))

    def _read(self, value: Any) -> Any:
        return _signatures.scored_dict(value) if isinstance(value, dict) else super()._read(value)

    def _required_columns(self) -> list[str]:
        keys: list[str] = self._keys_read("extra_info")
        return keys


class OpenRLHFLoading(TrainerLoading):
    """`f(queries, prompts, labels) -> {"rewards": ..., "scores": ..., "extra_logs": ...}`, lists of one row."""

    usage = "grade(queries, prompts, labels)"
    needed = ("queries", "prompts", "labels")

    def _call(self, function: Any, row: Any) -> Any:
        return self._call_together(function, [row])

    def _call_together(self, function: Any, rows: list[Any]) -> Any:
        prompts = ["\n".join(one["content"] for one in _split(row.thread)[0]) for row in rows]
        queries = [prompt + row.answer() for prompt, row in zip(prompts, rows, strict=True)]
        return function(queries=queries, prompts=prompts, labels=[row.reference for row in rows])

    def _list_of(self, value: Any) -> Any:
        return value.get("rewards") if isinstance(value, dict) else value

    def _read(self, value: Any) -> Any:
        rewards = value.get("rewards") if isinstance(value, dict) else value
        if isinstance(rewards, list | tuple) and len(rewards) == 1:
            rewards = rewards[0]
        logs = value.get("extra_logs") if isinstance(value, dict) else None
        return _drive.Noted(
            super()._read(rewards), {"metadata": dict(logs)} if isinstance(logs, dict) and logs else {}
        )


class TogetherLoading(TrainerLoading):
    """`f(prediction, target) -> float`."""

    usage = "grade(prediction, target)"
    needed = ("prediction", "target")

    def _call(self, function: Any, row: Any) -> Any:
        return function(row.answer(), row.reference)


def _extra_info(metadata: dict[str, Any]) -> dict[str, Any]:
    """What verl passes as `extra_info`: the column of that name if there is one, plus the row's other columns."""
    own = metadata.get("extra_info")
    return {**metadata, **own} if isinstance(own, dict) else metadata


def _are_same(scores: list[Any], others: list[Any]) -> bool:
    """Whether two lists of scores are equal, up to rounding of floats."""
    return len(scores) == len(others) and all(
        one == other
        or (one is not None and other is not None and abs(one - other) <= _SAME * max(1.0, abs(one)))
        for one, other in zip(scores, others, strict=True)
    )


def _nowhere(*_: Any) -> None:
    """Discards log output of a row's test run."""


def _reads_messages(tree: ast.AST) -> bool:
    """Whether a function reads completions as messages: it uses their keys."""
    return any(
        isinstance(node, ast.Constant) and node.value in {"content", "role"} for node in ast.walk(tree)
    )


def _split(thread: Any) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The messages of the prompt, and those of the completion: what follows the last user turn."""
    turns = [{"role": turn.role, "content": turn.content} for turn in thread.get_turns()]
    users = [at for at, turn in enumerate(turns) if turn["role"] == "user"]
    first = users[-1] + 1 if users else 0
    return turns[:first], turns[first:]
