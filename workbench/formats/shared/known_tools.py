"""Files of other tools that no format reads: which tool a file is of, what it is, and how its rule is brought here.

To add one, add a row to the tables: documents by their keys, Python by what it imports, decorates or calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from workbench.core.errors import FormatError

_FUNCTION = "write async def grade(thread) around it that returns a number, or wb.CustomGrader(function)"
_JUDGE = "write its criterion as wb.BinaryJudge(criteria)"
_ROWS = "read its rows with wb.read_samples; it has no graders"


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda document: isinstance(document, Mapping) and set(keys) <= set(document)


def _is_pydantic(document: Any) -> bool:
    cases = document.get("cases") if isinstance(document, Mapping) else None
    return isinstance(cases, list) and (
        "evaluators" in document or any(isinstance(one, Mapping) and "inputs" in one for one in cases)
    )


def _has_entry_with(*keys: str) -> Callable[[Any], bool]:
    """Whether a value of a document is an object with these keys."""
    return lambda document: isinstance(document, Mapping) and any(map(_has(*keys), document.values()))


def _is_registry(document: Any) -> bool:
    entries = document.values() if isinstance(document, Mapping) else ()
    return any(isinstance(one, Mapping) and str(one.get("class", "")).startswith("evals.") for one in entries)


_AGENT_METRICS = re.compile(
    r"tool_trajectory_\w+|response_match_\w+|final_response_\w+|rubric_based_\w+|hallucinations_\w+|safety_\w+"
)


def _is_agent_config(document: Any) -> bool:
    criteria = document.get("criteria") if isinstance(document, Mapping) else None
    return (
        isinstance(criteria, Mapping)
        and bool(criteria)
        and all(_AGENT_METRICS.fullmatch(str(one)) for one in criteria)
    )


def _is_rubric(document: Any) -> bool:
    return isinstance(document, list) and bool(document) and all(map(_has("criterion", "points"), document))


_DOCUMENTS: tuple[tuple[Callable[[Any], bool], str, str], ...] = (
    (_is_pydantic, "a dataset or report of pydantic_evals without evaluators", "read the report's cases with wb.read_samples; graders are read from a dataset with `evaluators`"),
    (_has("task", "metric_list"), "a task of lm-evaluation-harness", "write exact_match as wb.ExactMatch, with an extractor for its filter, and read its samples_*.jsonl with wb.read_samples"),
    (_has("task", "doc_to_target"), "a task of lm-evaluation-harness", "write exact_match as wb.ExactMatch, with an extractor for its filter, and read its samples_*.jsonl with wb.read_samples"),
    (_has("eval", "results", "samples"), "a log of inspect_ai", _ROWS),
    (_has("testCases"), "a test run of DeepEval", _ROWS),
    (_has("resourceSpans"), "traces in OTLP", _ROWS),
    (_has("evalId", "results"), "results of promptfoo", f"{_ROWS}; load the config that made them"),
    (_has("evaluatorName", "categories"), "an evaluator of a Bedrock job", _JUDGE),
    (_has("customMetricDefinition"), "a custom metric of a Bedrock job", "write its instructions as wb.RubricJudge(prompt, scale=...)"),
    (_has("prompt", "outputSchema"), "an evaluator of Langfuse", "write its prompt as wb.RubricJudge(prompt, dialect='handlebars')"),
    (_is_registry, "an entry of the registry of openai/evals", "Match is wb.ExactMatch or wb.Contains(where='start'), Includes is wb.Contains, FuzzyMatch is wb.TokenF1; read the record of a run with wb.read_samples"),
    (_has_entry_with("prompt", "choice_strings"), "a model-graded eval of openai/evals", "write its prompt as wb.RubricJudge(prompt, dialect='braces'), with the score of each choice in it"),
    (_is_agent_config, "criteria of the Agent Development Kit", "tool_trajectory_avg_score is wb.ToolCalls, response_match_score is wb.TextSimilarity(metric='rouge_1'); write the others as wb.BinaryJudge"),
    (_has("testData", "evaluators"), "a prompt of GitHub Models with evaluators", "contains, startsWith and endsWith are wb.Contains, equals is wb.ExactMatch; write an llm evaluator as wb.RubricJudge"),
    (_has("$schema", "properties"), "a JSON Schema", "test completions with it: wb.JsonSchema(schema)"),
    (_is_rubric, "a rubric of criteria with points", "write each criterion as a wb.BinaryJudge, in a wb.Entry with its points as the weight"),
)  # fmt: skip


_BODY = r"(?:[ \t][^\n]*\n|\n)*?"
"""Indented lines, each matched in one way only: several would take time without bound on a file of blanks."""

_IMPORTS: tuple[tuple[str, str, str], ...] = (
    (r"^(?:from|import) reward_kit|@reward_function\b", "a reward of reward-kit or eval-protocol", "its function is called unchanged as module:function on the command line, or as wb.CustomGrader(function)"),
    (r"@evaluation_test\b|^(?:from|import) eval_protocol", "a test of eval-protocol", "give its inner function of messages to wb.CustomGrader; rows are rows of wb.read_samples"),
    (r"^(?:from|import) verifiers|\bvf\.(?:Rubric|Task|Environment|SingleTurnEnv|reward)\b", "code of verifiers", "write each function of its rubric as grade(thread), or call it in a wb.CustomGrader; weights go into wb.Entry"),
    (r"^(?:from|import) inspect_ai", "code of inspect_ai", "a scorer of the package is called unchanged as inspect_ai.scorer:match on the command line, or as wb.CustomGrader(match()); model_graded_qa() is wb.BinaryJudge; write your own scorers as async def grade(thread)"),
    (r"^(?:from|import) openevals|create_llm_as_judge\(", "code of openevals", _JUDGE),
    (r"^(?:from|import) autoevals|\bLLMClassifier\(", "code of autoevals", "Levenshtein and ExactMatch are wb.TextSimilarity and wb.ExactMatch; LLMClassifier is wb.BinaryJudge"),
    (r"^(?:from|import) braintrust", "code of Braintrust", _FUNCTION),
    (r"^(?:from|import) deepeval|\bGEval\(|\(BaseMetric\)", "metrics of DeepEval", "GEval(criteria=...) is wb.BinaryJudge(criteria); write other metrics as grade(thread)"),
    (r"^(?:from|import) mlflow|\bmake_judge\(", "scorers of MLflow", "make_judge(instructions=...) and Guidelines are wb.BinaryJudge; write a function under @scorer as grade(thread)"),
    (r"^(?:from|import) ragas|\bAspectCritic\(", "metrics of ragas", "AspectCritic(definition=...) is wb.BinaryJudge(criteria); Faithfulness is wb.FaithfulnessJudge"),
    (r"^(?:from|import) weave|@weave\.op\b|\(weave\.Scorer\)", "scorers of Weave", _FUNCTION),
    (r"^(?:from|import) phoenix|@create_evaluator\b", "evaluators of Phoenix", _FUNCTION),
    (r"^(?:from|import) langchain\b", "evaluators of LangChain", _JUDGE),
    (r"^class \w*RewardManager\b", "a reward manager of a trainer", "load the file of the function that it calls for a row, such as compute_score: wb.load(path)"),
    (r"^(?:from|import) langsmith", "evaluators of LangSmith", _FUNCTION),
    (r"^def lambda_handler\s*\(\s*event\s*,\s*context", "a Lambda of Amazon's RFT (Nova, Bedrock)", "write what it scores for one record as grade(thread)"),
    (r"^(?:async )?def \w+\(\s*run\s*[:,]", "an evaluator of LangSmith", _FUNCTION),
    (rf"^class \w+\b[^\n]*:\n{_BODY}[ \t]+(?:async )?def get_reward\(self\)", "an environment of TRL that owns its reward", "its class is called unchanged as module:Class on the command line, with its folder in PYTHONPATH, or as wb.CustomGrader(Class)"),
    (rf"^class \w+\b[^\n]*:\n{_BODY}[ \t]+(?:async )?def __call__\(self,\s*(?:prompts|completions)", "a reward class of a trainer", "write a function that calls an object of it: def reward(completions, **kw): return object(completions, **kw)"),
    (rf"^def \w+\((?=[^\n]*\))[^\n]*:\n{_BODY}[ \t]+(?:async )?def \w+\((?:prompts|completions)", "a function that makes a reward", "write the inner function at the top level, with its settings as constants"),
)  # fmt: skip
_TEXTS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"\A\s*(?:<\?xml[^>]*>\s*)?<rail\b"), "a specification of Guardrails", "write each validator as a grader, such as wb.Length or wb.Regex"),
    (re.compile(r"""^\s*import\b[^\n]*\bfrom\s+['"](?:braintrust|autoevals|evalite|vitest-evals)(?:/[\w/]+)?['"]""", re.MULTILINE), "an eval in TypeScript (Braintrust, Evalite, vitest-evals)", "write each scorer as a JavaScript function grade(input) in a .js file, or as async def grade(thread)"),
    (re.compile(r"""\A(?:\s|//[^\n]*\n)*(?:import\b[^\n]*\bfrom\s+|import\s*\{[^}]*\}\s*from\s+)['"]"""), "a module of TypeScript or JavaScript with imports", "write each scorer as a JavaScript function grade(input) without imports, or as async def grade(thread)"),
    (re.compile(r"\A---\n(?=.*\bmodel:)(?=.*^---$)", re.DOTALL | re.MULTILINE), "a prompt file (Prompty)", "write its prompt as wb.RubricJudge(prompt, dialect='jinja2')"),
    (re.compile(r"\A(?=.*\b(?:prompts|providers)\s*:)(?=.*\btests\s*:).*(?:module\.exports\s*=|export\s+default)\s*\{", re.DOTALL), "a config of promptfoo in JavaScript", "write its object as JSON once: node -p 'JSON.stringify(require(\"./promptfooconfig.js\"))' > promptfooconfig.json"),
)  # fmt: skip
"""What identifies a file of another language."""

