"""promptfoo's deterministic assertions as one kind of grader: score and verdict as its package gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field
from typing import Any

from workbench.core.discovery import needed_packages
from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.patterns import SECONDS, Pattern, PatternError
from workbench.core.thread import StringThread
from workbench.data.samples.plain import plain
from workbench.data.templates.nunjucks import has_tags, nunjucks
from workbench.data.templates.values import TemplateRunError, script_text
from workbench.graders.arguments import LIMIT, check_choice, check_time_limit
from workbench.graders.base import is_number, kind
from workbench.graders.portable_rule import PythonBody, refusal
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules import markup
from workbench.graders.rules import promptfoo_assertions as rules
from workbench.graders.rules.promptfoo_assertions import is_refusal
from workbench.graders.rules.structure import strict_json
from workbench.graders.rules.text import Verdict
from workbench.graders.structure.json_match import fits, objects, strict_schema
from workbench.graders.text.javascript_pattern import python_pattern, utf16_units
from workbench.graders.text.text_grader import TextGrader

Result = tuple[bool, float]
"""Verdict and score."""

_LISTS = frozenset({"contains-any", "contains-all", "icontains-any", "icontains-all"})
_ONE_TEXT = frozenset({"starts-with", "regex", "levenshtein", "rouge-n"})
ASSERTIONS = (
    "equals", "contains", "icontains", *sorted(_LISTS), "starts-with", "regex", "is-json", "contains-json", "is-html",
    "contains-html", "is-xml", "contains-xml", "is-refusal", "word-count", "levenshtein", *rules.MEASURES,
)  # fmt: skip
"""The types of assertion that this kind grades; each has a form with `not-` before it."""
_DISTANCE = 5
"""promptfoo's default threshold of a Levenshtein distance."""


