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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.errors import FormatError, SamplesError
from workbench.core.thread import StringThread
from workbench.data.extractors import Extractor
from workbench.formats.frame.wrapping import unwrap
from workbench.formats.platforms.letta import letta_yaml
from workbench.formats.platforms.letta.gates import read_gate
from workbench.formats.shared import Format, Reading, register
from workbench.formats.shared.parsing import Node, parse_json
from workbench.formats.shared.unsupported import suite_name
from workbench.formats.shared.yaml_text import parse_yaml
from workbench.graders import FunctionGrader, Grader
from workbench.graders.capture import capture
from workbench.graders.combine import Entry, Formula
from workbench.graders.combine.combined import PerTurn
from workbench.graders.text import AsciiPrintable, Contains, ExactMatch, Regex
from workbench.judges import AgentJudge, RubricJudge
from workbench.run.suite import Suite

# The built-in rules as Letta functions, for a suite that gives them a custom extractor: the condition, and the start
# of the rationale.
_BUILTIN = {
    "exact_match": ("submission.strip() == sample.ground_truth.strip()", "Exact match"),
    "contains": ("sample.ground_truth.lower() in submission.lower()", "Contains ground_truth"),
    "regex_match": ("re.search(sample.ground_truth, submission) is not None", "Regex match"),
}
_WITH_TRUTH = """
    if not sample.ground_truth:
        return GradeResult(score=0.0, rationale="No ground_truth {missing} provided")
    try:
        met = {rule}
    except re.error as error:
        return GradeResult(score=0.0, rationale=f"Invalid regex pattern: {{error}}")
    return GradeResult(score=float(met), rationale=f"{words}: {{met}}")
"""
_ASCII = """
    bad = sorted({one for one in submission if not " " <= one <= "~" and one not in "\\r\\n"})
    more = f" (+{len(bad) - 5} more)" if len(bad) > 5 else ""
    shown = ", ".join(map(repr, bad[:5])) + more
    problem = f"Found non-printable ASCII characters: {shown}"
    return GradeResult(
        score=float(not bad), rationale=problem if bad else "All characters printable ASCII (ignoring newlines)"
    )
"""
_NAMES = (*_BUILTIN, "ascii_printable_only")


def function_grader(node: Node, reading: Reading, titles: Any) -> FunctionGrader:
    """The function grader for a spec's `function`, with its extractor if that is a function too.

    Raises:
        FormatError: A name that is neither a built-in nor `file.py:function`, a file that cannot be read, or a
            module without that function.
    """
    function, chosen = node.text("function"), node.text("extractor", "last_assistant")
    # Grader and extractor become one captured module, and two files could define the same names.
    files = [reference.partition(":")[0] for reference in (function, chosen) if ":" in reference]
    if len(set(files)) > 1:
        raise node.refuse(
            "the grader and its extractor are in two files",
            found=", ".join(files),
            hint="put both functions into one file",
        )
    if not files:
        raise node.at("function").refuse(
            "unknown grader function",
            found=repr(function),
            expected=", ".join((*_NAMES, "file.py:function")),
        )
    text = reading.companion(files[0], node.at("function").path)
    name = function.partition(":")[2] if ":" in function else function
    # A module that the workbench wrote is restored as its function; with a custom extractor it stays Letta's.
    if ":" not in chosen and (own := unwrap(text, "letta", name=name)) is not None:
        return _taken(node, own, reading, titles)
    # A built-in rule with an extractor in a file is written out as code, since one module contains both.
    if ":" not in function:
        text += _with_builtin(node, function)
    extraction: dict[str, Any] = {}
    if ":" in chosen:
        config = node.at("extractor_config")
        extraction = {
            "extractor": chosen.partition(":")[2],
            "extractor_config": dict(config.mapping()) if config.value is not None else {},
        }
        _check_function(node.at("extractor"), text, extraction["extractor"])
    return _taken(node, text, reading, titles, function=name, signature="letta", **extraction)


def _with_builtin(node: Node, function: str) -> str:
    if function not in _NAMES:
        raise node.at("function").refuse(
            "unknown grader function", found=repr(function), expected=", ".join(_NAMES)
        )
    rule, words = _BUILTIN.get(function, ("", ""))
    missing = "regex pattern" if function == "regex_match" else "answer"
    body = _WITH_TRUTH.format(rule=rule, words=words, missing=missing) if rule else _ASCII
    return (
        "\n\nimport re\n\nfrom letta_evals.decorators import grader\nfrom letta_evals.models import GradeResult, Sample\n"
        f"\n\n@grader\ndef {function}(sample: Sample, submission: str) -> GradeResult:{body}"
    )


