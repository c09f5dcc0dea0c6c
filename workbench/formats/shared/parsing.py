"""Untrusted JSON and Python, parsed as plain data or with a clear error, and values of a document with the path to each."""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.core.python_text import parse

MAX_DEPTH = 40

MAX_PYTHON = 2 * 1024 * 1024
"""Characters of Python that are parsed: 32 graders of the largest source allowed."""


def parse_json(text: str, where: str) -> Any:
    """Strict JSON: no NaN, no duplicate keys, at most 40 levels deep.

    Raises:
        FormatError: With line and column if known.
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise too_deep(where) from None
    except json.JSONDecodeError as error:
        place = f"{where}, line {error.lineno}, column {error.colno}"
        # Only near the error: earlier text may contain a comma before a bracket.
        comma = _TRAILING.search(text, max(error.pos - 200, 0), error.pos + 200)
        if (
            comma and comma.start() <= error.pos < comma.end()
        ):  # at the comma or the bracket, by Python's release
            line, column = (
                text.count("\n", 0, comma.start()) + 1,
                comma.start() - text.rfind("\n", 0, comma.start()),
            )
            raise FormatError(
                "the file is not JSON", where=f"{where}, line {line}, column {column}",
                found=f"a comma before the closing {comma[1]}", hint="remove that comma",
            ) from None  # fmt: skip
        raise FormatError("the file is not JSON", where=place, found=error.msg) from None
    except ValueError as error:
        raise FormatError("the file is not plain JSON", where=where, found=str(error)) from None
    check_depth(document, where)
    return document


_TRAILING = re.compile(r",\s*([}\]])")


def parse_python(text: str, where: str) -> ast.Module:
    """The syntax tree of a module; it is neither compiled nor run.

    Raises:
        FormatError: Too large, or not Python, with its line.
    """
    if len(text) > MAX_PYTHON:
        raise FormatError(
            "the module is too large", where=where, found=f"{len(text):,} characters",
            expected=f"at most {MAX_PYTHON:,}", hint="split it into several files",
        )  # fmt: skip
    try:
        # Python warns about invalid escapes and the like, which the user who imports a file cannot act on.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        place = f"{where}, line {line}" if line else where
        raise FormatError("the file is not Python", where=place, found=str(error)[:200]) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a duplicate key: two readers could see two different graders."""
    document = dict(pairs)
    if len(document) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key {twice!r} in one object")
    return document


def check_depth(document: Any, where: str) -> None:
    """Refuse documents nested more than 40 levels deep, and text that cannot be encoded.

    Raises:
        FormatError: Too deep, or a lone surrogate, with its path.
    """
    # Iterative, not recursive: a deep document would exceed Python's recursion limit before this one.
    level: list[tuple[Any, str]] = [(document, where)]
    for _ in range(MAX_DEPTH):
        for value, path in level:
            _check_text(value, path)
        level = [pair for value, path in level for pair in _children(value, path)]
        if not level:
            return
    raise too_deep(where)


def _check_text(value: Any, path: str) -> None:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise FormatError("text with a lone surrogate", where=f"{path}, character {error.start + 1}",
                              found=repr(value[error.start])) from None  # fmt: skip


def _children(value: Any, path: str) -> list[tuple[Any, str]]:
    if isinstance(value, dict):
        inner = [(item, f"{path}.{key}" if ", " in path else f"{path}, {key}") for key, item in value.items()]
        return inner + [(key, path) for key in value if isinstance(key, str) and not key.isascii()]
    return [(item, f"{path}[{at}]") for at, item in enumerate(value)] if isinstance(value, list) else []


def too_deep(where: str) -> FormatError:
    """The error of a document with too many levels."""
    return FormatError("the file is nested too deeply", where=where, expected=f"at most {MAX_DEPTH} levels")


def to_json(document: Any) -> str:
    """Deterministic text of a document.

    Raises:
        FormatError: It contains a value that JSON cannot represent.
    """
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        # A lone surrogate is accepted by `ensure_ascii=False` and would fail only when the file is written.
        text.encode()
    except (TypeError, ValueError) as error:
        raise FormatError("a grader contains a value that JSON cannot represent", found=str(error)) from error
    return text + "\n"


T = TypeVar("T")

_MISSING: Any = object()
# JSON integers have no limit, but above 1.8e308 `float()` raises, and Python prints at most 4,300 digits.
_MAX_NUMBER = 10**300


def join(path: str, key: str) -> str:
    """The path to a key: `suite.yaml, graders`, then `suite.yaml, graders.accuracy`."""
    return f"{path}.{key}" if ", " in path else f"{path}, {key}"


