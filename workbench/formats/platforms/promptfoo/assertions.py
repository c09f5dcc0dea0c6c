"""One assertion of promptfoo as a grader, or the refusal that names its type and the next step."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from workbench.core.display_text import did_you_mean
from workbench.core.errors import FormatError
from workbench.data.templates.nunjucks import has_tags, nunjucks
from workbench.data.templates.values import TemplateRunError
from workbench.formats.platforms.promptfoo import scripts
from workbench.formats.shared import Reading
from workbench.formats.shared.parsing import Node, parse_json
from workbench.formats.shared.unsupported import unique
from workbench.formats.shared.yaml_text import parse_yaml
from workbench.graders import Contains, ExactMatch, Grader
from workbench.graders.combine import Assertions, Combined, Entry, Transformed
from workbench.graders.text.promptfoo import ASSERTIONS, PromptfooAssertion
from workbench.judges import BinaryJudge

_KEYS = (
    "type",
    "value",
    "threshold",
    "weight",
    "metric",
    "transform",
    "config",
    "provider",
    "rubricPrompt",
    "contextTransform",
)
_SET_KEYS = ("type", "assert", "threshold", "weight", "metric", "config")
_JUDGED = ("llm-rubric", "model-graded-closedqa")
_CODE = ("javascript", "python")

_EMBEDDINGS = "it compares embeddings, which need a model; use rouge-n, bleu or a llm-rubric, or call your embedding model in a wb.CustomGrader"
_TRACE = "it reads a trace of the provider's calls; assert the tool calls of your rows with a javascript or python assertion"
_OTHER_JUDGE = "its score is computed by several requests of promptfoo's own; use {} instead, or a llm-rubric"
_REFUSED: dict[str, str] = {
    "latency": "rows have no times; add them as a column and assert `context.vars.latencyMs <= 900` in JavaScript",
    "cost": "rows have no costs; add them as a column and assert `context.vars.cost <= 0.01` in JavaScript",
    "perplexity": "it needs the provider's log probabilities; add the value as a column and assert it in JavaScript",
    "perplexity-score": "it needs the provider's log probabilities; add the value as a column and assert it in JavaScript",
    "finish-reason": "rows have no finish reason; add it as a column and assert `context.vars.finishReason === 'stop'` in JavaScript",
    "similar": _EMBEDDINGS,
    "similar:cosine": _EMBEDDINGS,
    "similar:dot": _EMBEDDINGS,
    "similar:euclidean": _EMBEDDINGS,
    "moderation": "it needs a moderation service; call it in a wb.CustomGrader, or describe the rule in a llm-rubric",
    "guardrails": "it reads what the provider's guardrail reported; describe the rule in a llm-rubric",
    "classifier": "it needs a classifier of Hugging Face; call it in a wb.CustomGrader",
    "meteor": "it needs WordNet; use rouge-n, bleu or gleu",
    "is-sql": "it needs promptfoo's SQL parser; parse the text with your parser in a wb.CustomGrader",
    "contains-sql": "it needs promptfoo's SQL parser; parse the text with your parser in a wb.CustomGrader",
    "ruby": "the sandbox runs Python and JavaScript; rewrite it as a python assertion",
    "webhook": "graders have no network; call the address in a wb.CustomGrader, or write a wb.Endpoint",
    "g-eval": _OTHER_JUDGE.format("wb.RubricJudge"),
    "answer-relevance": _OTHER_JUDGE.format("wb.AnswerRelevancyJudge"),
    "context-faithfulness": _OTHER_JUDGE.format("wb.FaithfulnessJudge"),
    "context-relevance": _OTHER_JUDGE.format("wb.ContextRelevancyJudge"),
    "context-recall": _OTHER_JUDGE.format("wb.FaithfulnessJudge"),
    "conversation-relevance": _OTHER_JUDGE.format("wb.RubricJudge"),
    "factuality": "it sorts completions into five categories with promptfoo's own prompt; use a llm-rubric that quotes the reference",
    "model-graded-factuality": "it sorts completions into five categories with promptfoo's own prompt; use a llm-rubric that quotes the reference",
    "agent-rubric": "an agent of promptfoo grades it; use a llm-rubric, or wb.AgentJudge",
    "search-rubric": "it searches the web; use a llm-rubric",
    "pi": "it needs the scorer of Pi Labs; use a llm-rubric",
    "human": "people grade it; put their labels into a column and pass labels=",
    "select-best": "it compares the outputs of several prompts; use wb.PairwiseJudge, or wb.compare on two runs",
    "max-score": "it compares the outputs of several prompts; compare two reports: report.compare(...)",
    "is-valid-function-call": _TRACE,
    "is-valid-openai-function-call": _TRACE,
    "is-valid-openai-tools-call": _TRACE,
    "tool-call-f1": _TRACE,
    "skill-used": _TRACE,
}
TYPES = frozenset({*ASSERTIONS, *_CODE, *_JUDGED, *_REFUSED, "assert-set"})
"""The types of assertion that are known, without `not-`."""


@dataclass(frozen=True)
class Assertion:
    """A grader and the settings of its entry.

    Attributes:
        grader: The grader.
        name: The metric's name, else the type.
        weight: 0 or more.
        negate: Whether the entry inverts the grader's verdict.
        blocks: Whether a fail fails the whole; not with a weight of 0.
        is_code: Whether a failure counts as 0, not passed.
    """

    grader: Grader
    name: str
    weight: float = 1.0
    negate: bool = False
    blocks: bool = True
    is_code: bool = False

    @property
    def settings(self) -> tuple[Any, ...]:
        """What assertions of one entry have in common."""
        return self.name, self.weight, self.negate, self.blocks, self.is_code

    def entry(self, name: str, grader: Grader | None = None) -> Entry:
        """The entry of a suite."""
        severity = "error" if self.blocks else "info"
        return Entry(grader or self.grader, name, weight=self.weight, negate=self.negate, severity=severity)


def read_assertion(node: Node, reading: Reading, values: Mapping[str, Any] | None = None) -> Assertion:
    """The assertion at a place of a document.

    Args:
        node: The assertion.
        reading: Of the document.
        values: The values of the variables of its test, if it is of one.

    Raises:
        FormatError: An unknown type, one that cannot be graded, or an invalid setting; with its place.
    """
    kind = node.text("type")
    if kind == "assert-set":
        return _set(node, reading, values)
    base = kind.removeprefix("not-")
    if base not in TYPES:
        raise _unknown(node, kind, base)
    node.only(*_KEYS)
    if base in _REFUSED:
        raise refused(node, kind, _REFUSED[base])
    weight = float(node.number("weight", 1.0))
    if weight < 0:
        raise node.at("weight").refuse("a weight must be 0 or more", found=str(weight))
    name = _metric(node, values) or kind
    if base in _JUDGED:
        return _judge(node, kind, name, weight, values)
    grader, negate = _graded(node, kind, base, name, reading, values)
    return Assertion(grader, name, weight, negate, blocks=weight > 0, is_code=base in _CODE)


class UngradedTypeError(FormatError):
    """An assertion of a known type that cannot be graded here."""


def refused(node: Node, kind: str, way: str) -> UngradedTypeError:
    """The error of an assertion that cannot be graded here."""
    why, _, step = way.partition("; ")
    return UngradedTypeError(
        f"promptfoo's assertion {kind!r} cannot be graded here: {why}", where=node.path, found=kind,
        hint=f"remove the assertion to load the others; {step or why}",
    )  # fmt: skip


def _unknown(node: Node, kind: str, base: str) -> FormatError:
    if base.startswith("promptfoo:redteam:"):
        return refused(
            node, kind, "a red-team plugin of promptfoo grades it; describe the rule in a llm-rubric"
        )
    if base.startswith(("trajectory:", "trace-")):
        return refused(node, kind, _TRACE)
    return node.at("type").refuse(
        "unknown type of assertion", found=kind, expected=", ".join(sorted(TYPES)), hint=did_you_mean(base, TYPES)
    )  # fmt: skip


def _metric(node: Node, values: Mapping[str, Any] | None) -> str:
    metric = node.text("metric", "") or ""
    if has_tags(metric) and values is not None:
        try:
            return nunjucks(metric).render(values)
        except (FormatError, TemplateRunError):
            return str(metric)
    return str(metric)


def _set(node: Node, reading: Reading, values: Mapping[str, Any] | None) -> Assertion:
    node.only(*_SET_KEYS)
    members = [read_assertion(member, reading, values) for member in node.items("assert")]
    if not members:
        raise node.refuse("an assert-set needs assertions", expected="assert: [{type: contains, value: ...}]")
    taken: list[str] = []
    entries = []
    for member in members:
        taken.append(unique(member.name, taken))
        entries.append(member.entry(taken[-1]))
    zero = tuple(name for name, member in zip(taken, members, strict=True) if member.is_code)
    name = _metric(node, values) or "assert-set"
    rule = node.made(Assertions, threshold=node.number("threshold", None), zero=zero)
    return Assertion(
        Combined(tuple(entries), combine=rule, name=name), name, float(node.number("weight", 1.0))
    )


def _judge(node: Node, kind: str, name: str, weight: float, values: Mapping[str, Any] | None) -> Assertion:
    for key in ("rubricPrompt", "transform", "contextTransform"):
        if node.has(key):
            raise node.at(key).refuse(
                f"{key} of a model-graded assertion is not read",
                hint="remove it, or write a wb.BinaryJudge with user_template",
            )
    criteria = node.text("value")
    if has_tags(criteria):
        criteria = _filled(node.at("value"), criteria, values)
    judge = node.made(BinaryJudge, criteria, name=name, model=_model(node.at("provider")))
    return Assertion(judge, name, weight, kind.startswith("not-"), blocks=weight > 0)


def _filled(node: Node, text: str, values: Mapping[str, Any] | None) -> str:
    """A rubric with the values of its test; the row's own values are known only when it is graded."""
    if values is not None:
        try:
            return nunjucks(text).render(values)
        except (FormatError, TemplateRunError) as error:
            raise node.refuse(f"the template cannot be filled: {error.what}", found=text) from None
    raise node.refuse(
        "a rubric with variables is read for tests with values for them", found=text,
        hint="move it into the tests, or write a wb.BinaryJudge with user_template",
    )  # fmt: skip


