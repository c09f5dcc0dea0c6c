"""The faithfulness judge: how much of an answer the documents support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from workbench.grade import Grade
from workbench.graders.base import kind
from workbench.judges.answers.claims import claims_schema, read_claims, share_of
from workbench.judges.answers.documents import Evidence, documents
from workbench.judges.base import JSON_OBJECT, SampleError, json_schema, refuse_unless
from workbench.judges.kinds.claims import ClaimsJudge
from workbench.judges.prompts.thread_parts import conversation, question
from workbench.judges.protocol import Reply
from workbench.samples import Sample

__all__ = ["FaithfulnessJudge"]

_QUOTED = {"document": {"type": ["integer", "null"]}, "quote": {"type": "string"}}


@kind("faithfulness")
@dataclass(frozen=True, kw_only=True)
class FaithfulnessJudge(ClaimsJudge):
    """The share of the completion's claims that the documents and the conversation support.

    Documents are `document` turns and `metadata["documents"]`. The judge breaks the completion into atomic claims and
    names its evidence: `metadata["claims"]` holds one dict a claim with `claim`, `supported`, `reason`, `evidence`
    (`document`, the place in the list of documents from 0, None for the conversation; `quote`; None where nothing was
    quoted) and `evidence_found`, False where the quote stands in no document and not in the conversation. A completion
    that claims nothing is skipped.

    With `rules="adaptive"` sentences are judged in the place of claims, the share is rounded to three decimals, and an
    answer with another number of scores is skipped.

    Attributes:
        require_evidence: Whether a claim counts as supported only where its evidence was found.

    Source: Adaptive (`FAITHFULNESS`).
    """

    label: ClassVar[str] = "supported"
    statements_key: ClassVar[str] = "all_statements_scoring"

    require_evidence: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = isinstance(self.require_evidence, bool)
        refuse_unless(wanted, "require_evidence must be True or False", self.require_evidence)
        clash = self.require_evidence and self._by_sentence
        refuse_unless(not clash, "Adaptive's rules ask for no evidence, so none can be required")

    def material(self, sample: Sample) -> dict[str, Any]:
        """The conversation and the documents; by sentences, with the documents in its front."""
        found, thread = documents(sample), sample.thread
        said = conversation(thread, leave="document")
        if not self._by_sentence:
            if not found and not said:
                raise SampleError(
                    "there is nothing to be faithful to: no documents and no turn before the answer"
                )
            return {"documents": found, "conversation": said}
        shown = [f"[document]\n{text}" for text in found]
        return {"question": question(thread), "conversation": "\n\n".join([*shown, *filter(None, [said])])}

    def read(self, text: str) -> Grade:
        """See `ClaimsJudge.read`; the evidence is as the judge told it until `ask` has looked for it."""
        if self._by_sentence:
            return super().read(text)
        return share_of(read_claims(text, self.label, "document", "quote"), self.label)

    async def ask(self, sample: Sample, replies: list[Reply]) -> Grade:
        """Ask, and look for the evidence."""
        grade = await super().ask(sample, replies)
        if self._by_sentence:
            return grade
        evidence = Evidence(documents(sample), conversation(sample.thread, leave="document"))
        claims = [_with_evidence(claim, evidence) for claim in grade.metadata["claims"]]
        if self.require_evidence:
            claims = [{**one, "supported": one["supported"] and one["evidence_found"]} for one in claims]
        return replace(share_of(claims, self.label), passed=grade.passed)

    def answer_format(self) -> dict[str, Any] | None:
        """A list of claims with their verdicts and evidence."""
        return JSON_OBJECT if self.rules else json_schema(claims_schema(self.label, **_QUOTED))


def _with_evidence(claim: Mapping[str, Any], evidence: Evidence) -> dict[str, Any]:
    kept, found = evidence.of(claim["document"], claim["quote"])
    told = {key: claim[key] for key in ("claim", "supported", "reason")}
    return {**told, "evidence": kept, "evidence_found": found}
