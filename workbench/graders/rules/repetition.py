"""Repetition of a text's n-grams. Standard library only."""

from __future__ import annotations

import re
from collections import Counter

from workbench.graders.rules.text import Verdict

# A character of a script without spaces is a token, and a long run of letters is cut, so that "aaaa..." repeats itself.
_TOKEN = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]|\w{1,20}")


def repeated_share(text: str, n: int) -> tuple[float, int, str]:
    """Share of n-grams that occurred before in the text, their number, and the most frequent one."""
    tokens = _TOKEN.findall(text.casefold())
    counts = Counter(zip(*(tokens[at:] for at in range(n)), strict=False))
    total = sum(counts.values())
    if not total:
        return 0.0, 0, ""
    most, count = max(counts.items(), key=lambda one: one[1])
    return 1 - len(counts) / total, total, " ".join(most) if count > 1 else ""


def repetition(text: str, *, n: int = 4, limit: float = 0.2, measure: str = "limit") -> Verdict:
    """Whether at most a share of a text's n-grams repeat earlier ones, or one minus that share."""
    share, total, most = repeated_share(text, n)
    details = {"repeated": share, "n_grams": total, **({"most_frequent": most} if most else {})}
    reason = f"{share:.1%} of {total} {n}-grams repeat earlier ones" + (f", such as {most!r}" if most else "")
    return (1 - share if measure == "share" else float(share <= limit)), reason, details
