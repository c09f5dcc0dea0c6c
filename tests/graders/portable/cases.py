"""Graders that travel, and rows that try them."""

from workbench.graders.structure import Guardrail, JsonKeys, ToolCallMatch
from workbench.graders.text import AsciiPrintable, Contains, ExactMatch, LabelSet, Length, Regex
from workbench.graders.text.openai_text import METRICS, StringCheck, TextSimilarity


def _call(name, arguments="{}", at="1"):
    return {"id": at, "type": "function", "function": {"name": name, "arguments": arguments}}


def _calling(*names):
    calls = [_call(name, '{"q": "a"}', str(at)) for at, name in enumerate(names)]
    return [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "let me see", "tool_calls": calls},
        {"role": "tool", "content": "found 4", "tool_call_id": "0"},
        {"role": "assistant", "content": "", "tool_calls": [_call("late", at="9")]},
    ]


def _says(text):
    return [{"role": "user", "content": "q"}, {"role": "assistant", "content": text}]


# fmt: off
_TEXTS = [
    "", " ", "4", " 4 ", "four 4 FOUR", "Paris", "PARIS", " paris\n", "café", "a\tb", "😀 42", "\x1fa\x1f",
    "İstanbul", "ΣΑΣ", "straße STRASSE", "\ufeffParis", "a\u2028b", "x\n", "line one\nline two", "no-no 2026-02",
    '{"a": {"b": null}}', '{"a": [1]}', '{"a": NaN}', '{"a": 1,}', "[1, 2]", '"a"', "null", '{"a":1,"a":2}', "{} x", '```json\n{"a": 1}\n```',
    "good", "bad", "GOOD", "the cat sat on the mat", "the cats were sitting on a mat", "٤٢", "user@example.com",
    "{{item.expected}}", "it's \"quoted\" \\ back", "<b>&amp;</b>", "a" * 300, "\u1680wide\u3000", "e\u0301",
    "caf\u00e9\u00a0\u2018x\u2019 a\u2009\u2014 b", "it\u2019s \u201cq\u201d", "a\u200b \tb", "C++ is 4", "category b", "caf\u00e9.",
]
# fmt: on
_REFERENCES = [
    "4",
    "Paris",
    "",
    "the cat sat on the mat",
    4,
    True,
    ["a", 1],
    {"k": "é"},
    None,
    "[bad",
    "straße",
]

ROWS = [
    {"messages": _says(text), "expected": _REFERENCES[at % len(_REFERENCES)], "topic": "t", "n": at}
    for at, text in enumerate(_TEXTS * 2)
]
ROWS += [{"messages": _says(text), "expected": text.upper(), "topic": "t", "n": 0} for text in _TEXTS]
ROWS += [
    {"messages": _calling(*names.split()), "expected": "found 4", "topic": "t", "n": 1}
    for names in (
        "",
        "search",
        "SEARCH open",
        "open search",
        "search search open",
        "other search x open",
        "other",
    )
]
ROWS.append(
    {"messages": [*_calling("search"), *_calling("open", "x")], "expected": "4", "topic": "t", "n": 1}
)
ROWS += [
    {"messages": [*_says("ANSWER: 4"), *_says("")], "expected": "4"},
    {"messages": [*_calling("search"), *_says("")[1:]], "expected": "4"},
    {"messages": [{"role": "user", "content": "?"}], "expected": "4"},
]

UNFINISHED = [
    {
        "messages": [*_says("ANSWER: 4"), {"role": "user", "content": "?"}],
        "expected": "4",
        "topic": "t",
        "n": 1,
    }
]
"""Rows the assistant does not end: a script is not told what it said before."""

