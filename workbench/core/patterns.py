r"""Regular expressions whose every search has a time limit.

A pattern that backtracks without end fails one row, never the run. The engine is the `regex` package, whose
searches can be stopped; a pattern counts as valid only if Python's own `re` accepts it too, or, for
patterns of .NET (Umbraco's), after their named groups are converted to Python's syntax.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

SECONDS = 1.0
"""Seconds for one search. Umbraco allows 5 s, the sandbox 1 s per row; reasonable searches take milliseconds."""


class PatternError(ValueError):
    """An invalid pattern; the message starts with "Invalid regex pattern: "."""


@dataclass(frozen=True)
class Pattern:
    """A pattern and how to match it.

    Attributes:
        text: The pattern.
        ignore_case: Whether letters match either case.
        multiline: Whether ^ and $ match at line ends inside the text.
        timeout: Time limit of one search.

    Raises:
        PatternError: When it is first used, if it is invalid.
    """

    text: str
    ignore_case: bool = False
    multiline: bool = False
    timeout: float = SECONDS

    def search(self, text: str) -> Any:
        """The first match, as a match object of the `regex` package, or None.

        Raises:
            PatternError: The pattern cannot be read.
            TimeoutError: It took too long.
        """
        return self._timed("search", text)

    def findall(self, text: str) -> list[Any]:
        """Every match, as `re.findall` returns them. Raises as `search`."""
        # If a group is repeated the engine wraps the one group of a match in a tuple; `re` does not.
        matches = self._timed("findall", text)
        return [match[0] if isinstance(match, tuple) and len(match) == 1 else match for match in matches]

    def check(self) -> None:
        """Raise `PatternError` if the pattern cannot be read."""
        _compiled(self.text, self.ignore_case, self.multiline)

    def _timed(self, method: str, text: str) -> Any:
        rule = _compiled(self.text, self.ignore_case, self.multiline)
        try:
            # concurrent: other threads, including the notebook's, continue meanwhile.
            return getattr(rule, method)(text, timeout=self.timeout, concurrent=True)
        except TimeoutError:
            raise TimeoutError(
                f"the pattern {self.text[:80]!r} took longer than {self.timeout:g} s on this text"
            ) from None


def python_spelling(pattern: str) -> str:
    r"""A .NET pattern in Python's syntax: `(?<name>` becomes `(?P<name>`, `\k<name>` `(?P=name)`, `\z` `\Z`."""
    pattern = re.sub(r"(?<!\\)((?:\\\\)*)\\([zZ])", _ending, pattern)
    renamed = re.sub(r"(?<!\\)((?:\\\\)*)\(\?(?:<([A-Za-z_]\w*)>|'([A-Za-z_]\w*)')", _group_name, pattern)
    return re.sub(r"(?<!\\)((?:\\\\)*)\\k(?:<(\w+)>|'(\w+)')", r"\1(?P=\2\3)", renamed)


def dotnet_spelling(pattern: str) -> str:
    """A Python pattern in .NET's syntax: the inverse of `python_spelling`.

    Raises:
        PatternError: It sets a flag that .NET does not support: a, u or L.
    """
    if flags := re.search(r"(?<!\\)(?:\\\\)*\(\?([a-zA-Z]*[auL][a-zA-Z]*)(?:-[a-zA-Z]+)?[:)]", pattern):
        raise PatternError(f"Invalid regex pattern: .NET has no flags like those of (?{flags[1]})")
    pattern = re.sub(r"(?<!\\)((?:\\\\)*)\\Z", r"\1\\z", pattern)
    renamed = re.sub(r"(?<!\\)((?:\\\\)*)\(\?P<([A-Za-z_]\w*)>", r"\1(?<\2>", pattern)
    return re.sub(r"(?<!\\)((?:\\\\)*)\(\?P=(\w+)\)", r"\1\\k<\2>", renamed)


def _ending(match: re.Match[str]) -> str:
    # .NET's \Z also matches before a last line feed; its \z is Python's \Z.
    return match[1] + (r"\Z" if match[2] == "z" else r"(?=\n?\Z)")


def _group_name(match: re.Match[str]) -> str:
    return f"{match[1]}(?P<{match[2] or match[3]}>"


