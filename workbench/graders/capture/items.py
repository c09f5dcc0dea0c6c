"""Pieces of text from which a captured module is built, and the scopes in which their names are looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.graders.capture.cells import CellText, texts_for

__all__ = ["MISSING", "CapturedItem", "Main", "Scope"]

MISSING: Any = object()
"""Sentinel for a missing name, because None could be a value."""


@dataclass(frozen=True)
class Scope:
    """One module's live names, and the texts that defined them.

    Attributes:
        namespace: The globals a function reads.
    """

    namespace: Mapping[str, Any]

    @cached_property
    def texts(self) -> list[CellText]:
        """Texts that may have defined names of the namespace, oldest first."""
        return texts_for(self.namespace)

    def get(self, name: str) -> Any:
        """The current value of a name, or `MISSING`."""
        return self.namespace.get(name, MISSING)

    def __eq__(self, other: object) -> bool:
        # By identity: comparing the values of equal modules would run the notebook's code.
        return isinstance(other, Scope) and other.namespace is self.namespace

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class CapturedItem:
    """One piece of the module to build.

    Attributes:
        name: The name it sets.
        text: Its statement.
        eager: Names it reads when it runs.
        late: Names it reads when called.
        constant: A plain value, rather than a function, class or other object.
        definition: A def or class, which is separated by blank lines.
    """

    name: str
    text: str
    eager: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()
    constant: bool = False
    definition: bool = False


@dataclass
class Main:
    """The grade function while it is captured.

    Attributes:
        value: The live function.
        name: The name its author gave it.
        scope: Where its own name is looked up.
        ours: A workbench decorator made it a grader, so that its name may refer to that grader now.
        called: Whether any code reads the function under the author's name.
    """

    value: Any
    name: str
    scope: Scope
    ours: bool = False
    called: bool = field(default=False)

    def is_meant(self, name: str, scope: Scope) -> bool:
        """Whether a name in a scope means this function."""
        if name != self.name or scope != self.scope:
            return False
        value = scope.get(name)
        # Not bound: a decorator captures while the cell still runs.
        return self.ours or value is self.value or value is MISSING