@kind("promptfoo-assertion", family="text")
@dataclass(frozen=True, kw_only=True)
class PromptfooAssertion(TextGrader):
    r"""The score and verdict of one of promptfoo's deterministic assertions.

    | assertion | value |
    | --- | --- |
    | equals | a text or number; an object or a list is compared with the text's JSON |
    | contains, icontains, starts-with | a text; `i` ignores case |
    | contains-any, contains-all, icontains-any, icontains-all | a list, or a text with commas |
    | regex | a pattern of JavaScript, which is searched |
    | is-json, contains-json | nothing, or a JSON Schema as an object or as YAML |
    | is-html, contains-html, is-refusal | nothing |
    | is-xml, contains-xml | nothing, or the required elements: a list, a text with commas, or {requiredElements} |
    | word-count | a number, or {min, max} |
    | levenshtein | a text; passes up to the threshold, 5 by default |
    | rouge-n, bleu, gleu | a text or, except rouge-n, a list; the measure is the score, passes from the threshold on |

    `not-` before the name inverts the verdict and the score. A text in `value`, or in a list, is a template of nunjucks
    with the row's columns: `{{ city | lower }}`.

    Attributes:
        assertion: The type of assertion.
        value: See the table.
        threshold: See the table; None for promptfoo's default.
        timeout: Time limit of one search with a pattern, above 0, at most 60.

    Error kinds: template (a variable without a column), runtime (a rendered value that promptfoo refuses), timeout.

    Source: promptfoo 0.121.20 (`src/assertions`), compared with its package's results.

    Example:
        >>> import workbench as wb
        >>> from workbench.graders.text.promptfoo import PromptfooAssertion
        >>> near = PromptfooAssertion("rouge-n", value="It is the Vltava", threshold=0.6)
        >>> round(near(wb.StringThread([("assistant", "The Vltava it is.")])).score, 3)
        0.889
    """

    assertion: str = field(kw_only=False)
    value: Any = None
    threshold: float | None = None
    timeout: float = field(default=SECONDS, metadata=LIMIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("assertion", self.base, ASSERTIONS)
        check_time_limit(self.timeout)
        if self.threshold is not None and not is_number(self.threshold):
            raise FormatError("threshold must be a finite number", found=repr(self.threshold)[:80])
        object.__setattr__(self, "value", plain(self.value))
        _check_value(self.base, self.value)

    @classmethod
    def example(cls) -> PromptfooAssertion:
        """The grader that the tests over every kind use."""
        return cls("contains", value="4")

    @property
    def base(self) -> str:
        """The type without `not-`."""
        return self.assertion.removeprefix("not-") if isinstance(self.assertion, str) else ""

    @property
    def needs_answer(self) -> str:
        """Required content of a row; an empty text is graded."""
        return super().needs_answer

    def _field_spec(self, f: Field[Any]) -> Any:
        return self.value if f.name == "value" else super()._field_spec(f)

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Score and verdict of one text."""
        value = self._rendered(thread.metadata)
        inverse = self.assertion.startswith("not-")
        try:
            passed, score = _HANDLERS[self.base](self, text, value, inverse)
        except TimeoutError as error:
            raise Unscored(ErrorKind.TIMEOUT, str(error)) from None
        details = {} if passed == (score >= 1.0) else {"pass": passed}
        return score, "the assertion passes" if passed else f"not passed: {self.assertion}", details

    def verdict_on(self, score: float, details: Mapping[str, Any]) -> bool:
        """Whether a row passes: of measures, the threshold decides."""
        return bool(details.get("pass", score >= 1.0))

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The Python lines of the assertion; refused if it needs a template, a pattern or a package."""
        made = _IN_PYTHON.get(self.base)
        texts = self.value if isinstance(self.value, list) else [self.value]
        if any(isinstance(text, str) and has_tags(text) for text in texts):
            raise refusal(self, "value", "its value is a template of the row's columns", _WAY)
        call = made(self) if made is not None else ("", "")
        if not call[0]:
            raise refusal(self, "assertion", f"{self.base!r} needs more than the standard library", _WAY)
        negation = "not " if self.assertion.startswith("not-") else ""
        return PythonBody((call[0],), (f"return float({negation}{call[1]})",))

    def _rendered(self, metadata: Any) -> Any:
        columns = metadata if isinstance(metadata, Mapping) else {}
        if isinstance(self.value, list):
            return [_render(item, columns) for item in self.value]
        return _render(self.value, columns)


def _render(value: Any, columns: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or not has_tags(value):
        return value
    try:
        return nunjucks(value).render(columns)
    except TemplateRunError as error:
        raise Unscored(ErrorKind.TEMPLATE, str(error)) from None


def _check_value(base: str, value: Any) -> None:
    """Refuse a value that promptfoo refuses for every row, and a template or pattern that cannot be read."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and has_tags(text):
            nunjucks(text)
    is_template = isinstance(value, str) and has_tags(value)
    problem, expected = _problem_of(base, value)
    if problem:
        raise FormatError(problem, found=repr(value)[:80], expected=expected)
    if base == "regex" and not is_template:
        try:
            Pattern(python_pattern(value)).check()
        except PatternError as error:
            hint = "write it without this construct, or as a javascript assertion: /pattern/.test(output)"
            raise FormatError(str(error), found=value[:80], hint=hint) from None
    if base in {"is-json", "contains-json"} and value and not is_template:
        strict_schema(value)
    if base in _LISTS and isinstance(value, str) and not is_template:
        _listed(value)


def _problem_of(base: str, value: Any) -> tuple[str, str]:  # noqa: PLR0911 (one per type)
    if base == "equals":
        return ("", "") if value is not None else ("equals needs a value", "a text, a number or an object")
    if base in {"contains", "icontains"}:
        is_right = (isinstance(value, str) and value != "") or is_number(value)
        return ("", "") if is_right else (f"{base} needs a text or a number", "a text that is not empty")
    if base in _ONE_TEXT:
        is_right = isinstance(value, str) and (bool(value) or base not in {"starts-with", "regex"})
        return ("", "") if is_right else (f"{base} needs a text", "a text")
    if base in _LISTS:
        is_right = (isinstance(value, str) and bool(value)) or isinstance(value, list)
        return ("", "") if is_right else (f"{base} needs a list", "a list, or a text with commas")
    if base in {"bleu", "gleu"}:
        texts = [value] if isinstance(value, str) else value
        is_right = isinstance(texts, list) and bool(texts) and all(isinstance(text, str) for text in texts)
        return ("", "") if is_right else (f"{base} needs a text, or a list of texts", "a text")
    if base == "word-count":
        return _problem_of_count(value)
    if base in {"is-xml", "contains-xml"} and isinstance(value, Mapping) and value:
        is_right = isinstance(value.get("requiredElements"), list)
        return ("", "") if is_right else ("the required elements must be a list", "{requiredElements: [a.b]}")
    return "", ""


def _problem_of_count(value: Any) -> tuple[str, str]:
    expected = "a number, or {min: 3, max: 9}"
    if isinstance(value, Mapping):
        bounds = [value.get("min"), value.get("max")]
        numbers = [bound for bound in bounds if bound is not None]
        is_right = (
            bool(numbers) and all(map(is_number, numbers)) and (len(numbers) < 2 or numbers[0] <= numbers[1])
        )
    else:
        is_right = is_number(value) or (
            isinstance(value, str) and (has_tags(value) or _as_number(value) is not None)
        )
    return ("", "") if is_right else ("word-count needs a number, or bounds", expected)


def _as_number(text: str) -> float | None:
    try:
        return float(text.strip(rules.SPACES) or 0)
    except ValueError:
        return None


def _binary(passed: bool, inverse: bool) -> Result:
    result = passed != inverse
    return result, float(result)


def _equals(_: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    if isinstance(value, list | Mapping):
        return _binary(rules.equals_json(text, value), inverse)
    return _binary(script_text(value) == text, inverse)


def _contains(grader: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    if value == "":
        raise Unscored(ErrorKind.RUNTIME, "the value to look for is empty in this row")
    return _binary(rules.has_texts(text, [script_text(value)], **_how(grader.base)), inverse)


def _contains_several(grader: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    return _binary(rules.has_texts(text, _sought(value), **_how(grader.base)), inverse)


def _sought(value: Any) -> list[str]:
    return [_javascript_text(item) for item in (_listed(value) if isinstance(value, str) else value)]


def _how(base: str) -> dict[str, bool]:
    return {"ignore_case": base.startswith("i"), "needs_all": base.endswith("all")}


def _javascript_text(value: Any) -> str:
    return "null" if value is None else script_text(value)


def _listed(value: str) -> list[str]:
    try:
        return rules.parse_listed(value)
    except ValueError as error:
        raise FormatError(f"the list cannot be read: {error}", found=value[:80]) from None


def _starts_with(_: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    if value == "":
        raise Unscored(ErrorKind.RUNTIME, "the value to start with is empty in this row")
    return _binary(text.startswith(value), inverse)


def _regex(grader: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    if value == "":
        raise Unscored(ErrorKind.RUNTIME, "the pattern is empty in this row")
    try:
        pattern = Pattern(python_pattern(value), timeout=grader.timeout)
        return _binary(pattern.search(utf16_units(text)) is not None, inverse)
    except PatternError:
        return False, 0.0  # a pattern that a row's columns make invalid, with not- as well


def _is_json(_: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    try:
        data = strict_json(text)
    except ValueError:
        return inverse, float(inverse)
    return _binary(not value or fits(data, strict_schema(value)), inverse)


def _contains_json(_: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    passed = inverse
    found = list(objects(text))
    if not value:
        return _binary(bool(found), inverse)
    schema = strict_schema(value)
    for data in found:
        is_valid = fits(data, schema)
        passed = is_valid != inverse
        if is_valid:
            break
    return passed, float(passed)


def _required(value: Any) -> list[str]:
    if isinstance(value, str):
        return [part.strip(rules.SPACES) for part in value.split(",")]
    listed = value.get("requiredElements") if isinstance(value, Mapping) else value
    return [script_text(item) for item in listed or []]


def _is_refusal(_: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:  # noqa: ARG001
    if not text.strip(rules.SPACES):
        return not inverse, 0.0
    return _binary(is_refusal(text), inverse)


def _bounds(value: Any) -> tuple[float | None, float | None]:
    """The least and the most number of words."""
    if isinstance(value, Mapping):
        return value.get("min"), value.get("max")
    expected = _as_number(value) if isinstance(value, str) else value
    if expected is None:
        raise Unscored(ErrorKind.RUNTIME, f"the number of words is not a number in this row: {value!r}")
    return expected, expected


def _word_count(_: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    return _binary(rules.has_words(text, *_bounds(value)), inverse)


def _levenshtein(grader: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    with needed_packages():
        from rapidfuzz.distance import Levenshtein

    most = _DISTANCE if grader.threshold is None else grader.threshold
    distance = Levenshtein.distance(utf16_units(text), utf16_units(value))
    return _binary(distance <= most, inverse)


def _measure(grader: PromptfooAssertion, text: str, value: Any, inverse: bool) -> Result:
    least = rules.MEASURES[grader.base] if grader.threshold is None else grader.threshold
    if grader.base == "rouge-n":
        score = rules.rouge_n(text, value)
    else:
        if grader.base == "gleu" and not text:
            raise Unscored(ErrorKind.RUNTIME, "gleu is not defined for an empty text")
        score = getattr(rules, grader.base)(text, [value] if isinstance(value, str) else value)
    return (score >= least) != inverse, 1 - score if inverse else score


_HANDLERS: dict[str, Callable[[PromptfooAssertion, str, Any, bool], Result]] = {
    "equals": _equals,
    "contains": _contains,
    "icontains": _contains,
    **dict.fromkeys(_LISTS, _contains_several),
    "starts-with": _starts_with,
    "regex": _regex,
    "is-json": _is_json,
    "contains-json": _contains_json,
    "is-html": lambda _, text, value, inverse: _binary(markup.is_html(text), inverse),  # noqa: ARG005
    "contains-html": lambda _, text, value, inverse: _binary(markup.contains_html(text), inverse),  # noqa: ARG005
    "is-xml": lambda _, text, value, inverse: _binary(markup.is_xml(text, _required(value)), inverse),
    "contains-xml": lambda _, text, value, inverse: _binary(
        markup.contains_xml(text, _required(value)), inverse
    ),
    "is-refusal": _is_refusal,
    "word-count": _word_count,
    "levenshtein": _levenshtein,
    **dict.fromkeys(rules.MEASURES, _measure),
}

_WAY = "export it as native, or write it as a function grader"


def _of_texts(grader: PromptfooAssertion) -> tuple[str, str]:
    value = _sought(grader.value) if grader.base in _LISTS else [script_text(grader.value)]
    how = "".join(f", {name}=True" for name, is_set in _how(grader.base).items() if is_set)
    return "promptfoo_assertions.has_texts", f"has_texts(text, {value!r}{how})"


def _of_equality(grader: PromptfooAssertion) -> tuple[str, str]:
    if isinstance(grader.value, list | Mapping):
        return "promptfoo_assertions.equals_json", f"equals_json(text, {grader.value!r})"
    return "text.as_text", f"(text == {script_text(grader.value)!r})"


_IN_PYTHON: dict[str, Callable[[PromptfooAssertion], tuple[str, str]]] = {
    "equals": _of_equality,
    "contains": _of_texts,
    "icontains": _of_texts,
    **dict.fromkeys(_LISTS, _of_texts),
    "starts-with": lambda grader: ("text.as_text", f"text.startswith({grader.value!r})"),
    "is-json": lambda grader: ("", "") if grader.value else ("promptfoo_assertions.is_json", "is_json(text)"),
    "is-html": lambda _: ("markup.is_html", "is_html(text)"),
    "contains-html": lambda _: ("markup.contains_html", "contains_html(text)"),
    "is-xml": lambda grader: ("markup.is_xml", f"is_xml(text, {_required(grader.value)!r})"),
    "contains-xml": lambda grader: (
        "markup.contains_xml",
        f"contains_xml(text, {_required(grader.value)!r})",
    ),
    "word-count": lambda grader: (
        "promptfoo_assertions.has_words",
        f"has_words(text, *{_bounds(grader.value)!r})",
    ),
}
"""The rule that a type applies, as "module.function", and its call."""