def _model(node: Node) -> str:
    """The model of a provider such as `openai:chat:gpt-x`; "" if there is none."""
    provider = node.value.get("id") if isinstance(node.value, Mapping) else node.value
    if not isinstance(provider, str):
        return ""
    return provider.rpartition(":")[2] if not provider.startswith(("file:", "http")) else ""


def _graded(
    node: Node, kind: str, base: str, name: str, reading: Reading, values: Mapping[str, Any] | None
) -> tuple[Grader, bool]:
    """The grader of a deterministic assertion, and whether its entry is negated."""
    inverse = kind.startswith("not-")
    transform = node.text("transform", "") or ""
    if transform.startswith("file://"):
        raise node.at("transform").refuse(
            "a transform in a file is not read", found=transform, hint="write its code here"
        )
    if base in _CODE:
        code = _code(node, base, name, reading, values, inverse=inverse, is_json=bool(transform))
        return _transformed(node, code, transform, name, reading, is_json=True), False
    value = read_value(node.at("value"), reading)
    threshold = node.number("threshold", None)
    grader, negate = _plain_grader(base, value, name, inverse=inverse)
    if grader is None:
        settings: dict[str, Any] = {"value": value, "name": name, "threshold": threshold}
        grader = node.made(PromptfooAssertion, kind, **settings)
    return _transformed(node, grader, transform, name, reading, is_json=False), negate