@dataclass(frozen=True)
class Node:
    """A value and the path to it.

    Attributes:
        value: What was parsed.
        path: File and path inside the document, such as `suite.yaml, graders.accuracy`.
       fold: Whether keys are matched without regard to case (Umbraco).
    """

    value: Any
    path: str
    fold: bool = False

    def refuse(self, problem: str, *, found: str = "", expected: str = "", hint: str = "") -> FormatError:
        """A `FormatError` about this path, to be raised."""
        return FormatError(problem, where=self.path, found=found[:200], expected=expected, hint=hint)

    def mapping(self) -> Mapping[str, Any]:
        """The value as an object with text keys.

        Raises:
            FormatError: It is not one.
        """
        if not isinstance(self.value, Mapping):
            raise self.refuse("expected an object", found=_kind(self.value), expected="an object")
        for key in self.value:
            if not isinstance(key, str):
                raise self.refuse("a key must be text", found=repr(key))
        return self.value

    def only(self, *allowed: str) -> Node:
        """This object, if it has no other keys.

        Raises:
            FormatError: An unknown key; the known ones are listed.
        """
        names = {self._key(name) for name in allowed}
        for key in self.mapping():
            if self._key(key) not in names:
                raise self.refuse(
                    f"unknown key {key!r}",
                    found=key,
                    expected=", ".join(allowed),
                    hint=did_you_mean(key, allowed),
                )
        return self

    def has(self, key: str) -> bool:
        """Whether the key is there with a value other than null."""
        return self.at(key).value is not None

    def at(self, key: str) -> Node:
        """The value under a key; None if it is missing.

        Raises:
            FormatError: This is not an object, or two keys differ only in case and case does not matter.
        """
        mapping = self.mapping()
        keys = [name for name in mapping if self._key(name) == self._key(key)]
        if len(keys) > 1:
            raise self.refuse(f"duplicate key {key!r}", found=", ".join(keys))
        value = mapping[keys[0]] if keys else None
        return Node(value, join(self.path, key), self.fold)

    def items(self, key: str = "") -> list[Node]:
        """The members of a list: of the list under `key` if given. Empty if it is missing.

        Raises:
            FormatError: It is not a list.
        """
        node = self.at(key) if key else self
        if node.value is None:
            return []
        if not isinstance(node.value, list):
            raise node.refuse("expected a list", found=_kind(node.value), expected="a list")
        return [Node(item, f"{node.path}[{at}]", self.fold) for at, item in enumerate(node.value)]

    def members(self) -> Iterator[tuple[str, Node]]:
        """Keys and values of an object, in order."""
        for key, value in self.mapping().items():
            yield key, Node(value, join(self.path, key), self.fold)

    def text(self, key: str, default: Any = _MISSING) -> Any:
        """Text under a key.

        Raises:
            FormatError: Missing without a default, or not text.
        """
        return self._typed(key, default, str, "text")

    def boolean(self, key: str, default: Any = _MISSING) -> Any:
        """True or false under a key. Raises as `text`."""
        return self._typed(key, default, bool, "true or false")

    def integer(self, key: str, default: Any = _MISSING) -> Any:
        """A whole number under a key. Raises as `text`."""
        value = self._typed(key, default, int, "a whole number")
        # To Python a bool is an int.
        if value is True or value is False:
            raise self.at(key).refuse("expected a whole number", found=repr(value))
        return value

    def number(self, key: str, default: Any = _MISSING) -> Any:
        """A finite number under a key. Raises as `text`."""
        value = self._typed(key, default, (int, float), "a number")
        return value if value is default else self.at(key).finite()

    def finite(self) -> Any:
        """The value as a number: not a bool, and within the range of a float.

        Raises:
            FormatError: It is not one.
        """
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse("expected a number", found=_kind(value))
        if not (math.isfinite(value) if isinstance(value, float) else abs(value) <= _MAX_NUMBER):
            raise self.refuse("expected a finite number", found=repr(value))
        return value

    def choice(self, key: str, options: Iterable[str], default: Any = _MISSING) -> Any:
        """One of the allowed texts under a key. Raises as `text`."""
        value = self.text(key, default)
        allowed = list(options)
        if value is not default and value not in allowed:
            raise self.at(key).refuse(
                f"unknown {key}", found=repr(value), expected=", ".join(allowed),
                hint=did_you_mean(str(value), allowed),
            )  # fmt: skip
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts under a key; empty if it is missing. Raises as `text`."""
        for node in self.items(key):
            if not isinstance(node.value, str):
                raise node.refuse("expected text", found=_kind(node.value))
        return tuple(node.value for node in self.items(key))

    def made(self, make: Callable[..., T], *args: Any, **values: Any) -> T:
        """The result of `make` for these values; its errors are re-raised with this path.

        Raises:
            FormatError: `make` raised an error.
        """
        try:
            return make(*args, **values)
        except FormatError as error:
            where = f"{self.path}: {error.where}" if error.where else self.path
            raise FormatError(
                error.what, where=where, found=error.found, expected=error.expected, hint=error.hint
            ) from error
        except (TypeError, ValueError) as error:
            raise self.refuse("cannot create this grader", found=" ".join(str(error).split())) from error

    def _typed(self, key: str, default: Any, kind: Any, word: str) -> Any:
        node = self.at(key)
        if node.value is None and default is not _MISSING:
            return default
        if node.value is None:
            raise self.refuse(
                f"{key!r} is missing", found=", ".join(map(str, self.mapping())), expected=f"{key}: {word}"
            )
        if not isinstance(node.value, kind):
            raise node.refuse(f"expected {word}", found=_kind(node.value), expected=word)
        return node.value

    def _key(self, key: str) -> str:
        return key.casefold() if self.fold else key


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    noun = names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        return f"{noun} of more than 300 digits"
    return f"{noun}: {value!r}"[:120] if not isinstance(value, dict | list) else noun
