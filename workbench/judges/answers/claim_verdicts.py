"""Parses a reply that lists claims, each with its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.grade import ErrorKind, Grade
from workbench.judges.answers.verdicts import AnswerError, verdict_object

__all__ = ["NO_CLAIMS", "claims_schema", "read_claims", "share_of"]

NO_CLAIMS = "the completion makes no claim, so there is nothing to check"
_MAX_CLAIMS = 1000
"""Maximum number of claims in one reply; a reply with more is rejected. Workbench limit: no completion makes that many."""
_MAX_CHARACTERS = 2000
"""Maximum characters of a claim or reason in a grade. Workbench limit."""
_VERDICTS = {"1": True, "0": False, "true": True, "false": False, "yes": True, "no": False}
"""Strings that models write instead of JSON's true and false."""


def claims_schema(verdict_key: str, **extra_properties: Any) -> dict[str, Any]:
    """The JSON schema of a reply whose claims have their verdict under `verdict_key`."""
    text = {"type": "string"}
    # The verdict comes last: a model writes in order, so it writes its reason first.
    properties = {"claim": text, "reason": text, **extra_properties, verdict_key: {"type": "boolean"}}
    claim = {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
    }  # fmt: skip
    return {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": claim}},
        "required": ["claims"],
        "additionalProperties": False,
    }


def read_claims(text: str, verdict_key: str, *extra_keys: str) -> list[dict[str, Any]]:
    """The claims of a reply.

    Args:
        text: The reply.
        verdict_key: The key of a claim's verdict.
        extra_keys: Further keys to copy, with unchanged values.

    Returns:
        For each claim its `claim`, the verdict as a bool under `verdict_key`, its `reason`, and `extra_keys`.

    Raises:
        AnswerError: There is no list, a claim has no text, or a verdict is neither true nor false.
    """
    claims = verdict_object(text, "claims").get("claims")
    if not isinstance(claims, list) or len(claims) > _MAX_CLAIMS:
        found = f"{len(claims)} claims" if isinstance(claims, list) else type(claims).__name__
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"the judge's claims must be a list of at most {_MAX_CLAIMS}, not {found}"
        )
    return [_claim(claim, verdict_key) | {key: claim.get(key) for key in extra_keys} for claim in claims]


def _claim(claim: Any, verdict_key: str) -> dict[str, Any]:
    fields = claim if isinstance(claim, Mapping) else {}
    text = fields.get("claim")
    if not isinstance(text, str) or not text.strip():
        raise AnswerError(ErrorKind.JUDGE_PARSE, f"a claim must have a text, not {claim!r}"[:200])
    return {
        "claim": text[:_MAX_CHARACTERS],
        verdict_key: _verdict(fields.get(verdict_key), verdict_key),
        "reason": str(fields.get("reason") or "")[:_MAX_CHARACTERS],
    }


def _verdict(value: Any, verdict_key: str) -> bool:
    if isinstance(value, bool):
        return value
    verdict = _VERDICTS.get(str(value).strip().lower()) if isinstance(value, str | int) else None
    if verdict is None:
        raise AnswerError(
            ErrorKind.JUDGE_PARSE, f"a claim's {verdict_key!r} must be true or false, not {value!r}"[:200]
        )
    return verdict


def share_of(claims: list[dict[str, Any]], verdict_key: str) -> Grade:
    """The share of claims whose verdict is true; skipped if there are no claims."""
    metadata = {"claims": claims}
    if not claims:
        return Grade.skipped(NO_CLAIMS, metadata=metadata)
    true_claims = sum(claim[verdict_key] for claim in claims)
    reasons = [
        f"{'+' if claim[verdict_key] else '-'} {claim['claim']}: {claim['reason']}" for claim in claims
    ]
    return Grade(true_claims / len(claims), reasoning="\n".join(reasons), metadata=metadata)
