"""Evaluators of other packages as graders: the reader of each call, and the way to bring the rule of the others.

A rule of text becomes the grader with the same scores; a prompt becomes a judge of the workbench with the author's text.

Source: autoevals 0.4, openevals 0.2, DeepEval 4, MLflow 3.17 (`genai`), ragas 0.4, inspect_ai 0.3, read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.formats.shared.named_functions import CALLED_BY_NAMES, with_call
from workbench.graders import Contains, ExactMatch, FunctionGrader, Grader
from workbench.graders.combine import Entry
from workbench.graders.text import Regex
from workbench.judges import BinaryJudge, RubricJudge
from workbench.judges.kinds.rag import AnswerRelevancyJudge, ContextRelevancyJudge, FaithfulnessJudge

PACKAGES = ("autoevals", "openevals", "deepeval", "mlflow", "ragas", "inspect_ai")
"""Packages whose evaluators are known."""

BASES_AND_DECORATORS = frozenset({
    "BaseMetric", "BaseConversationalMetric", "Scorer", "scorer", "ScorerWithPartial", "discrete_metric", "numeric_metric",
})  # fmt: skip
"""Bases and decorators of evaluators that a file defines."""


class NotReadError(Exception):
    """An evaluator that is not read; the message is the way to bring its rule."""


@dataclass(frozen=True)
class EvaluatorCall:
    """One evaluator of a file.

    Attributes:
        package: Its package.
        name: Its class or function.
        line: Where it is.
        variable: The variable that it is assigned to; "" for none.
        given: Literal arguments by name; positional ones by their index. An argument that is not a literal is absent.
        unknown: Arguments that are not literals.
        is_made: Whether it is called, not only named.
    """

    package: str
    name: str
    line: int
    variable: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    is_made: bool = True

    def get(self, name: str, place: int = -1, default: Any = None) -> Any:
        """An argument by its name or place.

        Raises:
            NotReadError: It is not a literal of this file.
        """
        key = name if name in self.given or name in self.unknown else str(place)
        if key in self.unknown:
            raise NotReadError(f"write its argument {name} out in this file")
        return self.given.get(key, default)

    def text(self, name: str, place: int = -1) -> str:
        """A text that is required.

        Raises:
            NotReadError: There is none in the file.
        """
        found = self.get(name, place)
        if not isinstance(found, str) or not found.strip():
            raise NotReadError(f"write its argument {name} as a text in this file")
        return found

    @property
    def title(self) -> str:
        """The name of its scores."""
        named = self.given.get("name", self.given.get("feedback_key"))
        return named if isinstance(named, str) and named else self.variable or self.name

    @property
    def model(self) -> str:
        """The model of `openai:/gpt-x`, `openai:gpt-x` or `gpt-x`; "" for none."""
        found = self.given.get("model")
        return re.sub(r"^[\w-]+:/?", "", found) if isinstance(found, str) else ""


_DISTANCE = '''"""Edit distance as a share of the longer text."""


def levenshtein(output: str, expected: str) -> float:
    """1.0 for equal texts, 0.0 for texts without a character in common."""
    if expected is None:
        raise ValueError("the row has no reference")
    expected = str(expected)
    longest = max(len(output), len(expected))
    row = list(range(len(expected) + 1))
    for number, mark in enumerate(output, 1):
        before, row[0] = row[0], number
        for place, other in enumerate(expected, 1):
            cost = before if mark == other else 1 + min(before, row[place], row[place - 1])
            before, row[place] = row[place], cost
    return 1 - row[-1] / longest if longest else 1.0
'''


def _levenshtein(call: EvaluatorCall) -> Grader:
    return FunctionGrader.from_source(
        with_call(_DISTANCE, "levenshtein"), name=call.name, signature="thread", function="_by_names_grade",
        description=f"{CALLED_BY_NAMES}: output is the completion, expected is the reference",
    )  # fmt: skip


_VARIABLES = {
    "input": "input", "inputs": "input", "output": "submission", "outputs": "submission", "expected": "ground_truth",
    "reference_outputs": "ground_truth", "expectations": "ground_truth",
}  # fmt: skip
"""Variables of the packages' prompts, and those of `RubricJudge`."""


