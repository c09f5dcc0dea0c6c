r"""Code of a grader kind for other platforms: its rule, the lines around the call, and Python patterns in JavaScript."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from workbench.core.errors import FormatError
from workbench.core.patterns import python_spelling
from workbench.graders.base import Grader

WAY_OUT = "keep it in the workbench's own format, or write it as a function grader"


def article(noun: str) -> str:
    """The noun with its indefinite article, by its first letter."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def refusal(grader: Grader, field: str, why: str, hint: str = WAY_OUT) -> FormatError:
    """The error for a grader that cannot be exported as code: which grader, which field, why, and a hint."""
    return FormatError(
        f"grader {grader.name!r} cannot be written as portable code: {why}",
        where=f"{grader.kind}.{field}" if field else grader.kind,
        hint=hint,
    )


def no_skip(grader: Grader, field: str) -> FormatError:
    """The error for a setting that skips rows."""
    why = "code of other platforms returns a score or fails: it cannot skip a row"
    return refusal(grader, field, why, f'use {field}="fail" or "zero"')


@dataclass(frozen=True)
class PythonBody:
    """The body of a Python `grade(thread)`.

    Attributes:
        rules: The called functions, each as "module.function" of `workbench/graders/rules`, or as the full name of
            a function elsewhere in the workbench.
        lines: The statements, in order; the last one returns the score.
    """

    rules: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Rule:
    """The rule that a kind of code grader applies.

    Attributes:
        python: "module.function" of `workbench/graders/rules`, which returns a `Verdict`.
        javascript: Its equivalent in `rules/rules.js`, which returns a boolean; "" if there is none.
        settings: The grader's fields that the rule takes after the texts: by name in Python, in this order in
            JavaScript.
    """

    python: str
    javascript: str = ""
    settings: tuple[str, ...] = ()

    def python_call(self, grader: Any, *texts: str) -> str:
        """The call with the grader's settings as literals: `exact_match(text, expected, trim=True)`."""
        settings = [f"{name}={getattr(grader, name)!r}" for name in self.settings]
        return f"{self.python.rpartition('.')[2]}({', '.join([*texts, *settings])})"

    def javascript_call(self, grader: Any, *texts: str) -> str:
        """The JavaScript call: `exactMatch(text, expected, true)`."""
        settings = [javascript_literal(getattr(grader, name)) for name in self.settings]
        return f"{self.javascript}({', '.join([*texts, *settings])})"


@runtime_checkable
class Portable(Protocol):
    """A grader that can be exported as code."""

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The body of a Python function; `reference_names` are the possible metadata keys of the reference."""

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:
        """The lines of a JavaScript `grade(input)`."""


def javascript_literal(value: Any) -> str:
    """A setting as a JavaScript literal."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def javascript_score(condition: str) -> str:
    """The statement that returns 1.0 if a condition is true, else 0.0."""
    return f"return {condition} ? 1.0 : 0.0;"


# Python's `\s` written out: JavaScript's includes U+FEFF, and lacks U+0085 and U+001C to U+001F.
_SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
# JavaScript's `\w` and `\b` are ASCII only, in `u` mode as well.
_WORD = r"_\p{L}\p{N}"
_EDGE = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_SETS = {"d": r"\p{Nd}", "s": _SPACE, "w": _WORD}
_ALL = {f"\\{one}\\{two}" for one, two in ("sS", "Ss", "dD", "Dd", "wW", "Ww")}
_OUTSIDE = {".": r"[^\n]", "^": "(?:^)", "$": r"(?:(?=\n?$))", "/": r"\/", "}": r"\}", "]": r"\]"}
_ESCAPES = {
    **{key: f"[{inside}]" for key, inside in _SETS.items()},
    **{key.upper(): f"[^{inside}]" for key, inside in _SETS.items()},
    "b": _EDGE,
    "A": "(?:^)",
    "Z": "(?:$)",
    **{key: f"\\{key}" for key in "nrtfv"},
}

_TOKEN = re.compile(
    r"\\x(?P<hex>[0-9A-Fa-f]{2})|\\u(?P<unit>[0-9A-Fa-f]{4})|\\(?P<escape>.)"
    r"|(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<group>\(\?(?::|=|!)|\((?!\?))"
    r"|\(\?P<(?P<name>[A-Za-z_]\w*)>"
    r"|(?P<repeat>(?:[*+?]|\{\d+\}|\{\d*,\d*\})(?P<mode>[?+]?))"
    r"|(?P<plain>[^\\\[(])",
    re.DOTALL,
)


def script_pattern(pattern: str, *, ignore_case: bool = False) -> str:
    r"""The pattern for `new RegExp(..., "u")`.

    Both patterns match the same texts. Python's `.` stops only at `\n`, its `$` also matches before a last `\n`, its
    `\d \w \s \b` are Unicode-aware. Constructs without a safe translation (lookbehind, back references, inline flags,
    possessive quantifiers) are refused.

    Raises:
        ValueError: It contains a construct without a safe translation; the construct is named.
    """
    if ignore_case and not pattern.isascii():
        raise ValueError("case folding of letters beyond ASCII differs in JavaScript")
    # For its error: a pattern that is invalid in Python must not become valid in JavaScript.
    re.compile(pattern)
    tokens = _tokens(pattern)
    _check_looks(tokens)
    return "".join(map(_spelled, tokens))


