"""The lines that would do in code what was just done in the app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.widgets.labelling import Labelling

__all__ = ["call", "grader_code", "graders_code", "label_code"]


def grader_code(name: str) -> str:
    """A grader of the app, by its name."""
    return f"app.graders[{name!r}]"


def graders_code(names: Sequence[str]) -> str:
    """A list of graders of the app."""
    return f"[{', '.join(map(grader_code, names))}]"


def call(function: str, *values: Any, **named: Any) -> str:
    """A call as a person would write it: what is None is left out."""
    said = [*map(repr, values), *(f"{name}={value!r}" for name, value in named.items() if value is not None)]
    return f"{function}({', '.join(said)})"


def label_code(labelling: Labelling, name: str, value: bool | None, note: str) -> str:
    """A label put into the store."""
    said = {"labeller": labelling.labeller, "dataset": labelling.dataset, "note": note}
    named = {key: text for key, text in said.items() if text}
    store = f"wb.open_store({labelling.store_url!r})" if labelling.store_url else "store"
    return call(f"{store}.labels.put", name, value, **named)
