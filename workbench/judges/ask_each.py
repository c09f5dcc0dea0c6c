"""Several requests of one judge for one row."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from workbench.core.grade import Grade
from workbench.data.samples import Sample
from workbench.judges.base import Judge
from workbench.judges.protocol import Messages, Reply

__all__ = ["ask_each"]


async def ask_each(
    judge: Judge, sample: Sample, questions: Sequence[Messages], replies: list[Reply]
) -> list[Grade]:
    """The grade of each request's reply; the requests are sent concurrently.

    Args:
        judge: The judge.
        sample: The judged sample.
        questions: The requests.
        replies: Every reply is appended to it, in the order of the requests, even if one fails: all are paid for.

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
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        grades.append(outcome)
    return grades