def search_in_javascript(grader: Any, pattern: str, *, dotnet: bool) -> str:
    """The statement that scores 1.0 if a grader's pattern is found in `text`.

    Args:
        grader: A grader with `ignore_case` and `multiline`.
        pattern: Its pattern.
        dotnet: Whether it has .NET syntax, else Python's.

    Raises:
        FormatError: It cannot be expressed in JavaScript.
    """
    if grader.multiline:
        why = "line ends differ in JavaScript"
        raise refusal(grader, "multiline", why, "write (?:^|\\n) instead")
    try:
        python = python_spelling(pattern) if dotnet else pattern
        spelled = script_pattern(python, ignore_case=grader.ignore_case)
    except (ValueError, RecursionError, OverflowError) as error:
        raise refusal(grader, "pattern", str(error), "simplify the pattern, or export it as Python") from None
    except re.error as error:
        raise refusal(grader, "pattern", f"it cannot be read: {error}", "fix the pattern") from None
    flags = "iu" if grader.ignore_case else "u"
    search = f"new RegExp({javascript_literal(spelled)}, {javascript_literal(flags)}).test(text)"
    return javascript_score(search)


def _tokens(pattern: str) -> list[re.Match[str]]:
    tokens: list[re.Match[str]] = []
    at = 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None:
            raise ValueError(f"{pattern[at : at + 10]!r} has no safe JavaScript equivalent")
        tokens.append(match)
        at = match.end()
    return tokens


def _check_looks(tokens: list[re.Match[str]]) -> None:
    """Refuse a quantified look-ahead, which JavaScript's `u` mode does not support."""
    opened: list[str] = []
    closed = ""
    for token in tokens:
        if token["repeat"] and closed in {"(?=", "(?!"}:
            raise ValueError("a quantified look-ahead has no JavaScript equivalent")
        closed = opened.pop() if token[0] == ")" and opened else ""
        if token["group"] or token["name"]:
            opened.append(token[0])


def _spelled(match: re.Match[str]) -> str:
    if code := match["hex"] or match["unit"]:
        return f"\\u{int(code, 16):04x}"
    if match["escape"]:
        return _escape(match["escape"])
    if match["class"]:
        return _class(match["class"])
    if match["name"]:
        return f"(?<{match['name']}>"
    if match["repeat"]:
        return _repeat(match["repeat"], match["mode"])
    return match["group"] or _plain(match["plain"])


def _plain(sign: str) -> str:
    # A brace that is not a quantifier is literal in Python, and an error in `u` mode.
    return r"\{" if sign == "{" else _OUTSIDE.get(sign, sign)


def _repeat(text: str, mode: str) -> str:
    if mode == "+":
        raise ValueError(f"the possessive {text!r} has no JavaScript equivalent")
    # `{,3}` counts from 0 in Python; JavaScript reads it as literal characters, or not at all.
    return text.replace("{,", "{0,")


def _escape(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isascii() and sign.isalnum():
        raise ValueError(f"\\{sign} has no safe JavaScript equivalent")
    return f"\\{sign}" if sign in "^$\\.*+?()[]{}|/" else _plain(sign)


def _class(text: str) -> str:
    """A character class, with its characters escaped as the `u` mode requires."""
    negated = text.startswith("[^")
    inside = text[2 if negated else 1 : -1]
    # A negated set cannot be written inside a class, but together with its opposite it means any character.
    if not negated and inside in _ALL:
        return "[^]"
    parts = re.findall(r"\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\\.|.", inside, re.DOTALL)
    out = "".join(_dash(parts, at) if part == "-" else _member(part) for at, part in enumerate(parts))
    return f"[{'^' if negated else ''}{out}]"


def _dash(parts: list[str], at: int) -> str:
    """A dash between two characters makes a range; at an end or after a set it is literal."""
    inner = 0 < at < len(parts) - 1 and parts[at - 1][1:].lower() not in _SETS
    return "-" if inner else r"\-"


def _member(part: str) -> str:
    if part[:2] in {"\\x", "\\u"}:
        return f"\\u{int(part[2:], base=16):04x}"  # noqa: FURB166 (not a number, an escape)
    if not part.startswith("\\"):
        return f"\\{part}" if part in "[]/{}()|^$.*+?" else part
    sign = part[1]
    if sign in _SETS:
        return _SETS[sign]
    if sign in "nrtfv":
        return part
    if sign.isascii() and sign.isalnum():
        raise ValueError(f"[\\{sign}] has no safe JavaScript equivalent")
    return f"\\{sign}" if sign in "^$\\.*+?()[]{}|/-" else sign
