"""JSON in a text as promptfoo finds it, which is read as YAML, and its schemas of draft 7.

Source: promptfoo 0.121.20 (`src/util/json.ts`), which reads with js-yaml and checks with ajv.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from workbench.core.errors import FormatError
from workbench.core.yaml_core import core_resolvers
from workbench.graders.structure.schema import Schema, plain_schema

_MAX_JSON = 100_000
"""Characters of one object that promptfoo looks for in a text."""
_MAX_PARSED = 20_000
"""Characters that may be parsed in addition to twice the text: objects next to each other are parsed once, nested ones that
cannot be read again for each brace, which takes 0.1 ms for each ten characters."""
_MAX_SCANNED = 20_000_000
"""Characters read in search of objects in one text, about two seconds."""


def strict_schema(value: Any) -> Schema:
    """The schema of a value: an object, or its YAML.

    Raises:
        FormatError: It is not one, or checks what promptfoo's package checks and this one does not.
    """
    schema = value
    if isinstance(value, str):
        try:
            schema = yaml.load(value, Loader=_JsonLoader)  # noqa: S506 (a safe loader)
        except yaml.YAMLError as error:
            raise FormatError("the schema is not YAML", found=str(error)[:120]) from None
    schema = plain_schema(schema)
    if "$schema" in schema and "draft-07" not in str(schema["$schema"]):
        raise FormatError(
            "promptfoo reads schemas of draft 7 only", where="$schema", found=str(schema["$schema"])[:80], hint="remove $schema"
        )  # fmt: skip
    if key := next((key for key in _keywords(schema) if key not in _KNOWN), None):
        raise FormatError(
            f"the keyword {key!r} of a schema is not graded as promptfoo does", where=key,
            hint="remove it, or check it with a javascript or python assertion",
        )  # fmt: skip
    return Schema.of({"$schema": "http://json-schema.org/draft-07/schema#", **schema})


_NAMED = frozenset({"properties", "patternProperties", "definitions", "$defs", "dependencies"})
_DATA = frozenset({"const", "enum", "default", "examples", "required"})
_KNOWN = _NAMED | _DATA | frozenset(
    ["$schema", "$id", "$ref", "$comment", "title", "description", "type", "readOnly", "writeOnly", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "items", "additionalItems", "maxItems", "minItems", "uniqueItems", "contains", "maxProperties", "minProperties", "additionalProperties", "propertyNames", "if", "then", "else", "allOf", "anyOf", "oneOf", "not"]
)  # fmt: skip
"""Keywords of draft 7 except `format`; promptfoo refuses schemas with others."""


def _keywords(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, item in node.items():
            yield key
            if key in _NAMED and isinstance(item, Mapping):
                for inner in item.values():
                    yield from _keywords(inner)
            elif key not in _DATA:
                yield from _keywords(item)
    elif isinstance(node, list):
        for item in node:
            yield from _keywords(item)


def fits(value: Any, schema: Schema) -> bool:
    """Whether the value conforms to the schema."""
    return schema.first_fault(value) is None


def objects(text: str) -> Iterator[Any]:
    """The objects in braces that can be read as YAML, in order; unclosed ones are closed at the end of the text."""
    at, scanned, parsed = text.find("{"), 0, 0
    while at >= 0:
        depth, end, limit = 0, at, min(at + _MAX_JSON, len(text))
        while end < limit:
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
            if not depth:
                break
        scanned += end - at
        parsed += end - at
        if scanned > _MAX_SCANNED or parsed > 2 * len(text) + _MAX_PARSED:
            raise TimeoutError("the text has too many braces to look for JSON in it")
        found = _object(text[at:end] + "}" * depth)
        if found is not None:
            yield found
        at = text.find("{", end if found is not None else at + 1)


def _object(text: str) -> Any:
    try:
        found = yaml.load(_without_comments(text), Loader=_JsonLoader)  # noqa: S506 (a safe loader)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError):
        return None
    try:
        return json.loads(json.dumps(found)) if isinstance(found, dict | list) else None
    except (TypeError, ValueError, RecursionError):
        return None


def _without_comments(text: str) -> str:
    """The text without comments after `//`, outside of quotation marks and addresses."""
    return "\n".join(_without_comment(line) if "//" in line else line for line in text.split("\n"))


def _without_comment(line: str) -> str:
    quote = ""
    for at, sign in enumerate(line):
        if quote:
            escaped = at and line[at - 1] == "\\"
            quote = "" if sign == quote and not escaped else quote
        elif sign == '"' or (sign == "'" and not (at and line[at - 1].isascii() and line[at - 1].isalpha())):
            quote = sign
        elif line.startswith("//", at) and "://" not in line[: at + 2].rsplit(maxsplit=1)[-1]:
            return line[:at]
    return line


class _JsonLoader(yaml.SafeLoader):
    """YAML with the plain values of its JSON schema: no dates, no `yes`."""


_JsonLoader.yaml_implicit_resolvers = core_resolvers()
