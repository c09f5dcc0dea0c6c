"""A JSON body: bounded before it is parsed, and parsed in pieces, so that no other request waits for it.

The C parser blocks every other thread until it has parsed its whole text. So a large body is first scanned for its
structure, in time linear in its bytes, and rejected if it is too deep or has too many values. Then it is split at commas,
and inside long texts, and each piece is parsed separately.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from workbench.deploy.serve.http import RequestError

MAX_DEPTH = 128
"""Maximum depth of lists and objects in a body: the 100 that a row's columns may have, and what wire forms put around them."""
MAX_DIGITS = 400
"""Maximum characters of one number: the largest float has 309. The time to parse a whole number grows with their square."""
_SLICE = 256 * 1024
"""Bytes scanned per step: about a millisecond."""
_PIECE_BYTES, _PIECE_SIGNS = 256 * 1024, 8192
"""Bytes, and brackets, commas and colons, that the C parser gets per step: one to two milliseconds."""
_STEP_BYTES = 64 * 1024
_SPACE = b" \t\n\r"
_OPEN, _CLOSE, _COMMA, _COLON, _QUOTE = b"[{", b"]}", b","[0], b":"[0], b'"'[0]

_IS_SIGN = np.zeros(256, np.bool_)
_IS_SIGN[list(b"[]{},:")] = True
_STEP = np.zeros(256, np.int32)
_STEP[list(_OPEN)], _STEP[list(_CLOSE)] = 1, -1
_IS_VALUE = np.zeros(256, np.bool_)
_IS_VALUE[list(b"[{,")] = True


def weight(body: bytes | bytearray) -> int:
    """An upper bound of the number of values of a body, from three scans of its bytes: characters in texts count too."""
    # In slices: each scan blocks the other threads.
    steps = range(0, len(body), _SLICE)
    return 1 + sum(body.count(sign, at, at + _SLICE) for at in steps for sign in (b",", b"[", b"{"))


def parsed(body: bytes | bytearray, *, max_values: int) -> Any:
    """A body as JSON values.

    Args:
        body: As sent.
        max_values: Maximum total number of lists, objects, texts, numbers and so on.

    Raises:
        RequestError: It is not JSON, is nested too deeply, has too many values, or numbers that are not finite.
    """
    try:
        few = len(body) <= _PIECE_BYTES and weight(body) <= min(_PIECE_SIGNS // 2, max_values)
        if few and body.count(b"[") + body.count(b"{") <= MAX_DEPTH:
            return _loads(body, 0)
        structure = _structure(body, max_values)
        return _loads(body, 0) if few else _Pieces(body, structure).whole()
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise RequestError(400, "bad_json", f"the body is not JSON: {str(error)[:200]}") from None


def _loads(text: bytes | bytearray, at: int) -> Any:
    """Parse a piece that starts at some byte of the body."""
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except UnicodeDecodeError as error:  # its own message contains what was sent
        raise ValueError(f"not UTF-8 at byte {at + error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} near byte {at + error.pos}") from None


def _finite(digits: str) -> float:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits):,} characters; at most {MAX_DIGITS:,}")
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is too large for a number")
    return value


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits):,} characters; at most {MAX_DIGITS:,}")
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a finite number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, parse_int=_whole)


def _too_deep() -> RequestError:
    message = f"the body is nested too deeply: at most {MAX_DEPTH} levels"
    return RequestError(400, "bad_json", message, max_depth=MAX_DEPTH)


def _too_many(most: int) -> RequestError:
    message = f"the body has more than {most:,} values; send fewer rows per request, or raise --max-values"
    return RequestError(413, "too_many_values", message, max_values=most)


@dataclass(frozen=True)
class _Structure:
    """Brackets, commas and colons outside of texts: their positions, kinds, and the depth after each; n long."""

    places: NDArray[np.int64]
    signs: NDArray[np.uint8]
    depths: NDArray[np.int32]


