"""Base classes of graders of one text of the conversation, of those that compare it with something, and their shared options.

The options of graders that look for a text: several texts, normalisation, negation.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar

import numpy as np

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind, Skip
from workbench.core.thread import StringThread
from workbench.data.extractors import Extractor, as_extractor
from workbench.graders.arguments import HANDLING, as_texts, check_choice, check_optional_text
from workbench.graders.portable_rule import PythonBody, javascript_literal, javascript_score, no_skip, refusal
from workbench.graders.rule_grader import ColumnVerdicts, RuleGrader, UngradedReason, Unscored, no_reference
from workbench.graders.rules.text import Verdict, as_text, matches

_EMPTY: Verdict = (0.0, UngradedReason("Empty submission: the extractor found no text"), {})
_NO_TRAJECTORY: Verdict = (0.0, UngradedReason("Empty trajectory: there is no reply to the user"), {})
_NO_GROUND_TRUTH: Verdict = (0.0, UngradedReason("No ground_truth answer provided"), {})
_LETTA_WORDS = {
    _EMPTY[1]: "Empty submission - extractor found no content",
    _NO_TRAJECTORY[1]: "Empty trajectory - agent produced no messages",
}


def _are_texts(values: Sequence[Any]) -> bool:
    return set(map(type, values)) <= {str}


@dataclass(frozen=True, kw_only=True)
class TextGrader(RuleGrader):
    """A rule grader of one text.

    Attributes:
        extractor: Which part of the conversation is graded: a name, a dict, or an `Extractor`. The last
            assistant message by default.
        on_empty: Handling of an empty text: "grade" it like any other, "fail" (the grade fails, kind sample), "skip",
            or "zero" (Letta from 0.8: score 0.0, "Empty submission", or "Empty trajectory" if there is no reply).
    """

    extractor: Extractor = field(default_factory=Extractor)
    on_empty: str = "grade"

    hidden_from_dir = "compare_texts grade_text javascript_rest python_rest text"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "extractor", as_extractor(self.extractor))
        check_choice("on_empty", self.on_empty, ("grade", "fail", "skip", "zero"))

    @property
    def needs_answer(self) -> str:
        """Nothing if `on_empty` handles empty texts, `"turn"` for an extractor that selects its turn, else `"completion"`."""
        if self.on_empty != "grade":
            return ""
        return "completion" if self.extractor.name == "last_assistant" else "turn"

    def _field_spec(self, f: Field[Any]) -> Any:
        value = getattr(self, f.name)
        if isinstance(value, Extractor):
            return value.spec()
        return list(value) if isinstance(value, tuple) else value

    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on one thread: score, reason, details."""
        text = self.text(thread)
        if not text and self.on_empty != "grade":
            return self._on_empty_text(thread)
        return self.grade_text(text, thread, reference)

    def grade_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts | None:
        """The verdicts of graders of the completion: see `compare_texts`."""
        if self.extractor.name != "last_assistant":
            return None
        return self.compare_texts(texts, references)

    def compare_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts | None:  # noqa: ARG002
        """The verdicts on the texts themselves; None if the rule has no form for columns."""
        return None

    def _on_empty_text(self, thread: StringThread) -> Verdict:
        answered = any(turn.role not in {"user", "system"} for turn in thread.get_turns())
        empty = _EMPTY if answered else _NO_TRAJECTORY
        if self.on_empty == "skip":
            raise Skip(empty[1])
        if self.on_empty == "fail":
            raise Unscored(ErrorKind.SAMPLE, empty[1])
        return empty

    @abstractmethod
    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on the extracted text."""

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The Python lines of the extractor, then those of the rule."""
        rest, extractor = self.python_rest(reference_names), self.extractor
        if not extractor.module:
            raise refusal(self, "extractor", f"{extractor.name!r} is a user extractor")
        settings = "".join(f", {key}={value!r}" for key, value in extractor.config.items())
        extraction = f"text = {extractor.name}(thread{settings})"
        empty = {
            "grade": (),
            "zero": ("if not text:", "    return 0.0"),
            "fail": ("if not text:", "    raise ValueError('the text to grade is empty')"),
        }
        if self.on_empty not in empty:
            raise no_skip(self, "on_empty")
        rules = (f"{extractor.module}.{extractor.name}", *rest.rules)
        return PythonBody(rules, (extraction, *empty[self.on_empty], *rest.lines))

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The body of the Python function once `text` is known."""
        if self.rule is None:
            return super().python_body(reference_names)
        return PythonBody((self.rule.python,), (f"return {self.rule.python_call(self, 'text')}[0]",))

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:
        """The JavaScript lines for the response, then those of the rule."""
        rest = self.javascript_rest(reference_names)
        if self.extractor.spec() != "last_assistant":
            raise refusal(self, "extractor", "a script receives the response only", 'use "last_assistant"')
        empty = {
            "grade": [],
            "zero": ["if (!text) return 0.0;"],
            "fail": ['if (!text) throw new Error("the text to grade is empty");'],
        }
        if self.on_empty not in empty:
            raise no_skip(self, "on_empty")
        return ["const text = lastAssistant(input);", *empty[self.on_empty], *rest]

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:
        """The lines of the JavaScript function once `text` is known."""
        if self.rule is None or not self.rule.javascript:
            return super().javascript_body(reference_names)
        return [javascript_score(self.rule.javascript_call(self, "text"))]

    def text(self, thread: StringThread) -> str:
        """The text to grade."""
        if self.extractor.name == "last_assistant" and (completion := thread.completion()):
            return completion  # the same result without reading every turn
        return self.extractor.extract(thread)


@dataclass(frozen=True, kw_only=True)
class WordedGrader(TextGrader):
    """A text grader that Letta has as well, with reasons that can use Letta's wording.

    Attributes:
        wording: Wording of the reasons: "" for the workbench's, "letta" for Letta's rationales, such as
            `Exact match: True`. No score depends on it.
    """

    hidden_from_dir = "letta_reasons"

    letta_reasons: ClassVar[tuple[str, str]] = ("", "")
    """Letta's rationale of a 1.0 and of a 0.0; "" if it equals the workbench's."""

    wording: str = field(default="", metadata=HANDLING)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("wording", self.wording, ("", "letta"))

    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on one thread: score, reason, details."""
        score, reason, details = super().grade_thread(thread, reference)
        return score, self._in_lettas_words(score, reason) if self.wording else reason, details

    def grade_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts | None:
        """The verdicts on many completions, equal to those of `grade_thread`."""
        return None if self.wording and any(self.letta_reasons) else super().grade_texts(texts, references)

    def _in_lettas_words(self, score: float, reason: str) -> str:
        if isinstance(reason, UngradedReason):
            return UngradedReason(_LETTA_WORDS.get(reason, reason))
        return self.letta_reasons[0 if score else 1] or reason


