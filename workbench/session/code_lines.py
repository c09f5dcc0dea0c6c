"""The lines that would do in code what was just done in the app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.session.labels import Labelling

__all__ = [
    "call",
    "export_code",
    "grader_code",
    "graders_code",
    "keep_code",
    "label_code",
    "run_code",
    "undo_code",
]


def grader_code(name: str) -> str:
    """A grader of the app, by its name."""
    return f"app.graders[{name!r}]"


def graders_code(names: Sequence[str]) -> str:
    """A list of graders of the app."""
    return f"[{', '.join(map(grader_code, names))}]"


class _Code(str):
    """What stands in a call as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def call(function: str, *values: Any, **named: Any) -> str:
    """A call as a person would write it: what is None is left out."""
    said = [*map(repr, values), *(f"{name}={value!r}" for name, value in named.items() if value is not None)]
    return f"{function}({', '.join(said)})"


def run_code(
    suite: str,
    labelling: Labelling,
    n: int,
    *,
    draw: Mapping[str, Any],
    budget: float | None = None,
    joins: bool = False,
) -> str:
    """A run, and its report as the app shows it.

    Args:
        suite: The graders that run, in code.
        labelling: Whose labels and store they run with.
        n: Rows drawn; 0 for all.
        draw: Seed and strata.
        budget: US dollars; None for no limit.
        joins: Whether what others said of the same rows is shown beside it.
    """
    labels = labelling.code_for("rows")
    rows = call("app.samples.draw", n, **draw) if n else "app.samples"
    run = call(
        f"{suite}.run", _Code("rows"), labels=_Code(labels) if labels else None,
        store=labelling.store_url or None, budget=budget,
    )  # fmt: skip
    lines = [
        f"rows = {rows}",
        f"report = {run}",
        *(["report = app.beside(report)"] if joins else []),
        "report",
    ]
    return "\n".join(lines)


def export_code(suite: str, target: str, format: str, *, on_loss: str, allow_unvalidated: bool) -> str:  # noqa: A002
    """A file written; settings that are as usual are left out."""
    unusual = {
        "on_loss": on_loss if on_loss != "refuse" else None,
        "allow_unvalidated": allow_unvalidated or None,
    }
    return call("wb.export", _Code(suite), target, format, **unusual)


def label_code(labelling: Labelling, name: str, value: bool | None, note: str) -> str:
    """A label put into the store."""
    said = _said(note=note, drawn=labelling.drawn_of(name))
    return call(
        f"{_store(labelling)}.labels.put", _Code(labelling.code_of(name)), value, **_who(labelling), **said
    )


def undo_code(labelling: Labelling, name: str) -> str:
    """A label taken back."""
    return call(f"{_store(labelling)}.labels.undo", _Code(labelling.code_of(name)), **_who(labelling))


def keep_code(labelling: Labelling, name: str, done: str) -> str:
    """A grader kept in the store: `done` is "create" or "edit"."""
    return f"{_store(labelling)}.graders.{done}({name!r}, {grader_code(name)})"


def _who(labelling: Labelling) -> dict[str, str]:
    return _said(labeller=labelling.labeller, dataset=labelling.dataset)


def _said(**texts: str) -> dict[str, str]:
    return {key: text for key, text in texts.items() if text}


def _store(labelling: Labelling) -> str:
    """The store as the next cell reaches it: one in memory has no address that leads to it."""
    kept = labelling.store_url and not labelling.in_memory
    return f"wb.open_store({labelling.store_url!r})" if kept else "app.state.labelling.store"
