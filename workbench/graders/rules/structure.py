"""Rules of JSON, XML, tags in order, tool calls and OpenAI's templates. Standard library only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.parsers import expat

from workbench.graders.rules.text import Verdict, listed, verdict


def strict_json(text: str, unique: Any = None) -> Any:
    """The value of a JSON text: no NaN, no infinity, no trailing comma; of two equal keys the last counts.

    Numbers too large for an int are floats, so that no text is refused for its length.

    Args:
        text: The text.
        unique: Makes an object of its keys and values, None for a dict.

    Raises:
        ValueError: "Invalid JSON: ...".
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_int=_whole, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"Invalid JSON: {error}") from None
    except RecursionError:
        raise ValueError("Invalid JSON: nested too deeply") from None


_FENCED = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*(?:json[c5]?)?[ \t]*\n(.*?)^[ \t]*\1[ \t]*$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


def json_in(text: str, fenced: str = "reject", unique: Any = None) -> Any:
    """The value of a JSON text, or, with `fenced="allow"`, of the only code block in it that is JSON.

    Raises:
        ValueError: "Invalid JSON: ...".
    """
    try:
        return strict_json(text, unique)
    except ValueError:
        blocks = [block[1] for block in _FENCED.findall(text)] if fenced == "allow" else []
        if not blocks:
            raise
    if len(blocks) > 1:
        raise ValueError(f"Invalid JSON: {len(blocks)} code blocks, expected one")
    return strict_json(blocks[0], unique)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"Invalid JSON: {name} is not JSON")


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float(digits)


def json_keys(
    text: str, *, keys: tuple[str, ...], require_all: bool = True, fenced: str = "reject"
) -> Verdict:
    """Whether a JSON text has the keys, all of them or any. Dots walk objects, never arrays; null counts."""
    try:
        value = json_in(text, fenced)
    except ValueError as error:
        return 0.0, str(error), {}
    missing = [key for key in keys if not _has_path(value, key)]
    passed = not missing if require_all else len(missing) < len(keys)
    wrong = (
        f"Missing required JSON keys: {listed(missing)}"
        if require_all
        else "No expected JSON keys were found"
    )
    return verdict(passed, "JSON keys found", wrong, **({"missingKeys": missing} if missing else {}))


def _has_path(value: Any, path: str) -> bool:
    for part in filter(None, path.split(".")):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def tool_names(calls: Sequence[Any]) -> list[str]:
    """The names of calls, in order: `function.name` or `name`; a record without one is omitted."""
    records = [call for call in calls if isinstance(call, Mapping)]
    inner = [call["function"] if isinstance(call.get("function"), Mapping) else call for call in records]
    return [name for name in (call.get("name") for call in inner) if isinstance(name, str) and name]


def tool_call(
    actual: Sequence[str],
    *,
    expected: tuple[str, ...],
    mode: str = "any",
    order: bool = False,
    ignore_case: bool = False,
) -> Verdict:
    """Whether the tools called are the expected ones, in one of the modes; see `ToolCallMatch`."""
    expected_keys = [name.lower() if ignore_case else name for name in expected]
    called_keys = [name.lower() if ignore_case else name for name in actual]
    passed, wrong = _in_mode(mode, (expected_keys, called_keys), (expected, actual))
    if passed and order and mode in {"all", "exact"}:
        expected_set = set(expected_keys)
        passed = [name for name in called_keys if name in expected_set] == expected_keys
        relevant_calls = [name for name, key in zip(actual, called_keys, strict=True) if key in expected_set]
        wrong = f"Tool call order mismatch. Expected: {listed(expected)}, Got: {listed(relevant_calls)}"
    return verdict(passed, f"Tools called: {listed(actual)}", wrong, toolCalls=list(actual))


def _in_mode(
    mode: str, keys: tuple[list[str], list[str]], names: tuple[Sequence[str], Sequence[str]]
) -> tuple[bool, str]:
    (expected_keys, called_keys), (expected, actual) = keys, names
    called_set = set(called_keys)
    want, got = listed(expected), listed(actual)
    if not mode:
        return False, "Unknown validation mode"
    if mode == "any":
        return not called_set.isdisjoint(expected_keys), f"Expected at least one of {want} but got {got}"
    if mode == "none":
        return called_set.isdisjoint(expected_keys), f"Expected none of {want} but found matches"
    if mode == "set":
        return called_set == set(expected_keys), f"Expected the set {want} but got {got}"
    missing = [name for name, key in zip(expected, expected_keys, strict=True) if key not in called_set]
    if mode == "all":
        return not missing, f"Missing expected tools: {listed(missing)}"
    # Umbraco's Exact: as many calls as names, and every name among them. Neither a set nor a multiset test.
    return len(called_keys) == len(expected_keys) and not missing, f"Expected exactly {want} but got {got}"


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


