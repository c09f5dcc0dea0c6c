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

from workbench.core.errors import FormatError
from workbench.core.patterns import PatternError, dotnet_spelling
from workbench.formats.shared import Document, Format, Losses, Reading, register
from workbench.formats.shared.parsing import Node, parse_json, to_json
from workbench.formats.shared.unsupported import (
    add_gate_loss,
    add_kind_loss,
    binary,
    check_entry,
    check_fields,
    settings_without_effect,
    suite_name,
    unique,
    without_unused_settings,
)
from workbench.graders import Grader
from workbench.graders.combine import AllPass, CombiningRule, Entry
from workbench.graders.structure import Guardrail, JsonKeys, ToolCallMatch
from workbench.graders.text import Contains, ExactMatch, Regex
from workbench.graders.text.openai_text import StringCheck
from workbench.judges import CriteriaJudge, GuardrailJudge
from workbench.run.suite import Suite

MODES = {"Any": "any", "All": "all", "Exact": "exact", "None": "none"}
"""Umbraco's modes of a tool-call grader and the workbench's."""
_KEEPS = ("name", "description", "weight", "severity")
_WAY_OUT = "Umbraco has exact-match, contains, regex, json-schema (keys), tool-call, guardrail and llm-judge"


def write(suite: Suite, losses: Losses) -> Document:
    """A test's graders. It supports neither per-row references, nor code, nor other combining rules."""
    suite = _judged_there(without_unused_settings(suite, losses, keeps=_KEEPS), suite.combine, losses)
    records = [record for entry in suite.entries if (record := _record(entry, losses)) is not None]
    if not records:
        raise FormatError("no grader can be written", hint=_WAY_OUT)
    # A missing rule is not a loss: there a run passes by severity in any case.
    if suite.combine not in {None, AllPass()}:
        losses.add("", "combine", "a run passes if every Error-severity grader passes",
                   hint="use combine=AllPass()", instead="that every Error-severity grader must pass")  # fmt: skip
    add_gate_loss(suite, losses)
    titles = {"name": suite.name, "description": suite.description}
    return Document(to_json({**{key: text for key, text in titles.items() if text}, "graders": records}))


def _judged_there(suite: Suite, rule: CombiningRule | None, losses: Losses) -> Suite:
    """The suite if a rule over its one entry was omitted: there an Error that passes or not is the whole result."""
    if suite.combine is not None or rule is None:
        return suite
    entry = suite.entries[0]
    if not binary(entry.grader):
        return Suite(entry, combine=rule, gate=suite.gate, name=suite.name, description=suite.description)
    if entry.severity != "error":
        losses.note(
            entry.name,
            "severity",
            f"it is the whole score, and {entry.severity!r} would never block there",
        )
    return Suite(
        replace(entry, severity="error"), gate=suite.gate, name=suite.name, description=suite.description
    )


def _record(entry: Entry, losses: Losses) -> dict[str, Any] | None:
    # By the exact class, unlike other writers: Umbraco takes no code that could replace a subclass.
    writer = _WRITERS.get(type(entry.grader))
    if writer is None:
        add_kind_loss(entry, losses, hint=_WAY_OUT)
        return None
    check_entry(entry, losses, knows=("weight", "severity", "negate", *settings_without_effect(entry)))
    config = writer(entry, losses)
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


_Config = tuple[str, dict[str, Any]] | None


def _write_exact(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, ExactMatch)
    check_fields(grader, losses, entry.name, knows=("expected", "ignore_case", "trim"))
    if not grader.trim:
        losses.add(entry.name, "trim", "both sides are always trimmed", hint="set trim=True")
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


def _write_check(entry: Entry, losses: Losses) -> _Config:
    """A string check of the output against a constant, if Umbraco compares the same way."""
    grader = entry.grader
    assert isinstance(grader, StringCheck)
    check_fields(grader, losses, entry.name, knows=("operation", "input", "reference"))
    if grader.input.replace(" ", "") != "{{sample.output_text}}" or "{{" in grader.reference:
        losses.add(entry.name, "reference", "graders there compare the output with a constant",
                   hint="give the check a constant reference, or export as openai")  # fmt: skip
        return None
    if grader.operation not in {"like", "ilike"}:
        losses.add(entry.name, "operation", f"it has no {grader.operation!r}: exact-match trims both sides",
                   hint="use ExactMatch(trim=True), negated for ne")  # fmt: skip
        return None
    return "contains", {"searchPattern": grader.reference, "ignoreCase": grader.operation == "ilike"}