@dataclass(frozen=True, kw_only=True)
class ReferenceGrader(WordedGrader):
    """A text grader that compares with something: a constant, or the sample's reference.

    Attributes:
        on_no_reference: Handling of a sample without a required reference: "fail" (the grade fails, kind
            sample), "skip", or "zero" (Letta: score 0.0). The last two apply to an empty reference too.
    """

    hidden_from_dir = "compare compare_in constant expected_in_javascript expected_in_python passes"

    on_no_reference: str = field(default="fail", metadata=HANDLING)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("on_no_reference", self.on_no_reference, ("fail", "skip", "zero"))

    @property
    def constant(self) -> str | None:
        """The grader's constant; None if the sample's reference is used."""
        raise NotImplementedError

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:
        """The verdict on the extracted text."""
        expected = self.constant
        if expected is None:
            expected = None if reference is None else as_text(reference)
            if not expected and self.on_no_reference == "zero":
                return _NO_GROUND_TRUTH
            if not expected and self.on_no_reference == "skip":
                raise Skip("no reference to compare with")
            if expected is None:
                raise no_reference()
        return self.compare_in(thread, text, expected)

    def compare_in(self, thread: StringThread, text: str, expected: str) -> Verdict:  # noqa: ARG002
        """The verdict of a kind that reads more of the row than the two texts; `compare` for others."""
        return self.compare(text, expected)

    @property
    def needs_reference(self) -> bool:
        """Whether `grade_texts` compares with the reference."""
        return self.constant is None

    def compare_texts(self, texts: Sequence[str], references: Sequence[Any]) -> ColumnVerdicts | None:
        """The verdicts on the texts themselves; None if the rule has no form for columns."""
        if self.constant is not None:
            expected: Sequence[str] = [self.constant] * len(texts)
        else:  # the check of all types takes a fifth of converting texts to themselves
            expected = references if _are_texts(references) else list(map(as_text, references))
        passed = self.passes(texts, expected)
        return None if passed is None else two_reasons(passed, self.compare)

    def passes(self, texts: Sequence[str], expected: Sequence[str]) -> list[bool] | None:  # noqa: ARG002
        """Whether each text passes, for rules whose reason contains nothing else; None for others."""
        return None

    @abstractmethod
    def compare(self, text: str, expected: str) -> Verdict:
        """The verdict on the text and the expected text."""

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The Python lines for the expected text, then those of the rule."""
        if self.rule is None:
            return super().python_rest(reference_names)
        expected = self.expected_in_python(reference_names)
        call = f"return {self.rule.python_call(self, 'text', 'expected')}[0]"
        return PythonBody((*expected.rules, self.rule.python), (*expected.lines, call))

    def expected_in_python(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The lines that define the expected text."""
        if self.constant is not None:
            return PythonBody((), (f"expected = {self.constant!r}",))
        if self.on_no_reference == "skip":
            raise no_skip(self, "on_no_reference")
        if self.on_no_reference == "fail":
            line = f"expected = text_of_reference(thread, {reference_names!r})"
            return PythonBody(("threads.text_of_reference",), (line,))
        lines = (
            f"reference = reference_of(thread, {reference_names!r})",
            "if reference is None or reference == '':",
            "    return 0.0",
            "expected = as_text(reference)",
        )
        return PythonBody(("threads.reference_of", "text.as_text"), lines)

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:
        """The JavaScript lines for the expected text, then those of the rule."""
        if self.rule is None or not self.rule.javascript:
            return super().javascript_rest(reference_names)
        score = javascript_score(self.rule.javascript_call(self, "text", "expected"))
        return [*self.expected_in_javascript(reference_names), score]

    def expected_in_javascript(self, reference_names: tuple[str, ...]) -> list[str]:
        """The JavaScript lines that define the expected text."""
        names = javascript_literal(reference_names)
        if self.constant is not None:
            return [f"const expected = {javascript_literal(self.constant)};"]
        if self.on_no_reference == "skip":
            raise no_skip(self, "on_no_reference")
        if self.on_no_reference == "fail":
            return [f"const expected = textOfReference(input, {names});"]
        return [
            f"const reference = referenceOf(input, {names});",
            'if (reference === null || reference === "") return 0.0;',
            "const expected = asText(reference);",
        ]


