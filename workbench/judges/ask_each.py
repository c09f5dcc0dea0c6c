"""Several questions of one judge about one row."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from workbench.grade import Grade
from workbench.judges.base import Judge
from workbench.judges.protocol import Messages, Reply
from workbench.samples import Sample

__all__ = ["ask_each"]


async def ask_each(
    judge: Judge, sample: Sample, questions: Sequence[Messages], replies: list[Reply]
) -> list[Grade]:
    """The grade of each question's answer, asked side by side.

    Args:
        judge: Who asks.
        sample: What is judged.
        questions: What is asked.
        replies: Filled with every answer in the order of the questions, those of failed ones too: all are paid for.

    Raises:
        Exception: The first failure in that order, once every question has ended.
    """
    heard: list[list[Reply]] = [[] for _ in questions]
    asked = [
        judge.ask_messages(sample, messages, own) for messages, own in zip(questions, heard, strict=True)
    ]
    found = await asyncio.gather(*asked, return_exceptions=True)
    for own in heard:
        replies.extend(own)
    grades: list[Grade] = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        grades.append(one)
    return grades