def _structure(body: bytes | bytearray, max_values: int) -> _Structure:
    """Scan a body, up to its limits.

    Raises:
        RequestError: Too deep, or too many values.
        ValueError: A text that does not end.
    """
    parts: list[_Structure] = []
    values, depth, inside, escaped = 1, 0, False, False
    for start in range(0, len(body), _SLICE):
        part, inside, escaped = _signs(body[start : start + _SLICE], inside=inside, escaped=escaped)
        signs = part[1]
        depths = depth + np.cumsum(_STEP[signs], dtype=np.int32)
        values += int(_IS_VALUE[signs].sum())
        if len(depths):
            depth = int(depths[-1])
            if depths.max() > MAX_DEPTH:
                raise _too_deep()
        if values > max_values:
            raise _too_many(max_values)
        parts.append(_Structure(part[0] + start, signs, depths))
    if inside:
        raise ValueError("a text that does not end")
    return _Structure(
        np.concatenate([part.places for part in parts]),
        np.concatenate([part.signs for part in parts]),
        np.concatenate([part.depths for part in parts]),
    )


def _signs(
    part: bytes | bytearray, *, inside: bool, escaped: bool
) -> tuple[tuple[NDArray[np.int64], NDArray[np.uint8]], bool, bool]:
    """Positions and characters of a slice, and whether it ends inside a text, and after a backslash."""
    if escaped:
        part = b"_" + part[1:]
    if b"\\" in part:
        part = part.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    codes = np.frombuffer(part, np.uint8)
    quotes = np.cumsum(codes == _QUOTE, dtype=np.int32)
    outside = (quotes + inside) % 2 == 0
    places = np.flatnonzero(_IS_SIGN[codes] & outside)
    return (places, codes[places]), bool((quotes[-1] + inside) % 2), part.endswith(b"\\")


