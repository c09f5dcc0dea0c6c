"""Letta's gates: the `gate:` of a suite file, read and written.

Two forms. The single gate (0.4 to 0.6) has no `kind` and calls its aggregate `metric`. From 0.7 to 0.20 a
gate has a `kind`: simple, weighted_average or logical. The conditions of a logical gate are `metric_key`,
`aggregation`, `op`, `value` and optionally `pass_threshold`, without a `kind`; only a nested logical gate has one.
Gates of the other kinds and single gates inside a logical one are also read, though Letta has no such files.

Source: letta-evals 0.6.1 and 0.7 to 0.20 (`models.py`: GateSpec, SimpleCondition, LogicalGateSpec).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from workbench.formats.shared import Losses
from workbench.formats.shared.parsing import Node
from workbench.graders.combine import Gate, LogicalGate, SimpleGate, WeightedGate
from workbench.graders.combine.gates import AGGREGATIONS, OPERATORS
from workbench.run.suite import Suite

_KINDS = ("simple", "weighted_average", "logical")
_SINGLE = ("metric", "metric_key", "op", "value", "pass_op", "pass_value")
_CONDITION = ("metric_key", "aggregation", "op", "value", "pass_threshold")

Spec = dict[str, Any]


def read_gate(node: Node, metrics: Sequence[str]) -> Gate:
    """The gate of a suite.

    Args:
        node: The value of `gate`.
        metrics: The names of the suite's graders; the first is the default of a gate without a metric.

    Raises:
        FormatError: With the path inside the document; also for an unknown metric.
    """
    gate = _gate(node, metrics)
    if missing := [name for name in gate.metrics if name not in metrics]:
        raise node.refuse(
            "the gate reads an unknown metric", found=repr(missing[0]), expected=", ".join(metrics)
        )
    return gate


def _gate(node: Node, metrics: Sequence[str]) -> Gate:
    kind = _kind(node)
    if not kind and node.has("aggregation"):
        raise node.refuse(
            "a gate with an aggregation has a kind",
            found=", ".join(node.mapping()),
            expected="kind: simple",
        )
    if not kind:
        return _single(node)
    return _logical(node, metrics) if kind == "logical" else _of_kind(node, kind)


def _kind(node: Node) -> str:
    """A gate's kind; if omitted, by the key that only one kind has; "" for a single gate or condition."""
    if node.has("kind"):
        return str(node.choice("kind", _KINDS))
    return "logical" if node.has("conditions") else "weighted_average" if node.has("weights") else ""


def _single(node: Node) -> SimpleGate:
    return SimpleGate(
        metric_key=node.only(*_SINGLE).text("metric_key", "") or "", aggregation=node.choice("metric", ("avg_score", "accuracy"), "avg_score"),
        op=node.choice("op", OPERATORS), value=float(node.number("value")), pass_op=node.choice("pass_op", OPERATORS, None),
        pass_value=node.number("pass_value", None),
    )  # fmt: skip


def _of_kind(node: Node, kind: str) -> Gate:
    shared = {"kind", "aggregation", "op", "value", "pass_threshold"}
    node.only(*shared, *({"metric_key", "pass_op", "pass_value"} if kind == "simple" else {"weights"}))
    values = {key: value for key, value in node.mapping().items() if key != "kind" and value is not None}
    try:
        return SimpleGate(**values) if kind == "simple" else WeightedGate(**values)
    except (TypeError, ValueError) as error:
        raise node.refuse("cannot read the gate", found=str(error)) from error


def _logical(node: Node, metrics: Sequence[str]) -> LogicalGate:
    node.only("kind", "operator", "conditions")
    operator = node.choice("operator", ("and", "or"))
    conditions = tuple(_inner(condition, metrics) for condition in node.items("conditions"))
    if not conditions:
        raise node.refuse("cannot read the gate", found="no conditions", expected="one condition or more")
    return LogicalGate(operator=operator, conditions=conditions)


def _inner(node: Node, metrics: Sequence[str]) -> Gate:
    """One condition: in Letta's form, or as a complete gate."""
    new = not _kind(node) and (node.has("aggregation") or node.has("pass_threshold"))
    gate = _condition(node) if new else _gate(node, metrics)
    return _inside(gate, metrics[0]) if isinstance(gate, SimpleGate) else gate


def _condition(node: Node) -> SimpleGate:
    return SimpleGate(
        metric_key=node.only(*_CONDITION).text("metric_key"), aggregation=node.choice("aggregation", AGGREGATIONS),
        op=node.choice("op", OPERATORS), value=float(node.number("value")), pass_threshold=node.number("pass_threshold", None),
    )  # fmt: skip


