"""The tests of promptfoo: their variables, assertions and thresholds, from lists, files and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from workbench.core.errors import FormatError
from workbench.data.templates.nunjucks import has_tags, nunjucks
from workbench.data.templates.values import TemplateRunError
from workbench.formats.platforms.promptfoo.assertions import TYPES, read_file
from workbench.formats.platforms.promptfoo.scripts import transform_body
from workbench.formats.shared import Reading, inside
from workbench.formats.shared.parsing import Node
from workbench.graders.combine.for_rows import OF_TEST
from workbench.graders.rules.promptfoo_assertions import parse_listed

_MAX_TESTS = 20_000
"""Tests, after the lists in their variables are expanded."""
_OUTSIDE = ("https://", "http://", "huggingface://", "az://", "s3://")


@dataclass(frozen=True)
class Test:
    """One test.

    Attributes:
        node: Its place.
        when: The combinations of its variables' values that apply; one, `{}`, if it has none.
        asserts: Its own assertions.
        threshold: Its own; None without.
        skips_defaults: Whether the assertions of `defaultTest` do not apply.
        transform: What changes the output before its assertions; "" for nothing.
    """

    node: Node
    when: tuple[Mapping[str, Any], ...]
    asserts: tuple[Node, ...]
    threshold: float | None = None
    skips_defaults: bool = False
    transform: str = ""

    @property
    def is_single(self) -> bool:
        """Whether its variables have one combination of values."""
        return len(self.when) == 1 or (
            len(self.when) == 2 and not any(isinstance(v, list) for v in self.when[0].values())
        )


@dataclass(frozen=True)
class Defaults:
    """What `defaultTest` gives to every test."""

    vars: Mapping[str, Any] = field(default_factory=dict)
    asserts: tuple[Node, ...] = ()
    threshold: float | None = None
    transform: str = ""


def read_defaults(node: Node, reading: Reading) -> Defaults:
    """The `defaultTest` of a config."""
    if node.value is None:
        return Defaults()
    if isinstance(node.value, str):
        node = Node(read_file(node, node.value, reading), node.path)
    _refuse_scoring(node)
    transform = _transform_of(node)
    asserts = tuple(_transformed(one, transform) for one in _asserts(node, reading))
    return Defaults(_vars(node.at("vars"), reading), asserts, node.number("threshold", None), transform)


def read_tests(node: Node, reading: Reading, transform: str = "") -> list[Test]:
    """The tests under a key: a list, or the address of a file of them; with the transform of tests that have none."""
    tests = [_test(place, reading, transform) for place in _records(node, reading)]
    if sum(len(test.when) for test in tests) > _MAX_TESTS:
        raise node.refuse(
            "there are too many tests", expected=f"at most {_MAX_TESTS:,}", hint="split the config"
        )
    return tests


def read_scenarios(node: Node, reading: Reading, transform: str = "") -> list[Test]:
    """The tests of `scenarios`: each configuration with each of its tests."""
    tests = []
    for scenario in node.items():
        if isinstance(scenario.value, str):
            raise scenario.refuse(
                "a scenario in a file is not read", found=scenario.value, hint="write it here"
            )
        configs = list(_records(scenario.at("config"), reading)) or [Node({}, scenario.path)]
        inner = list(_records(scenario.at("tests"), reading)) or [Node({}, scenario.path)]
        for config, test in product(configs, inner):
            asserts = [*config.mapping().get("assert", []), *test.mapping().get("assert", [])]
            vars_ = {**_vars(config.at("vars"), reading), **_vars(test.at("vars"), reading)}
            tests.append(
                _test(
                    Node({**config.value, **test.value, "assert": asserts, "vars": vars_}, test.path),
                    reading,
                    transform,
                )
            )
    return tests


def _records(node: Node, reading: Reading) -> Iterator[Node]:
    """The tests as objects, those of files included."""
    if node.value is None:
        return
    if isinstance(node.value, str):
        yield from _from_file(node, node.value, reading)
        return
    if isinstance(node.value, Mapping):
        raise node.refuse(
            "tests made by code are not read", found=", ".join(node.value), hint="write the tests as a list"
        )
    for item in node.items():
        if isinstance(item.value, str):
            yield from _from_file(item, item.value, reading)
        else:
            item.mapping()
            yield item


def _from_file(node: Node, address: str, reading: Reading) -> Iterator[Node]:
    if address.startswith(_OUTSIDE):
        raise node.refuse(
            "tests from the network are not read",
            found=address,
            hint="download them into the config's folder",
        )
    name = address.removeprefix("file://")
    for path in _matches(node, name, reading):
        content = read_file(node, path, reading)
        items = content if isinstance(content, list) else [content]
        for at, item in enumerate(items):
            place = Node(item, f"{path}, row {at + 1}" if path.endswith(".csv") else f"{path}, [{at}]")
            yield from_csv(place) if path.endswith(".csv") else place


def _matches(node: Node, name: str, reading: Reading) -> list[str]:
    if not any(sign in name for sign in "*?["):
        return [name]
    if reading.folder is None:
        raise node.refuse(
            "the document names other files, but only its text was given",
            found=name,
            hint="load it: wb.load(path)",
        )
    inside(reading.folder, re.sub(r"[*?\[\]]", "x", name), node.path)
    found = sorted(
        str(path.relative_to(reading.folder))
        for path in reading.folder.glob(name.removeprefix("./"))
        if path.is_file()
    )
    if not found:
        raise node.refuse(
            "no file has such a name", found=name, hint="fix the pattern, or put the files into the folder"
        )
    return found


def _test(node: Node, reading: Reading, transform: str) -> Test:
    _refuse_scoring(node)
    options = node.at("options").value
    options = options if isinstance(options, Mapping) else {}
    transform = _transform_of(node) or transform
    expand = not options.get("disableVarExpansion")
    return Test(
        node,
        tuple(_combinations(node, _vars(node.at("vars"), reading), expand=expand)),
        tuple(_transformed(one, transform) for one in _asserts(node, reading)),
        node.number("threshold", None),
        options.get("disableDefaultAsserts") is True,
        transform,
    )


def _transform_of(node: Node) -> str:
    """The code in the options of a test, or of `defaultTest`, that changes the output before its assertions.

    Raises:
        FormatError: A transform in a file, or an option that changes more than the output.
    """
    options = node.at("options")
    if not isinstance(options.value, Mapping):
        return ""
    for key, step in _UNREAD.items():
        if options.value.get(key):
            raise options.at(key).refuse(
                f"{key} of a test is not read", found=str(options.value[key]), hint=step
            )
    transform = options.text("transform", "") or ""
    if transform.startswith(("file://", "package:")):
        raise options.at("transform").refuse(
            "a transform in a file is not read", found=transform, hint="write its code here"
        )
    return str(transform)


_UNREAD = {
    "transformVars": "write the values that it makes into the rows",
    "postprocess": "write it as transform",
    "rubricPrompt": "remove it, or write a wb.BinaryJudge with user_template",
}
"""Options of a test that are refused, with what to do."""


def _transformed(node: Node, transform: str) -> Node:
    """An assertion whose output is changed first, also before its own transform."""
    if not transform or not isinstance(node.value, Mapping):
        return node
    inner = node.value.get("assert")
    if node.value.get("type") == "assert-set" and isinstance(inner, list):
        changed = [_transformed(Node(one, node.path), transform).value for one in inner]
        return Node({**node.value, "assert": changed}, node.path)
    own = node.value.get("transform")
    if isinstance(own, str) and own and not own.startswith(("file://", "package:")):
        first, then = (
            f"(function (output, context, process) {{\n{transform_body(code)}\n}})"
            for code in (transform, own)
        )
        transform = f"return {then}({first}(output, context, process), context, process);\n"
    return Node({**node.value, "transform": f"{OF_TEST} {transform}"}, node.path)


def _refuse_scoring(node: Node) -> None:
    if node.has("assertScoringFunction"):
        raise node.at("assertScoringFunction").refuse(
            "a scoring function is not read", found=str(node.at("assertScoringFunction").value),
            hint="remove it, and combine the graders: wb.Suite(suite.entries, combine=wb.combine.Formula(...))",
        )  # fmt: skip


def _asserts(node: Node, reading: Reading) -> Iterator[Node]:
    place = node.at("assert")
    if isinstance(place.value, str):
        place = Node(read_file(place, place.value, reading), place.path)
    yield from place.items()


def _vars(node: Node, reading: Reading) -> dict[str, Any]:
    if node.value is None:
        return {}
    if isinstance(node.value, str | list):
        listed = [node.value] if isinstance(node.value, str) else node.value
        merged: dict[str, Any] = {}
        for item in listed:
            content = read_file(node, str(item), reading)
            merged |= content if isinstance(content, Mapping) else {}
        return merged
    return dict(node.mapping())


def _combinations(node: Node, vars_: Mapping[str, Any], *, expand: bool) -> Iterator[Mapping[str, Any]]:
    """The values that the variables take: a list of texts is one value after the other."""
    choices = []
    for name, value in vars_.items():
        if isinstance(value, str) and value.startswith("file://"):
            continue  # a row has the file's content, or what promptfoo made of it: any value applies
        several = expand and isinstance(value, list) and value and isinstance(value[0], str)
        choices.append([(name, one) for one in (value if several else [value])])
    count = 1
    for choice in choices:
        count *= len(choice)
    if count > _MAX_TESTS:
        raise node.at("vars").refuse(
            "the variables have too many combinations", expected=f"at most {_MAX_TESTS:,}"
        )
    for combination in product(*choices):
        values = dict(combination)
        yield {name: _filled(value, values) for name, value in values.items()}
    if any(
        isinstance(vars_[choice[0][0]], list) and choice[0][1] != vars_[choice[0][0]]
        for choice in choices
        if choice
    ):
        yield {name: vars_[name] for (name, _), *_ in choices}  # a row that has the list itself


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    """A variable that mentions others, with their values."""
    if not isinstance(value, str) or not has_tags(value):
        return value
    try:
        return nunjucks(value).render(values)
    except (FormatError, TemplateRunError):
        return value


_EXPECTED = re.compile(r"(not-)?([a-z][a-z:-]*?)(?:\((-?[\d.]+)\))?(?::(.*))?", re.DOTALL)
_WITH_THRESHOLD = frozenset({
    "answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost",
    "latency", "levenshtein", "perplexity-score", "perplexity", "rouge-n", "similar", "starts-with",
})  # fmt: skip


def from_csv(node: Node) -> Node:
    """A row of CSV as a test: `__expected` columns are assertions, the others variables."""
    vars_, asserts, test = {}, [], {}
    metric = ""
    for name, cell in node.value.items():
        key, text = str(name or "").strip(), cell if isinstance(cell, str) else ""
        if key.startswith("__expected"):
            if text.strip():
                asserts.append(from_text(text.strip()))
        elif key == "__threshold":
            test["threshold"] = _number(text)
        elif key == "__metric":
            metric = text
        elif not key.startswith("__"):
            vars_[key] = text
    if metric:
        asserts = [{**one, "metric": metric} for one in asserts]
    return Node({"vars": vars_, "assert": asserts, **test}, node.path)


def from_text(text: str) -> dict[str, Any]:
    """An assertion as a cell of CSV has it: `contains:Vltava`, `rouge-n(0.6):...`, or the expected text."""
    for prefix, kind in (
        ("javascript:", "javascript"),
        ("fn:", "javascript"),
        ("eval:", "javascript"),
        ("python:", "python"),
    ):
        if text.startswith(prefix):
            return {"type": kind, "value": text.removeprefix(prefix).strip()}
    if text.startswith(("grade:", "llm-rubric:")):
        return {"type": "llm-rubric", "value": text.partition(":")[2]}
    if text.startswith("file://"):
        is_python = text.endswith(".py") or ".py:" in text
        return {"type": "python" if is_python else "javascript", "value": text}
    match = _EXPECTED.fullmatch(text)
    if match is None or match[2] not in TYPES:
        return {"type": "equals", "value": text}
    base, value = match[2], match[4]
    made: dict[str, Any] = {"type": f"{match[1] or ''}{base}"}
    if base.endswith(("-any", "-all")) and value:
        return {**made, "value": parse_listed(value)}
    if value is not None:
        made["value"] = value if base in {"is-json", "contains-json"} else value.strip()
    if base in _WITH_THRESHOLD:
        made["threshold"] = 0.75 if match[3] is None else _number(match[3])
    return made


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def is_csv(text: str) -> bool:
    """Whether a text is CSV with a column `__expected`."""
    try:
        header = next(csv.reader(io.StringIO(text.lstrip("\ufeff")[:20_000])), [])
    except csv.Error:  # a carriage return alone, or a field of more than 128 kB
        return False
    return len(header) > 1 and any(name.strip().startswith("__expected") for name in header)
