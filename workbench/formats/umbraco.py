"""Umbraco.AI's test graders: `{"graders": [{"graderTypeId": ..., "name": ..., "config": {...}}]}`.

Keys are read without regard to case, as upstream reads them. A suite that is read keeps Umbraco's rules:
every entry of severity Error must pass, a grader that fails counts as 0.0, and negation turns such a
failure into a pass. Weights are kept; Umbraco stores them and uses them in no calculation.

Source: Umbraco.AI at 237c63d, `Umbraco.AI.Core/Tests`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.formats.base import Document, Format, Losses, Reading, register
from workbench.formats.limits import check_entry, check_fields, no_kind, unique
from workbench.formats.node import Node
from workbench.formats.parsing import parse_json, to_json
from workbench.graders import Grader
from workbench.graders.combine import AllPass, Entry
from workbench.graders.guardrail import Guardrail
from workbench.graders.structure import JsonKeys
from workbench.graders.text import Contains, ExactMatch, Regex
from workbench.graders.tools import ToolCall
from workbench.judges import CriteriaJudge, GuardrailJudge
from workbench.patterns import dotnet_spelling
from workbench.suite import Suite

__all__ = ["read", "write"]

_SECONDS = 5.0
_KEYS = ("graderTypeId", "name", "description", "config", "negate", "severity", "weight")
_SEVERITIES = ("Error", "Warning", "Info")
_MODES = {"Any": "any", "All": "all", "Exact": "exact", "None": "none"}
_WAY_OUT = "Umbraco has exact-match, contains, regex, json-schema (keys), tool-call, guardrail and llm-judge"


def read(reading: Reading) -> Suite:
    """A suite out of a test's graders, a list of them, or one grader.

    Raises:
        FormatError: With the path inside the document.
    """
    root = Node(parse_json(reading.text, reading.where), reading.where, fold=True)
    entries: list[Entry] = []
    for node in _graders(root):
        entry = _entry(node)
        name = unique(entry.name, [one.name for one in entries])
        entries.append(entry if name == entry.name else _renamed(entry, name))
    if not entries:
        raise root.refuse("there are no graders", expected='"graders": [...], at least one')
    name = root.text("name", "") if isinstance(root.value, dict) and root.has("graders") else ""
    return Suite(entries, combine=AllPass(), name=name if name not in [e.name for e in entries] else "")


def _graders(root: Node) -> list[Node]:
    if isinstance(root.value, list):
        return root.items()
    if root.has("graderTypeId"):
        return [root]
    return root.only("graders", "name", "description").items("graders")


def _renamed(entry: Entry, name: str) -> Entry:
    from dataclasses import replace

    return replace(entry, name=name)


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


def _read_exact(config: Node, names: dict[str, str]) -> Grader:
    config.only("expectedValue", "ignoreCase")
    expected = config.text("expectedValue", "")
    return ExactMatch(expected=expected, ignore_case=config.boolean("ignoreCase", True), **names)


def _read_contains(config: Node, names: dict[str, str]) -> Grader:
    config.only("searchPattern", "ignoreCase")
    expected = config.text("searchPattern", "")
    return Contains(expected=expected, ignore_case=config.boolean("ignoreCase", True), **names)


def _read_regex(config: Node, names: dict[str, str]) -> Grader:
    config.only("pattern", "ignoreCase", "multiline")
    return Regex(
        pattern=config.text("pattern", ""), ignore_case=config.boolean("ignoreCase", True),
        multiline=config.boolean("multiline", False), flavor="dotnet", bad_pattern="no_match", seconds=_SECONDS, **names,
    )  # fmt: skip


def _read_keys(config: Node, names: dict[str, str]) -> Grader:
    config.only("expectedKeys", "requireAllKeys")
    keys = _words(config.text("expectedKeys", ""))
    return JsonKeys(keys=keys, require_all=config.boolean("requireAllKeys", True), **names)


def _read_tools(config: Node, names: dict[str, str]) -> Grader:
    config.only("expectedTools", "validationMode", "validateOrder")
    mode = config.choice("validationMode", _MODES, "Any")
    expected = _words(config.text("expectedTools", ""))
    return ToolCall(
        expected=expected, mode=_MODES[mode], order=config.boolean("validateOrder", False), **names
    )


def _read_guardrail(config: Node, names: dict[str, str]) -> Grader:
    config.only("evaluatorId", "evaluatorConfig")
    which = config.choice("evaluatorId", ("regex", "contains", "llm-judge", ""), "")
    inner = config.at("evaluatorConfig")
    inner = Node({}, inner.path, fold=True) if inner.value is None else inner
    if which == "llm-judge":
        inner.only("profileId", "evaluationCriteria", "safetyCriteria", "threshold")
        given = inner.text("evaluationCriteria", None) or inner.text("safetyCriteria", None)
        criteria = {"criteria": given} if given else {}
        return GuardrailJudge(
            threshold=float(inner.number("threshold", 0.7)), rules="umbraco", **criteria, **names
        )
    inner.only("pattern", "searchPattern", "ignoreCase", "multiline")
    return Guardrail(
        evaluator=which, pattern=inner.text("searchPattern" if which == "contains" else "pattern", ""),
        ignore_case=inner.boolean("ignoreCase", True), multiline=inner.boolean("multiline", False), seconds=_SECONDS,
        **names,
    )  # fmt: skip


def _read_judge(config: Node, names: dict[str, str]) -> Grader:
    config.only("profileId", "evaluationCriteria", "passThreshold")
    given = config.text("evaluationCriteria", None)
    return CriteriaJudge(
        **({"criteria": given} if given else {}), pass_threshold=float(config.number("passThreshold", 0.7)),
        profile_id=config.text("profileId", None), rules="umbraco", **names,
    )  # fmt: skip


_READERS: dict[str, Callable[[Node, dict[str, str]], Grader]] = {
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


def write(suite: Suite, losses: Losses) -> Document:
    """A test's graders. Per-row references, code and other combining rules have no place there."""
    if suite.combine not in {None, AllPass()}:
        losses.add("", "combine", "a run passes when every Error-severity grader passes, nothing else",
                   way_out="use combine=AllPass()")  # fmt: skip
    if suite.gate is not None:
        losses.add("", "gate", "there are no gates over a run", way_out="export as letta")
    records = [record for entry in suite.entries if (record := _record(entry, losses)) is not None]
    return Document(to_json({**({"name": suite.name} if suite.name else {}), "graders": records}))


