"""Three typical first attempts at graders. `workbench demo` captures and validates them.

Each has a fault that the findings should name: one rejects every completion that shows its work, one accepts
hedges and longer numbers, one accepts the right words in any order.
"""

from __future__ import annotations

import re

from workbench.core.thread import StringThread


async def exact_match(thread: StringThread) -> float:
    """The completion equals the expected text exactly."""
    return (
        1.0
        if (thread.completion() or "").strip() == (thread.metadata or {}).get("expected", "").strip()
        else 0.0
    )


async def contains_expected(thread: StringThread) -> float:
    """The expected text is somewhere in the completion."""
    expected = (thread.metadata or {}).get("expected", "")
    return 1.0 if expected and expected in (thread.completion() or "") else 0.0


async def shares_words(thread: StringThread) -> float:
    """The share of the expected text's words that are in the completion."""
    expected = set(re.findall(r"\w+", (thread.metadata or {}).get("expected", "").lower()))
    completion_words = set(re.findall(r"\w+", (thread.completion() or "").lower()))
    return len(expected & completion_words) / len(expected) if expected else 0.0


GRADERS = (exact_match, contains_expected, shares_words)
