"""OpenAI's graders of two templates: a string check, and the similarity of two texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from workbench.core.discovery import needed_packages
from workbench.core.errors import FormatError, WorkbenchError
from workbench.core.grade import ErrorKind
from workbench.core.thread import StringThread
from workbench.data.samples import Samples
from workbench.data.templates import compile as compile_template
from workbench.graders.arguments import check_choice
from workbench.graders.base import kind
from workbench.graders.portable_rule import PythonBody, Rule, javascript_literal, javascript_score, refusal
from workbench.graders.rule_grader import ColumnVerdicts, Unscored, no_reference
from workbench.graders.rules import structure
from workbench.graders.rules.similarity import similarity
from workbench.graders.rules.text import Verdict, string_check, string_check_holds
from workbench.graders.text.text_grader import TextGrader, two_reasons

OUTPUT = "{{sample.output_text}}"
REFERENCE = "{{item.reference}}"


@lru_cache(maxsize=512)
def _template(text: str) -> Any:
    return compile_template(text, "openai")


@dataclass(frozen=True, kw_only=True)
class TemplatedGrader(TextGrader):
    """A grader that compares two OpenAI templates, filled in from the sample.

    `item` is the sample's metadata, with its reference under `reference` unless a column has that name.
    `sample` has `output_text` (the extracted text), `output_json` (if that text is valid JSON),
    `output_tools` (the thread's tool calls) and `choices`.

    Attributes:
        input: Template of the text being graded.
        reference: Template of what it is compared with.
    """

    hidden_from_dir = "score_in_python"

    input: str = OUTPUT
    reference: str = REFERENCE

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("input", "reference"):
            text = getattr(self, name)
            if not isinstance(text, str):
                raise FormatError(f"{name} must be a template's text", found=repr(text)[:80])
            _template(text)

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on the extracted text."""
        item = structure.template_item(thread.metadata, reference)
        if "reference" not in item and "item.reference" in self.input + self.reference:
            raise no_reference()
        values = {"item": item, "sample": structure.template_sample(text, thread.tool_calls())}
        return self.compare(self._fill(self.input, values), self._fill(self.reference, values))

    def _fill(self, template: str, values: Mapping[str, Any]) -> str:
        if template == OUTPUT:
            return str(values["sample"]["output_text"])  # the most common template; no engine needed
        engine = _template(template)
        try:
            return str(engine.render({name: values[name] for name in engine.variables}))
        except WorkbenchError as error:
            raise Unscored(ErrorKind.TEMPLATE, str(error)) from None

    def compare(self, text: str, reference: str) -> Verdict:
        """The verdict on both rendered texts."""
        raise NotImplementedError

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The Python lines that fill in both templates, then those of the rule."""
        assert self.rule is not None
        for name in ("input", "reference"):
            if not structure.is_plain_template(getattr(self, name)):
                why = "its template contains more than paths"
                raise refusal(self, name, why, "use {{item.x}} and {{sample.x}} only")
        texts = [f"fill_template({template!r}, values)" for template in (self.input, self.reference)]
        lines = (
            f"item = template_item(thread.metadata, reference_of(thread, {reference_names!r}))",
            'values = {"item": item, "sample": template_sample(text, calls_of(thread))}',
            f"return {self.score_in_python(self.rule.python_call(self, *texts))}",
        )
        helpers = ("template_item", "template_sample", "fill_template")
        called = ("threads.reference_of", "threads.calls_of", self.rule.python)
        return PythonBody((*called, *(f"structure.{name}" for name in helpers)), lines)

    def score_in_python(self, call: str) -> str:
        """The score in the rule's return value: the first part of a `Verdict`."""
        return f"{call}[0]"


_MAX_CHARACTERS = 2**20
"""Maximum characters of a reference that a template certainly reproduces unchanged."""
_ONE_VALUE = re.compile(r"\{\{\s*(item\.[\w-]+|sample\.output_text)\s*\}\}")


@kind("string-check", family="text")
@dataclass(frozen=True, kw_only=True)
class StringCheck(TemplatedGrader):
    """1.0 if the comparison of two rendered templates is true, else 0.0. Nothing is trimmed.

    Attributes:
        operation: "eq" or "ne" (equal or not), "like" (input contains reference) or "ilike" (the same,
            ignoring case).

    Error kinds: template, sample (`item.reference` if the sample has none).

    Source: OpenAI (`string_check`).
    """

    rule: ClassVar[Rule] = Rule("text.string_check", "stringCheck", ("operation",))

    operation: str = "eq"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("operation", self.operation, ("eq", "ne", "like", "ilike"))

    @property
    def needs_reference(self) -> bool:
        """Whether `grade_texts` compares with the reference."""
        return "{{" in self.reference

    def compare_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts | None:
        """The verdicts on completions compared with their references, or with a constant."""
        if not set(map(type, references)) <= {str} or max(map(len, references), default=0) > _MAX_CHARACTERS:
            return None  # number formatting and length limits are up to the template
        expected = references if self.needs_reference else [self.reference] * len(texts)
        pairs = zip(texts, expected, strict=True)
        passed = [string_check_holds(text, other, self.operation) for text, other in pairs]
        return two_reasons(passed, self.compare)

    def reads_columns(self, samples: Samples) -> bool:
        """Whether the templates contain only the completion and its reference, or a constant."""
        if not self.has_own_rule:
            return False
        constant = "{" not in self.reference
        if self.input != OUTPUT or not (constant or self.reference == REFERENCE):
            return False
        # A key of that name in the metadata outranks the reference.
        named = samples.columns.get("reference") == "reference" or "reference" not in samples.metadata_names
        return constant or (named and "metadata" not in samples.columns)

    def compare(self, text: str, reference: str) -> Verdict:
        """Apply the operation to both rendered texts."""
        return string_check(text, reference, operation=self.operation)

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:
        """The lines of the JavaScript function once `text` is known."""
        sides = [self._in_javascript(name, reference_names) for name in ("input", "reference")]
        return [javascript_score(self.rule.javascript_call(self, *sides))]

    def _in_javascript(self, field_name: str, reference_names: tuple[str, ...]) -> str:
        """A template as an expression: a constant, the output's text, or one value of the item."""
        template: str = getattr(self, field_name)
        match = _ONE_VALUE.fullmatch(template)
        if match is None and "{{" in template:
            why = "its template contains more than one plain value"
            raise refusal(self, field_name, why, "use {{sample.output_text}}, one {{item.x}}, or a constant")
        if match is None:
            return javascript_literal(template)
        if match[1] == "sample.output_text":
            return "text"
        key = match[1].removeprefix("item.")
        # The key itself first: a column of that name outranks the reference.
        keys = (key, *reference_names) if key == "reference" else (key,)
        return f"itemText(input, {javascript_literal(keys)})"


_MAX_COMPARISONS = 10**11
"""Maximum product of lengths, about two seconds of comparing, which cannot be interrupted."""

METRICS = (
    "fuzzy_match",
    *(f"rouge_{size}" for size in range(1, 6)),
    "rouge_l",
    "bleu",
    "gleu",
    "meteor_without_synonyms",
)
"""Every measure, by its name."""


@kind("text-similarity", family="similarity")
@dataclass(frozen=True, kw_only=True)
class TextSimilarity(TemplatedGrader):
    """Similarity of two rendered templates, from 0 to 1. Returns no verdict: a suite's threshold does.

    | metric | what it is |
    | --- | --- |
    | fuzzy_match | rapidfuzz's `fuzz.ratio` over characters; case counts |
    | rouge_1 to rouge_5 | F1 of common runs of words, lower-cased, not stemmed (the `rouge-score` package) |
    | rouge_l | F1 of the longest common subsequence of words (the same) |
    | bleu | sentence BLEU, up to 4-grams, effective order and "exp" smoothing as in `sacrebleu` |
    | gleu | Google's BLEU as in `nltk` |
    | meteor_without_synonyms | METEOR as in `nltk`, stems and no WordNet; "meteor" is read as this |

    Tokens of the last three are runs of word characters and runs of other characters.

    Attributes:
        metric: See the table. "cosine" needs embeddings and is refused.

    Error kinds: template, sample (`item.reference` if the sample has none), timeout (texts whose common
    subsequence would take seconds: two different ones of more than 300,000 characters).

    Source: OpenAI (`text_similarity`); which packages it runs is public only for fuzzy_match.
    """

    gives_verdict: ClassVar[bool] = False
    rule: ClassVar[Rule] = Rule("similarity.similarity", settings=("metric",))

    metric: str = "fuzzy_match"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric == "cosine":
            raise FormatError(
                "the metric cosine compares embeddings, which need a model",
                expected=", ".join(METRICS),
                hint="use fuzzy_match or rouge_l, or a custom grader that calls your embedding model",
            )
        if self.metric == "meteor":
            object.__setattr__(self, "metric", "meteor_without_synonyms")
        check_choice("metric", self.metric, METRICS)

    def compare(self, text: str, reference: str) -> Verdict:
        """The similarity of both rendered texts, 0 to 1."""
        score = similarity(text, reference, metric=self.metric, lcs=_fast_lcs)
        return score, f"{self.metric} {score:.4f}", {}

    def score_in_python(self, call: str) -> str:
        """The rule's return value, which is only the score."""
        return call


def _fast_lcs(items: Sequence[Any], reference_items: Sequence[Any]) -> int:
    with needed_packages():
        from rapidfuzz.distance import LCSseq

    if items == reference_items:
        return len(items)
    if len(items) * len(reference_items) > _MAX_COMPARISONS:
        message = f"texts of {len(items):,} and {len(reference_items):,} parts take too long to compare"
        raise Unscored(ErrorKind.TIMEOUT, message)
    if not isinstance(items, str):
        # Words become small numbers, since rapidfuzz compares hashes and two words may share one.
        numbers: dict[Any, int] = {}
        items, reference_items = (
            [numbers.setdefault(word, len(numbers)) for word in words] for words in (items, reference_items)
        )
    return LCSseq.similarity(items, reference_items)
