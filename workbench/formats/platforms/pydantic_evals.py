"""Datasets of pydantic_evals in YAML and JSON: their evaluators as graders, those of a case for its row.

Evaluators compare the output of a task. A completion is text, so that `EqualsExpected`, `Equals` and `Contains` are the rules of
the workbench that give the same verdicts; numbers are compared as their JSON text. Evaluators of traces, durations and Python
types, and those of users' classes, are refused by name.

Source: pydantic_evals 2.62 (`evaluators/common.py`, `evaluators/agentic.py`), whose verdicts are in the tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared import Document, Format, Losses, Reading, register
from workbench.formats.shared.parsing import Node, parse_json
from workbench.formats.shared.unsupported import (
    add_gate_loss,
    add_kind_loss,
    check_entry,
    suite_name,
    unique,
    without_unused_settings,
)
from workbench.formats.shared.yaml_text import parse_yaml
from workbench.graders import Contains, ExactMatch, Grader
from workbench.graders.combine import Entry, ForRows
from workbench.judges import BinaryJudge
from workbench.run.suite import Suite

_TRACES = "it reads the trace of a task, which rows do not have; write a function of the row's columns: async def grade(thread)"
_REFUSED = {
    "IsInstance": "completions are text; wb.JsonSchema tests the types of JSON",
    "MaxDuration": "rows have no durations; compare a column in async def grade(thread)",
    "HasMatchingSpan": _TRACES,
    "ToolCorrectness": "wb.ToolCallMatch compares the tool calls of a conversation",
    "TrajectoryMatch": "wb.ToolCallMatch compares the tool calls of a conversation",
    "ArgumentCorrectness": _TRACES,
    "MaxToolCalls": _TRACES,
    "MaxModelRequests": _TRACES,
    "GEval": "it scores on a scale; write its criteria as wb.judges.ScoreJudge, or as wb.BinaryJudge(criteria)",
    "Python": "it evaluates Python; write the expression in async def grade(thread)",
}
"""Evaluators that are not read, and the way to bring their rule."""
_OWN_CLASS = "it is not one of pydantic_evals; write its evaluate(ctx) as async def grade(thread)"
_FIRST = {"Equals": "value", "Contains": "value", "LLMJudge": "rubric"}
"""The argument that the short form of an evaluator gives."""


def read(reading: Reading) -> Suite:
    """A suite with one entry per evaluator.

    Raises:
        FormatError: Another document, or an evaluator that is not read; with its place.
    """
    is_json = reading.text.lstrip()[:1] == "{"
    document = parse_json(reading.text, reading.where) if is_json else parse_yaml(reading.text, reading.where)
    root = Node(document, reading.where).only("$schema", "name", "cases", "evaluators", "report_evaluators")
    if root.has("report_evaluators"):
        reading.note("report_evaluators", "are not imported: they evaluate a whole report")
    entries: dict[str, Entry] = {}
    for node in root.items("evaluators") if root.has("evaluators") else ():
        name, grader = _evaluator(node, reading)
        name = unique(name, entries)
        entries[name] = Entry(grader, name)
    for kind, cases in _of_cases(root, reading).items():
        name = unique(kind, entries)
        entries[name] = Entry(ForRows(tuple(cases), name=name), name)
    if not entries:
        raise root.refuse(
            "the dataset has no evaluators",
            hint="its cases are rows: wb.read_samples reads the report of evaluate_sync()",
        )
    return Suite(entries.values(), name=suite_name(root.text("name", "") or "", entries))


def _of_cases(root: Node, reading: Reading) -> dict[str, list[dict[str, Any]]]:
    """The evaluators of cases by name, each with the row that it is for; the second one of a case has a number."""
    found: dict[str, list[dict[str, Any]]] = {}
    for case in root.items("cases") if root.has("cases") else ():
        case.only("name", "inputs", "metadata", "expected_output", "evaluators")
        taken: set[str] = set()
        for node in case.items("evaluators") if case.has("evaluators") else ():
            name, grader = _evaluator(node, reading)
            name = unique(name, taken)
            taken.add(name)
            found.setdefault(name, []).append({"when": _row_of(case), "grader": grader})
    return found


def _row_of(case: Node) -> dict[str, Any]:
    """The columns by which a case's row is recognised: its inputs, or its prompt if they are a text."""
    inputs = case.mapping().get("inputs")
    if isinstance(inputs, Mapping) and inputs:
        return {str(name): value for name, value in inputs.items()}
    if isinstance(inputs, str):
        return {"prompt": inputs}
    raise case.refuse(
        "a case with evaluators needs inputs that are a text or an object", found=type(inputs).__name__,
        hint="move its evaluators into `evaluators` of the dataset",
    )  # fmt: skip