def _prompted(
    call: EvaluatorCall, prompt: str, pattern: str, ending: str, passes: float | None = 0.5
) -> Entry:
    """A judge with the author's prompt, whose variables are translated.

    Args:
        call: The call.
        prompt: Its prompt.
        pattern: A variable of its dialect; its name is the first group.
        ending: What the score is, appended to the prompt.
        passes: The lowest score that passes.
    """
    names = {match[1].strip() for match in re.finditer(pattern, prompt)}
    if unknown := sorted(names - _VARIABLES.keys()):
        raise NotReadError(
            f"write its prompt, which has the variable {unknown[0]!r}, as wb.RubricJudge(prompt, dialect='handlebars')"
        )
    pieces = re.split(pattern, prompt)
    # Braces of the text itself would be read as variables.
    if any("{{" in text for text in pieces[::2]):
        raise NotReadError(
            "write its prompt, which has sections, as wb.RubricJudge(prompt, dialect='handlebars')"
        )
    texts = [
        piece if not number % 2 else f"{{{{{_VARIABLES[piece.strip()]}}}}}"
        for number, piece in enumerate(pieces)
    ]
    judge = RubricJudge(
        "".join(texts) + f"\n\n{ending}",
        dialect="handlebars",
        name=call.title,
        model=call.model,
        pass_threshold=passes,
    )
    return Entry(judge)


_MUSTACHE = r"\{\{\{?\s*(\w+)\s*\}?\}\}"
_BRACES = r"(?<!\{)\{(\w+)\}(?!\})"


def _classifier(call: EvaluatorCall) -> Entry:
    scores = call.get("choice_scores", 2)
    if not isinstance(scores, dict) or not all(
        isinstance(one, int | float) and 0 <= one <= 1 for one in scores.values()
    ):
        raise NotReadError("write its choice_scores as numbers from 0 to 1")
    told = ", ".join(f"{score:g} for {choice}" for choice, score in scores.items())
    return _prompted(call, call.text("prompt_template", 1), _MUSTACHE, f"The score is {told}.")


def _as_judge(call: EvaluatorCall) -> Entry:
    if any(call.get(name) is not None for name in ("output_schema", "few_shot_examples", "system")):
        raise NotReadError(
            "write its prompt, with the system prompt and the examples, as wb.RubricJudge(prompt, dialect='braces')"
        )
    choices, is_continuous = call.get("choices"), call.get("continuous", default=False)
    if choices:
        ending = f"The score is one of {', '.join(map(str, choices))}."
    elif is_continuous:
        ending = "The score is a number from 0 to 1."
    else:
        ending = "The score is 1 for true, and 0 for false."
    return _prompted(call, call.text("prompt", 0), _BRACES, ending)


_PASSING = ("yes", "true", "pass", "passed", "correct", "good")
_FAILING = ("no", "false", "fail", "failed", "incorrect", "bad")


def _make_judge(call: EvaluatorCall) -> Entry:
    kind = call.get("feedback_value_type", default=("yes", "no"))
    labels = ("true", "false") if kind == "bool" else ("yes", "no") if kind == "str" else kind
    scores = [str(one).casefold() for one in labels] if isinstance(labels, tuple) else []
    if not scores or not set(scores) <= {*_PASSING, *_FAILING}:
        raise NotReadError(
            "write its instructions as wb.RubricJudge(prompt, dialect='handlebars', scale=...): which of its values pass is not in the file"
        )
    told = ", ".join(f"{int(one in _PASSING)} for {label}" for one, label in zip(scores, labels, strict=True))
    return _prompted(call, call.text("instructions"), _MUSTACHE, f"The score is {told}.")


def _geval(call: EvaluatorCall) -> Entry:
    if call.get("rubric") is not None:
        raise NotReadError("write its criteria and its rubric as wb.RubricJudge(prompt)")
    steps = call.get("evaluation_steps")
    criteria = call.get("criteria", 2)
    parts = [criteria if isinstance(criteria, str) else "", *(f"- {step}" for step in steps or ())]
    text = "\n".join(part for part in parts if part)
    if not text.strip():
        raise NotReadError("write its criteria as a text in this file")
    threshold = 1.0 if call.get("strict_mode", default=False) else call.get("threshold", default=0.5)
    return Entry(RubricJudge(text, name=call.title, model=call.model, pass_threshold=threshold))


def _with_threshold(kind: Callable[..., Grader]) -> Callable[[EvaluatorCall], Entry]:
    def make(call: EvaluatorCall) -> Entry:
        return Entry(kind(name=call.title, model=call.model), pass_threshold=call.get("threshold", 0, 0.5))

    return make


def _without_threshold(kind: Callable[..., Grader]) -> Callable[[EvaluatorCall], Grader]:
    return lambda call: kind(name=call.title)


def _guidelines(call: EvaluatorCall) -> Grader:
    told = call.get("guidelines")
    text = "\n".join(told) if isinstance(told, list) and all(isinstance(one, str) for one in told) else told
    if not isinstance(text, str) or not text.strip():
        raise NotReadError("write its guidelines as a text in this file")
    return BinaryJudge(text, name=call.title, model=call.model)