def _transformed(
    node: Node, grader: Grader, transform: str, name: str, reading: Reading, *, is_json: bool
) -> Grader:  # fmt: skip
    if not transform:
        return grader
    script = scripts.transform_script(node.at("transform"), transform, reading, is_json=is_json)
    return Transformed(grader, script=script, name=name)


def _plain_grader(base: str, value: Any, name: str, *, inverse: bool) -> tuple[Grader | None, bool]:
    """The workbench's own kind that grades the same, which other platforms can take, and whether its entry is negated."""
    if not isinstance(value, str) or not value or has_tags(value):
        return None, False
    if base == "equals":
        return ExactMatch(value, trim=False, name=name), inverse
    if base in {"contains", "icontains"}:
        return Contains(value, ignore_case=base == "icontains", name=name), inverse
    return None, False


def _code(
    node: Node, base: str, name: str, reading: Reading, values: Mapping[str, Any] | None, *, inverse: bool, is_json: bool
) -> Grader:  # fmt: skip
    place, code = node.at("value"), node.text("value")
    call = scripts.ScriptCall(name, inverse, node.number("threshold", None), is_json, node.at("config").value)
    if code.startswith("file://"):
        return _code_file(place, code, reading, call)
    if code.startswith(("package:", "npm:")):
        raise place.refuse(
            "an assertion of a package is not read", found=code, hint="copy its function into a file"
        )
    make = scripts.javascript if base == "javascript" else scripts.python
    return make(place, code, reading, call, values)


