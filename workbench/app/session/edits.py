"""Edits: texts that a user typed to replace a grader's, and what a new grader inherits from the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from workbench.graders import CustomGrader, Grader, SandboxedGrader
from workbench.graders.code import SourceGrader
from workbench.graders.serialization import parts
from workbench.judges import Endpoint
from workbench.judges.base import Judge
from workbench.run.suite import Suite

if TYPE_CHECKING:
    from workbench.sandbox.host.validation import Validation


def suite_of(graders: Any) -> Suite | None:
    """Graders as a suite; None if none are given."""
    if graders is None or (isinstance(graders, list | tuple) and not graders):
        return None
    return graders if isinstance(graders, Suite) else Suite(graders)


def needs_validation(grader: Grader) -> bool:
    """Whether it has source that must be validated before export."""
    return any(isinstance(part, SandboxedGrader) for part in parts(grader))


def asks_models(grader: Grader) -> bool:
    """Whether it calls a model, which costs time and money."""
    return any(isinstance(part, Judge) for part in parts(grader))


def waits_for(grader: Grader) -> str:
    """Why a grader does not run before the user presses Run; "" for rules and sandboxed code, which cost nothing."""
    reasons = (
        (Judge, "calls a model, which costs money"),
        (Endpoint, "calls a service"),
        (CustomGrader, "runs your function, of unknown cost"),
    )
    return next((why for kind, why in reasons if any(isinstance(part, kind) for part in parts(grader))), "")


def validation_of(grader: Grader) -> Validation | None:
    """The last validation of exactly this text; None if there is none, and for graders without source."""
    return grader.validation if isinstance(grader, SandboxedGrader) else None


def copy_validation(old: Grader, new: Grader) -> None:
    """Give a grader the validation of an equal one, so that the same text is not validated again."""
    validation = validation_of(old)
    if validation is not None and isinstance(new, SandboxedGrader) and new.validation is None:
        new.remember(validation)


@dataclass
class Drafts:
    """A user's text that is not saved yet.

    Attributes:
        notes: Sample id and digest of its text to the note that is saved with the label.
    """

    notes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Edit:
    """A text that a user typed to replace a grader's, and its outcome.

    Attributes:
        text: The text.
        seq: The page's number for it, by which replies to older texts are recognised.
        error: Why it is not a grader; "" if it is.
        validation: The validation; None while it runs.
    """

    text: str
    seq: int
    error: str = ""
    validation: Validation | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has no outcome yet: validation is running or was stopped."""
        return self.validation is None and not self.error


def needs_checks(grader: Grader) -> bool:
    """Whether a grader has source that is not validated yet."""
    return isinstance(grader, SandboxedGrader) and grader.validation is None


def fails(grader: Grader) -> bool:
    """Whether a grader's validation failed."""
    return isinstance(grader, SandboxedGrader) and grader.validation is not None and not grader.validation.ok


def like(before: Grader | None, grader: Grader) -> Grader:
    """An edited grader with settings that its text does not contain, from the one before: limits, and its origin."""
    if not isinstance(before, SourceGrader) or not isinstance(grader, SourceGrader):
        return grader
    source = replace(grader.source, imported=before.source.imported)
    return replace(grader, source=source, timeout=before.timeout, memory_mb=before.memory_mb)


def with_client_of(before: Grader | None, grader: Grader) -> Grader:
    """A grader with the client of the one before it, if both call a model: a store does not save clients."""
    client = getattr(before, "client", None)
    if client is None or getattr(grader, "client", client) is not None:
        return grader
    return cast("Grader", replace(cast("Any", grader), client=client))


def without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """A copy of a dict without some keys: traits notify observers only of a different value."""
    return {name: value for name, value in values.items() if name not in names}