def _pattern(call: EvaluatorCall) -> Grader:
    pattern = rf"\A\s*(?:{call.text('pattern', 0)})\s*\Z"
    return Regex(pattern, ignore_case=bool(call.get("ignore_case", 1, False)), name=call.title)


EVALUATORS: Mapping[tuple[str, str], Callable[[EvaluatorCall], Grader | Entry]] = {
    ("autoevals", "Levenshtein"): _levenshtein,
    ("autoevals", "LevenshteinScorer"): _levenshtein,
    ("autoevals", "ExactMatch"): lambda call: ExactMatch(trim=False, name=call.title),
    ("autoevals", "LLMClassifier"): _classifier,
    ("openevals", "create_llm_as_judge"): _as_judge,
    ("openevals", "create_async_llm_as_judge"): _as_judge,
    ("openevals", "levenshtein_distance"): _levenshtein,
    ("openevals", "exact_match"): lambda call: ExactMatch(trim=False, name=call.title),
    ("deepeval", "GEval"): _geval,
    ("deepeval", "ExactMatchMetric"): lambda call: ExactMatch(name=call.title),
    ("deepeval", "PatternMatchMetric"): _pattern,
    ("deepeval", "FaithfulnessMetric"): _with_threshold(FaithfulnessJudge),
    ("deepeval", "AnswerRelevancyMetric"): _with_threshold(AnswerRelevancyJudge),
    ("deepeval", "ContextualRelevancyMetric"): _with_threshold(ContextRelevancyJudge),
    ("mlflow", "make_judge"): _make_judge,
    ("mlflow", "Guidelines"): _guidelines,
    ("ragas", "AspectCritic"): lambda call: BinaryJudge(call.text("definition", 1), name=call.title),
    ("ragas", "ExactMatch"): lambda call: ExactMatch(trim=False, name=call.title),
    ("ragas", "StringPresence"): lambda call: Contains(name=call.title),
    ("ragas", "Faithfulness"): _without_threshold(FaithfulnessJudge),
    ("inspect_ai", "includes"): lambda call: Contains(
        ignore_case=bool(call.get("ignore_case", 0, True)), name=call.title
    ),
}  # fmt: skip
"""Package and name of an evaluator to its reader."""

_MODEL_GRADED = "write its criterion as wb.BinaryJudge(criteria): its prompt is in the package"
_UNCHANGED = "pass it as a live function, which calls it unchanged: wb.CustomGrader({name}()), or inspect_ai.scorer:{name} on the command line"
_WAYS: Mapping[str, tuple[str, str]] = {
    "autoevals": (r"[A-Z]\w*", _MODEL_GRADED),
    "openevals": (r"create_\w+|json_match\w*", _MODEL_GRADED),
    "deepeval": (r"\w+Metric", _MODEL_GRADED),
    "mlflow": (r"Correctness|RelevanceToQuery|RetrievalGroundedness|RetrievalRelevance|RetrievalSufficiency|Safety|Equivalence|ExpectationsGuidelines|\w*Judge", _MODEL_GRADED),
    "ragas": (r"(?!SingleTurn|MultiTurn|Evaluation)[A-Z]\w*(?:Score|Recall|Precision|Critic|Relevanc\w+|Relevance|Correctness|Similarity|Accuracy|Metric|Presence)", _MODEL_GRADED),
    "inspect_ai": (r"match|exact|f1|pattern|choice|math|answer|perplexity", _UNCHANGED),
}  # fmt: skip
"""Package to the names of its other evaluators, and the way to bring their rule."""
_RULES = {
    "NumericDiff": "write its rule as wb.Number(tolerance=...), or as async def grade(thread)",
    "JSONDiff": "write it as wb.JsonMatch",
    "ValidJSON": "write it as wb.WellFormed('json') or wb.JsonSchema(schema)",
    "JsonCorrectnessMetric": "write it as wb.JsonSchema(schema)",
    "ToolCorrectnessMetric": "write it as wb.ToolCalls, which compares the tool calls of a conversation",
    "model_graded_qa": "write its criterion as wb.BinaryJudge(criteria)",
}
"""Evaluators with another way."""


def way_to_bring(package: str, name: str) -> str:
    """How the rule of an evaluator is brought that is not read; "" if it is not an evaluator."""
    pattern, way = _WAYS[package]
    if name in _RULES:
        return _RULES[name]
    not_evaluators = {"Score", "OpenAI", "EvalCase", "LLMTestCase"}
    return way.format(name=name) if re.fullmatch(pattern, name) and name not in not_evaluators else ""
