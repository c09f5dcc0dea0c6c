"""Values for OpenAI's templates, and substitution of plain paths without an engine."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.graders.rules.structure import strict_json

_HOLE = re.compile(r"\{\{\s*((?:item|sample)(?:\.[\w-]+|\[\d{1,9}\])*)\s*\}\}")
_STEP = re.compile(r"\[(\d+)\]|([\w-]+)")


def template_item(metadata: Any, reference: Any) -> dict[str, Any]:
    """The `item` of a sample: its metadata, and its reference unless a column has that name."""
    item = dict(metadata) if isinstance(metadata, Mapping) else {}
    item.setdefault("reference", reference)
    if item["reference"] is None:
        del item["reference"]  # so that using it fails, instead of comparing with "null"
    return item


def template_sample(text: str, calls: Sequence[Any]) -> dict[str, Any]:
    """The `sample` of a sample: text, JSON if the text is valid JSON, tool calls, choices."""
    message = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {})}
    values = {"output_text": text, "output_tools": list(calls), "choices": [{"index": 0, "message": message}]}
    try:
        return {**values, "output_json": strict_json(text)}
    except ValueError:
        return values


def is_plain_template(template: str) -> bool:
    """Whether `fill_template` can fill the template: its tags are paths in item and sample."""
    without_tags = _HOLE.sub("", template)
    return "{{" not in without_tags


def fill_template(template: str, values: Mapping[str, Any]) -> str:
    """The template with its `{{item.path[0]}}` placeholders filled: text unchanged, other values as compact JSON.

    Raises:
        ValueError: A path that does not exist.
    """
    return _HOLE.sub(lambda hole: _as_text(_followed(values, hole[1])), template)


def _followed(value: Any, path: str) -> Any:
    for index, name in _STEP.findall(path):
        try:
            value = value[index or name] if isinstance(value, Mapping) else _item(value, index or name)
        except LookupError:
            raise ValueError(f"the path {path!r} does not exist") from None
    return value


def _item(value: Any, part: str) -> Any:
    if isinstance(value, list | tuple) and part.isascii() and part.isdigit():
        return value[int(part)]
    raise LookupError(part)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
