"""The formula of OpenAI's multi grader, from a combining rule."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.core.errors import FormatError
from workbench.formats.shared.base import Losses
from workbench.formats.shared.unsupported import binary
from workbench.graders.combine import AllPass, CombiningRule, Entry, Formula, Mean, Sum
from workbench.graders.combine.formula import Expression

__all__ = ["WAY_OUT", "formula_of"]

WAY_OUT = "OpenAI has string_check, text_similarity, score_model, label_model, python, multi and endpoint"


def formula_of(
    entries: list[Entry], rule: CombiningRule | None, names: Mapping[str, str], losses: Losses
) -> str:
    """The text of `calculate_output`.

    Args:
        entries: Those that are written.
        rule: The suite's.
        names: Entry's name to its key in the map of graders.
        losses: Collects what no formula can express.
    """
    terms = {entry.name: _term(entry, names) for entry in entries}
    if isinstance(rule, Formula):
        return _renamed(rule.text, terms)
    if isinstance(rule, Mean | Sum):
        total = sum(entry.weight for entry in entries) if isinstance(rule, Mean) else 1.0
        if not total:
            raise FormatError("no grader can be written: the remaining graders have no weight", hint=WAY_OUT)
        return " + ".join(f"{_decimal(entry.weight / total)} * {terms[entry.name]}" for entry in entries)
    # The minimum of verdicts that are 0 or 1 shows whether all pass; that of graded scores does not.
    if isinstance(rule, AllPass) and all(binary(entry.grader) for entry in entries):
        blocking = [terms[entry.name] for entry in entries if entry.severity == "error"]
        # `min` takes at least two arguments there; with no entry of severity "error" every row passes.
        return f"min({', '.join(blocking)})" if len(blocking) > 1 else (blocking or ["1"])[0]
    if len(entries) > 1 or isinstance(rule, AllPass):
        problem = "several graders need a formula" if rule is None else f"it has no rule {rule.rule!r}"
        text = f"min({', '.join(terms.values())})" if len(terms) > 1 else next(iter(terms.values()))
        losses.add(
            "", "combine", problem, hint='use combine=Formula("min(a, b)") or Mean()', instead=text[:300]
        )
        return text
    return next(iter(terms.values()))


def _decimal(number: float) -> str:
    """A number without an exponent, which the platform's parser may not know."""
    return f"{number:.15f}".rstrip("0").rstrip(".")


def _term(entry: Entry, names: Mapping[str, str]) -> str:
    return f"(1 - {names[entry.name]})" if entry.negate else names[entry.name]


_WORD = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[^\W\d]\w*")


def _renamed(text: str, terms: Mapping[str, str]) -> str:
    """The formula with every entry's name replaced by its key in the map.

    Raises:
        FormatError: It needs a grader that was dropped.
    """
    missing = [name for name in Expression.read(text).names if name not in terms]
    if missing:
        raise FormatError(
            "the formula needs a grader that cannot be written", where=f"the formula {text!r}"[:200],
            found=missing[0], hint=WAY_OUT,
        )  # fmt: skip
    return _WORD.sub(lambda match: _word(match, text, terms), text)


def _word(match: re.Match[str], text: str, terms: Mapping[str, str]) -> str:
    # A name before a bracket is a function, even if an entry has the same name.
    called = text[match.end() :].lstrip().startswith("(")
    return match[0] if called else terms.get(match[0], match[0])
