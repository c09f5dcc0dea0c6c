"""A text typed in place of a grader's, and what an edit takes over from the grader before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from workbench.graders import Grader, SandboxedGrader
from workbench.graders.code.sandboxed import SourceGrader

if TYPE_CHECKING:
    from workbench.sandbox.host.validation import Validation

__all__ = ["Edit", "fails", "like", "needs_checks", "with_client_of", "without"]


@dataclass(frozen=True)
class Edit:
    """A text that a person typed in place of a grader's, and what came of it.

    Attributes:
        text: The text.
        seq: The page's number for it: answers to older ones are told by it.
        error: Why no grader can be made of it; "" where one can.
        proof: The checks; None while they run.
    """

    text: str
    seq: int
    error: str = ""
    proof: Validation | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing has come of it yet: its checks run, or were stopped."""
        return self.proof is None and not self.error


def needs_checks(grader: Grader) -> bool:
    """Whether a grader has source that was not proved yet."""
    return isinstance(grader, SandboxedGrader) and grader.validation is None


def fails(grader: Grader) -> bool:
    """Whether a grader's checks failed."""
    return isinstance(grader, SandboxedGrader) and grader.validation is not None and not grader.validation.ok


def like(before: Grader | None, grader: Grader) -> Grader:
    """An edited grader with what its text does not hold: limits, and that it came from a file, of the one before."""
    if not isinstance(before, SourceGrader) or not isinstance(grader, SourceGrader):
        return grader
    source = replace(grader.source, imported=before.source.imported)
    return replace(grader, source=source, timeout=before.timeout, memory_mb=before.memory_mb)


def with_client_of(before: Grader | None, grader: Grader) -> Grader:
    """A grader with the client of the one before it, where both ask a model: a store keeps no client."""
    client = getattr(before, "client", None)
    if client is None or getattr(grader, "client", client) is not None:
        return grader
    return cast("Grader", replace(cast("Any", grader), client=client))


def without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """A dict without some of its keys, as a new one: observers are told of another value only."""
    return {name: value for name, value in values.items() if name not in names}
