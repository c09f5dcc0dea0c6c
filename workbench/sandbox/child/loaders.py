"""Maps a program's language and signature to its loader, inside the worker. Standard library only; loaded by its path.

A grader whose text mentions neither `Grade` nor `Skip` is not loaded with `OutcomeLoading`: each of its rows returns one
number, which is faster.
"""

from __future__ import annotations

import sys
from typing import Any

_thread = sys.modules["_wb_thread"]
_grade = sys.modules["_wb_grade"]
_checks = sys.modules["_wb_checks"]
_drive = sys.modules["_wb_drive"]
_osmosis = sys.modules["_wb_osmosis"]
_legacy = sys.modules["_wb_osmosis_legacy"]
_letta = sys.modules["_wb_letta"]
_modules = sys.modules["_wb_modules"]
_signatures = sys.modules["_wb_signatures"]
_trainers = sys.modules["_wb_trainers"]
_rollout = sys.modules["_wb_rollout"]
_javascript = sys.modules["_wb_javascript"]

Row = _signatures.Row

# Other kinds describe events outside a grader; the host refuses them as well (`WORKER_KINDS`).
_OWN_KINDS = frozenset({"out_of_range", "return_type", "runtime"})


class OutcomeLoading(_checks.Loading):  # type: ignore[misc, name-defined]  # loaded by path
    """Checks of `async def grade(thread) -> float | Grade`, which may return `wb.Grade(...)` or raise `wb.Skip(...)`."""

    noted = True

    def _loaded(self) -> str:
        message: str = super()._loaded()
        function: Any = self.namespace["grade"]

        async def grade(thread: Any) -> Any:
            try:
                value = await function(thread)
            except _grade.Skip as skip:
                return _drive.Noted(None, _texts(reasoning=str(skip)))
            return _noted(value) if type(value) is _grade.Grade else value

        self.grade = grade
        return message


def _noted(grade: Any) -> Any:
    """A `Grade` in the driver's form: its number, its note, and its failure if it is one."""
    error = None if grade.error is None else _failure(str(grade.error.kind), str(grade.error.message))
    note = _texts(reasoning=grade.reasoning)
    if grade.metadata:
        note["metadata"] = dict(grade.metadata)
    if isinstance(grade.passed, bool):
        note["passed"] = grade.passed
    return _drive.Noted(grade.score, note, error)


def _failure(kind: str, message: str) -> tuple[str, str]:
    """A failure that the grader reports; it may not use the kinds that describe servers or the sandbox."""
    return (kind, message) if kind in _OWN_KINDS else ("runtime", f"{kind}: {message}")


def _texts(reasoning: Any) -> dict[str, Any]:
    return {"reasoning": reasoning} if isinstance(reasoning, str) and reasoning else {}


_LOADERS = {
    ("python", "thread"): _checks.Loading,
    ("python", "letta"): _signatures.LettaLoading,
    ("python", "openai"): _signatures.OpenAILoading,
    ("python", "osmosis"): _signatures.OsmosisLoading,
    ("python", "trl"): _trainers.TRLLoading,
    ("python", "verl"): _trainers.VerlLoading,
    ("python", "openrlhf"): _trainers.OpenRLHFLoading,
    ("python", "together"): _trainers.TogetherLoading,
    ("javascript", "thread"): _javascript.ScriptLoading,
    ("rollout", "thread"): _rollout.RolloutLoading,
}


def loader(command: dict[str, Any]) -> Any:
    """The loader for the program of a command."""
    kind = _LOADERS[command.get("language", "python"), command.get("signature", "thread")]
    if kind is _checks.Loading and command.get("noted"):
        kind = OutcomeLoading
    times = {"row_seconds": command.get("row_seconds", 1.0), "load_seconds": command["seconds"]}
    # The times last: an option of that name must not replace the host's limits.
    options = {**command.get("options", {}), **times}
    return kind(command["text"], _thread.StringThread, options)


def show_compatible_modules() -> None:
    """Make the package names that graders were written against importable, with this package's classes."""
    sys.modules.update(_modules.stand_ins(_modules.OSMOSIS, _osmosis, _legacy))
    sys.modules.update(_modules.stand_ins(_modules.LETTA, _letta))