def _record(entry: Entry, losses: Losses) -> dict[str, Any] | None:
    check_entry(entry, losses, knows=("weight", "severity", "negate", *_harmless(entry)))
    writer = _WRITERS.get(type(entry.grader))
    config = None if writer is None else writer(entry, losses)
    if writer is None:
        no_kind(entry, losses, way_out=_WAY_OUT)
    if config is None:
        return None
    kind, values = config
    return {
        "graderTypeId": kind,
        "name": entry.name,
        **({"description": entry.grader.description} if entry.grader.description else {}),
        "config": values,
        "negate": entry.negate,
        "severity": entry.severity.capitalize(),
        "weight": entry.weight,
    }


def _harmless(entry: Entry) -> tuple[str, ...]:
    """A threshold above 0 and up to 1 changes nothing where scores are 0 and 1; a judge's is its own field."""
    limit = entry.pass_threshold
    binary = not isinstance(entry.grader, CriteriaJudge | GuardrailJudge)
    return ("pass_threshold",) if limit is not None and binary and 0 < limit <= 1 else ()


_Config = tuple[str, dict[str, Any]] | None


def _write_exact(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, ExactMatch)
    check_fields(grader, losses, entry.name, knows=("expected", "ignore_case", "trim"))
    if not grader.trim:
        losses.add(entry.name, "trim", "both sides are always trimmed", way_out="set trim=True")
    expected = _constant(entry, losses, "expected", grader.expected)
    return (
        None
        if expected is None
        else ("exact-match", {"expectedValue": expected, "ignoreCase": grader.ignore_case})
    )


def _write_contains(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, Contains)
    check_fields(grader, losses, entry.name, knows=("expected", "ignore_case"))
    expected = _constant(entry, losses, "expected", grader.expected)
    return (
        None
        if expected is None
        else ("contains", {"searchPattern": expected, "ignoreCase": grader.ignore_case})
    )


