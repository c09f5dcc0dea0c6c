"""OpenAI's graders: string_check, text_similarity, score_model, label_model, python, multi, endpoint.

A document is one grader. A *multi* becomes a suite with a formula; every other type a suite of one. OpenAI
gives 0 and an error flag if a grader fails, so imported entries count failures as zero, and
`error_flag` names the flag.

Source: the graders guide and the types of the `openai` package (3.x), which also check what is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.core.errors import CaptureError, FormatError
from workbench.core.grade import ErrorKind, Grade
from workbench.formats.frame.wrapping import unwrap
from workbench.formats.platforms.openai import held, openai_json
from workbench.formats.shared import Format, Losses, Reading, register
from workbench.formats.shared.parsing import Node, parse_json
from workbench.formats.shared.unsupported import suite_name, unique
from workbench.graders import FunctionGrader, Grader
from workbench.graders.capture import capture
from workbench.graders.capture.source import refuse_credentials
from workbench.graders.combine import Entry, Formula
from workbench.graders.text.openai_text import StringCheck, TextSimilarity
from workbench.judges import Endpoint, LabelJudge, ScoreJudge
from workbench.run.suite import Suite

_BLIND = {"adaptive", "letta"}
_TAIL = """

_graded = grade


def _turns(thread):
    return thread.get_turns() if hasattr(thread, "get_turns") else []


def _called(thread):
    turns = _turns(thread)
    asked = [at for at, turn in enumerate(turns) if turn.role == "user"]
    calls = thread.turn_calls if hasattr(thread, "turn_calls") else lambda at: []
    return [call for at in range(asked[-1] if asked else 0, len(turns)) for call in calls(at)]


def _sample(thread):
    said = [turn.content for turn in _turns(thread) if turn.role == "assistant"]
    text, calls = said[-1] if said else thread.completion() or "", _called(thread)
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    reason = "tool_calls" if calls and not text else "stop"
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    sample = {"output_text": text, "output_tools": calls, "choices": choices}
    try:
        return {**sample, "output_json": _json.loads(text, parse_constant=_no_constant)}
    except (ValueError, RecursionError):
        return sample


def _no_constant(name):
    raise ValueError(name)


def _item(thread):
    item = dict(thread.metadata or {})
    names = ("reference", "expected", "ground_truth", "label", "answer")
    known = [item[name] for name in names if item.get(name) is not None]
    return {"reference": known[0], **item} if known else item


async def grade(thread):
    score = _graded(_sample(thread), _item(thread))
    return await score if _inspect.isawaitable(score) else score