_PYTHON = tuple((re.compile(pattern, re.MULTILINE), tool, step) for pattern, tool, step in _IMPORTS)


_SEARCHED = 200_000
"""Characters that are searched for the signs of a tool."""


def tool_error(document: Any, text: str, where: str) -> FormatError | None:
    """The error of a file whose tool is known and that no format reads; None for any other."""
    return _error(_of_text(text) or (_of_python(text) if document is None else _of_document(document)), where)


def _error(found: tuple[str, str] | None, where: str) -> FormatError | None:
    if found is None:
        return None
    tool, step = found
    return FormatError(f"it is {tool}, which is not read", where=where, hint=step)


def _of_text(text: str) -> tuple[str, str] | None:
    text = text[:_SEARCHED]
    return next(((tool, step) for pattern, tool, step in _TEXTS if pattern.search(text)), None)


def foreign_text(text: str, where: str) -> FormatError | None:
    """The error of a file of another language whose tool is known; None for any other."""
    return _error(_of_text(text), where)


def _of_document(document: Any) -> tuple[str, str] | None:
    return next(((tool, step) for fits, tool, step in _DOCUMENTS if fits(document)), None)


def _of_python(text: str) -> tuple[str, str] | None:
    text = text[:_SEARCHED]
    return next(((tool, step) for pattern, tool, step in _PYTHON if pattern.search(text)), None)