def two_reasons(passed: Sequence[bool], rule: Callable[[str, str], Verdict]) -> ColumnVerdicts:
    """The verdicts of a rule with one reason for every pass, and one for every other text.

    Args:
        passed: Whether each text passes, (m,).
        rule: Called once with a text that equals the expected one, and once with an unrelated text.
    """
    reasons = {verdict[0]: verdict[1] for verdict in (rule("a", "a"), rule("a", "b"))}
    codes = np.array(passed, np.int8)
    return ColumnVerdicts(codes.astype(np.float64), codes, {0: reasons[0.0], 1: reasons[1.0]}.__getitem__)


@dataclass(frozen=True, kw_only=True)
class ExpectedGrader(ReferenceGrader):
    """A text grader that compares with an expected text.

    Attributes:
        expected: The text; None takes each sample's reference (a number as its JSON text).
    """

    expected: str | None = field(default=None, kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_optional_text("expected", self.expected)

    @property
    def constant(self) -> str | None:
        """The grader's constant; None if the sample's reference is used."""
        return self.expected


STEPS = ("nfc", "nfkc", "spaces", "quotes", "dashes")
"""Steps of normalisation."""


@dataclass(frozen=True, kw_only=True)
class MatchGrader(ExpectedGrader):
    """A grader that looks for an expected text, or for several.

    Attributes:
        several: "any" or "all": `expected` is a list of texts, or the reference is; "" for one text. A list given as `expected`
            means "any" by default.
        normalize: What is made equal on both sides, in this order: "nfc" or "nfkc" (Unicode forms), "spaces" (kinds and runs
            of white space, invisible characters), "quotes" and "dashes" (typographic ones). Nothing by default.
        negate: Whether a match scores 0.0, and no match 1.0. A row that fails still fails.
    """

    hidden_from_dir = "match_rule option_names is_plain options"

    option_names: ClassVar[tuple[str, ...]] = ("several", "normalize", "negate")
    """Settings that other platforms do not have."""

    several: str = ""
    normalize: tuple[str, ...] = ()
    negate: bool = False

    def __post_init__(self) -> None:
        texts = _as_list(self.expected)
        if texts is not None:
            object.__setattr__(self, "expected", json.dumps(texts, ensure_ascii=False))
            object.__setattr__(self, "several", self.several or "any")
        super().__post_init__()
        check_choice("several", self.several, ("", "any", "all"))
        object.__setattr__(self, "normalize", checked_steps(self.normalize))
        if self.several and self.expected is not None:
            try:
                self.matched("", self.expected)
            except Unscored as error:
                raise FormatError("expected must be a list of texts", found=str(error)) from None

    def _field_spec(self, f: Field[Any]) -> Any:
        if f.name == "expected" and self.several and self.expected is not None:
            return json.loads(self.expected)
        return super()._field_spec(f)

    @property
    def is_plain(self) -> bool:
        """Whether no option is set."""
        return all(
            getattr(self, name) == type(self).__dataclass_fields__[name].default for name in self.option_names
        )

    @property
    def options(self) -> dict[str, Any]:
        """The settings of the rule `matches`."""
        names = ("ignore_case", "trim", "words", "normalize", "several", "negate")
        return {"how": "equals", **{name: getattr(self, name) for name in names if hasattr(self, name)}}

    def matched(self, text: str, expected: str) -> Verdict:
        """The verdict with options."""
        try:
            return matches(text, expected, **self.options)
        except ValueError as error:
            raise Unscored(ErrorKind.SAMPLE, str(error)) from None

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:
        """The Python lines for the expected text, then those of the rule."""
        if self.is_plain:
            return super().python_rest(reference_names)
        expected = self.expected_in_python(reference_names)
        settings = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        line = f"return matches(text, expected, {settings})[0]"
        return PythonBody((*expected.rules, "text.matches"), (*expected.lines, line))

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:
        """The JavaScript lines for the expected text, then those of the rule."""
        if self.is_plain:
            return super().javascript_rest(reference_names)
        options = json.dumps({"words": False, **self.options})
        score = javascript_score(f"matches(text, expected, {options})")
        return [*self.expected_in_javascript(reference_names), score]


def checked_steps(value: Any) -> tuple[str, ...]:
    """The steps of a `normalize` setting.

    Raises:
        FormatError: One of them is unknown.
    """
    steps = as_texts("normalize", [value] if isinstance(value, str) else value)
    for step in steps:
        check_choice("normalize", step, STEPS)
    return steps


def _as_list(value: Any) -> tuple[str, ...] | None:
    return as_texts("expected", value, least=1) if isinstance(value, list | tuple) else None
