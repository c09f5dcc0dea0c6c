"""vLLora's GraderConfig (one grader) and MultiGraderConfig (several, with weights that sum to 1).

Source: vLLora's fine-tuning documents, *06 Grader Setup*, commits 540c0b7 to 33cd5da.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from workbench.core.errors import FormatError
from workbench.formats.shared import Document, Format, Losses, Reading, register
from workbench.formats.shared.parsing import Node, parse_json, to_json
from workbench.formats.shared.unsupported import (
    add_gate_loss,
    add_kind_loss,
    check_entry,
    check_fields,
    note_limits,
    rule_text,
    settings_of_code,
    settings_without_effect,
    suite_name,
    unique,
    without_unused_settings,
)
from workbench.graders import Grader, ScriptGrader
from workbench.graders.combine import Combined, CombiningRule, Entry, Mean, Sum
from workbench.graders.portable import portable_javascript
from workbench.graders.rule_grader import RuleGrader
from workbench.judges import SchemaJudge
from workbench.run.suite import Suite

_KEYS = (
    "type",
    "name",
    "description",
    "prompt",
    "outputSchema",
    "model",
    "temperature",
    "maxTokens",
    "script",
    "weight",
)
_WAY_OUT = "vLLora has JavaScript scripts and LLM judges with an output schema; write it as a ScriptGrader"
_RULE = Sum(strict=True, weights_sum_to_one=True)


def read(reading: Reading) -> Suite:
    """A suite from a GraderConfig, a MultiGraderConfig, or a list of GraderConfigs with weights.

    Raises:
        FormatError: With the path inside the document; weights that do not sum to 1.
    """
    root = Node(parse_json(reading.text, reading.where), reading.where)
    if isinstance(root.value, Mapping) and "graders" not in root.value:
        return Suite(Entry(_grader(root, "", reading)))
    nodes, weights = (
        (root.items(), None) if isinstance(root.value, list) else _nodes_and_weights(root, reading)
    )
    entries: list[Entry] = []
    for at, node in enumerate(nodes):
        node.mapping()
        weight = weights[at] if weights is not None else node.number("weight", None)
        if weight is None:
            raise node.refuse(
                "a weight is missing", expected="weights: [...] or a weight in every grader, summing to 1"
            )
        name = unique(
            node.text("name", "") or f"{node.value.get('type', 'grader')} {at + 1}", [e.name for e in entries]
        )
        entries.append(Entry(_grader(node, name, reading), name, weight=weight))
    if not entries:
        raise root.refuse("there are no graders", expected="one grader or more")
    try:
        return Suite(entries, combine=_RULE, name=suite_name("", [entry.name for entry in entries]))
    except ValueError as error:
        raise root.refuse("invalid weights", found=str(error)) from error


def _nodes_and_weights(root: Node, reading: Reading) -> tuple[list[Node], list[float] | None]:
    root.only("graders", "weights", "name", "description")
    for key in ("name", "description"):
        if root.text(key, ""):
            reading.note(key, "a suite's title is not imported")
    nodes, weights = root.items("graders"), root.items("weights")
    if not root.has("weights"):
        return nodes, None
    if len(nodes) != len(weights):
        raise root.at("weights").refuse(
            "there must be one weight per grader", found=f"{len(weights)} weights", expected=str(len(nodes))
        )
    return nodes, [_weight(weight_node) for weight_node in weights]


def _weight(node: Node) -> float:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float) or not 0 <= node.value <= 1:
        raise node.refuse("a weight must be a number from 0 to 1", found=repr(node.value))
    return float(node.value)


def _grader(node: Node, name: str, reading: Reading) -> Grader:
    node.only(*_KEYS)
    titles: Any = {
        "name": name or node.text("name", "") or "",
        "description": node.text("description", "") or "",
    }
    if node.choice("type", ("llm-judge", "script")) == "script":
        return _script(node, titles, reading)
    schema = node.at("outputSchema")
    properties = schema.mapping().get("properties")
    if isinstance(properties, Mapping) and "score" not in properties:
        raise schema.refuse(
            "the output schema has no score, so no reply could contain one", found=", ".join(map(str, properties)),
            expected="properties: {score: {type: number, ...}, ...}",
        )  # fmt: skip
    try:
        return SchemaJudge(
            prompt=node.text("prompt"), output_schema=dict(schema.value), model=node.text("model", "") or "",
            temperature=float(node.number("temperature", 0)), max_tokens=node.integer("maxTokens", 256), platform="vllora", **titles,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        place = schema if "output_schema" in str(error) else node
        raise place.refuse("cannot create this judge", found=" ".join(str(error).split())) from error


def _script(node: Node, titles: Any, reading: Reading) -> Grader:
    for key in ("prompt", "outputSchema"):
        if node.has(key):
            raise node.at(key).refuse("a script does not have this key", expected="script")
    try:
        grader = ScriptGrader.from_source(node.text("script"), imported=True, **titles)
    except ValueError as error:
        raise node.at("script").refuse(
            "cannot capture the script", found=str(error).splitlines()[0]
        ) from error
    return grader.trusted() if reading.trust else grader


def write(suite: Suite, losses: Losses) -> Document:
    """A GraderConfig for one entry, a MultiGraderConfig for several."""
    suite = without_unused_settings(suite, losses)
    entries, rule = suite.entries, suite.combine
    if len(entries) == 1 and isinstance(only := entries[0].grader, Combined) and rule is None:
        if not check_entry(entries[0], losses):
            raise FormatError("no grader can be written", hint=_WAY_OUT)
        entries, rule = only.entries, only.combine
    records = [(entry, record) for entry in entries if (record := _record(entry, losses)) is not None]
    if not records:
        raise FormatError("no grader can be written", hint=_WAY_OUT)
    add_gate_loss(suite, losses)
    if len(records) == 1 and rule is None:
        return Document(to_json(records[0][1]))
    weights = _weights([entry for entry, _ in records], rule, losses)
    return Document(to_json({"graders": [record for _, record in records], "weights": weights}))


def _weights(entries: list[Entry], rule: CombiningRule | None, losses: Losses) -> list[float]:
    """Weights that sum to 1; a mean's are normalised."""
    total = sum(entry.weight for entry in entries)
    # Twelve digits print plainly and still sum to 1 within the required 1e-6.
    weights = [round(entry.weight / total, 12) if total else 1 / len(entries) for entry in entries]
    terms = " + ".join(f"{weight:.3g} * {e.name}" for weight, e in zip(weights, entries, strict=True))
    instead = f"the weighted sum {terms}"[:300]
    if not isinstance(rule, Mean | Sum):
        problem = (
            "it combines several graders only as a weighted sum"
            if rule is None
            else f"it has no rule {rule.rule!r}"
        )
        losses.add("", "combine", problem, hint="use combine=Mean()", instead=instead)
    elif isinstance(rule, Sum) and abs(total - 1) > 1e-6:
        problem = f"the weights must sum to 1, and these sum to {total:g}"
        losses.add("", "weight", problem, hint="use combine=Mean()", instead=instead)
    return weights