def _code_file(place: Node, code: str, reading: Reading, call: scripts.ScriptCall) -> Grader:
    path, _, function = code.removeprefix("file://").partition(":")
    text = reading.companion(path, place.path)
    suffix = PurePosixPath(path).suffix
    if suffix in {".js", ".cjs", ".mjs"}:
        return scripts.javascript_file(place, text, function, reading, call)
    if suffix == ".py":
        return scripts.python_file(place, text, function, reading, call)
    raise place.refuse(
        "a file of code must be JavaScript or Python", found=code, expected=".js, .cjs, .mjs or .py"
    )


def read_value(node: Node, reading: Reading) -> Any:
    """The value of an assertion: unchanged, or the content of the file that it names."""
    if isinstance(node.value, list):
        return [_from_file(Node(item, f"{node.path}[{at}]"), reading) for at, item in enumerate(node.value)]
    return _from_file(node, reading)


def _from_file(node: Node, reading: Reading) -> Any:
    if not isinstance(node.value, str) or not node.value.startswith("file://"):
        return node.value
    return read_file(node, node.value, reading)


def read_file(node: Node, address: str, reading: Reading) -> Any:
    """The content of a file of data, within the folder of the document: parsed if it is JSON, YAML or CSV."""
    name = address.removeprefix("file://")
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in {".js", ".cjs", ".mjs", ".ts", ".py", ".rb"}:
        raise node.refuse(
            "a file that makes data with code is not run",
            found=address,
            hint="write its data into a JSON or YAML file",
        )
    text = reading.companion(name, node.path)
    if suffix == ".json":
        return parse_json(text, name)
    if suffix in {".yaml", ".yml"}:
        return parse_yaml(text, name, core=True)
    if suffix == ".jsonl":
        lines = enumerate(text.splitlines(), 1)
        return [parse_json(line, f"{name}, line {number}") for number, line in lines if line.strip()]
    if suffix == ".csv":
        return csv_rows(text, name)
    return text.strip()


def csv_rows(text: str, where: str) -> list[dict[str, str]]:
    """The rows of a CSV text.

    Raises:
        FormatError: It cannot be read as CSV.
    """
    try:
        return list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"), newline="")))
    except csv.Error as error:
        raise FormatError("the CSV cannot be read", where=where, found=str(error)) from None
