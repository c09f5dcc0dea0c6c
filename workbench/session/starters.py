"""Graders to start from: Python modules, and specs of kinds that need no code."""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = ["TEMPLATES", "Template"]


@dataclass(frozen=True)
class Template:
    """A text for the editor.

    Attributes:
        title: In the list.
        name: How the grader is called at first.
        text: A Python module, or a spec as JSON.
        note: What it does, in a few words.
    """

    title: str
    name: str
    text: str
    note: str = ""


_REGEX = '''import re

PATTERN = re.compile(r"\\[\\d+\\]")


async def grade(thread: StringThread) -> float:
    """1.0 where the answer cites a source, such as [1]."""
    return 1.0 if PATTERN.search(thread.completion() or "") else 0.0
'''

_JSON = '''import json

NEEDED = ("name", "price")


async def grade(thread: StringThread) -> float:
    """The share of the needed keys that the answer has; 0.0 where it is no JSON object."""
    try:
        answer = json.loads(thread.completion() or "")
    except ValueError:
        return 0.0
    return sum(key in answer for key in NEEDED) / len(NEEDED) if isinstance(answer, dict) else 0.0
'''

_KEYWORDS = '''import re

KEYWORDS = ("refund", "30 days")


async def grade(thread: StringThread) -> float:
    """The share of the keywords that stand in the answer as whole words."""
    text = (thread.completion() or "").lower()
    mentioned = [word for word in KEYWORDS if re.search(rf"\\b{re.escape(word)}\\b", text)]
    return len(mentioned) / len(KEYWORDS)
'''

_TOOL = '''EXPECTED = ["search"]


async def grade(thread: StringThread) -> float:
    """1.0 where the assistant called these tools and no others, in any order."""
    called = [call["function"]["name"] for call in thread.tool_calls()]
    return 1.0 if sorted(called) == sorted(EXPECTED) else 0.0
'''

_JUDGE = {
    "kind": "binary-judge",
    "name": "helpful",
    "criteria": "The answer does what was asked, and every claim in it is right.",
    "model": "",
}

_RULE = {"kind": "contains", "name": "contains", "expected": "yes", "ignore_case": True}

_FIRST = '''import workbench as wb


async def grade(thread: wb.StringThread) -> float:
    """What a good answer has."""
    answer = thread.completion() or ""
    return 1.0 if answer else 0.0
'''

TEMPLATES = (
    Template("empty grade function", "my_grader", _FIRST, "a rule in Python"),
    Template("regular expression", "cites_a_source", _REGEX, "a pattern that the answer holds"),
    Template("JSON answer", "has_keys", _JSON, "the share of needed keys"),
    Template("keywords", "mentions", _KEYWORDS, "the share of words it mentions"),
    Template("tool call", "calls_tools", _TOOL, "the tools it called"),
    Template("LLM judge", "helpful", json.dumps(_JUDGE, indent=2), "a model with your criteria"),
    Template("built-in rule", "contains", json.dumps(_RULE, indent=2), "a rule of the workbench, no code"),
)
"""What a new grader can start from; the first is what a session without graders shows."""