def _evaluator(node: Node, reading: Reading) -> tuple[str, Grader]:
    """The name and the grader of an evaluator: "Name", {"Name": argument} or {"Name": {"argument": value}}."""
    value = node.value
    if isinstance(value, str):
        kind, arguments = value, Node({}, node.path)
    elif isinstance(value, Mapping) and len(value) == 1:
        kind = str(next(iter(value)))
        arguments = _arguments(kind, node.at(kind))
    else:
        raise node.refuse("an evaluator is a name, or a name with its arguments", expected="{Contains: text}")
    reader = _READERS.get(kind)
    if reader is None:
        raise node.refuse(
            f"the evaluator {kind} is not read", found=kind, expected=", ".join(_READERS),
            hint=_REFUSED.get(kind, _OWN_CLASS),
        )  # fmt: skip
    name = arguments.text("evaluation_name", "") or kind
    return name, reader(arguments, name, reading)


def _arguments(kind: str, node: Node) -> Node:
    """The arguments by name; the short form gives the first one, also if it is an object without those names."""
    known = {"value", "case_sensitive", "as_strings", "evaluation_name", "rubric"}
    if isinstance(node.value, Mapping) and (kind not in _FIRST or known & set(node.value)):
        return node
    if isinstance(node.value, list) and len(node.value) == 1 and kind in _FIRST:
        return Node({_FIRST[kind]: node.value[0]}, node.path)
    return Node({_FIRST.get(kind, "evaluation_name"): node.value}, node.path)


def _equals_expected(node: Node, name: str, _: Reading) -> Grader:
    node.only("evaluation_name")
    return ExactMatch(trim=False, on_no_reference="skip", name=name)


def _equals(node: Node, name: str, _: Reading) -> Grader:
    node.only("value", "evaluation_name")
    return ExactMatch(_text(node), trim=False, name=name)


def _contains(node: Node, name: str, _: Reading) -> Grader:
    node.only("value", "case_sensitive", "as_strings", "evaluation_name")
    value = node.mapping().get("value")
    if not isinstance(value, str) and not node.boolean("as_strings", default=False):
        raise node.refuse(
            "Contains with a value that is not a text tests a list or an object", found=repr(value)[:80],
            hint="completions are text: set as_strings: true, or test JSON with wb.JsonSchema",
        )  # fmt: skip
    return Contains(str(value), ignore_case=not node.boolean("case_sensitive", default=True), name=name)


def _text(node: Node) -> str:
    """The text that a completion equals if its output equals the value."""
    value = node.mapping().get("value")
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping | list) or value is None:
        raise node.refuse(
            "Equals with a list, an object or null is not read", found=repr(value)[:80],
            hint="completions are text: test JSON with wb.JsonSchema, such as {'const': value}",
        )  # fmt: skip
    return json.dumps(value)


