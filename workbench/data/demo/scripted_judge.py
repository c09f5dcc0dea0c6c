"""A scripted judge: a program of rules instead of a language model, to try judges without an API key.

It does not know labels or truth. It reads the messages of the request, as a model would, and looks for names and numbers.
It checks what the prompt requires and nothing else, so that a better prompt makes it judge better. Its errors are
genuine: for example, it misses errors that involve neither a name nor a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LETTERS_A_TOKEN = 4
"""English text has about four letters for each token, so the counts are about as large as a model's would be."""

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
class _JudgeTask:
    """The judge's task, as parsed from the messages.

    Attributes:
        instructions: The criterion with the reasons of its examples, or the system turn.
        documents: Texts of the documents.
        subject: The name in the user turn, "" if it has none.
        question: The user turn.
        completion: The text to judge.
    """

    instructions: str
    documents: Sequence[str]
    subject: str
    question: str
    completion: str

    def mentions(self, pattern: str) -> bool:
        """Whether the instructions match a regular expression, in any case."""
        return re.search(pattern, self.instructions, re.IGNORECASE) is not None

    def claims(self) -> list[str]:
        """The sentences that count as claims: all, except those that the instructions exclude."""
        plain = _CITED.sub("", self.completion)
        sentences = [sentence.strip() for sentence in _SENTENCE_END.split(plain) if _has_word(sentence)]
        return (
            [sentence for sentence in sentences if self.subject in sentence]
            if self.mentions("claims? nothing")
            else sentences
        )

    def support(self, claim: str) -> int | None:
        """Number of the first document with the subject and every name and number of the claim; None without one."""
        values = _VALUE.findall(claim.replace(self.subject, "it"))
        for number, text in enumerate(self.documents):
            if self.subject in text and all(re.search(rf"\b{value}\b", text) for value in values):
                return number
        return None


def scripted_judge(messages: Sequence[Mapping[str, Any]]) -> tuple[str, int, int]:
    """Reply to a request of a binary or faithfulness judge by rule.

    Args:
        messages: The chat, as a judge's `preview` shows it.

    Returns:
        The reply, and estimates of the tokens of request and reply, by their letters. A request of another
        kind gets a reply without a verdict.

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
    last_message = str(messages[-1].get("content"))
    tagged = [(tag, text) for tag, _, text in _TAGGED.findall(last_message)]
    material = dict(tagged)
    if "completion" not in material:
        return "I can only judge what stands between completion tags."
    criterion = _CRITERION.search(
        _TAGGED.sub("", last_message)
    )  # not from within the completion, which may imitate a criterion
    if criterion:
        instructions = "\n".join((criterion[1], *_reasons(messages[1:-1], criterion[1])))
        documents = _documents(material.get("context", ""))
        return _verdict(
            _task_of(instructions, documents, material.get("question", ""), material["completion"])
        )
    documents = [text for tag, text in tagged if tag == "document"]
    instructions = str(messages[0].get("content"))
    question = _ROLE.sub("", material.get("conversation", ""))
    return _claims(_task_of(instructions, documents, question, material["completion"]))


def _documents(context: str) -> list[str]:
    _, *turns = _ROLE.split(context)
    by_role = zip(turns[::2], turns[1::2], strict=True)
    return [text.strip() for role, text in by_role if role == "document"]


def _task_of(instructions: str, documents: Sequence[str], question: str, completion: str) -> _JudgeTask:
    name = _NAME.search(_ASIDE.sub("", question))
    return _JudgeTask(instructions, documents, name[0] if name else "", question, completion)


def _reasons(examples: Sequence[Mapping[str, Any]], criterion: str) -> Iterator[str]:
    """The justifications of the examples for this criterion."""
    for example, verdict in zip(examples[::2], examples[1::2], strict=False):
        if criterion in str(example.get("content")):
            yield str(verdict.get("content"))


def _verdict(task: _JudgeTask) -> str:
    complaint = next(_complaints(task), "")
    fine = f"It speaks of {task.subject or 'what was asked'}, and nothing in it breaks the criterion."
    reply = {"reasoning": complaint or fine, "score": "FAIL" if complaint else "PASS"}
    return json.dumps(reply, ensure_ascii=False)


def _complaints(task: _JudgeTask) -> Iterator[str]:
    """Reasons to fail the completion. All but the first two are looked for only where the instructions mention them."""
    if not _has_word(task.completion):
        yield "It says nothing."
    if task.subject not in task.completion:
        yield f"It does not speak of {task.subject}."
    claims = task.claims()
    repeats = len(set(claims)) < len(claims) or task.completion.strip() in task.question
    if task.mentions("repeat") and repeats:
        yield "It repeats itself, or the question."
    if task.mentions("hedg|deny|denies") and re.search(r"\b(?:not|either)\b", " ".join(claims)):
        yield "It hedges or denies, where it should state."
    if task.mentions("document"):
        yield from (f'No document says "{claim}"' for claim in claims if task.support(claim) is None)


def _claims(task: _JudgeTask) -> str:
    judged = [_claim(claim, task.support(claim), task.documents) for claim in task.claims()]
    return json.dumps({"claims": judged}, ensure_ascii=False)


def _claim(claim: str, at: int | None, documents: Sequence[str]) -> dict[str, Any]:
    reason = "No document has these names and numbers." if at is None else f"Document {at} says so."
    quote = "" if at is None else documents[at]
    return {"claim": claim, "reason": reason, "document": at, "quote": quote, "supported": at is not None}


def _has_word(text: str) -> bool:
    return re.search(r"\w", text) is not None
