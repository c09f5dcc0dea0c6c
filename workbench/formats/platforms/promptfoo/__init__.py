"""promptfoo: configs, tests and assertions in YAML, JSON, CSV, and files of code with an assertion.

Every assertion becomes an entry, those of `defaultTest` for all rows, a test's own for the rows with its variables. The
suite's rule combines them as promptfoo does. Only importing is here: graders are exported to promptfoo as Python
assertions (`targets/promptfoo.py`), whose format reads what this module recognises.

Source: promptfoo 0.121.20, whose package's own results on fixed outputs are in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.formats.platforms.promptfoo import scripts
from workbench.formats.platforms.promptfoo.assertions import (
    TYPES,
    Assertion,
    UngradedTypeError,
    csv_rows,
    read_assertion,
)
from workbench.formats.platforms.promptfoo.cases import (
    Defaults,
    Test,
    from_csv,
    is_csv,
    read_defaults,
    read_scenarios,
    read_tests,
)
from workbench.formats.shared import Reading
from workbench.formats.shared.parsing import Node, parse_json
from workbench.formats.shared.unsupported import suite_name, unique
from workbench.formats.shared.yaml_text import parse_yaml
from workbench.graders import Grader
from workbench.graders.combine import Assertions, Entry, ForRows
from workbench.run.suite import Suite

_ABOUT_OUTPUTS = ("prompts", "providers", "targets")
_PYTHON = re.compile(r"^(?:async\s+)?def\s+get_assert\s*\(", re.MULTILINE)
_SCRIPT = re.compile(r"^[ \t]*(?:module\.exports\s*=|export\s+default\b)", re.MULTILINE)
_CONFIG_KEYS = frozenset(
    {"prompts", "providers", "targets", "tests", "scenarios", "defaultTest", "assertionTemplates", "redteam"}
)


def read(reading: Reading) -> Suite:
    """A suite from a config, a list of tests or of assertions, CSV with `__expected`, or a file with an assertion in code.

    Raises:
        FormatError: With the place inside the document; an assertion that cannot be graded is named with it.
    """
    if is_code(reading.text):
        return Suite(_read_code(reading))
    root = _document(reading)
    if isinstance(root.value, list):
        return _read_list(root, reading)
    root = _with_templates(root)
    if root.path != reading.where:  # the config in a file of results
        root = Node(_without_transforms(root.value), root.path)
    root = _with_parsed_outputs(root, reading)
    if root.has("redteam") and not any(root.has(key) for key in ("tests", "defaultTest", "scenarios")):
        raise root.at("redteam").refuse(
            "a red-team config of promptfoo has no assertions: its plugins grade with promptfoo's own models",
            hint="run `promptfoo redteam generate` and load the file it writes, or describe the rules as llm-rubric assertions",
        )
    defaults = read_defaults(root.at("defaultTest"), reading)
    before = defaults.transform
    tests = [
        *read_tests(root.at("tests"), reading, before),
        *read_scenarios(root.at("scenarios"), reading, before),
    ]
    for test in tests if defaults.asserts else ():
        if test.transform != before and not test.skips_defaults:
            raise test.node.at("options").at("transform").refuse(
                "the transform of a test that also has the assertions of defaultTest is not read", found=test.transform,
                hint="move the assertions of defaultTest into the tests",
            )  # fmt: skip
    for key in _ABOUT_OUTPUTS:
        if root.has(key):
            reading.note(key, "is not imported: rows bring the outputs to grade")
    description = root.text("description", "") or ""
    return _Plan(root, defaults, tests, reading).suite(description)


def _document(reading: Reading) -> Node:
    text = reading.text
    if text.lstrip()[:1] in {"{", "["}:
        document = parse_json(text, reading.where)
    elif is_csv(text):
        rows = csv_rows(text, reading.where)
        return Node(
            [from_csv(Node(row, f"{reading.where}, row {at}")).value for at, row in enumerate(rows, 1)],
            reading.where,
        )
    else:
        document = parse_yaml(text, reading.where, core=True)
    root = Node(document, reading.where)
    if (
        isinstance(document, Mapping)
        and "results" in document
        and isinstance(document.get("config"), Mapping)
    ):
        return root.at("config")
    return root


def _read_list(root: Node, reading: Reading) -> Suite:
    items = root.items()
    is_tests = items and all(isinstance(item.value, Mapping) and "type" not in item.value for item in items)
    if is_tests:
        return _Plan(root, Defaults(), read_tests(root, reading), reading).suite("")
    return _Plan(root, Defaults(asserts=tuple(items)), [], reading).suite("")


def _with_templates(root: Node) -> Node:
    """The document in which `$ref` to an entry of `assertionTemplates` is replaced by that entry."""
    templates = root.at("assertionTemplates").value
    if not isinstance(templates, Mapping):
        return root

    def replaced(value: Any) -> Any:
        if isinstance(value, list):
            return [replaced(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        name = str(value.get("$ref", "")).removeprefix("#/assertionTemplates/")
        if "$ref" in value and name in templates:
            return {**templates[name], **{key: item for key, item in value.items() if key != "$ref"}}
        return {key: replaced(item) for key, item in value.items()}

    return Node(replaced(root.value), root.path)


def _without_transforms(value: Any) -> Any:
    """A config without the transforms of tests, which changed the outputs of its results already."""
    if isinstance(value, list):
        return [_without_transforms(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    options = value.get("options")
    if isinstance(options, Mapping) and "transform" in options and "type" not in value:
        value = {**value, "options": {key: item for key, item in options.items() if key != "transform"}}
    return {key: item if key == "vars" else _without_transforms(item) for key, item in value.items()}


_PARSED = "(() => { try { return JSON.parse(output) } catch { return output } })()"


def _with_parsed_outputs(root: Node, reading: Reading) -> Node:
    """The document whose assertions in code get the object of an output in JSON, if all providers return one.

    As promptfoo's providers parse it, with `response_format: {type: json_schema}`; an output that is not JSON stays a text.
    """
    providers = root.at("providers" if root.has("providers") else "targets").value
    configs = (
        [item.get("config") for item in providers if isinstance(item, Mapping)]
        if isinstance(providers, list)
        else []
    )
    kinds = [_format_of(config) for config in configs]
    if not kinds or set(kinds) != {"json_schema"} or len(kinds) < len(providers):
        return root

    defaults = root.value.get("defaultTest")
    options = defaults.get("options") if isinstance(defaults, Mapping) else None
    shared = isinstance(options, Mapping) and isinstance(options.get("transform"), str)
    tested = {
        key: _parsed_first(root.value[key], inherits=shared and key != "defaultTest")
        for key in ("tests", "scenarios", "defaultTest")
        if root.has(key)
    }
    reading.note(
        "providers", "return JSON of a schema: assertions in code get its object, as promptfoo passes it"
    )
    return Node({**root.value, **tested}, root.path)


def _parsed_first(value: Any, *, inherits: bool) -> Any:
    """Tests whose outputs are parsed before their transforms, and before assertions in code without one.

    Args:
        value: A part of the document.
        inherits: Whether the transform of a test, which parses the output, is before those of the assertions.
    """
    if isinstance(value, list):
        return [_parsed_first(item, inherits=inherits) for item in value]
    if not isinstance(value, Mapping):
        return value
    is_code = str(value.get("type", "")).removeprefix("not-") in ("javascript", "python") and "value" in value
    own = value.get("transform")
    if is_code or isinstance(own, str):
        is_first = not inherits and not str(own or "").startswith("file://")
        return {**value, "transform": _of_parsed(own)} if is_first else value
    options = value.get("options")
    if isinstance(options, Mapping) and isinstance(options.get("transform"), str):
        value = {**value, "options": {**options, "transform": _of_parsed(options["transform"])}}
        inherits = True
    kept = ("vars", "options")
    return {
        key: item if key in kept else _parsed_first(item, inherits=inherits) for key, item in value.items()
    }


def _of_parsed(code: Any) -> str:
    """A transform of the parsed output; the parsed output itself without one."""
    if not code or str(code).startswith("file://"):
        return str(code or _PARSED)
    return f"return (function (output, context, process) {{\n{scripts.transform_body(code)}\n}})({_PARSED}, context, process);\n"


def _format_of(config: Any) -> Any:
    given = config.get("response_format") if isinstance(config, Mapping) else None
    return given.get("type") if isinstance(given, Mapping) else None


def _read_code(reading: Reading) -> Grader:
    node = Node(None, reading.where)
    if _PYTHON.search(reading.text):
        return scripts.python_file(node, reading.text, "", reading, scripts.ScriptCall("get_assert"))
    return scripts.javascript_file(node, reading.text, "", reading, scripts.ScriptCall("assertion"))


@dataclass
class _Group:
    """One entry of the suite: assertions with the same settings, by the tests they are from."""

    first: Assertion
    threshold: float | None
    cases: list[tuple[Mapping[str, Any], Grader]] = field(default_factory=list)
    is_for_all: bool = False


class _Plan:
    """The entries of a config."""

    def __init__(self, root: Node, defaults: Defaults, tests: list[Test], reading: Reading) -> None:
        self._root, self._defaults, self._tests, self._reading = root, defaults, tests, reading
        self._groups: dict[tuple[Any, ...], _Group] = {}
        self._ungraded: list[UngradedTypeError] = []

    def suite(self, description: str) -> Suite:
        """The suite."""
        self._add_defaults()
        for test in self._tests:
            self._add_test(test)
        if self._ungraded:
            raise _all_ungraded(self._ungraded)
        if not self._groups:
            raise self._root.refuse(
                "there are no assertions: promptfoo passes every output with 1", expected="assert: [{type: contains, value: ...}]",
                hint="add assertions to defaultTest or to the tests",
            )  # fmt: skip
        entries: list[Entry] = []
        thresholds: dict[str, float | None] = {}
        zero = []
        for group in self._groups.values():
            name = unique(group.first.name, [entry.name for entry in entries])
            entries.append(group.first.entry(name, self._grader(group, name)))
            if group.threshold != self._shared:
                thresholds[name] = group.threshold
            if group.first.is_code:
                zero.append(name)
        rule = Assertions(self._shared, thresholds, tuple(zero))
        name = suite_name("", [entry.name for entry in entries])
        return Suite(entries, combine=rule, name=name, description=description)

    @property
    def _is_single(self) -> bool:
        return len(self._tests) == 1 and self._tests[0].is_single

    @property
    def _shared(self) -> float | None:
        """The threshold of every test, or of `defaultTest`."""
        own = {test.threshold for test in self._tests}
        only = next(iter(own)) if len(own) == 1 else None
        return self._defaults.threshold if only is None else only

    def _threshold(self, test: Test) -> float | None:
        return self._defaults.threshold if test.threshold is None else test.threshold

    def _add_defaults(self) -> None:
        skipping = any(test.skips_defaults for test in self._tests)
        needs_values = [node for node in self._defaults.asserts if _needs_values(node)]
        for at, node in enumerate(self._defaults.asserts):
            if skipping or (node in needs_values and self._tests):
                for test in self._tests:
                    for when in () if test.skips_defaults else test.when:
                        self._add(node, ("default", at), when, self._threshold(test))
            else:
                self._add(node, ("default", at), None, self._shared)

    def _add_test(self, test: Test) -> None:
        if not test.asserts and self._threshold(test) != self._shared:
            raise test.node.at("threshold").refuse(
                "a threshold of a test that has only the assertions of defaultTest is not read", found=str(test.threshold),
                hint="move the assertions of defaultTest into the tests, or use one threshold in defaultTest",
            )  # fmt: skip
        for at, node in enumerate(test.asserts):
            kind = node.text("type")
            before = sum(1 for other in test.asserts[:at] if other.text("type") == kind)
            for when in test.when:
                self._add(node, ("test", kind, before), when, self._threshold(test))

    def _add(
        self, node: Node, place: tuple[Any, ...], when: Mapping[str, Any] | None, threshold: float | None
    ) -> None:
        known = dict(self._defaults.vars) if when is None else {**self._defaults.vars, **when}
        has_values = when is not None or bool(known)
        try:
            assertion = read_assertion(node, self._reading, known if has_values else None)
        except UngradedTypeError as error:
            self._ungraded.append(error)
            return
        key = (*place, *assertion.settings, threshold)
        group = self._groups.setdefault(key, _Group(assertion, threshold))
        group.is_for_all |= when is None
        group.cases.append((when or {}, assertion.grader))

    def _grader(self, group: _Group, name: str) -> Grader:
        defaults = dict(self._defaults.vars)
        if not defaults and all(not when for when, _ in group.cases):
            return group.cases[0][1]
        cases = [{"when": when, "grader": grader} for when, grader in group.cases]
        return ForRows(tuple(cases), defaults=defaults, lenient=self._is_single, name=name)


_LISTED = 8
"""Maximum assertions that an error lists."""


def _all_ungraded(errors: list[UngradedTypeError]) -> UngradedTypeError:
    """One error of all assertions that cannot be graded."""
    places = {error.where: error for error in errors}
    first, *others = places.values()
    if not others:
        return first
    listed = ", ".join(
        f"{error.found} ({where.rpartition(', ')[2]})" for where, error in list(places.items())[:_LISTED]
    )
    more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
    steps = dict.fromkeys(error.hint.partition("; ")[2] for error in places.values())
    return UngradedTypeError(
        f"{len(places)} assertions of promptfoo cannot be graded here", where=first.where, found=listed + more,
        hint=f"remove them to load the others; {'; '.join(steps)}",
    )  # fmt: skip


def _needs_values(node: Node) -> bool:
    """Whether an assertion of `defaultTest` is read for each test: a rubric with variables."""
    kind = str(node.mapping().get("type", "")).removeprefix("not-")
    return kind in {"llm-rubric", "model-graded-closedqa"} and "{{" in str(node.mapping().get("value", ""))


def is_code(text: str) -> bool:
    """Whether a text is a file with an assertion in Python or JavaScript."""
    return _PYTHON.search(text) is not None or (
        text.lstrip()[:1] not in {"{", "["} and _SCRIPT.search(text) is not None
    )


def detect(document: Any, text: str) -> int:
    """Confidence that a document is of promptfoo: 0 no, 2 certain."""
    if document is None:
        return 2 if is_code(text) or is_csv(text) else 0
    if isinstance(document, Mapping):
        if "results" in document and isinstance(document.get("config"), Mapping):
            document = document["config"]
        found = _CONFIG_KEYS & set(document)
        is_config = bool(found & {"defaultTest", "scenarios", "redteam"}) or (
            "tests" in found and len(found) > 1
        )
        return 2 if is_config or ("tests" in found and _are_tests(document["tests"])) else 0
    if isinstance(document, list):
        return 2 if _are_tests(document) or _are_assertions(document) else 0
    return 0


def _are_tests(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(item, Mapping) and {"vars", "assert"} & set(item) and "type" not in item
            for item in value
        )
    )


def _are_assertions(value: list[Any]) -> bool:
    kinds = [str(item.get("type", "")).removeprefix("not-") for item in value if isinstance(item, Mapping)]
    return (
        bool(value)
        and len(kinds) == len(value)
        and all(kind in TYPES - {"python", "human"} for kind in kinds)
    )
