"""The faithfulness judge: the share of a completion's claims that the documents support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from workbench.core.grade import Grade
from workbench.data.samples import Sample
from workbench.graders.base import kind
from workbench.judges.answers.claim_verdicts import claims_schema, read_claims, share_of
from workbench.judges.answers.documents import Evidence, documents
from workbench.judges.base import JSON_OBJECT, SampleError, json_schema
from workbench.judges.field_checks import refuse_unless
from workbench.judges.kinds.claims_judge import ClaimsJudge
from workbench.judges.prompts.thread_parts import conversation, question
from workbench.judges.protocol import Reply

__all__ = ["FaithfulnessJudge"]

_EVIDENCE_PROPERTIES = {"document": {"type": ["integer", "null"]}, "quote": {"type": "string"}}


@kind("faithfulness", family="judges")
@dataclass(frozen=True, kw_only=True)
class FaithfulnessJudge(ClaimsJudge):
    """The share of the completion's claims that the documents and the conversation support.

    Documents are `document` turns and `metadata["documents"]`. The model splits the completion into atomic claims and
    quotes its evidence: `metadata["claims"]` has one dict for each claim with `claim`, `supported`, `reason`, `evidence`
    and `evidence_found`. `evidence` is a dict with `quote` and `document`, the index in the list of documents or None for
    the conversation; it is None if nothing was quoted. `evidence_found` is False if neither a document nor the
    conversation contains the quote. A completion without claims is skipped.

    With `platform="adaptive"` sentences are judged instead of claims, the share is rounded to three decimals, and a reply
    whose number of scores differs from the number of sentences is skipped.

    Attributes:
        require_evidence: Whether a claim counts as supported only if its evidence was found.

    Source: Adaptive (`FAITHFULNESS`).
    """

    verdict_key: ClassVar[str] = "supported"
    statements_key: ClassVar[str] = "all_statements_scoring"

    require_evidence: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        is_bool = isinstance(self.require_evidence, bool)
        refuse_unless(is_bool, "require_evidence must be True or False", self.require_evidence)
        clash = self.require_evidence and self._by_sentence
        refuse_unless(not clash, "require_evidence does not apply: Adaptive's rules request no evidence")

    @property
    def shows_question(self) -> bool:
        """See `Judge.shows_question`: the completion is compared with documents and the conversation."""
        return False

    def material(self, sample: Sample) -> dict[str, Any]:
        """The documents and the conversation; by sentences as one text, the documents first."""
        sample_documents, thread = documents(sample), sample.thread
        turns = conversation(thread, exclude_role="document")
        if not self._by_sentence:
            if not sample_documents and not turns:
                raise SampleError(
                    "there is nothing to be faithful to: no documents and no turn before the completion"
                )
            return {"documents": sample_documents, "conversation": turns}
        parts = [f"[document]\n{text}" for text in sample_documents]
        return {"question": question(thread), "conversation": "\n\n".join([*parts, *filter(None, [turns])])}

    def read(self, text: str) -> Grade:
        """See `ClaimsJudge.read`; the model's evidence is stored unchanged, and checked by `ask`, which has the sample."""
        if self._by_sentence:
            return super().read(text)
        return share_of(read_claims(text, self.verdict_key, "document", "quote"), self.verdict_key)

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """See `Judge.ask`; then look for the evidence in the documents and the conversation."""
        grade = await super().ask(sample, replies)
        if self._by_sentence:
            return grade
        evidence = Evidence(documents(sample), conversation(sample.thread, exclude_role="document"))
        claims = [_with_evidence(claim, evidence) for claim in grade.metadata["claims"]]
        if self.require_evidence:
            claims = [
                {**claim, "supported": claim["supported"] and claim["evidence_found"]} for claim in claims
            ]
        return replace(share_of(claims, self.verdict_key), passed=grade.passed)

    def answer_format(self) -> dict[str, Any] | None:
        """A list of claims with their verdicts and evidence."""
        return (
            JSON_OBJECT
            if self.platform
            else json_schema(claims_schema(self.verdict_key, **_EVIDENCE_PROPERTIES))
        )


def _with_evidence(claim: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    quoted, is_found = evidence.find(claim["document"], claim["quote"])
    verdict = {key: claim[key] for key in ("claim", "supported", "reason")}
    return {**verdict, "evidence": quoted, "evidence_found": is_found}