def _judge(node: Node, name: str, reading: Reading) -> Grader:
    node.only(
        "rubric",
        "model",
        "include_input",
        "include_expected_output",
        "model_settings",
        "score",
        "assertion",
        "evaluation_name",
    )
    if node.has("score") and node.mapping()["score"] is not False:
        raise node.at("score").refuse(
            "an LLMJudge with a score is not read",
            found="score",
            hint="remove `score`, or write a wb.judges.ScoreJudge",
        )
    provider, _, model = (node.text("model", "") or "").rpartition(":")
    if model and provider not in ("", "openai", "openai-chat", "openai-responses"):
        reading.note(
            node.path, f"the model of {provider} is not imported: pass model= and base_url= to the judge"
        )
        model = ""
    if node.has("model_settings"):
        reading.note(node.path, "model_settings are not imported")
    reading.note(node.path, "the judge gets the workbench's prompt, which contains the row's prompt")
    return BinaryJudge(node.text("rubric"), model=model, name=name)


_READERS: dict[str, Callable[[Node, str, Reading], Grader]] = {
    "EqualsExpected": _equals_expected, "Equals": _equals, "Contains": _contains, "LLMJudge": _judge,
}  # fmt: skip


def write(suite: Suite, losses: Losses) -> Document:
    """A dataset without cases. It supports exact matches without trimming, `Contains` and judges of one criterion."""
    suite = without_unused_settings(suite, losses, keeps=("name",))
    add_gate_loss(suite, losses)
    if suite.combine is not None:
        losses.add("", "combine", "evaluators are not combined", hint="export as native")
    found = [record for entry in suite.entries for record in _record(entry, losses)]
    if not found:
        raise FormatError(
            "no grader can be written",
            hint="pydantic_evals has Equals, EqualsExpected, Contains and LLMJudge",
        )
    name = {"name": suite.name} if suite.name else {}
    return Document(
        json.dumps({**name, "cases": [], "evaluators": found}, indent=2, ensure_ascii=False) + "\n"
    )


def _record(entry: Entry, losses: Losses) -> Iterator[dict[str, Any]]:
    grader = entry.grader
    plain: Grader | None = None
    kind, values = "", dict[str, Any]()
    if type(grader) is ExactMatch:
        kind, values = (
            ("EqualsExpected", {}) if grader.expected is None else ("Equals", {"value": grader.expected})
        )
        plain = ExactMatch(
            grader.expected, trim=False, on_no_reference=grader.on_no_reference, name=grader.name
        )
    elif type(grader) is Contains and grader.expected is not None:
        kind, values = "Contains", {"value": grader.expected, "case_sensitive": not grader.ignore_case}
        plain = Contains(grader.expected, ignore_case=grader.ignore_case, name=grader.name)
    elif type(grader) is BinaryJudge:
        kind, values = "LLMJudge", {"rubric": grader.criteria, "include_input": True}
        plain = BinaryJudge(grader.criteria, model=grader.model, name=grader.name)
    if plain is None or plain != grader:
        hint = "write it as a class of pydantic_evals, or export as native; exact matches need trim=False"
        add_kind_loss(entry, losses, hint=hint)
        return
    if check_entry(entry, losses):
        yield {kind: {**values, **({} if kind == "LLMJudge" else {"evaluation_name": entry.name})}}


def _detect(document: Any, text: str) -> int:  # noqa: ARG001 (the same for every format)
    if (
        not isinstance(document, Mapping)
        or not isinstance(document.get("cases"), list)
        or "testing_criteria" in document
    ):
        return 0
    cases = [case for case in document["cases"] if isinstance(case, Mapping)]
    if len(cases) < len(document["cases"]) or any({"assertions", "output"} & set(case) for case in cases):
        return 0
    is_case = all("inputs" in case for case in cases)
    has_evaluators = isinstance(document.get("evaluators"), list) or any(
        "evaluators" in case for case in cases
    )
    return 2 if is_case and has_evaluators else 0


_EXAMPLE = """\
name: rivers
cases:
- name: prague
  inputs: Which river flows through Prague?
  expected_output: Vltava
evaluators:
- EqualsExpected
- Contains: {value: vltava, case_sensitive: false}
"""

register(
    Format(
        "pydantic-evals",
        "pydantic_evals datasets",
        ".yaml",
        read,
        write,
        _detect,
        variants={".json": write},
        handwritten=True,
        example=_EXAMPLE,
        label="pydantic_evals",
    )
)