def _write_regex(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, Regex)
    check_fields(grader, losses, entry.name, knows=("pattern", "ignore_case", "multiline", "flavor"))
    pattern = _constant(entry, losses, "pattern", grader.pattern)
    if pattern is None:
        return None
    spelled = pattern if grader.flavor == "dotnet" else dotnet_spelling(pattern)
    return "regex", {"pattern": spelled, "ignoreCase": grader.ignore_case, "multiline": grader.multiline}


def _write_keys(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, JsonKeys)
    check_fields(grader, losses, entry.name, knows=("keys", "require_all"))
    keys = _joined(entry, losses, "keys", grader.keys)
    return "json-schema", {"expectedKeys": keys, "requireAllKeys": grader.require_all}


def _write_tools(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, ToolCall)
    check_fields(grader, losses, entry.name, knows=("expected", "mode", "order", "ignore_case"))
    names = {mine: theirs for theirs, mine in _MODES.items()}
    if not grader.ignore_case:
        losses.add(entry.name, "ignore_case", "tool names are always compared ignoring case")
    if grader.mode not in names:
        losses.add(
            entry.name,
            "mode",
            f"there is no mode {grader.mode!r}",
            way_out="use mode='exact' (equal count, every name present)",
        )
        return None
    expected = _joined(entry, losses, "expected", grader.expected)
    return "tool-call", {
        "expectedTools": expected,
        "validationMode": names[grader.mode],
        "validateOrder": grader.order,
    }


def _write_guardrail(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, Guardrail)
    check_fields(grader, losses, entry.name, knows=("evaluator", "pattern", "ignore_case", "multiline"))
    key = "searchPattern" if grader.evaluator == "contains" else "pattern"
    inner: dict[str, Any] = {key: grader.pattern, "ignoreCase": grader.ignore_case}
    inner |= {"multiline": True} if grader.multiline else {}
    return "guardrail", {
        "evaluatorId": grader.evaluator,
        "evaluatorConfig": inner,
    } if grader.evaluator else {}


def _write_guardrail_judge(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, GuardrailJudge)
    check_fields(
        grader,
        losses,
        entry.name,
        knows=("criteria", "threshold", "rules", "model"),
        way_out="the model is chosen by an AI profile there",
    )
    inner = {"evaluationCriteria": grader.criteria, "threshold": grader.threshold}
    return "guardrail", {"evaluatorId": "llm-judge", "evaluatorConfig": inner}


def _write_judge(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, CriteriaJudge)
    # The model is not in these files: a profile of the site names it.
    check_fields(
        grader, losses, entry.name, knows=("criteria", "pass_threshold", "profile_id", "rules", "model")
    )
    values = {"evaluationCriteria": grader.criteria, "passThreshold": grader.pass_threshold}
    return "llm-judge", {**values, **({"profileId": grader.profile_id} if grader.profile_id else {})}


_WRITERS: dict[type[Grader], Callable[[Entry, Losses], _Config]] = {
    ExactMatch: _write_exact,
    Contains: _write_contains,
    Regex: _write_regex,
    JsonKeys: _write_keys,
    ToolCall: _write_tools,
    Guardrail: _write_guardrail,
    GuardrailJudge: _write_guardrail_judge,
    CriteriaJudge: _write_judge,
}


def _constant(entry: Entry, losses: Losses, field: str, value: str | None) -> str | None:
    if value is None:
        losses.add(entry.name, field, "graders there compare with a constant, not with each row's reference",
                   way_out=f"give {field} a text, or export as letta or openai")  # fmt: skip
    return value


def _joined(entry: Entry, losses: Losses, field: str, names: tuple[str, ...]) -> str:
    for name in names:
        if "," in name or name != name.strip() or not name:
            losses.add(
                entry.name, field, f"names are separated by commas there, and {name!r} would not survive that"
            )
    return ",".join(names)


def _detect(document: Any, text: str) -> int:  # noqa: ARG001
    items = document.get("graders") if isinstance(document, dict) else document
    first = (
        document
        if isinstance(document, dict) and "graders" not in document
        else (items or [None])[0]
        if isinstance(items, list)
        else None
    )
    return (
        2
        if isinstance(first, dict)
        and any(key.lower() == "gradertypeid" for key in first if isinstance(key, str))
        else 0
    )


register(Format("umbraco", "Umbraco.AI test graders", ".json", read, write, _detect))