class _Pieces:
    """A body that is parsed in pieces.

    Args:
        body: The whole of it.
        structure: Of the body.
    """

    def __init__(self, body: bytes | bytearray, structure: _Structure) -> None:
        self._body, self._structure = body, structure

    def whole(self) -> Any:
        """Its value.

        Raises:
            ValueError: It is not JSON.
        """
        return self._value(0, len(self._body), 0, len(self._structure.places))

    def _value(self, start: int, stop: int, first: int, last: int) -> Any:
        """The value between two bytes, with the structural characters from `first` up to `last`."""
        start, stop = self._trimmed(start, stop)
        if stop - start <= _PIECE_BYTES and last - first <= _PIECE_SIGNS:
            return _loads(self._body[start:stop], start)
        if first < last:
            return self._container(start, stop, first, last)
        if self._body[start] == _QUOTE:
            return self._text(start, stop)
        raise ValueError(f"a literal or number of {stop - start:,} characters at byte {start}")

    def _trimmed(self, start: int, stop: int) -> tuple[int, int]:
        """Without space at both ends, scanned in steps: there may be megabytes of it."""
        while start < stop:
            part = self._body[start : min(start + _STEP_BYTES, stop)]
            start += len(part) - (left := len(part.lstrip(_SPACE)))
            if left:
                break
        while start < stop:
            part = self._body[max(stop - _STEP_BYTES, start) : stop]
            stop -= len(part) - (left := len(part.rstrip(_SPACE)))
            if left:
                break
        return start, stop

    def _container(self, start: int, stop: int, first: int, last: int) -> Any:
        places, signs, depths = self._structure.places, self._structure.signs, self._structure.depths
        depth = depths[first]
        closed = places[first] == start and places[last - 1] == stop - 1 and depths[last - 1] == depth - 1
        pair = bytes((self._body[start], self._body[stop - 1]))
        if pair not in (b"[]", b"{}") or not closed or (depths[first : last - 1] < depth).any():
            raise ValueError(f"brackets that do not match, at byte {start}")
        within = slice(first + 1, last - 1)
        commas = first + 1 + np.flatnonzero((signs[within] == _COMMA) & (depths[within] == depth))
        ends = np.append(commas, last - 1)
        if pair == b"[]":
            return self._list(start + 1, first + 1, ends)
        return self._object(start + 1, first + 1, ends)

    def _list(self, at: int, sign: int, ends: NDArray[np.int64]) -> list[Any]:
        found: list[Any] = []
        for start, stop, first, last, many in self._groups(at, sign, ends):
            if many:
                found += _loads(b"[" + self._body[start:stop] + b"]", start - 1)
            else:
                found.append(self._value(start, stop, first, last))
        return found

    def _object(self, at: int, sign: int, ends: NDArray[np.int64]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for start, stop, first, last, many in self._groups(at, sign, ends):
            if many:
                found.update(_loads(b"{" + self._body[start:stop] + b"}", start - 1))
                continue
            if first >= last or self._structure.signs[first] != _COLON:
                raise ValueError(f"an object's name without a value at byte {start}")
            colon = int(self._structure.places[first])
            name = self._text(*self._trimmed(start, colon))
            found[name] = self._value(colon + 1, stop, first + 1, last)
        return found

    def _groups(self, at: int, sign: int, ends: NDArray[np.int64]) -> Any:
        """Members of a container, grouped into pieces: bytes, structural characters, and whether it is a piece.

        Args:
            at: The first byte in it.
            sign: The first structural character in it.
            ends: The characters that end its members.
        """
        stops, here = self._structure.places[ends], 0
        while here < len(ends):
            by_bytes = np.searchsorted(stops, at + _PIECE_BYTES, side="right")
            by_signs = np.searchsorted(ends, sign + _PIECE_SIGNS, side="right")
            behind = max(here + 1, min(int(by_bytes), int(by_signs)))
            stop, last = int(stops[behind - 1]), int(ends[behind - 1])
            begin, end = self._trimmed(at, stop)
            if begin == end and len(ends) == 1:
                return  # an empty container
            if begin == end:
                raise ValueError(f"a comma without a value at byte {at}")
            many = stop - at <= _PIECE_BYTES and last - sign <= _PIECE_SIGNS
            yield at, stop, sign, last, many
            at, sign, here = stop + 1, last + 1, behind

    def _text(self, start: int, stop: int) -> str:
        """A text, with its quotes."""
        if stop - start < 2 or self._body[start] != _QUOTE or self._body[stop - 1] != _QUOTE:
            raise ValueError(f"no text at byte {start}")
        parts, at = [], start + 1
        while at < stop - 1:
            cut = self._cut(at, min(at + _PIECE_BYTES, stop - 1), stop - 1)
            found = _loads(b'"' + self._body[at:cut] + b'"', at - 1)
            parts.append(found)
            at = cut
        return "".join(parts)

    def _cut(self, start: int, cut: int, end: int) -> int:
        """The last position at which a text may be split: not inside a letter, an escape, or a surrogate pair."""
        if cut == end:
            return cut
        for _ in range(3):  # in UTF-8 a letter has at most three bytes after its first
            cut -= self._body[cut] & 0xC0 == 0x80
        part = self._body[start:cut]
        slash = part.rfind(b"\\", max(0, len(part) - 6))
        if slash >= 0 and _begins_escape(part, slash):
            length = 6 if self._body[start + slash + 1] == b"u"[0] else 2
            part = part[:slash] if slash + length > len(part) else part
        pair = part[-6:].lower()
        if (
            pair[:3] == b"\\ud"
            and pair[3:4] in (b"8", b"9", b"a", b"b")
            and _begins_escape(part, len(part) - 6)
        ):
            part = part[:-6]
        return start + len(part)


def _begins_escape(part: bytes | bytearray, slash: int) -> bool:
    """Whether a backslash starts an escape, and is not itself escaped."""
    run = part[: slash + 1]
    return (len(run) - len(run.rstrip(b"\\"))) % 2 == 1