def _taken(
    node: Node, text: str, reading: Reading, titles: Any, *, function: str = "grade", **settings: Any
) -> FunctionGrader:
    _check_function(node.at("function"), text, function)
    try:
        source = replace(capture(text, name=function), imported=True)
        grader = FunctionGrader(source=source, **settings, **titles)
    except (ValueError, TypeError) as error:
        if isinstance(error, FormatError):
            raise
        raise node.at("function").refuse(
            "cannot capture the function", found=str(error).splitlines()[0]
        ) from error
    return grader.trusted() if reading.trust else grader


def _check_function(node: Node, text: str, name: str) -> None:
    if not re.search(rf"^(async[ \t]+)?def[ \t]+{re.escape(name)}\b", text, re.MULTILINE):
        raise node.refuse(f"the file has no function {name!r} at its top level")


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
    if match := re.search(rf"^{letta_yaml.RELEASE_LINE} (\d+\.\d+)$", reading.text[:1000], re.MULTILINE):
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
    return node.made(RubricJudge, **shared, model=node.text("model", letta_yaml.MODEL), temperature=float(node.number("temperature", 0.0)),
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
        letta_yaml.write,
        _detect,
        releases=True,
        failed_is_zero=True,
    )
)


def letta_thread(
    trajectory: Sequence[Sequence[Mapping[str, Any]]],
    *,
    input: str | Sequence[str] = "",  # noqa: A002 (the field's name)
    agent_state: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> StringThread:
    """A thread from a trajectory, such as one of a results file.

    Args:
        trajectory: Turns, each a list of messages with a `type` or `message_type`: `assistant_message`
            (`content`; parts are joined by a space), `tool_call_message` (`tool_call` or `tool_calls`),
            `tool_return_message` (`tool_call_id`, `tool_return`). Others are ignored.
        input: The user's messages: one text, or one per turn; "" for a turn without one.
        agent_state: For the `memory_block` extractor.
        metadata: The row's other values.

    Raises:
        SamplesError: A turn or message of another type.

    Example:
        >>> said = {"type": "assistant_message", "content": "4"}
        >>> letta_thread([[said]], input="2+2?").get_turns()
        [Turn(role='user', content='2+2?'), Turn(role='assistant', content='4')]
    """
    user_texts = [input] if isinstance(input, str) else list(input)
    messages: list[dict[str, Any]] = []
    for at, turn in enumerate(trajectory):
        if isinstance(turn, Mapping | str) or not isinstance(turn, Sequence):
            raise SamplesError(
                "a turn must be a list of messages", where=f"turn {at}", found=type(turn).__name__
            )
        # A turn begins with a user message, even an empty one: that is how turns are separated later.
        messages.append({"role": "user", "content": user_texts[at] if at < len(user_texts) else ""})
        messages += [
            chat_message
            for number, message in enumerate(turn)
            for chat_message in _read(message, f"turn {at}, message {number}")
        ]
    all_metadata = {
        **(metadata or {}),
        **({"agent_state": dict(agent_state)} if agent_state is not None else {}),
    }
    return StringThread.from_messages(messages, all_metadata)


def _read(message: Any, where: str) -> list[dict[str, Any]]:
    if not isinstance(message, Mapping):
        raise SamplesError("a message must be an object", where=where, found=type(message).__name__)
    kind = message.get("message_type", message.get("type"))
    if kind == "assistant_message":
        return [{"role": "assistant", "content": _text(message.get("content"))}]
    if kind == "tool_call_message":
        tool_calls = message.get("tool_calls") or [message.get("tool_call")]
        calls = [_call(call) for call in tool_calls if isinstance(call, Mapping)]
        return [{"role": "assistant", "content": None, "tool_calls": calls}]
    if kind == "tool_return_message":
        returned = _text(message.get("tool_return"))
        return [{"role": "tool", "content": returned, "tool_call_id": message.get("tool_call_id")}]
    return []


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": call.get("name"), "arguments": call.get("arguments", "{}")}
    return {"id": call.get("tool_call_id", call.get("id")), "type": "function", "function": function}


def _text(content: Any) -> str:
    """Content as Letta flattens it: parts joined by a space."""
    if isinstance(content, list | tuple):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return " ".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)
