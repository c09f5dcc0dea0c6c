"""What a Workbench asks of a grader: whether it needs a proof, has one, or costs money."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.graders import CustomGrader, Grader, SandboxedGrader
from workbench.judges import Endpoint
from workbench.judges.base import Judge
from workbench.serialization import parts
from workbench.suite import Suite

if TYPE_CHECKING:
    from workbench.sandbox.host.validation import Validation

__all__ = ["asks_models", "copy_proof", "needs_proof", "proof_of", "suite_of", "waits_for"]


def suite_of(graders: Any) -> Suite | None:
    """Graders as a suite; None for none given."""
    if graders is None or (isinstance(graders, list | tuple) and not graders):
        return None
    return graders if isinstance(graders, Suite) else Suite(graders)


def needs_proof(grader: Grader) -> bool:
    """Whether it has source that must be proved before it is exported."""
    return any(isinstance(part, SandboxedGrader) for part in parts(grader))


def asks_models(grader: Grader) -> bool:
    """Whether a model is asked, which costs time and money."""
    return any(isinstance(part, Judge) for part in parts(grader))


def waits_for(grader: Grader) -> str:
    """Why a grader is not asked before a person presses Run; "" for rules and sandboxed code, which cost nothing."""
    reasons = (
        (Judge, "asks a model, which costs"),
        (Endpoint, "asks a service"),
        (CustomGrader, "is a function of your own, of unknown cost"),
    )
    return next((why for kind, why in reasons if any(isinstance(part, kind) for part in parts(grader))), "")


def proof_of(grader: Grader) -> Validation | None:
    """The last proof of this very text; None without, and for graders without source."""
    return grader.validation if isinstance(grader, SandboxedGrader) else None


def copy_proof(old: Grader, new: Grader) -> None:
    """Give a grader the proof of an equal one: the same text needs no second proof."""
    proof = proof_of(old)
    if proof is not None and isinstance(new, SandboxedGrader) and new.validation is None:
        new.remember(proof)
