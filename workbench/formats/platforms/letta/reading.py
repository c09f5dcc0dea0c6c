"""Letta Evals suites: YAML with `graders:` and `gate:`, rubric files and grader modules in the same folder.

Both releases' names are read: kinds `tool` and `rubric` (0.4.x), `model_judge` and `letta_judge` (from
0.5), the single gate (0.4.x) and the gates with a `kind` (0.7 to 0.20). The rules are those of 0.4.x unless
`release` or the document requires a later one: from 0.8 an empty submission scores 0.0, from 0.9 a list of inputs is
graded turn by turn, from 0.17 rubrics are templates.

A tool grader that fails leaves its sample out of the averages; a rubric grader that fails counts as 0.0.

`target`, `dataset` and the other keys that control what is run and how often are ignored: a suite here consists of
graders and gates. `convert` reports the ignored keys.

Source: letta-evals at ae4878e (0.4.1) and its later releases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import FormatError
from workbench.data.extractors import Extractor
from workbench.formats.platforms.letta import writing as letta_write
from workbench.formats.platforms.letta.gates import read_gate
from workbench.formats.platforms.letta.modules import function_grader
from workbench.formats.shared.base import Format, Reading, register
from workbench.formats.shared.node import Node
from workbench.formats.shared.parsing import parse_json, parse_yaml
from workbench.formats.shared.unsupported import suite_name
from workbench.graders import Grader
from workbench.graders.combine import Entry, Formula
from workbench.graders.combine.per_turn import PerTurn
from workbench.graders.text import AsciiPrintable, Contains, ExactMatch, Regex
from workbench.judges import AgentJudge, RubricJudge
from workbench.run.suite import Suite

__all__ = ["read"]

_TOP = (
    "name", "description", "dataset", "target", "graders", "gate", "reward", "max_samples", "sample_tags", "num_runs",
    "setup_script", "error_policy",
)  # fmt: skip
_RUNNING = ("dataset", "target", "max_samples", "sample_tags", "num_runs", "setup_script", "error_policy")
_KINDS = ("tool", "rubric", "model_judge", "letta_judge")
_KEYS = (
    "kind", "display_name", "function", "prompt", "prompt_path", "model", "temperature", "provider", "max_retries",
    "timeout", "rubric_vars", "agent_file", "judge_tool_name", "extractor", "extractor_config",
)  # fmt: skip
BUILTIN = ("exact_match", "contains", "regex_match", "ascii_printable_only")


@dataclass(frozen=True)
class _Release:
    """A release, compared by its numbers; "" is the seed's 0.4."""

    text: str = ""

    def since(self, major: int, minor: int) -> bool:
        numbers = tuple(int(part) for part in re.findall(r"\d+", self.text)[:2]) or (0, 4)
        return (*numbers, 0)[:2] >= (major, minor)


def read(reading: Reading) -> Suite:
    """A suite from a suite file; a document with only `graders:` is enough.

    Raises:
        FormatError: With the path inside the document.
    """
    root = Node(_parsed(reading), reading.where).only(*_TOP)
    release = _release(root, reading)
    for key in _RUNNING:
        if root.has(key):
            reading.note(key, "controls what is run, not how it is graded")
    entries = (
        [_entry(name, node, reading, release) for name, node in root.at("graders").members()]
        if root.has("graders")
        else []
    )
    if not entries:
        raise root.refuse("there are no graders", expected="graders: a map of metric name to grader")
    name = root.text("name", "") or ""
    gate = read_gate(root.at("gate"), [entry.name for entry in entries]) if root.has("gate") else None
    try:
        return Suite(
            entries, gate=gate, combine=_reward(root, entries),
            name=suite_name(name, [entry.name for entry in entries]), description=root.text("description", "") or "",
        )  # fmt: skip
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise root.refuse("the graders do not form a suite", found=str(error)) from error


def _parsed(reading: Reading) -> Any:
    looks = reading.text.lstrip()[:1] == "{"
    return (parse_json if looks else parse_yaml)(reading.text, reading.where)


def _release(root: Node, reading: Reading) -> _Release:
    """The requested release, else the earliest that has what the document uses."""
    if reading.release:
        if not re.fullmatch(r"[<>=~ ]*\d+(\.\d+)*(\.x)?", reading.release):
            raise root.refuse(
                "the release must be a release number",
                found=reading.release,
                expected="such as 0.4, 0.8 or 0.17",
            )
        return _Release(reading.release)
    # Only in the header, where the writer puts it: further down such a line may be part of a prompt.
    if match := re.search(rf"^{letta_write.RELEASE_LINE} (\d+\.\d+)$", reading.text[:1000], re.MULTILINE):
        return _Release(match[1])
    return _Release("0.21") if root.has("reward") else _Release()


def _entry(name: str, node: Node, reading: Reading, release: _Release) -> Entry:
    kind = node.only(*_KEYS).choice("kind", _KINDS)
    tool = kind == "tool"
    grader = (_tool if tool else _judge)(name, node, reading, release)
    # A tool grader that raises makes the sample errored: no number. A failed judge counts as 0.0.
    return Entry(grader, name, extractor=_entry_extractor(grader, node), on_error="fail" if tool else "zero")


def _entry_extractor(grader: Grader, node: Node) -> Extractor | None:
    """The default extractor, for graders that have none."""
    # Graders with an extractor apply it themselves; set on the entry as well, it would run twice.
    own = isinstance(getattr(grader, "extractor", None), Extractor) or isinstance(grader, PerTurn)
    if own or ":" in node.text("extractor", ""):
        return None
    chosen = _extractor(node)
    return None if chosen == Extractor() else chosen