def _record(entry: Entry, losses: Losses) -> dict[str, Any] | None:
    grader = entry.grader
    if not isinstance(grader, ScriptGrader | SchemaJudge | RuleGrader):
        add_kind_loss(entry, losses, hint=_WAY_OUT)
        return None
    if not check_entry(
        entry, losses, knows=("weight", *settings_without_effect(entry), *settings_of_code(entry))
    ):
        return None
    titles = {"name": entry.name, **({"description": grader.description} if grader.description else {})}
    if isinstance(grader, ScriptGrader):
        note_limits(grader, losses, entry.name)
        return {"type": "script", **titles, "script": grader.source.text}
    if isinstance(grader, SchemaJudge):
        return _judge(entry, grader, losses) | titles
    make = partial(portable_javascript, grader, negate=entry.negate)
    script = rule_text(make, entry, losses, hint=_WAY_OUT)
    return None if script is None else {"type": "script", **titles, "script": script}


def _judge(entry: Entry, grader: SchemaJudge, losses: Losses) -> dict[str, Any]:
    known = ("prompt", "output_schema", "model", "temperature", "max_tokens", "platform")
    check_fields(grader, losses, entry.name, knows=known)
    if grader.max_tokens is None:
        losses.add(entry.name, "max_tokens", "a reply there has a token limit, 256 by default",
                   hint="set max_tokens")  # fmt: skip
    if not grader.model:
        losses.note(entry.name, "model", "the judge has none, so vLLora chooses the model")
    return {
        "type": "llm-judge",
        "prompt": grader.prompt,
        "outputSchema": grader.output_schema,
        **({"model": grader.model} if grader.model else {}),
        "temperature": grader.temperature,
        **({} if grader.max_tokens is None else {"maxTokens": grader.max_tokens}),
    }


def _detect(document: Any, text: str) -> int:  # noqa: ARG001
    if isinstance(document, dict) and isinstance(document.get("graders"), list):
        item = document["graders"][0] if document["graders"] else {}
    else:
        item = document[0] if isinstance(document, list) and document else document
    return 2 if isinstance(item, dict) and item.get("type") in ("llm-judge", "script") else 0


register(Format("vllora", "vLLora grader configs", ".json", read, write, _detect))
