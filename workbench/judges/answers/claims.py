"""A judge's list of claims, each with its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.grade import ErrorKind, Grade
from workbench.judges.answers.verdicts import AnswerError, verdict

__all__ = ["NO_CLAIMS", "claims_schema", "read_claims", "share_of"]

NO_CLAIMS = "the completion makes no claim, so there is nothing to check"
_MAX_CLAIMS = 1000
_MAX_TEXT = 2000
_WORDS = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}


def claims_schema(label: str, **more: Any) -> dict[str, Any]:
    """The JSON schema of an answer whose claims are judged under the key `label`."""
    parts = {"claim": {"type": "string"}, "reason": {"type": "string"}, **more, label: {"type": "boolean"}}
    claim = {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": claim}},
        "required": ["claims"],
        "additionalProperties": False,
    }


def read_claims(text: str, label: str, *more: str) -> list[dict[str, Any]]:
    """The claims of an answer: `claim`, the verdict as a bool under `label`, `reason`, and `more` as it was told.

    Raises:
        AnswerError: No list, a claim without text, or a verdict that is neither true nor false.
    """
    parts = verdict(text, "claims").get("claims")
    if not isinstance(parts, list) or len(parts) > _MAX_CLAIMS:
        found = f"{len(parts)} claims" if isinstance(parts, list) else type(parts).__name__
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"the judge's claims must be a list of at most {_MAX_CLAIMS}, not {found}"
        )
    return [_claim(one, label) | {key: one.get(key) for key in more} for one in parts]


def _claim(one: Any, label: str) -> dict[str, Any]:
    told = one if isinstance(one, Mapping) else {}
    claim = told.get("claim")
    if not isinstance(claim, str) or not claim.strip():
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"a claim must have its text, not {one!r}"[:200])
    return {
        "claim": claim[:_MAX_TEXT],
        label: _verdict(told.get(label), label),
        "reason": str(told.get("reason") or "")[:_MAX_TEXT],
    }


def _verdict(said: Any, label: str) -> bool:
    if isinstance(said, bool):
        return said
    found = _WORDS.get(str(said).strip().lower()) if isinstance(said, str | int) else None
    if found is None:
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"a claim's {label!r} must be true or false, not {said!r}"[:200]
        )
    return found


def share_of(claims: list[dict[str, Any]], label: str) -> Grade:
    """The share of claims whose verdict is true; skipped where there are none."""
    kept = {"claims": claims}
    if not claims:
        return Grade.skipped(NO_CLAIMS, metadata=kept)
    good = sum(claim[label] for claim in claims)
    reasons = [f"{'+' if claim[label] else '-'} {claim['claim']}: {claim['reason']}" for claim in claims]
    return Grade(good / len(claims), reasoning="\n".join(reasons), metadata=kept)
