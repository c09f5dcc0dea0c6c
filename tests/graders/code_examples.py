"""One grader of every kind of code grader, and threads to try them on."""

import workbench as wb
from workbench.graders.combine.combined import PerTurn
from workbench.graders.structure import Guardrail, JsonKeys, JsonSchema, ToolCallMatch
from workbench.graders.text import AsciiPrintable, Contains, ExactMatch, LabelSet, Length, Regex
from workbench.graders.text.openai_text import StringCheck, TextSimilarity

CODE_EXAMPLES = {
    "exact-match": lambda: ExactMatch(expected="4", ignore_case=True, trim=False),
    "contains": lambda: Contains(expected="4", extractor="all_assistant"),
    "regex": lambda: Regex(pattern=r"\d+", flavor="dotnet", multiline=True),
    "ascii-printable": lambda: AsciiPrintable(on_empty="zero"),
    "string-check": lambda: StringCheck(operation="like", reference="4"),
    "text-similarity": lambda: TextSimilarity(metric="rouge_l", reference="4 and 44"),
    "length": lambda: Length(minimum=2, maximum=5, unit="utf16"),
    "label-set": lambda: LabelSet(labels=("4", "no"), passing_labels=("4",)),
    "json-keys": lambda: JsonKeys("a.b", "c", require_all=False),
    "json-schema": lambda: JsonSchema(schema={"type": "integer", "minimum": 3}),
    "tool-call": lambda: ToolCallMatch(expected=("search", "open"), mode="all", order=True),
    "guardrail": lambda: Guardrail(evaluator="regex", pattern="[0-9]"),
    "per-turn": lambda: PerTurn(grader=Contains(expected="4")),
}


def said(text, metadata=None):
    """A thread in which the assistant says one thing."""
    return wb.StringThread([("user", "q"), ("assistant", text)], metadata)


def sample(text, reference=None, **metadata):
    """A sample whose reference stands in its metadata too, as read samples have it."""
    if reference is not None:
        metadata = {"reference": reference, **metadata}
    return wb.Sample(id="0", thread=said(text, metadata), reference=reference, group="0")
