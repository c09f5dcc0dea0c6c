"""Umbraco.AI's test graders: `{"graders": [{"graderTypeId": ..., "name": ..., "config": {...}}]}`.

Keys are read without regard to case, as upstream reads them. An imported suite follows Umbraco's rules:
every entry of severity Error must pass, a grader that fails counts as 0.0, and negation turns such a
failure into a pass. Weights are imported; Umbraco stores them and uses them in no calculation.

Source: Umbraco.AI at 237c63d, `Umbraco.AI.Core/Tests`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.formats.platforms.umbraco import writing as umbraco_write
from workbench.formats.platforms.umbraco.writing import MODES
from workbench.formats.shared.base import Format, Reading, register
from workbench.formats.shared.node import Node
from workbench.formats.shared.parsing import parse_json
from workbench.formats.shared.unsupported import suite_name, unique
from workbench.graders import Grader
from workbench.graders.combine import AllPass, Entry
from workbench.graders.structure.guardrail import Guardrail
from workbench.graders.structure.json_keys import JsonKeys
from workbench.graders.structure.tool_call import ToolCallMatch
from workbench.graders.text import Contains, ExactMatch, Regex
from workbench.judges import CriteriaJudge, GuardrailJudge
from workbench.run.suite import Suite

__all__ = ["read"]

# Umbraco's own limit for one pattern.
_SECONDS = 5.0
_KEYS = ("graderTypeId", "name", "description", "config", "negate", "severity", "weight")
_SEVERITIES = ("Error", "Warning", "Info")


def read(reading: Reading) -> Suite:
    """A suite from a test's graders, a list of them, or one grader.

    Raises:
        FormatError: With the path inside the document.
    """
    root = Node(parse_json(reading.text, reading.where), reading.where, fold=True)
    entries: list[Entry] = []
    for node in _graders(root):
        entry = _entry(node)
        # Two graders may share a name there, but not in a suite.
        name = unique(entry.name, [earlier.name for earlier in entries])
        entries.append(replace(entry, name=name))
    if not entries:
        raise root.refuse("there are no graders", expected='"graders": [...], at least one')
    document = root if isinstance(root.value, dict) and root.has("graders") else Node({}, root.path)
    name = suite_name(document.text("name", ""), [entry.name for entry in entries])
    return Suite(entries, combine=AllPass(), name=name, description=document.text("description", ""))


def _graders(root: Node) -> list[Node]:
    if isinstance(root.value, list):
        return root.items()
    if root.has("graderTypeId"):
        return [root]
    return root.only("graders", "name", "description").items("graders")


def _entry(node: Node) -> Entry:
    node.only(*_KEYS)
    kind = node.choice("graderTypeId", _READERS)
    config = node.at("config")
    config = Node({}, config.path, fold=True) if config.value is None else config
    name = node.text("name", "") or kind
    grader = _READERS[kind](config, {"name": name, "description": node.text("description", "") or ""})
    severity = node.choice("severity", [*_SEVERITIES, *map(str.lower, _SEVERITIES)], "Error")
    weight = node.number("weight", 1.0)
    if weight < 0:
        raise node.at("weight").refuse("a weight must be 0 or more", found=repr(weight))
    return Entry(
        grader, name, weight=float(weight), severity=severity.lower(), negate=node.boolean("negate", False),
        on_error="zero", negate_errors=True,
    )  # fmt: skip


def _read_exact(config: Node, names: Any) -> Grader:
    config.only("expectedValue", "ignoreCase")
    expected = config.text("expectedValue", "")
    return ExactMatch(expected=expected, ignore_case=config.boolean("ignoreCase", True), **names)


def _read_contains(config: Node, names: Any) -> Grader:
    config.only("searchPattern", "ignoreCase")
    expected = config.text("searchPattern", "")
    return Contains(expected=expected, ignore_case=config.boolean("ignoreCase", True), **names)


def _read_regex(config: Node, names: Any) -> Grader:
    config.only("pattern", "ignoreCase", "multiline")
    return Regex(
        pattern=config.text("pattern", ""), ignore_case=config.boolean("ignoreCase", True),
        multiline=config.boolean("multiline", False), flavor="dotnet", on_bad_pattern="zero", timeout=_SECONDS, **names,
    )  # fmt: skip


def _read_keys(config: Node, names: Any) -> Grader:
    config.only("expectedKeys", "requireAllKeys")
    keys = _words(config.text("expectedKeys", ""))
    return JsonKeys(keys=keys, require_all=config.boolean("requireAllKeys", True), **names)


def _read_tools(config: Node, names: Any) -> Grader:
    config.only("expectedTools", "validationMode", "validateOrder")
    mode = config.text("validationMode", "Any")
    expected = _words(config.text("expectedTools", ""))
    # A mode that Umbraco does not know (names are case-sensitive) never passes there, and so here: the report shows it.
    return ToolCallMatch(
        expected=expected, mode=MODES.get(mode, ""), order=config.boolean("validateOrder", False),
        ignore_case=True, **names,
    )  # fmt: skip


def _read_guardrail(config: Node, names: Any) -> Grader:
    config.only("evaluatorId", "evaluatorConfig")
    which = config.choice("evaluatorId", ("regex", "contains", "llm-judge", ""), "")
    inner = config.at("evaluatorConfig")
    inner = Node({}, inner.path, fold=True) if inner.value is None else inner
    if which == "llm-judge":
        inner.only("profileId", "evaluationCriteria", "safetyCriteria", "threshold")
        stated_criteria = inner.text("evaluationCriteria", None) or inner.text("safetyCriteria", None)
        criteria = {"criteria": stated_criteria} if stated_criteria else {}
        return GuardrailJudge(
            safety_threshold=float(inner.number("threshold", 0.7)), platform="umbraco", **criteria, **names
        )
    inner.only("pattern", "searchPattern", "ignoreCase", "multiline")
    return Guardrail(
        evaluator=which, pattern=inner.text("searchPattern" if which == "contains" else "pattern", ""),
        ignore_case=inner.boolean("ignoreCase", True), multiline=inner.boolean("multiline", False), timeout=_SECONDS,
        **names,
    )  # fmt: skip


def _read_judge(config: Node, names: Any) -> Grader:
    config.only("profileId", "evaluationCriteria", "passThreshold")
    stated_criteria = config.text("evaluationCriteria", None)
    return CriteriaJudge(
        **({"criteria": stated_criteria} if stated_criteria else {}), pass_threshold=float(config.number("passThreshold", 0.7)),
        profile_id=config.text("profileId", None), platform="umbraco", **names,
    )  # fmt: skip


_READERS: dict[str, Callable[[Node, Any], Grader]] = {
    "exact-match": _read_exact,
    "contains": _read_contains,
    "regex": _read_regex,
    "json-schema": _read_keys,
    "tool-call": _read_tools,
    "guardrail": _read_guardrail,
    "llm-judge": _read_judge,
}


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _detect(document: Any, text: str) -> int:  # noqa: ARG001
    items = document.get("graders", document) if isinstance(document, dict) else document
    item = items[0] if isinstance(items, list) and items else items
    is_umbraco = isinstance(item, dict) and any(str(key).casefold() == "gradertypeid" for key in item)
    return 2 if is_umbraco else 0


register(
    Format(
        "umbraco", "Umbraco.AI test graders", ".json", read, umbraco_write.write, _detect, failed_is_zero=True
    )
)