def _extractor(node: Node) -> Extractor:
    name = node.text("extractor", "last_assistant")
    config = dict(node.at("extractor_config").mapping()) if node.has("extractor_config") else {}
    try:
        return Extractor(name, config)
    except FormatError as error:
        key = "extractor" if error.what == "unknown extractor" else "extractor_config"
        raise node.at(key).refuse(error.what, found=error.found, expected=error.expected) from error


def _tool(name: str, node: Node, reading: Reading, release: _Release) -> Grader:
    for key in ("rubric_vars", "prompt", "prompt_path", "agent_file"):
        if node.has(key):
            raise node.at(key).refuse(f"a tool grader has no {key}", hint="use kind: rubric for a judge")
    if not node.has("function"):
        raise node.refuse(
            "a tool grader needs a function", expected=f"{', '.join(BUILTIN)}, or file.py:function"
        )
    function = node.text("function")
    titles = {"name": name, "description": node.text("display_name", "") or ""}
    in_file = ":" in node.text("extractor", "last_assistant")
    if function not in BUILTIN or in_file:
        return function_grader(node, reading, titles)
    shared = {
        "extractor": _extractor(node), "on_empty": "zero" if release.since(0, 8) else "grade", "wording": "letta", **titles,
    }  # fmt: skip
    grader: Grader = _builtin(function, shared)
    return PerTurn(grader=grader, **titles) if release.since(0, 9) else grader


def _builtin(function: str, shared: Mapping[str, Any]) -> Grader:
    if function == "exact_match":
        return ExactMatch(on_no_reference="zero", **shared)
    if function == "contains":
        return Contains(ignore_case=True, on_no_reference="zero", **shared)
    if function == "regex_match":
        return Regex(on_bad_pattern="zero", on_no_reference="zero", **shared)
    return AsciiPrintable(**shared)


def _judge(name: str, node: Node, reading: Reading, release: _Release) -> Grader:
    if node.has("function"):
        raise node.at("function").refuse("a rubric grader has no function", hint="use kind: tool")
    if node.has("prompt") == node.has("prompt_path"):
        raise node.refuse("a rubric grader needs prompt or prompt_path, and not both")
    prompt = (
        node.text("prompt")
        if node.has("prompt")
        else reading.companion(node.text("prompt_path"), node.at("prompt_path").path)
    )
    # Prompts have only two sets of rules: up to 0.16 the values are appended to the rubric, from 0.17 they fill it.
    shared = {
        "name": name, "description": node.text("display_name", "") or "", "prompt": prompt,
        "rubric_vars": node.texts("rubric_vars"), "extractor": _extractor(node), "platform": "letta",
        "release": "0.17" if release.since(0, 17) else "0.4",
    }  # fmt: skip
    if node.has("agent_file") or node.text("kind") == "letta_judge":
        return _agent(node, reading, shared)
    # The defaults are Letta's (`models.py`), not the workbench's: a file that omits them means these.
    return node.made(RubricJudge, **shared, model=node.text("model", letta_write.MODEL), temperature=float(node.number("temperature", 0.0)),
        provider=node.text("provider", "openai"), max_retries=node.integer("max_retries", 5),
        timeout=float(node.number("timeout", 120.0)),
    )  # fmt: skip


def _agent(node: Node, reading: Reading, shared: Mapping[str, Any]) -> Grader:
    for key in ("model", "temperature", "provider"):
        if node.has(key):
            raise node.at(key).refuse(f"an agent judge has its own {key}", hint=f"remove {key}")
    path = node.text("agent_file")
    if not path.endswith(".af"):
        raise node.at("agent_file").refuse("an agent file must end in .af", found=path)
    where = node.at("agent_file").path
    agent = parse_json(reading.companion(path, where), f"{where}, {path}")
    judge: AgentJudge = node.made(
        AgentJudge, **shared, agent=agent, judge_tool_name=node.text("judge_tool_name", "submit_grade")
    )
    return judge.as_imported(trust=reading.trust)


def _reward(root: Node, entries: list[Entry]) -> Formula | None:
    """The later release's reward: one metric as the score of a sample."""
    if not root.has("reward"):
        return None
    node = root.at("reward")
    if node.only("kind", "metric_key", "function").choice("kind", ("metric", "custom")) == "custom":
        raise node.refuse(
            "a reward composer is code that sees all grades", hint="write a Formula over the metrics"
        )
    key = node.text("metric_key", entries[0].name)
    names = [entry.name for entry in entries]
    if key not in names:
        raise node.at("metric_key").refuse("unknown metric", found=repr(key), expected=", ".join(names))
    try:
        return Formula(key)
    except FormatError as error:
        raise node.at("metric_key").refuse(
            "the metric's name cannot be used in a formula",
            found=repr(key),
            hint="use letters, digits and underscores",
        ) from error


def _detect(document: Any, text: str) -> int:  # noqa: ARG001
    graders = document.get("graders") if isinstance(document, dict) else None
    if not isinstance(graders, dict) or not graders:
        return 0
    kinds = [grader.get("kind") for grader in graders.values() if isinstance(grader, dict)]
    # Many documents have a map called `graders`: without one of Letta's kinds the match is only a guess.
    return 2 if any(kind in _KINDS for kind in kinds) else 1


register(
    Format(
        "letta",
        "Letta Evals suites",
        ".yaml",
        read,
        letta_write.write,
        _detect,
        releases=True,
        failed_is_zero=True,
    )
)
