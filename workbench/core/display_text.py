"""Text of a dataset, a grader or a model, made safe to display, and phrases of messages.

Control and direction characters can hide or reorder what a reader sees, and a lone surrogate cannot
be encoded as UTF-8. All of them are shown by their code point instead. Escaping for HTML comes after.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable
from typing import Any

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""One character that hides, reorders or cannot be written.

C0 (but tab and newline), DEL and C1; soft hyphen; Arabic letter mark; zero-width space, marks and
overrides of direction (the joiners stay: scripts and emoji need them); line and paragraph separators;
word joiner to isolates; byte order mark; interlinear and tag characters; lone surrogates.
"""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
"""C0 except tab and line ends, DEL, C1, and a single carriage return, which makes a line overwrite itself."""


def capital(sentence: str) -> str:
    """A sentence with a capital first letter; the other letters are unchanged."""
    return sentence[:1].upper() + sentence[1:]


def did_you_mean(wrong: str, names: Iterable[str]) -> str:
    """The closest name to a misspelt one, as a hint; "" if none is close.

    Example:
        >>> did_you_mean("promt", ["prompt", "completion"])
        "did you mean 'prompt'?"
    """
    by_lower = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(str(wrong).casefold(), list(by_lower), n=1)
    return f"did you mean {by_lower[near[0]]!r}?" if near else ""


def counted(count: int, noun: str) -> str:
    """A number of things as text: "1 row", "2,000 rows"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def two_digits(count: float) -> int:
    """A number rounded to two digits, if more are not significant: 94,024 is 94,000."""
    return int(float(f"{count:.2g}"))


def number(value: float) -> str:
    """A score for a table: three decimals (four digits of very large ones), a dash if missing."""
    if math.isnan(value):
        return "-"
    return f"{value:.3f}" if abs(value) < 1e9 else f"{value:.3e}"


def signed(value: float) -> str:
    """A difference of scores, with its sign, as `number` writes scores."""
    return number(value) if math.isnan(value) else f"{'-' if value < 0 else '+'}{number(abs(value))}"


def interval_text(lo: float, hi: float) -> str:
    """An interval for a table; a dash if missing."""
    return "-" if math.isnan(lo) else f"{number(lo)} to {number(hi)}"


def visible(text: str) -> str:
    """`text` with every hidden character written as its code point, such as ⟨U+202E⟩."""
    return HIDDEN.sub(_code_point, text.replace("\r\n", "\n"))


def without_controls(text: str) -> str:
    """`text` with only control characters as code points: for data shown in a terminal. Line ends and tabs stay."""
    return _CONTROL.sub(_code_point, text)


def _code_point(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"


def shown(value: Any, limit: int = 200) -> str:
    """Any value as visible text of at most `limit` characters, and a note of what was cut.

    None is empty. The cut comes before the code points are written, so the result may be longer.
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])}… ({len(text) - limit:,} more characters)"


def one_line(value: Any, limit: int = 200) -> str:
    """As `shown`, with newlines and tabs as spaces: for names, and for cells of a terminal's table."""
    return re.sub(r"[\n\t]+", " ", shown(value, limit))


def encodable(text: str) -> str:
    r"""`text` with lone surrogates replaced by escapes such as \ud800, so that it can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def clean(text: str, limit: int = 2000) -> str:
    """Cut to `limit` characters and replace what could mislead a reader or break an encoder by U+FFFD."""
    return HIDDEN.sub("\ufffd", text[:limit])