def _inside(gate: SimpleGate, first_entry: str) -> SimpleGate:
    """A gate that gives the same verdict inside a logical one, as a condition if possible.

    A logical gate has no rule for single samples except the pass threshold of an accuracy.
    """
    op, mark = gate.sample_rule
    counted = gate.aggregation == "accuracy" and gate.pass_value is not None
    # A condition has one threshold, passed at or above it: other operators remain, for the writer to refuse.
    if counted and gate.pass_threshold is None and op != "gte":
        return replace(gate, metric_key=gate.metric_key or first_entry)
    limit = mark if counted else gate.pass_threshold
    return replace(
        gate, metric_key=gate.metric_key or first_entry, pass_op=None, pass_value=None, pass_threshold=limit
    )


def written_gate(suite: Suite, graders: Collection[str], losses: Losses) -> Spec:
    """`{"gate": ...}` of a suite that has one; {} if it is not supported, which is reported as a loss.

    Args:
        suite: The suite to write.
        graders: Names of its graders that are written.
        losses: Collects the report.
    """
    gate, first_entry = suite.gate, suite.entries[0].name
    assert gate is not None
    reads = {name or first_entry for name in _read_by(gate)}
    if missing := sorted(reads - set(graders)):
        losses.add("", "gate", f"it reads {missing[0]!r}, which is not written",
                   hint="gate on another metric")  # fmt: skip
        return {}
    if isinstance(gate, LogicalGate) and not _can_be_said(gate, first_entry, losses):
        return {}
    return {"gate": _spec(gate, first_entry)}


def _read_by(gate: Gate) -> Iterator[str]:
    """The metrics a gate reads, "" for the first one."""
    if isinstance(gate, LogicalGate):
        for condition in gate.conditions:
            yield from _read_by(condition)
    else:
        yield from [gate.metric_key] if isinstance(gate, SimpleGate) else gate.metrics


def _can_be_said(gate: LogicalGate, first_entry: str, losses: Losses) -> bool:
    """Whether all conditions mean the same there; a weighted average is noted, because Letta reads none there."""
    for condition in gate.conditions:
        if isinstance(condition, LogicalGate) and not _can_be_said(condition, first_entry, losses):
            return False
        if isinstance(condition, WeightedGate):
            losses.note(
                "", "gate", "Letta's releases read plain conditions and logical gates inside a logical gate, and refuse a "
                "weighted average there: only the workbench reads this one",
            )  # fmt: skip
        if isinstance(condition, SimpleGate) and _inside(condition, first_entry).pass_value is not None:
            op, mark = condition.sample_rule
            losses.add("", "gate", f"a condition counts the samples at or above a threshold, and this one those with {op} {mark:g}",
                       hint='use pass_op="gte"')  # fmt: skip
            return False
    return True


def _spec(gate: Gate, first_entry: str) -> Spec:
    """The seed's single gate if it can express the suite's gate, else the later release's."""
    if isinstance(gate, SimpleGate):
        return _simple(gate)
    if isinstance(gate, WeightedGate):
        limit = {} if gate.pass_threshold is None else {"pass_threshold": gate.pass_threshold}
        return {
            "kind": gate.kind, "aggregation": gate.aggregation, "weights": dict(gate.weights), "op": gate.op,
            "value": gate.value, **limit,
        }  # fmt: skip
    assert isinstance(gate, LogicalGate)
    conditions = [
        _written_condition(_inside(condition, first_entry))
        if isinstance(condition, SimpleGate)
        else _spec(condition, first_entry)
        for condition in gate.conditions
    ]
    return {"kind": "logical", "operator": gate.operator, "conditions": conditions}


def _simple(gate: SimpleGate) -> Spec:
    single = gate.aggregation in {"avg_score", "accuracy"} and gate.pass_threshold is None
    values = {
        "metric" if single else "aggregation": gate.aggregation, "metric_key": gate.metric_key or None, "op": gate.op,
        "value": gate.value, "pass_op": gate.pass_op, "pass_value": gate.pass_value, "pass_threshold": gate.pass_threshold,
    }  # fmt: skip
    return ({} if single else {"kind": "simple"}) | _given(values)


def _written_condition(gate: SimpleGate) -> Spec:
    return _given({name: getattr(gate, name) for name in _CONDITION})


def _given(values: Spec) -> Spec:
    return {key: value for key, value in values.items() if value is not None}
