"""Any cell of a DataFrame as plain data: JSON types plus bytes, ready for `marshal`."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd

MAX_DEPTH = 100
"""Maximum nesting: far below `marshal`'s 2,000 and Python's default recursion limit of 1,000 frames."""

_PLAIN = frozenset({str, int, float, bool, NoneType, bytes})


class NotPlainError(ValueError):
    """A value that has no plain form; the message names its type."""


class ObjectError(NotPlainError):
    """The value is, or contains, an object of another kind, such as a picture."""


def plain(value: Any) -> Any:
    """One cell as None, bool, int, float, str, bytes, list or dict with text keys.

    A missing cell (None, NaN, NA, NaT) is None. Inside lists and dicts NaN stays NaN, because it is a
    number there. Dates and times become ISO 8601 text, durations seconds, Decimal and Fraction
    their exact text, tuples, arrays and Series lists, sets sorted lists, dataclasses dicts, enums their value.
    The result shares no list or dict with `value`.

    Raises:
        NotPlainError: An object of another kind, two keys with the same text, or nesting deeper
            than `MAX_DEPTH` (including a structure that contains itself).
    """
    return None if is_missing(value) else _plain(value, 0)


def is_missing(value: Any) -> bool:
    """Whether a cell is missing: None, NaN of any kind, NA or NaT."""
    if type(value) is str:  # most cells are
        return False
    if value is None or _absent(value):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def text(value: Any) -> str | None:
    """One cell as text; None if it is missing.

    Text stays unchanged (including lone surrogates), bytes are read as UTF-8, other values are encoded as JSON:
    4 is "4", 4.0 is "4.0", True is "true", a dict is a JSON object.

    Raises:
        NotPlainError: No plain form, or bytes that are not UTF-8.
    """
    if type(value) is str:  # most cells are
        return value
    value = plain(value)
    if value is None or type(value) is str:
        return value
    if isinstance(value, bytes):
        return _decoded(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        raise NotPlainError("bytes inside a list or dict cannot be written as JSON text") from None


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise NotPlainError(f"bytes that are not UTF-8 at position {error.start}") from None


def _absent(value: Any) -> bool:
    return (
        value is pd.NA
        or value is pd.NaT
        or (isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value))
    )


def _plain(value: Any, depth: int) -> Any:
    # By the exact type: a subclass, such as an enum or numpy's float, is not plain yet.
    if type(value) in _PLAIN:
        return value
    if depth > MAX_DEPTH:
        raise NotPlainError(f"nested deeper than {MAX_DEPTH} levels")
    if _absent(value):
        return None
    for kinds, convert in _CONVERTERS:
        if isinstance(value, kinds):
            return convert(value, depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dict({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, depth)
    raise ObjectError(f"an object of type {type(value).__name__}")


def _dict(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    result = {_key(key): _plain(item, depth + 1) for key, item in value.items()}
    if len(result) < len(value):
        raise NotPlainError("a dict with two keys that read the same as text")
    return result


def _key(key: Any) -> str:
    return str.__str__(key) if isinstance(key, str) else str(_plain(key, MAX_DEPTH))


def _list(value: Any, depth: int) -> list[Any]:
    return [_plain(item, depth + 1) for item in value]


def _array(value: np.ndarray[Any, Any], depth: int) -> Any:
    if value.ndim == 0:
        return _plain(value[()], depth + 1)
    # tolist() would turn dates into bare integers of nanoseconds.
    return _list(value if value.dtype.kind in "mM" else value.tolist(), depth)


def _set(value: Any, depth: int) -> list[Any]:
    # A set has no order, and two runs must agree; by `repr`, since its members may not compare.
    return sorted(_list(value, depth), key=repr)


# Order matters: a Timestamp is a datetime and a date, numpy's float64 is a float, StrEnum is a str.
_CONVERTERS: tuple[tuple[type | tuple[type, ...], Callable[[Any, int], Any]], ...] = (
    (Enum, lambda value, depth: _plain(value.value, depth + 1)),
    (str, lambda value, _: str.__str__(value)),
    (int, lambda value, _: int.__int__(value)),
    ((float, np.floating), lambda value, _: float(value)),
    (np.ndarray, _array),
    (np.datetime64, lambda value, _: pd.Timestamp(value).isoformat()),
    (np.timedelta64, lambda value, _: pd.Timedelta(value).total_seconds()),
    (np.generic, lambda value, depth: _plain(value.item(), depth + 1)),
    ((dt.date, dt.time), lambda value, _: value.isoformat()),
    (dt.timedelta, lambda value, _: value.total_seconds()),
    ((Decimal, Fraction, complex, uuid.UUID, PurePath, pd.Period, pd.Interval), lambda value, _: str(value)),
    ((bytes, bytearray, memoryview), lambda value, _: bytes(value)),
    (Mapping, _dict),
    ((list, tuple, deque, range, pd.Series, pd.Index, pd.api.extensions.ExtensionArray), _list),
    ((set, frozenset), _set),
)
