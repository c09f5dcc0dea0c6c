r"""Patterns of JavaScript in Python's syntax, to be searched in UTF-16 units as JavaScript does.

Without flags JavaScript's `\d`, `\w` and `\b` are ASCII, `.` stops at four line ends, `$` matches only at the end, and
an escaped letter without a meaning is that letter. A lookbehind of variable width has no equivalent in `re`, and is
refused.
"""

from __future__ import annotations

import re

from workbench.core.patterns import PatternError
from workbench.graders.rules.promptfoo_assertions import SPACES

_WORD = "A-Za-z0-9_"
_SPACE = "".join(f"\\u{ord(sign):04x}" for sign in SPACES)
_NO_WORD = r"\x00-/:-@\[-\^`{-\uffff"
_NO_DIGIT = r"\x00-/:-\uffff"
_SETS = {"d": "0-9", "w": _WORD, "s": _SPACE, "D": _NO_DIGIT, "W": _NO_WORD}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f"}
_EDGE = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
_NO_EDGE = f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))"
_GROUP = re.compile(r"\(\?(?:[:=!]|<[=!]|<(?P<name>[A-Za-z_$][\w$]*)>)")
_REPEAT = re.compile(r"(?:[*+?]|\{\d+(?:,\d*)?\})\??")


def utf16_units(text: str) -> str:
    """The text with characters beyond U+FFFF as two surrogates: what JavaScript's patterns match."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(data[at] | data[at + 1] << 8) for at in range(0, len(data), 2))


def _no_spaces() -> str:
    points = sorted(map(ord, SPACES))
    pairs = zip([-1, *points], [*points, 0x10000], strict=True)
    return "".join(f"\\u{low + 1:04x}-\\u{high - 1:04x}" for low, high in pairs if high - low > 1)


_SETS["S"] = _no_spaces()


def python_pattern(pattern: str) -> str:
    """The pattern for `re`, and for texts of `utf16_units`.

    Raises:
        PatternError: It is not a pattern of JavaScript, or has no equivalent.
    """
    return _Translation(utf16_units(pattern)).text()


class _Translation:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._names = re.findall(r"\(\?<([A-Za-z_$][\w$]*)>", pattern)
        self._groups = _count_groups(pattern)
        self._opened = 0

    def text(self) -> str:
        pattern, out = self._pattern, []
        can_repeat = False
        while self._at < len(pattern):
            sign = pattern[self._at]
            repeat = _REPEAT.match(pattern, self._at)
            if repeat:
                if not can_repeat:
                    raise self._wrong("nothing to repeat")
                out.append(repeat[0])
                self._at, can_repeat = repeat.end(), False
                continue
            if sign == "(":
                out.append(self._group())
                can_repeat = False
                continue
            self._at += 1
            can_repeat = sign not in "^|"
            if sign == "\\":
                out.append(self._escape())
            elif sign == "[":
                out.append(self._set())
            else:
                out.append(
                    {".": "[^\\n\\r\\u2028\\u2029]", "$": "\\Z", "^": "^", "|": "|", ")": ")"}.get(sign)
                    or _literal(sign)
                )
            can_repeat = can_repeat and sign != "$"
        return "".join(out)

    def _wrong(self, why: str) -> PatternError:
        return PatternError(f"Invalid regex pattern: {why} at position {self._at}")

    def _group(self) -> str:
        match = _GROUP.match(self._pattern, self._at)
        if match is None:
            if self._pattern.startswith("(?", self._at):
                raise self._wrong("JavaScript has no such group, and no flags in a pattern,")
            self._at += 1
            self._opened += 1
            return "("
        self._at = match.end()
        name = match["name"]
        if name is None:
            return match[0]
        self._opened += 1
        return f"(?P<{_plain_name(name, self._names)}>"

    def _escape(self) -> str:
        if self._at >= len(self._pattern):
            raise self._wrong("a backslash at the end")
        sign = self._pattern[self._at]
        self._at += 1
        if sign in _SETS:
            return f"[{_SETS[sign]}]"
        if sign in "bB":
            return _EDGE if sign == "b" else _NO_EDGE
        if sign == "k" and self._names:
            name = re.compile(r"<([A-Za-z_$][\w$]*)>").match(self._pattern, self._at)
            if name is None or name[1] not in self._names:
                raise self._wrong("an unknown group")
            self._at = name.end()
            plain = _plain_name(name[1], self._names)
            return f"(?({plain})(?P={plain})|)"
        if sign in "123456789":
            digits = re.compile(r"\d*").match(self._pattern, self._at)
            number = int(sign + (digits[0] if digits else ""))
            if number <= self._groups:
                self._at += len(digits[0]) if digits else 0
                # JavaScript takes a group without a match, as one that follows, for an empty text.
                if number > self._opened:
                    return "(?:)"
                return f"(?({number})\\{number}|)"
        return _literal(self._character(sign))

    def _character(self, sign: str) -> str:
        """The character of an escape that is neither a set nor a reference."""
        if sign in _CONTROLS:
            return _CONTROLS[sign]
        for mark, form in (("x", "[0-9A-Fa-f]{2}"), ("u", "[0-9A-Fa-f]{4}")):
            code = re.compile(form).match(self._pattern, self._at) if sign == mark else None
            if code:
                self._at = code.end()
                return chr(int(code[0], 16))
        letter = self._pattern[self._at : self._at + 1]
        if sign == "c" and letter.isascii() and letter.isalpha():
            self._at += 1
            return chr(ord(letter) % 32)
        octal = re.compile("[0-3][0-7]{0,2}|[4-7][0-7]?").match(self._pattern, self._at - 1)
        if octal:
            self._at = octal.end()
            return chr(int(octal[0], 8))
        if sign == "c":
            self._at -= 1
            return "\\"
        return sign

    def _set(self) -> str:
        """A class in brackets, after its first bracket."""
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        members: list[str] = []
        while True:
            if self._at >= len(self._pattern):
                raise self._wrong("a class is not closed")
            if self._pattern[self._at] == "]":
                self._at += 1
                break
            members.append(self._member())
        inside = _joined(members)
        if not members:
            return "[\\s\\S]" if negated else "(?!)"
        return f"[{'^' if negated else ''}{inside}]"

    def _member(self) -> str:
        sign = self._pattern[self._at]
        self._at += 1
        if sign != "\\":
            return sign
        if self._at >= len(self._pattern):
            raise self._wrong("a class is not closed")
        sign = self._pattern[self._at]
        self._at += 1
        if sign in _SETS:
            return f"\\{sign}"
        # An escaped dash makes no range.
        return {"b": "\b", "-": "\\-"}.get(sign) or self._character(sign)


def _joined(members: list[str]) -> str:
    """The members with ranges; a dash next to a set is a dash."""
    out, at = [], 0
    while at < len(members):
        one = members[at]
        if at + 2 < len(members) and members[at + 1] == "-":
            other = members[at + 2]
            one_, other_ = (
                one.removeprefix("\\") if one == "\\-" else one,
                other.removeprefix("\\") if other == "\\-" else other,
            )
            if len(one_) == len(other_) == 1:
                one, other = one_, other_
                if one > other:
                    raise PatternError(f"Invalid regex pattern: the range {one}-{other} is out of order")
                out.append(f"{_literal(one)}-{_literal(other)}")
            else:
                out += [_as_member(one), "\\-", _as_member(other)]
            at += 3
        else:
            out.append(_as_member(one))
            at += 1
    return "".join(out)


def _as_member(member: str) -> str:
    return _SETS.get(member[1], member) if len(member) == 2 else _literal(member)


def _literal(sign: str) -> str:
    return sign if sign.isalnum() or sign in "_ " else f"\\u{ord(sign):04x}"


def _plain_name(name: str, names: list[str]) -> str:
    return f"g{names.index(name)}" if "$" in name else name


def _count_groups(pattern: str) -> int:
    outside = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", pattern, flags=re.DOTALL)
    return len(re.findall(r"\((?!\?)|\(\?<[A-Za-z_$]", outside))