_FENCES = re.compile(
    r"\A\s*(`{3,}|~{3,})[ \t]*\w*[ \t]*\n(.*?)^[ \t]*\1[ \t]*\s*\Z", re.DOTALL | re.MULTILINE
)
_MAX_DEPTH = 500
"""Depth of elements."""


def without_fence(text: str, fenced: str) -> str:
    """The content of the only code block of a text, if it is allowed to be one."""
    block = _FENCES.match(text) if fenced == "allow" else None
    return block[2] if block else text


def well_formed_json(text: str, *, root: str = "", fenced: str = "reject") -> Verdict:
    """Whether a text is strict JSON without repeated keys."""
    try:
        value = plain_json(text, fenced)
    except ValueError as error:
        return 0.0, str(error), {}
    return root_verdict(value, root, "JSON")


def root_verdict(value: Any, root: str, name: str) -> Verdict:
    """Whether a value is an object or a list, as required."""
    kinds = {"object": dict, "list": list}
    if root and not isinstance(value, kinds[root]):
        return 0.0, f"The {name} is not {'an object' if root == 'object' else 'a list'}", {}
    return 1.0, f"Well-formed {name}", {}


def well_formed_xml(text: str, *, fenced: str = "reject") -> Verdict:
    """Whether a text is an XML document without document types, whose entities may expand without limit."""
    parser = expat.ParserCreate()
    depth = [0]

    def start(name: str, attributes: Any) -> None:  # noqa: ARG001
        depth[0] += 1
        if depth[0] > _MAX_DEPTH:
            raise ValueError(f"more than {_MAX_DEPTH} nested elements")

    def end(name: str) -> None:  # noqa: ARG001
        depth[0] -= 1

    def refuse(*_: Any) -> None:
        raise ValueError("document types are not accepted")

    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = start, end, refuse
    try:
        parser.Parse(without_fence(text, fenced).strip().encode("utf-8", "replace"), True)
    except (expat.ExpatError, ValueError) as error:
        return 0.0, f"Invalid XML: {error}", {}
    return 1.0, "Well-formed XML", {}


def tag_format(
    text: str, *, tags: Sequence[str], outside: str = "reject", opened: bool = False, empty: str = "reject"
) -> Verdict:
    """Whether a text is the tags in order, each opened and closed once, none inside another.

    Args:
        text: The completion.
        tags: Names of the tags.
        outside: "allow" text around the tags, or "reject" it.
        opened: Whether the prompt has opened the first tag.
        empty: "allow" tags without text, or "reject" them.
    """
    text = f"<{tags[0]}>{text}" if opened else text
    names = "|".join(map(re.escape, tags))
    marks = [(found[1], found[2]) for found in re.finditer(rf"<(/?)({names})>", text)]
    wanted = [(slash, name) for name in tags for slash in ("", "/")]
    if marks != wanted:
        return 0.0, f"The tags are {_listed(marks)}, expected {_listed(wanted)}"[:300], {"failure": "tags"}
    parts = re.split(rf"</?(?:{names})>", text)
    if outside == "reject" and (around := next((part for part in parts[::2] if part.strip()), "")):
        return 0.0, f"Text outside the tags: {around.strip()[:60]!r}", {"failure": "outside"}
    if empty == "reject" and (
        name := next((tags[at] for at, part in enumerate(parts[1::2]) if not part.strip()), "")
    ):
        return 0.0, f"<{name}> is empty", {"failure": "empty"}
    return 1.0, "The expected tags", {}


def _listed(marks: Sequence[tuple[str, str]]) -> str:
    return " ".join(f"<{slash}{name}>" for slash, name in marks[:20]) or "none"


def plain_json(text: str, fenced: str = "reject") -> Any:
    """The value of a JSON text, in which no object has a key twice.

    Raises:
        ValueError: "Invalid JSON: ...".
    """
    value = json_in(text, fenced)
    json_in(text, fenced, _unique)
    return value


def _unique(pairs: Sequence[tuple[str, Any]]) -> Any:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"Invalid JSON: the key {twice!r} occurs twice")
    return dict(pairs)
