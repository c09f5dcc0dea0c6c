"""Mutated threads through every grader: a grade for each, or a workbench error."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import workbench as wb
from benchmarks.fault_parts.common import Line
from benchmarks.fault_parts.mutating import mutated_json, mutated_text, odd_value
from tests.graders.examples import EXAMPLES
from workbench.core.grade import ErrorKind

__all__ = ["fates", "mutated_rows", "threads"]

_TEXTS = (
    "The result is 4.",
    '{"a": {"b": 4}, "c": [1, 2]}',
    "```json\n{}\n```",
    "<think>so</think> 4",
    "\u00c4 \u2615 \uff26\uff2f\uff35\uff32 " * 30,
    "4",
    "",
)
_CALLS = [
    {"id": "1", "type": "function", "function": {"name": "search", "arguments": '{"q": "4"}'}},
    {"type": "function", "function": {"name": "submit", "arguments": {"x": [1]}}},
]


def threads(*, seed: int, count: int = 10_000, piece: int = 2_500) -> list[Line]:
    """Grade mutated threads by one grader of every kind.

    Args:
        seed: Decides the mutations.
        count: Threads.
        piece: Rows of one run.
    """
    lines = []
    rows = mutated_rows(count, seed)
    for name, make in EXAMPLES.items():
        found: Counter[str] = Counter()
        for start in range(0, count, piece):
            found.update(fates(make(), rows[start : start + piece]))
        odd = {fate for fate in found if fate not in {"scored", "failed", "skipped"}}
        told = ", ".join(f"{n:,} {what}" for what, n in sorted(found.items()))
        kept = not odd and sum(found.values()) == count
        lines.append(Line(f"{count:,} mutated threads, {name}", told, "one grade each", kept))
    return lines


def mutated_rows(count: int, seed: int) -> list[dict[str, Any]]:
    """Rows of messages, references and documents, each spoiled in another way."""
    chance = random.Random(seed)
    return [_row(chance) for _ in range(count)]


def _row(chance: random.Random) -> dict[str, Any]:
    answer = mutated_text(chance.choice(_TEXTS), chance, chance.choice(_TEXTS))
    messages: Any = [
        {"role": "user", "content": "What is 2+2?"},
        {"role": "assistant", "content": answer, "tool_calls": _CALLS},
        {"role": "tool", "content": "4", "tool_call_id": "1"},
        {"role": "assistant", "content": [{"type": "text", "text": answer}]},
    ]
    if chance.random() < 0.7:
        messages = mutated_json(messages[: chance.randint(1, 4)], chance)
    return {
        "messages": messages,
        "topic": "sums",
        "reference": chance.choice(("4", "", None, mutated_text("4", chance))),
        "documents": chance.choice((["The result is 4."], None, odd_value(chance))),
    }


def fates(grader: wb.Grader, rows: list[dict[str, Any]]) -> Counter[str]:
    """The outcomes of the rows: scored, failed and skipped are allowed."""
    try:
        report = grader.run(wb.Samples(rows), progress=False)
    except wb.errors.WorkbenchError as error:
        return Counter({f"not run: {str(error)[:300]!r}": len(rows)})
    except Exception as error:  # noqa: BLE001 (what this looks for)
        return Counter({f"raised {type(error).__name__}: {str(error)[:300]!r}": len(rows)})
    grades = report.grades[grader.name]
    found = Counter({"scored": grades.n_scored, "failed": grades.n_failed, "skipped": grades.n_skipped})
    for error in grades.errors.values():
        if not error.message.strip():
            found[f"failed as {error.kind} without a message"] += 1
        elif error.kind in {ErrorKind.SANDBOX, ErrorKind.CRASH, ErrorKind.CANCELLED}:
            found[f"failed as {error.kind}: {error.message[:200]!r}"] += 1
    if odd := sum(map(math.isinf, grades.scores)):
        found["infinite"] += odd
    return +found
