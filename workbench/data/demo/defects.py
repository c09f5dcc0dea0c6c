"""Naive graders with known faults, which a diagnosis on this data must find.

Each is a plain function of completion and expected text, like a typical first attempt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Defect:
    """A naive grader on one task.

    Attributes:
        name: Its name in the data card.
        task: The task it is for.
        fault: What is wrong with it, in one sentence.
        accepts: Function from completion and expected text to whether the row passes.
    """

    name: str
    task: str
    fault: str
    accepts: Callable[[str, str], bool]


@dataclass(frozen=True)
class Rates:
    """How often a grader errs.

    Attributes:
        good: Rows whose truth is good.
        rejected: Good rows it refuses.
        bad: Rows whose truth is bad.
        accepted: Bad rows it passes.
    """

    good: int
    rejected: int
    bad: int
    accepted: int


def measure(defect: Defect, rows: Sequence[Mapping[str, Any]]) -> Rates:
    """Count a naive grader's errors on the rows of its task."""
    task_rows = [row for row in rows if row["task"] == defect.task]
    passed = [(row["good"], defect.accepts(row["completion"], row["expected"])) for row in task_rows]
    return Rates(
        good=sum(good for good, _ in passed),
        rejected=sum(good and not accepted for good, accepted in passed),
        bad=sum(not good for good, _ in passed),
        accepted=sum(accepted and not good for good, accepted in passed),
    )


def last_number(completion: str, expected: str) -> bool:
    """The last number anywhere in the text is the expected one."""
    numbers = re.findall(r"-?\d+", completion)
    return bool(numbers) and numbers[-1] == expected


def contains(completion: str, expected: str) -> bool:
    """The expected text is somewhere in the completion."""
    return expected.lower() in completion.lower()


def exact(completion: str, expected: str) -> bool:
    """The whole completion is the expected text."""
    return completion.strip() == expected.strip()


def same_keys(completion: str, expected: str) -> bool:
    """The completion is a JSON object with the expected keys."""
    record = _json(completion)
    return isinstance(record, dict) and record.keys() == json.loads(expected).keys()


def same_json(completion: str, expected: str) -> bool:
    """The completion is the expected JSON and nothing else."""
    return bool(_json(completion) == json.loads(expected))


def shares_words(completion: str, expected: str) -> bool:
    """At least half of the reference's words are in the completion."""
    reference_words = set(re.findall(r"\w+", expected.lower()))
    return len(reference_words & set(re.findall(r"\w+", completion.lower()))) >= len(reference_words) / 2


def long_enough(completion: str, expected: str) -> bool:  # noqa: ARG001 (one shape for all)
    """The completion has at least 25 words."""
    return len(completion.split()) >= 25


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


DEFECTS = (
    Defect(
        "last number",
        "arithmetic",
        "too lenient: hedges, denials and repetitions end with the right number",
        last_number,
    ),
    Defect(
        "contains the number",
        "arithmetic",
        "too lenient: digits inside other numbers and hedges count",
        contains,
    ),
    Defect("exact match", "arithmetic", "too strict: refuses every completion that shows its work", exact),
    Defect("same keys", "extraction", "too lenient: never looks at the values", same_keys),
    Defect("same JSON", "extraction", "too strict: refuses right records in a code fence", same_json),
    Defect(
        "exact match",
        "rag",
        "too strict: refuses supported completions in other words or with sources",
        exact,
    ),
    Defect("shares words", "rag", "too lenient: changed values and heaps of words pass", shares_words),
    Defect("shares words", "helpdesk", "too lenient: wrong facts and heaps of words pass", shares_words),
    Defect(
        "25 words or more",
        "helpdesk",
        "measures length: refuses short good replies, passes talk",
        long_enough,
    ),
)
"""The planted defects. Their true sizes are in the data card, and a test measures them again."""