EVERYWHERE = [
    ExactMatch(),
    ExactMatch(ignore_case=True, trim=False),
    ExactMatch(expected='it\'s "quoted" \\ back', on_no_reference="zero"),
    ExactMatch(on_no_reference="zero", on_empty="zero"),
    Contains(),
    Contains(ignore_case=True, on_no_reference="zero"),
    Contains(expected="\u2028"),
    AsciiPrintable(),
    AsciiPrintable(on_empty="zero"),
    AsciiPrintable(on_empty="fail"),
    Length(minimum=1, maximum=4),
    Length(minimum=2, unit="words"),
    Length(maximum=4, unit="utf16"),
    LabelSet(labels=["good", "bad"], passing_labels=["good"]),
    LabelSet(labels=["good", "bad", " 4"], passing_labels=["good", " 4"], ignore_case=True, trim=False),
    LabelSet(labels=["PARIS", "Paris"], passing_labels=["Paris"], ignore_case=True),
    JsonKeys("a"),
    JsonKeys("a.b", "c", require_all=False),
    JsonKeys(keys=[]),
    JsonKeys(keys=[], require_all=False),
    StringCheck(),
    StringCheck(operation="ilike"),
    StringCheck(operation="ne", reference="{{ item.topic }}"),
    StringCheck(operation="like", input="the cat sat 4", reference="{{item.n}}"),
    Regex(pattern=r"\d+"),
    Regex(pattern=r"(?P<year>\d{4})-(\d{2})$"),
    Regex(pattern=r"^\w+$"),
    Regex(pattern=r"^\S+\s*$", ignore_case=True),
    Regex(pattern=r"\bcats?\b|[^\x00-\x7f]", flavor="dotnet"),
    Regex(pattern=r"^.+b$"),
    Regex(pattern=r"[\w.-]+@[a-z]{2,}?\.(?:com|org)(?!x)"),
    Regex(pattern=r"^[\s\S]{3,}\Z"),
    Regex(pattern="paris", ignore_case=True),
    Guardrail(),
    Guardrail(evaluator="contains", pattern="PARIS", ignore_case=True),
    Guardrail(evaluator="contains", pattern=""),
    Guardrail(evaluator="regex", pattern=r"[0-9]+", ignore_case=True),
    *(
        ToolCallMatch(expected=["search", "open"], mode=mode, order=order)
        for mode in ("any", "all", "exact", "set", "none")
        for order in (False, True)
    ),
    ToolCallMatch(expected=["search"], mode="exact", ignore_case=True),
    ToolCallMatch(expected=[], mode="all"),
    Contains(["4", "paris"], several="any", ignore_case=True, words=True),
    Contains(["4", "four"], several="all"),
    Contains(several="any"),
    Contains("Paris", where="start", negate=True),
    Contains("4", where="end", normalize=("nfkc", "spaces", "quotes", "dashes")),
    ExactMatch(["4", "Paris"], normalize="spaces"),
    ExactMatch(normalize="nfc", negate=True),
    Contains(["caf\u00e9.", "no-no", "C++"], words=True, where="start"),
    Contains("caf\u00e9", words=True, where="end", normalize="nfc"),
    Contains("b", words=True),
    ExactMatch("cafe\u0301 \u2019x\u2019 a - b", normalize=("nfkc", "spaces", "quotes", "dashes")),
    LabelSet(["e\u0301", "a b", "it's"], normalize=("nfc", "spaces", "quotes")),
    Regex("^a b$", normalize="spaces"),
    Regex(r"it's \"q", normalize=("nfkc", "quotes")),
]
"""Graders with a Python and a JavaScript form."""

PYTHON_ONLY = [
    JsonKeys("a", fenced="allow"),
    *(TextSimilarity(metric=metric) for metric in METRICS),
    TextSimilarity(
        metric="rouge_1", input="{{sample.output_json.a}} {{item.n}}", reference="{{item.reference}}"
    ),
    StringCheck(input="{{sample.output_tools[0].function.name}}", reference="search"),
    StringCheck(input="{{item.expected}}-{{sample.choices[0].message.content}}", reference="4-4"),
    Regex(on_bad_pattern="zero"),
    Regex(on_no_reference="zero"),
    Regex(pattern="[bad", on_bad_pattern="zero"),
    Regex(pattern="^line two$", multiline=True),
    Guardrail(evaluator="regex", pattern="[bad"),
    Contains(expected="4", extractor="all_assistant"),
    Contains(expected="see", extractor={"name": "first_assistant"}),
    Contains(expected="4", extractor={"name": "last_turn", "separator": " "}),
    ExactMatch(expected="42", extractor={"name": "pattern", "pattern": r"\d+", "search_all": True}),
    ExactMatch(expected="4", extractor={"name": "after_marker", "marker": "ANSWER:"}),
    ExactMatch(extractor={"name": "tool_output", "tool_name": "search"}),
    JsonKeys("q", extractor={"name": "tool_arguments", "tool_name": "search"}),
    Contains(expected="x", extractor={"name": "memory_block", "block_label": "human"}),
]
"""Graders with a Python form alone."""