# The engine's \w, \s and \b differ from those of `re`: it counts marks as letters, and U+001C to U+001F not as spaces.
_WORD = r"_\p{L}\p{N}"
_NO_WORD = r"\p{M}\p{S}\p{Z}\p{C}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}\u203f\u2040\u2054\ufe33\ufe34\ufe4d-\ufe4f\uff3f"
_SPACE = r"\x1c-\x1f\s"
_NO_SPACE = r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Cs}\p{Cn}\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_SETS = {r"\w": _WORD, r"\W": _NO_WORD, r"\s": _SPACE, r"\S": _NO_SPACE}
# Before Python 3.14 `re` matches no \B in an empty text.
_NOT_IN_NOTHING = r"(?!\A\Z)" if sys.version_info < (3, 14) else ""
_EDGES = {
    r"\b": f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    r"\B": f"(?:{_NOT_IN_NOTHING}(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}])))",
}
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_TOKEN = re.compile(_PIECE.pattern + r"|\{(\d{1,9})(?:,\d*)?\}|.", re.DOTALL)
_PART = re.compile(
    r"""(?P<named>\\N\{[^}]*\})"""
    r"""|(?P<escape>\\.)"""
    r"""|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])"""
    r"""|(?P<comment>\(\?\#[^)]*\))"""
    r"""|(?P<flags>\(\?(?P<on>[a-zA-Z]*)(?:-(?P<off>[a-zA-Z]+))?(?P<scope>[:)]))"""
    r"""|(?P<count>\{(?!\})\d*(?:,\d*)?\})"""
    r"""|(?P<note>\#[^\n]*)"""
    r"""|.""",
    re.DOTALL,
)
"""The parts of a pattern as `re` reads them; `note` is one only if the flag x is set."""
_MAX_LENGTH, _MAX_STEPS = 100_000, 200_000
_ASCII_FLAG = re.compile(r"\(\?[a-zA-Z]*a")


def _engine_spelling(pattern: str) -> str:
    r"""The pattern converted such that the engine finds the same matches as `re`.

    The engine's syntax is larger than that of `re`: `(?:cat){e<=1}` is a search with errors, `[[:alpha:]]` a class of letters.
    In `re` these are plain characters, so they are escaped. \w, \s and \b are written out.
    """
    ascii_only, verbose = bool(_ASCII_FLAG.search(pattern)), [False]
    return "".join(_spelled(part, ascii_only, verbose) for part in _parts(pattern, verbose))


def _parts(pattern: str, verbose: list[bool]) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(pattern):
        part = _PART.match(pattern, at)
        assert part is not None  # the last alternative of _PART is any character
        at = part.end()
        if part.lastgroup == "note" and not verbose[-1]:
            at = part.start() + 1  # outside verbose mode # starts no comment: continue right after it
        yield part


def _spelled(part: re.Match[str], ascii_only: bool, verbose: list[bool]) -> str:
    """One part for the engine; `verbose` is a stack, whether the flag x is set in each open group."""
    text, kind = part[0], part.lastgroup
    if kind == "note":
        return text if verbose[-1] else text[0]
    if part["flags"]:
        return _entered(part, verbose)
    if text == "(":
        verbose.append(verbose[-1])
    elif text == ")" and len(verbose) > 1:
        verbose.pop()
    if kind == "set":
        return _spelled_set(text, ascii_only)
    if kind == "escape":
        return _spelled_escape(text, ascii_only)
    return {"{": r"\{", "{,}": "*"}.get(text, text)


def _spelled_escape(text: str, ascii_only: bool) -> str:
    if ascii_only:
        return f"{_NOT_IN_NOTHING}{text}" if text == r"\B" else text
    return f"[{_SETS[text]}]" if text in _SETS else _EDGES.get(text, text)


def _entered(flags: re.Match[str], verbose: list[bool]) -> str:
    verbose_now = (verbose[-1] or "x" in flags["on"]) and "x" not in (flags["off"] or "")
    if flags["scope"] == ":":
        verbose.append(verbose_now)
    else:
        verbose[-1] = verbose_now
    return flags[0]


def _spelled_set(text: str, ascii_only: bool) -> str:
    def spelled(match: re.Match[str]) -> str:
        return r"\[" if match[0] == "[" else match[0] if ascii_only else _SETS.get(match[0], match[0])

    return "[" + re.sub(r"\\.|\[", spelled, text[1:], flags=re.DOTALL)


def _steps(pattern: str) -> int:
    """Length of a pattern after expanding its counts, which the engine does with `(a{9}){9}`."""
    sizes, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        if token[0] == "(":
            sizes.append(0)
        elif token[0] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        else:
            more = last * (max(int(token[1]), 1) - 1) if token[1] else 1
            last = last + more if token[1] else 1
            sizes[-1] += more
    return sum(sizes)


def _check_size(pattern: str) -> None:
    """Refuse patterns that would take minutes or all memory to compile, which no time limit stops."""
    if len(pattern) > _MAX_LENGTH:
        raise PatternError(f"Invalid regex pattern: longer than {_MAX_LENGTH:,} characters")
    if _steps(pattern) > _MAX_STEPS:
        raise PatternError(f"Invalid regex pattern: its counts expand to more than {_MAX_STEPS:,} steps")


@lru_cache(maxsize=512)
def _compiled(text: str, ignore_case: bool, multiline: bool) -> Any:
    import regex

    flags = (re.IGNORECASE if ignore_case else 0) | (re.MULTILINE if multiline else 0)
    try:
        _check_size(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # [[a] may one day be a set in a set to `re`
            # Only to check whether Python's own engine accepts it.
            re.compile(text, flags)
        return regex.compile(_engine_spelling(text), int(flags))
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise PatternError(f"Invalid regex pattern: {error}") from None
