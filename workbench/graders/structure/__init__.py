"""Graders of structure: JSON, tool calls, guardrails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field
from typing import Any, ClassVar

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.core.patterns import SECONDS, Pattern, python_spelling
from workbench.core.thread import StringThread
from workbench.data.extractors import Extractor, as_extractor
from workbench.graders.arguments import LIMIT, as_texts, check_choice, check_time_limit
from workbench.graders.base import kind
from workbench.graders.portable_rule import (
    PythonBody,
    Rule,
    javascript_literal,
    javascript_score,
    refusal,
    search_in_javascript,
)
from workbench.graders.rule_grader import RuleGrader, Unscored
from workbench.graders.rules.structure import json_in, json_keys, tool_call, tool_names
from workbench.graders.rules.text import Verdict, guardrail_contains, guardrail_regex
from workbench.graders.structure.schema import Schema, plain_schema
from workbench.graders.text.text_grader import TextGrader


@kind("guardrail", family="structure")
@dataclass(frozen=True, kw_only=True)
class Guardrail(TextGrader):
    """1.0 if the evaluator flags the text, else 0.0; negate its entry to require that nothing is flagged.

    An empty or invalid pattern flags nothing. A search that takes too long flags: a text
    that cannot be checked is not accepted.

    Attributes:
        evaluator: "contains", "regex" (patterns of .NET), or "" for none, which never passes.
        pattern: What to find.
        ignore_case: Whether letters match either case.
        multiline: For regex: whether ^ and $ match at line ends inside the text.
        timeout: For regex: time limit of one search, above 0, at most 60.

    Source: Umbraco (`guardrail`); its `llm-judge` evaluator is a separate kind.
    """

    evaluator: str = field(default="", kw_only=False)
    pattern: str = field(default="", kw_only=False)
    ignore_case: bool = False
    multiline: bool = False
    timeout: float = field(default=SECONDS, metadata=LIMIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        hint = "use a guardrail-judge grader" if self.evaluator == "llm-judge" else ""
        check_choice("evaluator", self.evaluator, ("contains", "regex", ""), hint)
        check_time_limit(self.timeout)
        if not isinstance(self.pattern, str):
            raise FormatError("pattern must be text", found=repr(self.pattern)[:80])

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the evaluator flags the text."""
        if self.evaluator == "contains":
            return guardrail_contains(text, self.pattern, ignore_case=self.ignore_case)
        if self.evaluator == "regex":
            return guardrail_regex(text, self.pattern, self._search)
        return 0.0, "No evaluator ID specified in guardrail grader configuration", {}

    def _search(self, pattern: str) -> Any:
        return Pattern(python_spelling(pattern), self.ignore_case, self.multiline, self.timeout).search

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The body of the Python function once `text` is known."""
        if not self.evaluator:
            return PythonBody((), ("return 0.0",))
        if self.evaluator == "contains":
            call = f"guardrail_contains(text, {self.pattern!r}, ignore_case={self.ignore_case!r})"
            return PythonBody(("text.guardrail_contains",), (f"return {call}[0]",))
        flags = f"ignore_case={self.ignore_case!r}, multiline={self.multiline!r}"
        search = f"lambda pattern: plain_search(pattern, {flags})"
        call = f"guardrail_regex(text, {python_spelling(self.pattern)!r}, {search})"
        return PythonBody(("text.guardrail_regex", "text.plain_search"), (f"return {call}[0]",))

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """The lines of the JavaScript function once `text` is known."""
        # An empty pattern flags nothing, though JavaScript would find it in every text.
        if not self.evaluator or not self.pattern:
            return ["return 0.0;"]
        if self.evaluator == "contains":
            settings = f"{javascript_literal(self.pattern)}, {javascript_literal(self.ignore_case)}"
            return [javascript_score(f"contains(text, {settings})")]
        return [search_in_javascript(self, self.pattern, dotnet=True)]


@kind("json-keys", family="structure")
@dataclass(frozen=True, kw_only=True, init=False)
class JsonKeys(TextGrader):
    """1.0 if the text is JSON that has the keys, else 0.0.

    The text must be strict JSON: no NaN, no trailing comma. Dots traverse objects, never arrays; case counts;
    a null value counts as present. Missing keys are in the details as `missingKeys`, even if the text passes.

    Attributes:
        keys: Paths such as "metadata.author", passed one by one. Without any, a text passes if all are required and fails if not.
        require_all: Whether every key must be present; if not, one is enough.
        fenced: "allow" reads the only JSON code block of a text that is not JSON; "reject" does not.

    Source: Umbraco (`json-schema`).

    Example:
        >>> from workbench import StringThread
        >>> grader = JsonKeys("title", "meta.author")
        >>> grader(StringThread([("assistant", '{"title": "t"}')])).reasoning
        'Missing required JSON keys: [meta.author]'
    """

    rule: ClassVar[Rule] = Rule("structure.json_keys", "jsonKeys", ("keys", "require_all", "fenced"))

    keys: tuple[str, ...]
    require_all: bool = True
    fenced: str = "reject"

    def __init__(
        self,
        *names: str | list[str] | tuple[str, ...],
        keys: Sequence[str] = (),
        require_all: bool = True,
        fenced: str = "reject",
        extractor: Extractor | Mapping[str, Any] | str = "last_assistant",
        on_empty: str = "grade",
        name: str = "",
        description: str = "",
    ) -> None:
        # The paths one by one, JsonKeys("a", "b"), or as one list; `keys` is how a spec gives them.
        paths: Any = names[0] if len(names) == 1 and not isinstance(names[0], str) else names
        if names and keys:
            raise TypeError(
                "JsonKeys takes its keys one by one, JsonKeys('a', 'b'), or as keys=[...], not both"
            )
        object.__setattr__(self, "keys", paths or keys)
        object.__setattr__(self, "require_all", require_all)
        object.__setattr__(self, "fenced", fenced)
        TextGrader.__init__(
            self, extractor=as_extractor(extractor), on_empty=on_empty, name=name, description=description
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "keys", as_texts("keys", self.keys))
        check_choice("fenced", self.fenced, ("reject", "allow"))

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the text is JSON with the required keys."""
        return json_keys(text, keys=self.keys, require_all=self.require_all, fenced=self.fenced)

    def javascript_rest(self, reference_names: tuple[str, ...]) -> list[str]:
        """The lines of the JavaScript function once `text` is known."""
        if self.fenced != "reject":
            raise refusal(
                self,
                "fenced",
                "code blocks have no JavaScript form",
                'set fenced="reject", or export it as Python',
            )
        return super().javascript_rest(reference_names)


