"""Builds `samples.jsonl` and `DATA_CARD.md`: `python -m tools.demo_data.generate`. The same bytes every time.

Standard library only, and only those of `random`'s methods whose results the supported Pythons share.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tools.demo_data import arithmetic, extraction, helpdesk, rag
from tools.demo_data.annotators import labels
from tools.demo_data.card import card
from tools.demo_data.writers import Answer, DemoItem, writers_of

FOLDER = Path(__file__).resolve().parents[2] / "workbench" / "data" / "demo"

SEED = 20261121
"""Any number would do; the data card names this one."""

GOOD = 0.75
"""Truth from which on a help-desk reply counts as good: a missing detail is accepted there. Elsewhere it takes 1."""


@dataclass(frozen=True)
class _Task:
    name: str
    prompts: int
    answers: int
    items: Callable[[Random, int], list[DemoItem]]
    answer: Callable[[DemoItem, str, Random, Sequence[DemoItem]], Answer]


_TASKS = (
    _Task("arithmetic", 120, 8, arithmetic.items, arithmetic.answer),
    _Task("extraction", 60, 6, extraction.items, extraction.answer),
    _Task("rag", 60, 6, rag.items, rag.answer),
    _Task("helpdesk", 40, 6, helpdesk.items, helpdesk.answer),
)


def build() -> list[dict[str, Any]]:
    """All rows, task by task, the completions of one prompt together."""
    return [row for task in _TASKS for row in _task_rows(task)]


def as_jsonl(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as JSON Lines, without escaping letters other than ASCII."""
    return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)


def main(folder: Path = FOLDER) -> None:
    """Write both files."""
    rows = build()
    for name, text in (("samples.jsonl", as_jsonl(rows)), ("DATA_CARD.md", card(rows, seed=SEED))):
        (folder / name).write_bytes(text.encode())


def _task_rows(task: _Task) -> list[dict[str, Any]]:
    # A random stream for each task: a change in one leaves the others unchanged.
    rng = Random(f"{SEED} {task.name}")  # noqa: S311 (data, not secrets)
    items = task.items(rng, task.prompts)
    return [row for item in items for row in _item_rows(task, item, items, rng)]


def _item_rows(task: _Task, item: DemoItem, items: Sequence[DemoItem], rng: Random) -> list[dict[str, Any]]:
    rows = []
    for place, writer in enumerate(writers_of(task.answers, item.number)):
        answer = task.answer(item, writer, rng, items)
        good = answer.truth >= (GOOD if task.name == "helpdesk" else 1.0)
        group = f"{task.name[:4]}-{item.number:03}"
        rows.append(
            {
                "id": f"{group}-{place}",
                "task": task.name,
                "group": group,
                "prompt": item.prompt,
                "completion": answer.completion,
                "expected": item.expected,
                "writer": writer,
                "operator": answer.operator,
                "truth": round(answer.truth, 4),
                "good": good,
                **_claims(answer),
                **labels(good=good, rng=rng),
            }
        )
    return rows


def _claims(answer: Answer) -> dict[str, Any]:
    if answer.claims is None:
        return {}
    return {"claims": [{"text": text, "supported": supported} for text, supported in answer.claims]}


if __name__ == "__main__":
    main()
