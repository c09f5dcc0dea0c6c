"""The grader of JSON that is compared with a reference, key by key, and JSON as promptfoo finds it in a text: read as YAML.

Source of the latter, and of its schemas of draft 7: promptfoo 0.121.20 (`src/util/json.ts`), which reads with js-yaml and checks
with ajv.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field
from typing import Any, Self

import yaml

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.core.yaml_core import core_resolvers
from workbench.graders.arguments import check_choice
from workbench.graders.base import from_spec, is_number, kind
from workbench.graders.portable_rule import PythonBody, refusal
from workbench.graders.rule_grader import RuleGrader, Unscored
from workbench.graders.rules.json_compare import as_json_text, general, json_match
from workbench.graders.rules.structure import plain_json
from workbench.graders.rules.text import Verdict
from workbench.graders.structure.schema import Schema, plain_schema
from workbench.graders.text.text_grader import ExpectedGrader

WORDS = ("exact", "ignore", "ignore_case", "type", "present", "unordered")
"""Matchers that are named by a text."""
_NUMBERS = frozenset({"tolerance", "relative"})


@kind("json-match", family="structure")
@dataclass(frozen=True, kw_only=True)
class JsonMatch(ExpectedGrader):
    """1.0 if the text is JSON that equals the reference key by key, else 0.0; or the weighted share of right keys.

    12 equals 12.0, true is not 1, null is not a missing key, and "12" is not 12. The text must be strict JSON without repeated keys.
    A path is `a.b` or `items[0].price`; `items[].price` means every item. A matcher of a path replaces the comparison there:

    | matcher | the value |
    | --- | --- |
    | "exact", "ignore_case" | is equal; letters match either case |
    | `{"tolerance": 0.1}`, `{"relative": 0.01}` | is a number that differs by at most that |
    | "unordered" | is a list with the items in any order |
    | "type", "present", "ignore" | has the type; is there; is not compared |
    | a grader without a model, such as `wb.Number(relative=0.01)` | gets its score, with the value as the completion |

    Attributes:
        expected: The JSON, as a text, an object or a list; None takes each sample's reference.
        keys: Matchers by path.
        order: Whether lists have an order.
        missing: "wrong" or "ignore" for keys of the reference that are not there.
        extra: "wrong" or "ignore" for keys and items that the reference does not have.
        tolerance: Largest accepted difference of all numbers, from 0 on.
        relative: Largest accepted difference of all numbers as a share of the expected one, from 0 on.
        ignore_case: Whether letters of all texts match either case.
        measure: "equal" or "share": each top-level key counts once, or by its weight; an additional one as a wrong key.
        weights: Weights from 0 on by path, for "share"; 1 for a top-level key without one.
        fenced: "allow" reads the only JSON code block of a text that is not JSON.

    The details contain the score of each path in `keys`, and the `missing` and `extra` ones.

    Error kinds: sample (no reference, or one that is not JSON), and those of a matcher.

    Example:
        >>> from workbench import StringThread
        >>> grader = JsonMatch({"city": "Paris", "km": 42}, keys={"city": "ignore_case"}, measure="share")
        >>> grader(StringThread([("assistant", '{"city": "PARIS", "km": 41}')])).score
        0.5
    """

    hidden_from_dir = "inner_graders"

    expected: Any = field(default=None, kw_only=False)
    keys: dict[str, Any] = field(default_factory=dict)
    order: bool = True
    missing: str = "wrong"
    extra: str = "wrong"
    tolerance: float = 0.0
    relative: float = 0.0
    ignore_case: bool = False
    measure: str = "equal"
    weights: dict[str, float] = field(default_factory=dict)
    fenced: str = "reject"

    @classmethod
    def example(cls) -> Self:
        """The grader that the tests over every kind use."""
        return cls(
            {"a": {"b": None}, "c": 4},
            measure="share",
            weights={"a": 2},
            keys={"c": {"tolerance": 1}},
            fenced="allow",
        )

    def __post_init__(self) -> None:
        if self.expected is not None and not isinstance(self.expected, str):
            object.__setattr__(self, "expected", _as_text(self.expected))
        super().__post_init__()
        if self.expected is not None:
            try:
                plain_json(self.expected)
            except ValueError as error:
                raise FormatError("expected must be JSON", found=str(error)) from None
        for name, allowed in (("missing", ("wrong", "ignore")), ("extra", ("wrong", "ignore")), ("measure", ("equal", "share")), ("fenced", ("reject", "allow"))):  # fmt: skip
            check_choice(name, getattr(self, name), allowed)
        for name in _NUMBERS:
            check_margin(name, getattr(self, name))
        check_matchers("keys", self.keys)
        _check_weights(self.weights)

    def _field_spec(self, f: Field[Any]) -> Any:
        return matcher_specs(self.keys) if f.name == "keys" else super()._field_spec(f)

    @classmethod
    def build(cls, values: dict[str, Any]) -> Self:
        """Create the grader from a spec's fields, without `kind`."""
        return super().build(
            {**values, "keys": built_matchers(values["keys"])} if "keys" in values else values
        )

    @property
    def inner_graders(self) -> tuple[RuleGrader, ...]:
        """The graders of single paths."""
        return tuple(matcher for matcher in self.keys.values() if isinstance(matcher, RuleGrader))

    def compare(self, text: str, expected: str) -> Verdict:
        """How far the text is the expected JSON."""
        try:
            return json_match(text, expected, call=self._call, **self._settings())
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None

    def _settings(self) -> dict[str, Any]:
        names = (
            "keys",
            "order",
            "missing",
            "extra",
            "tolerance",
            "relative",
            "ignore_case",
            "measure",
            "weights",
            "fenced",
        )
        return {name: getattr(self, name) for name in names}

    def _call(self, path: str, found: Any, expected: Any) -> float:
        matcher = next(one for name, one in self.keys.items() if name in {path, general(path)})
        return call_matcher(matcher, path, found, expected)

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The lines of the Python function once `text` is known."""
        if self.inner_graders:
            raise refusal(
                self,
                "keys",
                "graders of single keys have no form in one function",
                "use matchers that are texts or tolerances",
            )
        expected = self.expected_in_python(reference_names)
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings().items())
        line = f"return json_match(text, expected, {settings})[0]"
        return PythonBody((*expected.rules, "json_compare.json_match"), (*expected.lines, line))


def _as_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FormatError("expected must be JSON", found=str(error)[:120]) from None


def call_matcher(matcher: RuleGrader, path: str, found: Any, expected: Any) -> float:
    """The score of one value by a grader.

    Raises:
        Unscored: The grader has no score for it.
    """
    try:
        return matcher.grade_thread(StringThread([("assistant", as_json_text(found))]), expected)[0]
    except Unscored as error:
        raise Unscored(error.kind, f"{path}: {error}") from None


def check_margin(name: str, value: Any) -> None:
    """Refuse a tolerance that is not a number from 0 on.

    Raises:
        FormatError: With the value found.
    """
    if not is_number(value) or value < 0:
        raise FormatError(f"{name} must be a finite number from 0 on", found=repr(value)[:80])


def check_matchers(name: str, matchers: Any) -> None:
    """Refuse matchers that are not a dict of paths.

    Raises:
        FormatError: With the path.
    """
    if not isinstance(matchers, Mapping):
        raise FormatError(f"{name} must be a dict of paths and matchers", found=repr(matchers)[:80])
    for path, matcher in matchers.items():
        if isinstance(matcher, Mapping):
            if not matcher or not set(matcher) <= _NUMBERS:
                raise FormatError(
                    "a matcher's settings are tolerance and relative",
                    where=f"{name}[{path!r}]",
                    found=repr(dict(matcher))[:80],
                )
            for setting, value in matcher.items():
                check_margin(setting, value)
        elif not isinstance(matcher, RuleGrader) and matcher not in WORDS:
            raise FormatError(
                "a matcher must be a text, a tolerance, or a grader without a model",
                where=f"{name}[{path!r}]", found=repr(matcher)[:80], expected=", ".join(WORDS),
            )  # fmt: skip


def _check_weights(weights: Any) -> None:
    if not isinstance(weights, Mapping):
        raise FormatError("weights must be a dict of paths and numbers", found=repr(weights)[:80])
    for path, weight in weights.items():
        check_margin(f"weights[{path!r}]", weight)


def matcher_specs(matchers: Mapping[str, Any]) -> dict[str, Any]:
    """Matchers as plain data."""
    return {path: one.spec() if isinstance(one, RuleGrader) else one for path, one in matchers.items()}


def built_matchers(value: Any) -> Any:
    """Matchers of plain data."""
    if not isinstance(value, Mapping):
        return value
    return {
        path: from_spec(dict(one)) if isinstance(one, Mapping) and "kind" in one else one
        for path, one in value.items()
    }


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
