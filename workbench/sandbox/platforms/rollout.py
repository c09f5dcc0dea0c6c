"""Osmosis `Grader` subclasses, run as written. Loaded by its path in the sandbox.

One row is one dataset row: its label, its metadata, and one or several samples. Every sample gets a reward;
the row's score is their mean.
"""

from __future__ import annotations

import ast
import sys
from typing import Any

_checks = sys.modules["_wb_checks"]
_drive = sys.modules["_wb_drive"]
_osmosis = sys.modules["_wb_osmosis"]
_rows = sys.modules["_wb_osmosis_rows"]
_signatures = sys.modules["_wb_signatures"]
CheckFailed = _checks.CheckFailed


class RolloutLoading(_checks.Loading):  # type: ignore[misc, name-defined]  # loaded by path
    """The five checks of a module with one `Grader` subclass and at most one `GraderConfig`."""

    noted = True

    self_contained = False
    """Classes that a module derives from list the earlier subclasses, too."""

    def row(self, wire: Any) -> Any:
        """The row of a wire tuple: see `Loading.row`."""
        return _signatures.Row.from_wire(wire)

    def _structure(self) -> str:
        classes = [node for node in self._tree.body if isinstance(node, ast.ClassDef)]
        definitions = [(cls, node) for cls in classes for node in cls.body if _is_grade(node)]
        if definitions:
            self._definition = definitions[-1][1]
            return f"class {definitions[-1][0].name} with grade at line {definitions[-1][1].lineno}"
        others = f"; classes there: {', '.join(cls.name for cls in classes)}" if classes else ""
        raise CheckFailed(f"no top-level class with `async def grade(self, ctx)`{others}")

    def _signature(self) -> str:
        definition: Any = self._definition
        if isinstance(definition, ast.FunctionDef):
            raise CheckFailed(f"grade must be async: write `async def grade` at line {definition.lineno}")
        names, extra = _signatures.parameters(definition)
        if len(names) != 2 or extra:
            raise CheckFailed(f"grade must take (self, ctx); it takes ({', '.join((*names, *extra))})")
        return f"parameters {', '.join(names)}"

    def _provided_names(self) -> dict[str, Any]:
        provided = {name: getattr(_osmosis, name) for name in _osmosis.GIVEN}
        bound = {alias.asname or alias.name for node in ast.walk(self._tree) for alias in _aliases(node)}
        reads = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        # A star import may have imported any of them.
        if missing := sorted((provided.keys() & reads) - bound) if "*" not in bound else []:
            line = f"from osmosis_ai.rollout import {', '.join(missing)}"
            self.warnings.append(f"add `{line}`: the module runs without it in this sandbox only")
        return provided

    def _loaded(self) -> str:
        try:
            cls, config = _osmosis.discover_grader(dict(self.namespace))
        except ValueError as error:
            raise CheckFailed(str(error)) from None
        if issues := _osmosis.validate_backend(cls, config):
            raise CheckFailed("; ".join(f"{code}: {message}" for code, message in issues))
        grader = cls(config)

        async def grade(row: Any) -> Any:
            return _drive.Noted(*await _graded(grader, row))

        self.grade = grade
        config_note = f" with config {config.name}" if config is not None else ""
        return f"the module runs and defines the grader {cls.__name__}{config_note}"


def _aliases(node: ast.AST) -> list[ast.alias]:
    return node.names if isinstance(node, ast.Import | ast.ImportFrom) else []


def _is_grade(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == "grade"


async def _graded(grader: Any, row: Any) -> Any:
    ctx = _rows.context(row.thread, row.reference, row.metadata, row.id)
    if ctx is None:
        return None, {"reasoning": _rows.NEITHER}
    # Stuck is not an error of this row alone: the whole loop is abandoned, and `drive` continues in a new one.
    return await _rows.graded(grader, ctx, _problem, (_drive.Stuck,))


def _problem(category: str, error: Exception) -> tuple[str, str]:
    kind = "timeout" if category == "timeout" else _drive.kind_of(error)
    return kind, f"{category}: {_checks.describe(error)}"
