"""Several requests about one sample, sent concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.core.errors import WorkbenchError
from workbench.core.grade import Grade
from workbench.data.samples import Sample
from workbench.judges.protocol import Messages, Reply
from workbench.judges.verdicts import AnswerError

if TYPE_CHECKING:
    from workbench.judges.kinds import Judge


async def ask_each(
    judge: Judge,
    sample: Sample,
    questions: Sequence[Messages],
    replies: list[Reply],
    *,
    names: Sequence[str] = (),
) -> list[Grade]:
    """The grade of each request's reply; the requests are sent concurrently.

    Args:
        judge: The judge.
        sample: The judged sample.
        questions: The requests.
        replies: Every reply is appended to it, in the order of the requests, even if one fails: all are paid for.
        names: What each request is about; begins the message of its failure.

    Raises:
        Exception: The first failure in that order, after every request has ended.
    """
    replies_by_question: list[list[Reply]] = [[] for _ in questions]
    tasks = [
        judge.ask_messages(sample, messages, own_replies)
        for messages, own_replies in zip(questions, replies_by_question, strict=True)
    ]
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    for own_replies in replies_by_question:
        replies.extend(own_replies)
    grades: list[Grade] = []
    for at, outcome in enumerate(outcomes):
        if isinstance(outcome, BaseException):
            raise _named(outcome, names[at]) if names else outcome
        grades.append(outcome)
    return grades


def _named(error: BaseException, name: str) -> BaseException:
    """The failure of one of several requests, which its message names."""
    if isinstance(error, AnswerError):
        return AnswerError(error.kind, f"{name}: {error}")
    if isinstance(error, WorkbenchError) and error.args:
        error.args = (f"{name}: {error.args[0]}", *error.args[1:])
    return error