"""


def with_threads(suite: Suite, losses: Losses | None = None) -> Suite:
    """The suite with every OpenAI-style function as one of a thread; all else is unchanged.

    Args:
        suite: The suite to write.
        losses: Collects functions that read tool calls, if the platform does not pass these to code.
    """
    entries = [_with_thread(entry) for entry in suite.entries]
    for old, new in zip(suite.entries, entries, strict=True):
        if new is not old and losses is not None:
            _check_tool_calls(old, losses)
    if all(new is old for new, old in zip(entries, suite.entries, strict=True)):
        return suite
    return Suite(
        entries, combine=suite.combine, gate=suite.gate, name=suite.name, description=suite.description
    )


def _check_tool_calls(entry: Entry, losses: Losses) -> None:
    assert isinstance(entry.grader, FunctionGrader)
    # By names in the text: a false alarm names a way out, a miss would give a grader that sees no calls.
    looks = any(word in entry.grader.source.text for word in ("output_tools", "choices"))
    if looks and losses.platform in _BLIND:
        losses.add(
            entry.name,
            "source (sample)",
            "the platform does not pass tool calls to code",
            hint="export as osmosis",
        )


def _with_thread(entry: Entry) -> Entry:
    grader = entry.grader
    if not isinstance(grader, FunctionGrader) or grader.signature != "openai":
        return entry
    source = replace(capture(_module(grader.source.text)), imported=grader.source.imported)
    return replace(entry, grader=replace(grader, source=source, signature="thread"), name=entry.name)


def _module(text: str) -> str:
    head = "import inspect as _inspect\nimport json as _json\n\n"
    lines = text.splitlines(keepends=True)
    future = [line for line in lines if line.startswith("from __future__")]
    own = "".join(line for line in lines if line not in future)
    return "".join(future) + head + own.rstrip("\n") + "\n" + _TAIL


_TYPES = held.TYPES
_METRICS = (
    "cosine", "fuzzy_match", "bleu", "gleu", "meteor", "rouge_1", "rouge_2", "rouge_3", "rouge_4", "rouge_5", "rouge_l",
)  # fmt: skip
_FLAGS = {
    ErrorKind.TEMPLATE: "invalid_variable_error",
    ErrorKind.JUDGE_SERVER: "model_grader_server_error",
    ErrorKind.JUDGE_PARSE: "model_grader_parse_error",
    ErrorKind.JUDGE_REFUSAL: "model_grader_refusal_error",
    ErrorKind.ENDPOINT: "unresponsive_reward_error",
    ErrorKind.NO_COMPLETION: "sample_parse_error",
    ErrorKind.SAMPLE: "sample_parse_error",
    ErrorKind.SANDBOX: "python_grader_server_error",
    ErrorKind.CANCELLED: "other_error",
    ErrorKind.PENDING: "other_error",
    ErrorKind.BUDGET: "other_error",
}


def error_flag(grade: Grade, *, python: bool = False) -> str | None:
    """OpenAI's flag for why a grade has no score; None if it has one.

    Args:
        grade: The grade.
        python: Whether code returned it: then a runtime error is a `python_grader_runtime_error`.
    """
    if grade.error is None:
        return None
    return _FLAGS.get(grade.error.kind, "python_grader_runtime_error" if python else "other_error")


def read(reading: Reading) -> Suite:
    """A suite from one grader's JSON, the criteria of an eval, or what else has them; see `held`.

    Raises:
        FormatError: With the path inside the document.
    """
    document = Node(parse_json(reading.text, reading.where), reading.where)
    root = held.found(document, reading)
    if isinstance(root, list):
        return _criteria(root, reading)
    kind = root.choice("type", _TYPES)
    if kind == "multi":
        return _multi(root, reading)
    return Suite(_entry(root, reading))


def _criteria(nodes: list[Node], reading: Reading) -> Suite:
    entries: list[Entry] = []
    for node in nodes:
        kind = node.choice("type", _TYPES)
        if kind == "multi":
            raise node.refuse(
                "a multi is not a criterion", found="type multi", hint="load it alone, as one grader"
            )
        entry = _entry(node, reading)
        entries.append(replace(entry, name=unique(entry.name, [other.name for other in entries])))
    return Suite(entries)


def _multi(node: Node, reading: Reading) -> Suite:
    node.only("type", "name", "graders", "calculate_output")
    graders = node.at("graders")
    if (
        isinstance(graders.value, Mapping) and "type" in graders.value
    ):  # the package's type shows one grader here
        graders = Node({str(graders.value.get("name") or "grader"): graders.value}, graders.path)
    entries = [_part(key, member, reading) for key, member in graders.members()]
    if not entries:
        raise graders.refuse("a multi needs at least one grader", expected="a map of name to grader")
    text = node.text("calculate_output")
    name = suite_name(node.text("name", "") or "", [entry.name for entry in entries])
    try:
        return Suite(entries, combine=Formula(text), name=name)
    except FormatError as error:
        where = node.at("calculate_output").path
        raise type(error)(
            error.what, where=f"{where}: {error.where}", found=error.found, expected=error.expected
        ) from error


def _part(key: str, node: Node, reading: Reading) -> Entry:
    if node.choice("type", _TYPES) == "multi":
        raise node.refuse("a multi inside a multi is not allowed", found="type multi")
    return replace(_entry(node, reading), name=key)


def _entry(node: Node, reading: Reading) -> Entry:
    kind = node.text("type")
    grader = _READERS[kind](node, reading)
    takes_threshold = kind in {"text_similarity", "score_model", "python"}
    threshold = node.number("pass_threshold", None) if takes_threshold else None
    return Entry(grader, pass_threshold=threshold, on_error="zero")


def _string_check(node: Node, _: Reading) -> Grader:
    node.only("type", "name", "input", "reference", "operation")
    # OpenAI's guide writes "neq" and its package's type "ne": files contain both.
    operation = node.choice("operation", ("eq", "ne", "neq", "like", "ilike"))
    return node.made(StringCheck, **_titles(node), operation="ne" if operation == "neq" else operation,
                 input=node.text("input"), reference=node.text("reference"))  # fmt: skip


def _similarity(node: Node, _: Reading) -> Grader:
    node.only("type", "name", "input", "reference", "evaluation_metric", "pass_threshold")
    metric = node.choice("evaluation_metric", _METRICS)
    return node.made(
        TextSimilarity,
        **_titles(node),
        metric=metric,
        input=node.text("input"),
        reference=node.text("reference"),
    )


def _score_judge(node: Node, _: Reading) -> Grader:
    node.only("type", "name", "input", "model", "range", "sampling_params", "pass_threshold")
    ends = [float(end.finite()) for end in node.items("range")] or [0.0, 1.0]
    if len(ends) != 2 or ends[0] >= ends[1]:
        raise node.at("range").refuse("a range must be two numbers, the lower first", found=repr(ends))
    parameters = Node(node.at("sampling_params").value or {}, node.at("sampling_params").path)
    # An explicit 0 stays among the parameters: in the field it would mean unset.
    warm = parameters.number("temperature", None)
    settings = {"temperature": float(warm)} if warm else {}
    params = {
        key: value for key, value in parameters.mapping().items() if key not in settings and value is not None
    }
    return node.made(ScoreJudge, **_titles(node), input=_messages(node), model=node.text("model"), scale=(ends[0], ends[1]),
                 sampling_params=params, platform="openai", **settings)  # fmt: skip


def _label_judge(node: Node, _: Reading) -> Grader:
    node.only("type", "name", "input", "model", "labels", "passing_labels")
    labels, passing = node.texts("labels"), node.texts("passing_labels")
    if wrong := sorted(set(passing) - set(labels)):
        raise node.at("passing_labels").refuse(
            "a passing label must be one of the labels", found=wrong[0], expected=", ".join(labels)
        )
    return node.made(LabelJudge, **_titles(node), input=_messages(node), model=node.text("model"), labels=labels,
                 passing_labels=passing, platform="openai")  # fmt: skip


def _messages(node: Node) -> list[dict[str, str]]:
    messages = []
    for message in node.items("input"):
        message.only("role", "content", "type")
        messages.append({"role": message.text("role"), "content": _content(message.at("content"))})
    if not messages:
        raise node.refuse("a model grader needs input messages", expected="input: [{role, content}, ...]")
    return messages


def _content(node: Node) -> str:
    if isinstance(node.value, str):
        return node.value
    if isinstance(node.value, list):
        return "".join(_content(part) for part in node.items())
    if node.choice("type", ("input_text", "output_text")):
        return str(node.text("text"))
    raise node.refuse("only text input is supported")


def _python(node: Node, reading: Reading) -> Grader:
    node.only("type", "name", "source", "image_tag", "pass_threshold")
    text = node.text("source")
    own = unwrap(text, "openai")
    signature = {} if own is not None else {"signature": "openai"}
    grader = node.made(
        FunctionGrader.from_source, text if own is None else own, **_titles(node), imported=True, **signature
    )
    tag = node.text("image_tag", "")
    source = replace(grader.source, origin=f"openai image {tag}") if tag else grader.source
    return replace(grader, source=source, trusted_sha256=source.sha256 if reading.trust else "")


def _endpoint(node: Node, reading: Reading) -> Grader:
    node.only("type", "name", "url", "headers")
    headers_node = node.at("headers")
    headers = (
        {}
        if headers_node.value is None
        else {key: _header(key, header) for key, header in headers_node.members()}
    )
    endpoint = node.made(
        Endpoint, **_titles(node), url=node.text("url"), **({"headers": headers} if headers else {})
    )
    return endpoint.as_imported(trust=reading.trust)


def _titles(node: Node) -> dict[str, str]:
    return {"name": node.text("name", "") or ""}


def _header(name: str, node: Node) -> str:
    """A header's value; a credential is refused without being shown."""
    if not isinstance(node.value, str):
        raise node.refuse("a header must be text", expected="text")
    try:
        if not node.value.startswith("$"):
            refuse_credentials(f"header {name}", node.value)
            refuse_credentials(name.replace("-", "_"), node.value)
    except CaptureError:
        raise node.refuse(
            "this header looks like a credential, which files must not contain", expected="$NAME of an environment variable",
            hint=f'write "{name}": "$NAME" and set NAME where it runs',
        ) from None  # fmt: skip
    return node.value


_READERS = {
    "string_check": _string_check,
    "text_similarity": _similarity,
    "score_model": _score_judge,
    "label_model": _label_judge,
    "python": _python,
    "endpoint": _endpoint,
}


def _detect(document: Any, text: str) -> int:  # noqa: ARG001
    if degree := held.detect(document):
        return degree
    grader = document.get("grader", document) if isinstance(document, dict) else None
    if not isinstance(grader, dict):
        return 0
    # An unknown type with a name may be a newer grader's: the reader then reports that type.
    return (
        2 if grader.get("type") in _TYPES else int(isinstance(grader.get("type"), str) and "name" in grader)
    )


register(
    Format("openai", "OpenAI grader JSON", ".json", read, openai_json.write, _detect, failed_is_zero=True)
)
