"""Claims with verdicts in a reply, and the sentences, documents and evidence that they are about."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.grade import ErrorKind, Grade
from workbench.data.samples import Sample
from workbench.judges.verdicts import AnswerError, verdict_object

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


_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_ABBREVIATION_END = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|e\.g|i\.e|cf|fig|no|approx|inc|ltd)|\b[a-z])\.\Z", re.IGNORECASE
)
_UNSPACED_SCRIPTS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Characters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which put no spaces between words: in these scripts each
character counts as a separate word."""
_WORD = re.compile(rf"[{_UNSPACED_SCRIPTS}]|[^\W_{_UNSPACED_SCRIPTS}]+")
_TEXT_KEYS = ("content", "text", "page_content")
"""Keys of a document's text. The last one is LangChain's."""
_MAX_QUOTE = 2000
"""Maximum characters of a quote in a grade. Workbench limit."""
_ELLIPSIS = re.compile(r"\.{3,}|\u2026|\[\s*\]")


def sentences(text: str) -> list[str]:
    """The sentences of a text. They end at . ! ? before a space, and at line ends; not after "Dr." or an initial.

    Example:
        >>> sentences("Dr. No is a film. It is from 1962.")
        ['Dr. No is a film.', 'It is from 1962.']
    """
    parts: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(text):
        sentence = text[start : end.end()].strip()
        # A line end always ends a sentence.
        if "\n" in end[0] or not _ABBREVIATION_END.search(sentence):
            parts.append(sentence)
            start = end.end()
    return [sentence for sentence in (*parts, text[start:].strip()) if sentence]


def documents(sample: Sample, platform: str = "") -> list[str]:
    """The documents retrieved for a prompt: the thread's document turns, then `metadata["documents"]`.

    The latter is a list of texts or of dicts (`content`, `text` or `page_content`), the same as JSON text (as in a CSV
    file), or the text of one document. Adaptive's code reads only the metadata, although its documentation prescribes
    turns; under Adaptive's rules this function does the same.
    """
    thread = sample.thread
    turns = [turn.content for turn in thread.get_turns() if turn.role == "document"]
    value = thread.metadata.get("documents") if isinstance(thread.metadata, Mapping) else None
    from_metadata = [_document_text(document) for document in _as_list(value)]
    return from_metadata if platform == "adaptive" else turns + from_metadata


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Mapping):
        return [value]
    if not isinstance(value, str) or not value.strip():
        return []
    try:
        data = json.loads(value) if value.lstrip().startswith(("[", "{")) else None
    except (ValueError, RecursionError):
        data = None  # a text that only looks like JSON is one document
    return data if isinstance(data, list) else [data if isinstance(data, dict) else value]


def _document_text(document: Any) -> str:
    if isinstance(document, Mapping):
        return str(next((document[key] for key in _TEXT_KEYS if key in document), document))
    return str(document)


class Evidence:
    """The texts that a judge's quotes are searched in.

    Only whole words are compared; spaces, letter case and punctuation are ignored. "..." in a quote matches any words. A
    quote of fewer than two letters is not evidence.

    Args:
        document_texts: The documents.
        conversation: The other turns, as one text.
    """

    def __init__(self, document_texts: Sequence[str], conversation: str) -> None:
        self._documents = [_words(text) for text in document_texts]
        self._conversation = _words(conversation)

    def find(self, document: Any, quote: Any) -> tuple[dict[str, Any] | None, bool]:
        """Search for a judge's quote.

        Args:
            document: The document's index as the judge gave it, from 0; None for the conversation.
            quote: The quoted text.

        Returns:
            The evidence, and whether the quote was found. The evidence is None if the judge quoted nothing or a single
            letter. Otherwise it has `quote` and `document`. `document` is the index of a document that contains the
            quote, preferably the one that the judge named; the judge's index if no text contains the quote; None for
            the conversation.
        """
        quoted_text = quote if isinstance(quote, str) else ""
        parts = [part for part in map(_words, _ELLIPSIS.split(quoted_text)) if part.strip()]
        if sum(len(part.replace(" ", "")) for part in parts) < 2:
            return None, False
        named = document if isinstance(document, int) and not isinstance(document, bool) else -1
        order = sorted(range(len(self._documents)), key=lambda number: number != named)
        in_conversation = _has_parts(self._conversation, parts)
        shown_quote = quoted_text[:_MAX_QUOTE]
        if document is None and in_conversation:
            return {"document": None, "quote": shown_quote}, True
        number = next((number for number in order if _has_parts(self._documents[number], parts)), None)
        if number is None and not in_conversation and 0 <= named < len(self._documents):
            # The judge's claim is shown, so that a user can look there.
            return {"document": named, "quote": shown_quote}, False
        return {"document": number, "quote": shown_quote}, number is not None or in_conversation


def _words(text: str) -> str:
    """A text's words with a space before and after each, so that a substring search finds whole words only."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    return f" {' '.join(words)} "


def _has_parts(text: str, parts: Sequence[str]) -> bool:
    """Whether the parts occur in a text in this order."""
    position = 0
    for part in parts:
        start = text.find(part, position)
        if start < 0:
            return False
        position = start + len(part) - 1  # the space that ends this part also starts the next one
    return True