@kind("json-schema", family="structure")
@dataclass(frozen=True, kw_only=True)
class JsonSchema(TextGrader):
    """1.0 if the text is JSON that conforms to a JSON Schema, else 0.0; the reason names the first error.

    The schema's `$schema` decides the draft, 2020-12 without one. `format` is an annotation, as in the standard.
    Nothing is ever fetched: a `$ref` must refer to the schema itself. One row may take two seconds,
    patterns included.

    Attributes:
        schema: The schema, an object; checked against its draft's meta-schema when the grader is created.
        fenced: "allow" reads the only JSON code block of a text that is not JSON; "reject" does not.

    Error kinds: timeout, runtime (a schema with circular references).

    Source: JSON Schema 2020-12 and before, by the `jsonschema` package.
    """

    schema: dict[str, Any] = field(kw_only=False)
    fenced: str = "reject"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("fenced", self.fenced, ("reject", "allow"))
        object.__setattr__(self, "schema", plain_schema(self.schema))

    def grade_text(self, text: str, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Parse the text, then find the first error."""
        try:
            value = json_in(text, self.fenced)
        except ValueError as error:
            return 0.0, str(error), {}
        try:
            fault = Schema.of(self.schema).first_fault(value)
        except RecursionError:
            raise Unscored(ErrorKind.RUNTIME, "the schema refers to itself without end") from None
        if fault is None:
            return 1.0, "Meets the schema", {}
        path, message, keyword = fault
        return 0.0, f"{path}: {message}", {"path": path, "keyword": keyword}

    def python_rest(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """Not supported: always raises."""
        why, hint = (
            "JSON Schema needs a package that is not in the standard library",
            "list the required keys with a json-keys grader",
        )
        raise refusal(self, "schema", why, hint)


@kind("tool-call", family="structure")
@dataclass(frozen=True, kw_only=True)
class ToolCallMatch(RuleGrader):
    """1.0 if the thread's tool calls are the expected ones, else 0.0. Records without a name do not count.

    | mode | passes when |
    | --- | --- |
    | any | at least one expected tool was called; nothing expected fails |
    | all | every expected tool was called; nothing expected passes |
    | exact | as many calls as names, and every name called (so a,a passes for calls of a and b) |
    | set | the tools called, each once, are the expected ones |
    | none | no expected tool was called |
    | (empty) | never: Umbraco's behaviour for an unknown mode |

    Attributes:
        expected: Tool names.
        mode: See the table.
        order: For all and exact: the calls of expected tools must be the expected list, in order. Other tools
            may be in between, a repeated one breaks it. Other modes ignore it.
        ignore_case: Whether names match either case.

    Source: Umbraco (`tool-call`, as its code counts); the mode set is the workbench's.
    """

    rule: ClassVar[Rule] = Rule(
        "structure.tool_call", "toolCall", ("expected", "mode", "order", "ignore_case")
    )

    expected: tuple[str, ...] = field(kw_only=False)
    mode: str = "any"
    order: bool = False
    ignore_case: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "expected", as_texts("expected", self.expected))
        check_choice("mode", self.mode, ("any", "all", "exact", "set", "none", ""))

    def _field_spec(self, f: Field[Any]) -> Any:
        value = getattr(self, f.name)
        return list(value) if isinstance(value, tuple) else value

    @property
    def needs_answer(self) -> str:
        """Required content of a row; a row without it fails."""
        return "turn"

    def grade_thread(self, thread: StringThread, reference: Any) -> Verdict:  # noqa: ARG002
        """Whether the tools called are the expected ones, in the grader's mode."""
        return tool_call(
            tool_names(thread.tool_calls()),
            expected=self.expected,
            mode=self.mode,
            order=self.order,
            ignore_case=self.ignore_case,
        )

    def python_body(self, reference_names: tuple[str, ...]) -> PythonBody:  # noqa: ARG002
        """The body of a Python function that scores the same."""
        rules = ("threads.calls_of", "structure.tool_names", self.rule.python)
        return PythonBody(
            rules, (f"return {self.rule.python_call(self, 'tool_names(calls_of(thread))')}[0]",)
        )

    def javascript_body(self, reference_names: tuple[str, ...]) -> list[str]:  # noqa: ARG002
        """The lines of a JavaScript function that scores the same."""
        return [javascript_score(self.rule.javascript_call(self, "toolNames(callsOf(input))"))]
