"""Code graders as a self-contained JavaScript function."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from workbench.data.samples.columns import ROLES
from workbench.graders.base import Grader
from workbench.graders.portable.refusals import refusal
from workbench.graders.portable.rule import Portable

__all__ = ["portable_javascript"]

_RULES = Path(__file__).parents[1] / "rules" / "rules.js"
# In `rules.js` a function ends at the first brace at the start of a line.
_FUNCTION = re.compile(r"^function (\w+)\(.*?^\}$", re.MULTILINE | re.DOTALL)
_BEFORE_NEGATION = "scoreBeforeNegation"


def portable_javascript(grader: Grader, *, reference_field: str | None = None, negate: bool = False) -> str:
    """A `function grade(input)` that scores the same, for vLLora and for script graders.

    The graded text is `input.response`, or, if the last turn only calls tools, the preceding assistant
    text; a conversation that does not end with the assistant is graded as "". The reference is read from
    `input.metadata`, where JavaScript cannot distinguish 4.0 from 4. A row that fails here throws there. Regular
    expressions can be exported if each of their constructs means the same in both languages or can be translated
    safely.

    Args:
        grader: A code grader.
        reference_field: Key of the reference in the metadata; None for the first of `reference`, `expected`,
            `ground_truth`, `label`, `answer`.
        negate: Return 1 - score, as a negated entry of a suite does; a row that fails still throws.

    Raises:
        FormatError: This grader, or one of its settings, cannot be exported; the error names the field and a hint.
    """
    if not isinstance(grader, Portable):
        raise refusal(grader, "", "this kind has no JavaScript form")
    lines = grader.javascript_body((reference_field,) if reference_field else ROLES["reference"])
    body = "\n".join(f"  {line}" for line in lines)
    name = _BEFORE_NEGATION if negate else "grade"
    functions = [*_called_rules(body), f"function {name}(input) {{\n{body}\n}}\n"]
    if negate:
        functions.append(f"function grade(input) {{\n  return 1.0 - {name}(input);\n}}\n")
    return "\n\n".join(functions)


@lru_cache(maxsize=1)
def _rules() -> dict[str, str]:
    return {match[1]: match[0] for match in _FUNCTION.finditer(_RULES.read_text("utf-8"))}


def _called_rules(text: str) -> list[str]:
    """The rules that a text calls, and those they call, in the order of their file."""
    rules, called = _rules(), set[str]()
    texts = [text]
    while texts:
        names = set(re.findall(r"\b(\w+)\b", texts.pop())) & set(rules)
        texts += [rules[name] for name in names - called]
        called |= names
    return [source for name, source in rules.items() if name in called]
