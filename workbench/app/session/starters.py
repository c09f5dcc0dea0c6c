"""Templates for graders: Python modules, and specs of kinds that need no code."""

from __future__ import annotations

import json
from dataclasses import dataclass

__all__ = ["TEMPLATES", "Starter"]


@dataclass(frozen=True)
class Starter:
    """A text for the editor.

    Attributes:
        title: In the list.
        name: The grader's initial name.
        text: A Python module, or a spec as JSON.
        note: A short description.
    """

    title: str
    name: str
    text: str
    note: str = ""


_REGEX = '''import re

PATTERN = re.compile(r"\\[\\d+\\]")


async def grade(thread: StringThread) -> float:
    """1.0 if the completion cites a source, such as [1]."""
    return 1.0 if PATTERN.search(thread.completion() or "") else 0.0
'''

_JSON = '''import json

NEEDED = ("name", "price")


async def grade(thread: StringThread) -> float:
    """The share of the required keys that the completion has; 0.0 if it is not a JSON object."""
    try:
        answer = json.loads(thread.completion() or "")
    except ValueError:
        return 0.0
    return sum(key in answer for key in NEEDED) / len(NEEDED) if isinstance(answer, dict) else 0.0
'''

_KEYWORDS = '''import re

KEYWORDS = ("refund", "30 days")


async def grade(thread: StringThread) -> float:
    """The share of the keywords that the completion contains as whole words."""
    text = (thread.completion() or "").lower()
    mentioned = [word for word in KEYWORDS if re.search(rf"\\b{re.escape(word)}\\b", text)]
    return len(mentioned) / len(KEYWORDS)
'''

_TOOL = '''EXPECTED = ["search"]


async def grade(thread: StringThread) -> float:
    """1.0 if the assistant called exactly these tools, in any order."""
    called = [call["function"]["name"] for call in thread.tool_calls()]
    return 1.0 if sorted(called) == sorted(EXPECTED) else 0.0
'''

_JUDGE = {
    "kind": "binary-judge",
    "name": "helpful",
    "criteria": "The completion does what the user requested, and every claim in it is correct.",
    "model": "",
}

_RULE = {"kind": "contains", "name": "contains", "expected": "yes", "ignore_case": True}

_FIRST = '''import workbench as wb


async def grade(thread: wb.StringThread) -> float:
    """What a good completion has."""
    answer = thread.completion() or ""
    return 1.0 if answer else 0.0
'''

TEMPLATES = (
    Starter("empty grade function", "my_grader", _FIRST, "a rule in Python"),
    Starter("regular expression", "cites_a_source", _REGEX, "a pattern that the completion contains"),
    Starter("JSON output", "has_keys", _JSON, "the share of required keys"),
    Starter("keywords", "mentions", _KEYWORDS, "the share of words it mentions"),
    Starter("tool call", "calls_tools", _TOOL, "the tools it called"),
    Starter("LLM judge", "helpful", json.dumps(_JUDGE, indent=2), "a model with your criteria"),
    Starter("built-in rule", "contains", json.dumps(_RULE, indent=2), "a built-in rule, no code"),
)
"""Templates for a new grader; a session without graders shows the first."""
