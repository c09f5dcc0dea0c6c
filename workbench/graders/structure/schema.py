"""JSON Schema with limits: nothing is fetched, every search and every validation ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.core.discovery import import_jsonschema
from workbench.core.errors import FormatError
from workbench.core.patterns import Pattern, PatternError

SECONDS = 2.0
"""Seconds for one text against one schema; a reasonable schema takes milliseconds."""

MAX_OBJECTS = 5_000
"""Maximum objects and lists in a schema. The package checks each against the meta-schema, at 0.25 ms: 1.25 s in total."""
MAX_VALUES = 50_000
"""Maximum values in a schema, such as those of an enum: each row is compared with them, and formats them when it fails."""
_MAX_MESSAGE = 300

_deadline: ContextVar[float] = ContextVar("_deadline", default=float("inf"))

Fault = tuple[str, str, str]
"""Path in the document, message, keyword."""


def plain_schema(schema: Any) -> dict[str, Any]:
    """A schema as plain JSON, checked.

    Raises:
        FormatError: It is not an object, not JSON, too large, not a valid schema (with the path in it), contains an
            invalid pattern, or a `$ref` that leads out of it.
    """
    if not isinstance(schema, dict):
        raise FormatError("schema must be a JSON Schema, an object", found=repr(schema)[:80])
    _check_size(schema)
    try:
        # By way of JSON, so that the grader has a separate copy, and only values that a file can contain.
        plain: dict[str, Any] = json.loads(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError("schema must be plain JSON", found=str(error)[:200]) from None
    Schema.of(plain)
    return plain


def _check_size(schema: dict[str, Any]) -> None:
    """Refuse what would take seconds to check, before anything of it is checked."""
    pending: list[Any] = [schema]
    objects = values = 0
    while pending:  # also ends for a schema that contains itself
        node = pending.pop()
        values += 1
        if isinstance(node, dict | list | tuple):
            objects += 1
            pending += node.values() if isinstance(node, dict) else node
        if objects > MAX_OBJECTS or values + len(pending) > MAX_VALUES:
            raise FormatError(
                "the schema is too large", found=f"more than {MAX_OBJECTS:,} objects and lists, or {MAX_VALUES:,} values",
                expected=f"at most {MAX_OBJECTS:,} objects and lists, and {MAX_VALUES:,} values in them",
                hint="check a long list of words with a code grader",
            )  # fmt: skip


@dataclass(frozen=True)
class Schema:
    """A compiled schema."""

    validator: Any

    @classmethod
    def of(cls, schema: dict[str, Any]) -> Schema:
        """The compiled schema; cached, since graders use it row by row. Raises as `plain_schema`."""
        # As text, because a dict cannot be the key of a cache.
        return _compiled(json.dumps(schema))

    def first_fault(self, value: Any) -> Fault | None:
        """The first error of a document, None if it conforms to the schema.

        Raises:
            TimeoutError: It took longer than `SECONDS`.
            RecursionError: The schema or the document is nested too deeply.
        """
        token = _deadline.set(time.monotonic() + SECONDS)
        try:
            error = next(self.validator.iter_errors(value), None)
        finally:
            _deadline.reset(token)
        if error is None:
            return None
        message = error.message
        short = message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 1] + "…"
        return str(error.json_path), short, str(error.validator)


@lru_cache(maxsize=64)
def _compiled(text: str) -> Schema:
    validators = import_jsonschema().validators
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    schema = json.loads(text)
    base = validators.validator_for(schema, default=validators.Draft202012Validator)
    _check_by_metaschema(base, schema)
    _check_inside(schema, schema, "$")
    _check_unevaluated(schema)
    return Schema(_timed_class(base)(schema, registry=REGISTRY))


def _check_by_metaschema(base: Any, schema: Any) -> None:
    from jsonschema.exceptions import SchemaError

    try:
        base.check_schema(schema)
    except SchemaError as error:
        raise FormatError(
            "the schema is not a valid JSON Schema", where=error.json_path, found=error.message[:_MAX_MESSAGE]
        ) from None
    except RecursionError:
        raise FormatError("the schema is nested too deeply") from None


def _check_inside(node: Any, root: Any, path: str) -> None:
    """Refuse what would leave the schema or run without a limit."""
    if isinstance(node, list):
        for at, item in enumerate(node):
            _check_inside(item, root, f"{path}[{at}]")
    if not isinstance(node, dict):
        return
    _check_reference(node, root, path)
    _check_patterns(node, path)
    for key, item in node.items():
        # These keys contain values instead of schemas: a `$ref` in there is data.
        if key not in {"const", "enum", "default", "examples"}:
            _check_inside(item, root, f"{path}.{key}")


def _check_unevaluated(schema: Any) -> None:
    """The package finds unevaluated properties with a separate search, which no clock stops."""
    if {"patternProperties", "unevaluatedProperties"} <= set(_keys(schema)):
        raise FormatError(
            "unevaluatedProperties together with patternProperties is not supported: the search would have no time limit",
            hint="use additionalProperties",
        )


def _keys(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from node
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _keys(item)


def _check_reference(node: dict[str, Any], root: Any, path: str) -> None:
    for key in ("$ref", "$dynamicRef", "$recursiveRef"):
        target = node.get(key)
        if isinstance(target, str) and not target.startswith("#") and not _is_known(target, root):
            raise FormatError(
                f"a {key} leads out of the schema, and nothing is fetched",
                where=f"{path}.{key}",
                found=repr(target)[:120],
                hint="copy the other schema into $defs and refer to it with #/$defs/...",
            )


def _is_known(target: str, root: Any) -> bool:
    from jsonschema_specifications import REGISTRY

    uri = target.partition("#")[0]
    # Older drafts identify themselves with an empty fragment: `.../schema#`.
    return uri in REGISTRY or uri + "#" in REGISTRY or any(uri == name for name in _own_names(root))


def _own_names(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$id"), str):
            yield node["$id"].partition("#")[0]
            # A `$ref` may use only the last part of an `$id`, relative to the same base.
            yield node["$id"].rpartition("/")[2]
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _own_names(item)


def _check_patterns(node: dict[str, Any], path: str) -> None:
    named = node.get("patternProperties")
    patterns = [node.get("pattern"), *(named if isinstance(named, dict) else ())]
    for pattern in patterns:
        if not isinstance(pattern, str):
            continue
        try:
            Pattern(pattern).check()
        except PatternError as error:
            raise FormatError(
                "a pattern of the schema cannot be read", where=path, found=f"{pattern[:80]!r}: {error}"
            ) from None


@lru_cache(maxsize=16)
def _timed_class(base: Any) -> Any:
    """The draft's validator; each keyword checks the clock, and searches have a time limit as well."""
    from jsonschema import validators

    own = {"pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional}
    # The package compares each item with every other if they cannot be sorted.
    own["uniqueItems"] = _unique_items
    rules = {**base.VALIDATORS, **{name: rule for name, rule in own.items() if name in base.VALIDATORS}}
    return validators.extend(base, {name: _timed(rule) for name, rule in rules.items()})  # type: ignore[no-untyped-call]


def _timed(rule: Callable[..., Any]) -> Callable[..., Any]:
    def run(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _left()
        yield from rule(validator, value, instance, schema) or ()

    return run


def _left() -> float:
    seconds = _deadline.get() - time.monotonic()
    if seconds <= 0:
        raise TimeoutError(f"the schema took longer than {SECONDS:g} s on this text")
    return seconds


def _search(pattern: str, text: str) -> bool:
    return Pattern(pattern, timeout=min(_left(), SECONDS)).search(text) is not None


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
    from jsonschema.exceptions import ValidationError

    if validator.is_type(instance, "string") and not _search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
    if not validator.is_type(instance, "object"):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if _search(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _additional(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "object"):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [
        name
        for name in instance
        if name not in named and not any(_search(pattern, name) for pattern in patterns)
    ]
    if validator.is_type(allowed, "object"):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        yield ValidationError(f"Additional properties are not allowed: {', '.join(map(repr, extras))}")


def _unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[Any]:  # noqa: ARG001
    from jsonschema.exceptions import ValidationError

    if unique and validator.is_type(instance, "array"):
        distinct = {_frozen(item) for item in instance}
        if len(distinct) < len(instance):
            yield ValidationError(f"{instance!r} has non-unique elements")


def _frozen(value: Any) -> Any:
    """A hashable form of a value; 1 and 1.0 are equal, 1 and true are not, as in the standard."""
    if isinstance(value, dict):
        return ("object", frozenset((key, _frozen(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(_frozen, value)))
    return (isinstance(value, bool), value)
