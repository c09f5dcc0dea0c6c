r"""Regular expressions that end: every search has a time limit.

A catastrophic pattern costs the row it meets, never the run. The engine is the `regex` package, whose
searches can be stopped; a pattern counts as valid only if Python's own `re` reads it too, or, for
patterns of .NET (Umbraco's), after their named groups are spelled Python's way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["SECONDS", "Pattern", "PatternError", "python_spelling"]

SECONDS = 1.0
"""Time for one search. Umbraco allows 5 s, the sandbox 1 s a row; one second is thousands of honest searches."""


class PatternError(ValueError):
    """A pattern that cannot be read; the message starts "Invalid regex pattern: "."""


@dataclass(frozen=True)
class Pattern:
    """A pattern and how to read it.

    Attributes:
        text: The pattern.
        ignore_case: Whether letters match either case.
        multiline: Whether ^ and $ match at line ends inside the text.
        seconds: Time limit of one search.

    Raises:
        PatternError: When it is first used, if it cannot be read.
    """

    text: str
    ignore_case: bool = False
    multiline: bool = False
    seconds: float = SECONDS

    def search(self, text: str) -> Any:
        """The first match, as a match object of the `regex` package, or None.

        Raises:
            PatternError: The pattern cannot be read.
            TimeoutError: It took too long.
        """
        return self._timed("search", text)

    def findall(self, text: str) -> list[Any]:
        """Every match, as `re.findall` gives them. Raises as `search`."""
        return list(self._timed("findall", text))

    def check(self) -> None:
        """Raise `PatternError` if the pattern cannot be read."""
        _compiled(self.text, self.ignore_case, self.multiline)

    def _timed(self, method: str, text: str) -> Any:
        rule = _compiled(self.text, self.ignore_case, self.multiline)
        try:
            # concurrent: other threads, the notebook's among them, go on meanwhile.
            return getattr(rule, method)(text, timeout=self.seconds, concurrent=True)
        except TimeoutError:
            raise TimeoutError(
                f"the pattern {self.text[:80]!r} took longer than {self.seconds:g} s on this text"
            ) from None


def python_spelling(pattern: str) -> str:
    r"""A .NET pattern's named groups, Python's way: `(?<name>` becomes `(?P<name>`, `\k<name>` `(?P=name)`."""
    named = re.sub(r"(?<!\\)((?:\\\\)*)\(\?(?:<([A-Za-z_]\w*)>|'([A-Za-z_]\w*)')", _named, pattern)
    return re.sub(r"(?<!\\)((?:\\\\)*)\\k(?:<(\w+)>|'(\w+)')", r"\1(?P=\2\3)", named)


def _named(match: re.Match[str]) -> str:
    return f"{match[1]}(?P<{match[2] or match[3]}>"


@lru_cache(maxsize=512)
def _compiled(text: str, ignore_case: bool, multiline: bool) -> Any:
    import regex

    flags = (re.IGNORECASE if ignore_case else 0) | (re.MULTILINE if multiline else 0)
    try:
        re.compile(text, flags)
        return regex.compile(text, int(flags))
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise PatternError(f"Invalid regex pattern: {error}") from None
