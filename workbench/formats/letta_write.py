"""Suites as Letta Evals' YAML: the writing half of `letta.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.errors import FormatError
from workbench.extractors import Extractor
from workbench.formats.base import Document, Losses
from workbench.formats.limits import check_entry, check_fields, identifier, no_kind
from workbench.formats.parsing import to_json
from workbench.formats.shims import check_calls, check_reads, wrap
from workbench.graders import FunctionGrader, Grader
from workbench.graders.combine import Entry, Gate, LogicalGate, SimpleGate, WeightedGate
from workbench.graders.portable import portable
from workbench.graders.text import AsciiPrintable, CodeGrader, Contains, ExactMatch, Regex
from workbench.graders.turns import PerTurn
from workbench.judges import AgentJudge, RubricJudge
from workbench.suite import Suite

__all__ = ["write"]

_WAY_OUT = (
    "Letta has exact_match, contains, regex_match, ascii_printable_only, your own functions and rubric judges"
)
_HEAD = "# Written by grader workbench. Add `dataset:` and `target:` to run it with Letta Evals.\n"

Spec = dict[str, Any]
Files = dict[str, str]


def write(suite: Suite, losses: Losses) -> Document:
    """A suite file with graders and gate; code and agents go into files beside it."""
    if suite.combine is not None:
        losses.add("", "combine", "there is no score of a sample made of several graders, only gates over a run",
                   way_out="use gate=WeightedGate(...), or export as umbraco, vllora or openai")  # fmt: skip
    files: Files = {}
    graders = {
        entry.name: spec for entry in suite.entries if (spec := _spec(entry, losses, files)) is not None
    }
    if not graders:
        raise FormatError("nothing is left to write", hint=_WAY_OUT)
    told = {"name": suite.name, "description": suite.description}
    document = {key: value for key, value in told.items() if value} | {"graders": graders}
    if suite.gate is not None:
        document["gate"] = _gate(suite.gate)
    return Document(_HEAD + _yaml(document), files)


def _spec(entry: Entry, losses: Losses, files: Files) -> Spec | None:
    limit = entry.pass_threshold
    harmless = limit is not None and 0 < limit <= 1 and isinstance(entry.grader, CodeGrader)
    check_entry(entry, losses, knows=("extractor", *(["pass_threshold"] if harmless else [])))
    grader = entry.grader.grader if isinstance(entry.grader, PerTurn) else entry.grader
    writer = next((_WRITERS[cls] for cls in type(grader).__mro__ if cls in _WRITERS), None)
    spec = None if writer is None else writer(replace(entry, grader=grader), losses, files)
    if writer is None:
        no_kind(entry, losses, way_out=_WAY_OUT)
    if spec is None:
        return None
    shown = {"display_name": grader.description} if grader.description else {}
    return {"kind": spec.pop("kind"), **shown, **spec, **_extraction(entry, grader)}


def _extraction(entry: Entry, grader: Grader) -> Spec:
    own = getattr(grader, "extractor", None)
    chosen = entry.extractor or (own if isinstance(own, Extractor) else Extractor())
    return {"extractor": chosen.name, **({"extractor_config": dict(chosen.config)} if chosen.config else {})}


def _exact(entry: Entry, losses: Losses, files: Files) -> Spec | None:
    grader = entry.grader
    assert isinstance(grader, ExactMatch)
    if grader.expected is None and grader.trim and not grader.ignore_case:
        return {"kind": "tool", "function": "exact_match"}
    return _portable(entry, losses, files)


def _contains(entry: Entry, losses: Losses, files: Files) -> Spec | None:
    grader = entry.grader
    assert isinstance(grader, Contains)
    if grader.expected is None and grader.ignore_case:
        return {"kind": "tool", "function": "contains"}
    return _portable(entry, losses, files)


def _regex(entry: Entry, losses: Losses, files: Files) -> Spec | None:
    grader = entry.grader
    assert isinstance(grader, Regex)
    if (
        grader.pattern is None
        and not grader.ignore_case
        and not grader.multiline
        and grader.flavor == "python"
    ):
        return {"kind": "tool", "function": "regex_match"}
    return _portable(entry, losses, files)


def _ascii(entry: Entry, losses: Losses, files: Files) -> Spec | None:  # noqa: ARG001
    return {"kind": "tool", "function": "ascii_printable_only"}


def _portable(entry: Entry, losses: Losses, files: Files) -> Spec | None:
    """A code grader without a built-in there, as a function in a file; the extraction stays in the YAML."""
    grader: Any = entry.grader
    try:
        bare = replace(grader, extractor=Extractor()) if hasattr(grader, "extractor") else grader
        text = portable(bare)
    except FormatError as error:
        losses.add(entry.name, error.where or "kind", error.what, way_out=error.hint or _WAY_OUT)
        return None
    check_calls(bare, "letta", losses, entry.name)
    check_reads(text, "letta", losses, entry.name)
    return _file(entry, text, files, wrapped=True)


def _function(entry: Entry, losses: Losses, files: Files) -> Spec | None:
    grader = entry.grader
    assert isinstance(grader, FunctionGrader)
    if grader.signature == "letta":
        return _file(entry, grader.source.text, files, wrapped=False)
    if grader.signature != "thread":
        losses.add(entry.name, "signature", f"a function of the form {grader.signature!r} cannot run there",
                   way_out="write it as async def grade(thread)")  # fmt: skip
        return None
    check_reads(grader.source.text, "letta", losses, entry.name)
    return _file(entry, grader.source.text, files, wrapped=True)


def _file(entry: Entry, text: str, files: Files, *, wrapped: bool) -> Spec:
    stem = identifier(entry.name, [name.removesuffix(".py") for name in files])
    name = f"{stem}_score" if wrapped else "grade"
    files[f"{stem}.py"] = wrap(text, "letta", name=name) if wrapped else text
    return {"kind": "tool", "function": f"{stem}.py:{name}"}


def _rubric(entry: Entry, losses: Losses, files: Files) -> Spec | None:  # noqa: ARG001
    grader = entry.grader
    assert isinstance(grader, RubricJudge)
    known = (
        "prompt", "rubric_vars", "generation", "provider", "max_retries", "model", "temperature", "rules", "extractor",
    )  # fmt: skip
    check_fields(grader, losses, entry.name, knows=known)
    rest = {
        "rubric_vars": list(grader.rubric_vars) or None,
        "provider": None if grader.provider == "openai" else grader.provider,
    }
    return {
        "kind": "rubric" if grader.generation == "0.4" else "model_judge",
        "prompt": grader.prompt,
        "model": grader.model,
        "temperature": grader.temperature,
        "max_retries": grader.max_retries,
        "timeout": grader.timeout,
        **{key: value for key, value in rest.items() if value},
    }


def _agent(entry: Entry, losses: Losses, files: Files) -> Spec | None:
    grader = entry.grader
    assert isinstance(grader, AgentJudge)
    known = (
        "prompt",
        "agent",
        "judge_tool_name",
        "rubric_vars",
        "rules",
        "extractor",
        "model",
        "temperature",
        "generation",
    )
    check_fields(grader, losses, entry.name, knows=known)
    name = f"{identifier(entry.name, [one.removesuffix('.af') for one in files])}.af"
    files[name] = to_json(dict(grader.agent))
    vars_ = {"rubric_vars": list(grader.rubric_vars)} if grader.rubric_vars else {}
    return {
        "kind": "rubric",
        "agent_file": name,
        "prompt": grader.prompt,
        "judge_tool_name": grader.judge_tool_name,
        **vars_,
    }


_WRITERS: dict[type[Grader], Callable[[Entry, Losses, Files], Spec | None]] = {
    ExactMatch: _exact,
    Contains: _contains,
    Regex: _regex,
    AsciiPrintable: _ascii,
    CodeGrader: _portable,
    FunctionGrader: _function,
    RubricJudge: _rubric,
    AgentJudge: _agent,
}


def _gate(gate: Gate) -> Spec:
    """The seed's single gate where it can say it, else the later generation's."""
    if isinstance(gate, SimpleGate):
        single = gate.aggregation in {"avg_score", "accuracy"} and gate.pass_threshold is None
        values = {
            "metric" if single else "aggregation": gate.aggregation, "metric_key": gate.metric_key or None, "op": gate.op,
            "value": gate.value, "pass_op": gate.pass_op, "pass_value": gate.pass_value, "pass_threshold": gate.pass_threshold,
        }  # fmt: skip
        kind = {} if single else {"kind": "simple"}
        return kind | {key: value for key, value in values.items() if value is not None}
    if isinstance(gate, WeightedGate):
        limit = {} if gate.pass_threshold is None else {"pass_threshold": gate.pass_threshold}
        return {
            "kind": gate.kind, "aggregation": gate.aggregation, "weights": dict(gate.weights), "op": gate.op,
            "value": gate.value, **limit,
        }  # fmt: skip
    assert isinstance(gate, LogicalGate)
    inner = [_gate(one) for one in gate.conditions]
    later = [
        one if "kind" in one else {"kind": "simple", "aggregation": one.pop("metric"), **one} for one in inner
    ]
    return {"kind": "logical", "operator": gate.operator, "conditions": later}


def _yaml(document: Spec) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Long texts as blocks, no aliases."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: Any, value: str) -> Any:
        # A block keeps its text only where no line ends in a blank.
        block = "\n" in value and all(line == line.rstrip() for line in value.split("\n"))
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if block else None)

    Dumper.add_representer(str, text)
    return str(yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110))