def _write_regex(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, Regex)
    check_fields(grader, losses, entry.name, knows=("pattern", "ignore_case", "multiline", "flavor"))
    pattern = _constant(entry, losses, "pattern", grader.pattern)
    if pattern is None:
        return None
    try:
        spelled = pattern if grader.flavor == "dotnet" else dotnet_spelling(pattern)
    except PatternError as error:
        losses.add(entry.name, "pattern", str(error), hint='spell it for .NET: flavor="dotnet"')
        return None
    return "regex", {"pattern": spelled, "ignoreCase": grader.ignore_case, "multiline": grader.multiline}


def _write_keys(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, JsonKeys)
    check_fields(grader, losses, entry.name, knows=("keys", "require_all"))
    keys = _joined(entry, losses, "keys", grader.keys)
    return "json-schema", {"expectedKeys": keys, "requireAllKeys": grader.require_all}


def _write_tools(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, ToolCallMatch)
    check_fields(grader, losses, entry.name, knows=("expected", "mode", "order", "ignore_case"))
    names = {mine: theirs for theirs, mine in MODES.items()}
    if not grader.ignore_case:
        losses.add(entry.name, "ignore_case", "tool names are always compared ignoring case",
                   hint="give the grader ignore_case=True")  # fmt: skip
    if grader.mode not in names:
        losses.add(
            entry.name,
            "mode",
            f"it has no mode {grader.mode!r}",
            hint="use mode='exact' (equal count, every name present)",
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
    return "guardrail", (
        {"evaluatorId": grader.evaluator, "evaluatorConfig": inner} if grader.evaluator else {}
    )


def _write_guardrail_judge(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, GuardrailJudge)
    check_fields(
        grader,
        losses,
        entry.name,
        knows=("criteria", "safety_threshold", "platform", "model"),
        hint="choose the model in an AI profile there",
    )
    _note_model(grader.model, entry.name, losses)
    inner = {"evaluationCriteria": grader.criteria, "threshold": grader.safety_threshold}
    return "guardrail", {"evaluatorId": "llm-judge", "evaluatorConfig": inner}


def _write_judge(entry: Entry, losses: Losses) -> _Config:
    grader = entry.grader
    assert isinstance(grader, CriteriaJudge)
    # The model is not in these files: a profile of the site names it.
    check_fields(
        grader, losses, entry.name, knows=("criteria", "pass_threshold", "profile_id", "platform", "model")
    )
    _note_model(grader.model, entry.name, losses)
    values = {"evaluationCriteria": grader.criteria, "passThreshold": grader.pass_threshold}
    return "llm-judge", {**values, **({"profileId": grader.profile_id} if grader.profile_id else {})}


def _note_model(model: str, name: str, losses: Losses) -> None:
    if model:
        losses.note(name, "model", f"{model!r} is not exported: an AI profile of the site selects the model")


_WRITERS: dict[type[Grader], Callable[[Entry, Losses], _Config]] = {
    ExactMatch: _write_exact,
    Contains: _write_contains,
    StringCheck: _write_check,
    Regex: _write_regex,
    JsonKeys: _write_keys,
    ToolCallMatch: _write_tools,
    Guardrail: _write_guardrail,
    GuardrailJudge: _write_guardrail_judge,
    CriteriaJudge: _write_judge,
}


def _constant(entry: Entry, losses: Losses, field: str, value: str | None) -> str | None:
    if value is None:
        losses.add(entry.name, field, "graders there compare with a constant, not with each row's reference",
                   hint=f"give {field} a text, or export as letta or openai")  # fmt: skip
    return value


def _joined(entry: Entry, losses: Losses, field: str, names: tuple[str, ...]) -> str:
    for name in names:
        if "," in name or name != name.strip() or not name:
            losses.add(entry.name, field, f"names are separated by commas there, and {name!r} contains one")
    return ",".join(names)


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


register(Format("umbraco", "Umbraco.AI test graders", ".json", read, write, _detect, failed_is_zero=True))
