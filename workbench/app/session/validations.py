"""Properties of graders that a session needs: whether one needs validation, is validated, or costs money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.graders import CustomGrader, Grader, SandboxedGrader
from workbench.graders.serialization import parts
from workbench.judges import Endpoint
from workbench.judges.base import Judge
from workbench.run.suite import Suite

if TYPE_CHECKING:
    from workbench.sandbox.host.validation import Validation

__all__ = ["asks_models", "copy_validation", "needs_validation", "suite_of", "validation_of", "waits_for"]


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
