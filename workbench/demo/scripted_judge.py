"""A scripted judge: a rule program in the place of a language model, to try judges without a key.

It knows no labels and no truth. It reads the messages it is sent, as a model would, and looks for names and numbers. Like
a reader in a hurry it checks what the prompt asks for and nothing else, so that a better prompt makes it judge better.
What it gets wrong is its own: things that have neither name nor number, for one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["LETTERS_A_TOKEN", "scripted_judge"]

LETTERS_A_TOKEN = 4
"""English text has about four letters a token, so the counts are of the size that a model's would be."""

_TAGGED = re.compile(
    r"<(document|context|conversation|question|completion)(-\w+|)(?: [^>\n]*)?>\n(.*?)\n</\1\2>", re.DOTALL
)
_CRITERION = re.compile(r"EVALUATION CRITERION\n(.*?)\n+OUTPUT", re.DOTALL)
_ROLE = re.compile(r"\[(\w+)\]\n")
_ASIDE = re.compile(r"\b(?:About|Does|Do|How|Is|I|Please|What|When|Where|Which|Who|Why)\b")
_NAME = re.compile(r"[A-Z]\w+(?: & [A-Z]\w+| [A-Z]\w+| \d+)?")
_VALUE = re.compile(r"[A-Z]\w+ [A-Z]\w+|(?<=\S )[A-Z]\w+|\d+")
_CITED = re.compile(r"\s*\[\d+\]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class _Asked:
    """One question to the judge, as it stands in the messages.

    Attributes:
        instructions: What the prompt tells to look at: criterion, examples' reasons, or the system turn.
        documents: Their texts.
        subject: The name the user's question is about, "" where it has none.
        question: The user's question.
        completion: What is judged.
    """

    instructions: str
    documents: Sequence[str]
    subject: str
    question: str
    completion: str

    def told(self, pattern: str) -> bool:
        """Whether the instructions speak of something."""
        return re.search(pattern, self.instructions, re.IGNORECASE) is not None

    def claims(self) -> list[str]:
        """The sentences that claim something; all, unless the prompt says what claims nothing."""
        plain = _CITED.sub("", self.completion)
        found = [one.strip() for one in _SENTENCE_END.split(plain) if _has_word(one)]
        return [one for one in found if self.subject in one] if self.told("claims? nothing") else found

    def support(self, claim: str) -> int | None:
        """Number of the document that has the subject and every name and number of the claim; None for none."""
        values = _VALUE.findall(claim.replace(self.subject, "it"))
        for number, text in enumerate(self.documents):
            if self.subject in text and all(re.search(rf"\b{value}\b", text) for value in values):
                return number
        return None


def scripted_judge(messages: Sequence[Mapping[str, Any]]) -> tuple[str, int, int]:
    """Answer a binary judge's or a faithfulness judge's question by rule.

    Args:
        messages: The chat, as a judge's `preview` shows it.

    Returns:
        The answer, and the tokens that question and answer would take, by their letters. A question of another
        kind is answered with words that hold no verdict.

    Example:
        >>> import workbench as wb
        >>> judge = wb.BinaryJudge(criteria="It tells what was asked.")
        >>> asked = judge.preview(wb.StringThread([("user", "Where does Ada live?"), ("assistant", "Ask Bo.")]))
        >>> scripted_judge(asked)[0]
        '{"reasoning": "It does not speak of Ada.", "score": "FAIL"}'
    """
    text = _answer(messages)
    letters = sum(len(str(message.get("content") or "")) for message in messages)
    return text, -(-letters // LETTERS_A_TOKEN), -(-len(text) // LETTERS_A_TOKEN)


def _answer(messages: Sequence[Mapping[str, Any]]) -> str:
    last = str(messages[-1].get("content"))
    tagged = [(tag, text) for tag, _, text in _TAGGED.findall(last)]
    material = dict(tagged)
    if "completion" not in material:
        return "I can only judge what stands between completion tags."
    criterion = _CRITERION.search(_TAGGED.sub("", last))  # what an answer says of criteria is no criterion
    if criterion:
        told = "\n".join((criterion[1], *_reasons(messages[1:-1], criterion[1])))
        documents = _documents(material.get("context", ""))
        return _verdict(_asked(told, documents, material.get("question", ""), material["completion"]))
    documents = [text for tag, text in tagged if tag == "document"]
    told = str(messages[0].get("content"))
    question = _ROLE.sub("", material.get("conversation", ""))
    return _claims(_asked(told, documents, question, material["completion"]))


def _documents(context: str) -> list[str]:
    _, *turns = _ROLE.split(context)
    told = zip(turns[::2], turns[1::2], strict=True)
    return [text.strip() for role, text in told if role == "document"]


def _asked(told: str, documents: Sequence[str], question: str, completion: str) -> _Asked:
    name = _NAME.search(_ASIDE.sub("", question))
    return _Asked(told, documents, name[0] if name else "", question, completion)


def _reasons(shots: Sequence[Mapping[str, Any]], criterion: str) -> Iterator[str]:
    """The justifications of the examples for this very criterion."""
    for shown, verdict in zip(shots[::2], shots[1::2], strict=False):
        if criterion in str(shown.get("content")):
            yield str(verdict.get("content"))


def _verdict(asked: _Asked) -> str:
    complaint = next(_complaints(asked), "")
    fine = f"It speaks of {asked.subject or 'what was asked'}, and nothing in it breaks the criterion."
    said = {"reasoning": complaint or fine, "score": "FAIL" if complaint else "PASS"}
    return json.dumps(said, ensure_ascii=False)


def _complaints(asked: _Asked) -> Iterator[str]:
    """What speaks against the completion; only the first two are looked for unasked."""
    if not _has_word(asked.completion):
        yield "It says nothing."
    if asked.subject not in asked.completion:
        yield f"It does not speak of {asked.subject}."
    claims = asked.claims()
    repeats = len(set(claims)) < len(claims) or asked.completion.strip() in asked.question
    if asked.told("repeat") and repeats:
        yield "It repeats itself, or the question."
    if asked.told("hedg|deny|denies") and re.search(r"\b(?:not|either)\b", " ".join(claims)):
        yield "It hedges or denies, where it should state."
    if asked.told("document"):
        yield from (f'No document says "{claim}"' for claim in claims if asked.support(claim) is None)


def _claims(asked: _Asked) -> str:
    found = [_claim(claim, asked.support(claim), asked.documents) for claim in asked.claims()]
    return json.dumps({"claims": found}, ensure_ascii=False)


def _claim(claim: str, at: int | None, documents: Sequence[str]) -> dict[str, Any]:
    reason = "No document has these names and numbers." if at is None else f"Document {at} says so."
    quote = "" if at is None else documents[at]
    return {"claim": claim, "reason": reason, "document": at, "quote": quote, "supported": at is not None}


def _has_word(text: str) -> bool:
    return re.search(r"\w", text) is not None
