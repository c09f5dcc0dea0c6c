"""reward-kit: the rewards of Fireworks, which eval-protocol continues."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import FACTS, LATEX, LETTERS, LISTS, RECORDS, SUMS, TOOLS

_ASKED = "[{'role': 'user', 'content': prompt}, {'role': 'assistant', 'content': text}]"
_GOLD = "ground_truth=[{'role': 'assistant', 'content': reference}]"
_SAID = "Step by step, that comes to RESULT."

_FORMS = tuple(
    {"prompt": row["prompt"], "reference": None,
     "right": [f"<think>\nWe compute.</think>\n<answer>\n{row['reference']}</answer>"],
     "wrong": [f"<think>We compute.</think> {row['reference']}"]}
    for row in SUMS
)  # fmt: skip
_STEPS = tuple(
    {"prompt": row["prompt"], "reference": None,
     "right": [f"First, we read the numbers.\nThen, we combine them.\nFinally, we get {row['reference']}."],
     "wrong": [str(row["reference"])]}
    for row in SUMS
)  # fmt: skip


def functions(root: str) -> tuple[Function, ...]:
    """The functions of reward-kit and of eval-protocol, which have the same names."""
    at = f"{root}.rewards"
    return (
        Function(
            name="math_reward",
            target=f"{at}.math:math_reward",
            call=f"fn({_ASKED}, ground_truth=reference)",
            rows=SUMS,
            shape=_SAID,
            description="numbers of a completion",
            holes=(
                Hole(
                    text="It is not 72.",
                    accepted=True,
                    names=r"negat|mention|occurs|anywhere",
                    claim="A completion that denies the result is right.",
                    fix="require a marked result (a box or ####) and reject a negation before it",
                ),
            ),
        ),
        Function(
            name="math_reward-boxed",
            target=f"{at}.math:math_reward",
            call=f"fn({_ASKED}, ground_truth='\\\\boxed{{' + reference + '}}')",
            rows=SUMS,
            shape="We compute. The result is \\boxed{RESULT}.",
            description="numbers of a completion, the reference in a box",
            holes=(
                Hole(
                    text="\\boxed{17} \\boxed{72} \\boxed{95}",
                    accepted=True,
                    names=r"several|list|candidates|boxes|all numbers|any of",
                    claim='Several different boxes get full reward if one is right ("demo leniency").',
                    fix="apply the check for ambiguity before a matching box is selected",
                ),
            ),
        ),
        Function(
            name="accuracy_reward",
            target=f"{at}.accuracy:accuracy_reward",
            call=f"fn({_ASKED}, {_GOLD})",
            rows=SUMS,
            shape="Step by step, the answer is RESULT.",
            description="an extracted result, compared as text or number",
        ),
        Function(
            name="accuracy_reward-facts",
            target=f"{at}.accuracy:accuracy_reward",
            call=f"fn({_ASKED}, {_GOLD})",
            rows=FACTS,
            description="an extracted result, compared as text; short facts",
        ),
        Function(
            name="accuracy_reward-latex",
            target=f"{at}.accuracy:accuracy_reward",
            call=f"fn({_ASKED}, {_GOLD})",
            rows=LATEX,
            shape="The answer is \\boxed{RESULT}",
            description="an extracted result, LaTeX",
        ),
        Function(
            name="cosine_scaled_accuracy_length_reward",
            target=f"{at}.accuracy_length:cosine_scaled_accuracy_length_reward",
            call=f"fn({_ASKED}, {_GOLD})",
            rows=SUMS,
            shape="Step by step, the answer is RESULT.",
            description="an extracted result, and a term for length",
        ),
        Function(
            name="multiple_choice_math_reward",
            target=f"{at}.multiple_choice_math_reward:multiple_choice_math_reward",
            call=f"fn({_ASKED}, {_GOLD})",
            rows=LETTERS,
            shape="The right option is (RESULT).",
            description="letters of options",
            holes=(
                Hole(
                    text="It is (B), a planet.",
                    accepted=False,
                    names=r"article|word a|\"a\"|letter a|right completion|rejects",
                    claim='The article "a" counts as option A, so a right completion with it is ambiguous and gets 0.',
                    fix="match single letters only in capitals: drop re.IGNORECASE",
                ),
            ),
        ),
        Function(
            name="list_comparison_math_reward",
            target=f"{at}.list_comparison_math_reward:list_comparison_math_reward",
            call=f"fn({_ASKED}, ground_truth=reference)",
            rows=LISTS,
            shape="The numbers are $\\boxed{RESULT}$.",
            description="lists of numbers, as sets",
            holes=(
                Hole(
                    text="$\\boxed{2, 3, 5}$",
                    row=6,
                    accepted=True,
                    names=r"twice|repeat|duplicat|multiset|left out|set\b",
                    claim='"2, 3, 5" is right for the prime factors "2, 2, 3, 5": lists are compared as sets.',
                    fix="compare `sorted(...)`, which keeps how often a number occurs",
                ),
            ),
        ),
        Function(
            name="list_comparison_math_reward-ordered",
            target=f"{at}.list_comparison_math_reward:list_comparison_math_reward",
            call=f"fn({_ASKED}, ground_truth=reference, order_matters=True)",
            rows=LISTS,
            shape="The numbers are $\\boxed{RESULT}$.",
            description="lists of numbers in order",
        ),
        Function(
            name="exact_tool_match_reward",
            target=f"{at}.function_calling:exact_tool_match_reward",
            call="fn([{'role': 'user', 'content': prompt}, {'role': 'assistant', 'content': text}],"
            " ground_truth={'role': 'assistant', 'tool_calls': [{'type': 'function', 'function':"
            " {'name': json.loads(reference)['name'], 'arguments': json.dumps(json.loads(reference)['arguments'])}}]})",
            rows=TOOLS,
            shape="<tool_call>RESULT</tool_call>",
            description="tool calls",
            holes=(
                Hole(
                    text='<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "day": 1}}</tool_call><tool_call>{"name": "dele</tool_call>',
                    accepted=True,
                    names=r"second|broken|additional|added|malformed",
                    claim="A second call that is not JSON is ignored.",
                    fix="give no reward if a call cannot be parsed",
                ),
            ),
        ),
        Function(
            name="json_schema_reward",
            target=f"{at}.json_schema:json_schema_reward",
            call=f"fn({_ASKED}, expected_schema=row['schema'])",
            rows=RECORDS,
            shape="```json\nRESULT\n```",
            description="JSON after a schema",
            holes=(
                Hole(
                    text='```json\n{"name": "Ada"}\n```',
                    accepted=True,
                    names=r"key.missing|missing key|leaving out|incomplete",
                    claim='A record without its integer scores 0.5, the whole one 0.33: the schema type "integer" never matches.',
                    fix='map `int` to "integer" when the type of a value is derived',
                ),
            ),
        ),
        Function(
            name="format_reward",
            target=f"{at}.format:format_reward",
            call=f"fn({_ASKED})",
            rows=_FORMS,
            description="the form <think>, <answer>",
            holes=(
                Hole(
                    text="<think>\n</think>\n<answer>\n</answer>",
                    accepted=True,
                    names=r"without content|empty|emptied|form",
                    claim="The empty form gets full reward.",
                    fix="require text in both parts: `\\S` after each opening tag",
                ),
            ),
        ),
        Function(
            name="tag_count_reward",
            target=f"{at}.tag_count:tag_count_reward",
            call=f"fn({_ASKED}, required_tags=['think', 'answer'], score_per_tag=0.5)",
            rows=_FORMS,
            description="tags",
            holes=(
                Hole(
                    text="</think><think></answer><answer>",
                    accepted=True,
                    names=r"order|revers|without content|empty|form|tags",
                    claim="Tags are counted: empty ones in the wrong order get full reward.",
                    fix="require `<think>.*</think>` with text inside",
                ),
            ),
        ),
        Function(
            name="reasoning_steps_reward",
            target=f"{at}.reasoning_steps:reasoning_steps_reward",
            call=f"fn({_ASKED})",
            rows=_STEPS,
            description="words that show steps",
            holes=(
                Hole(
                    text="First, Then, Next,",
                    accepted=True,
                    names=r"without content|keywords|words|constant|gibberish|one text|form",
                    claim="Three words without any reasoning get full reward.",
                    fix="require a minimum of text between the steps",
                ),
            ),
        ),
        Function(
            name="sequence_reward",
            target=f"{at}.reasoning_steps:sequence_reward",
            call=f"fn({_ASKED})",
            rows=_STEPS,
            description="words in order",
        ),
    )


PACKAGE = Package(
    name="reward-kit",
    versions=("0.4.1",),
    bare=("reward_kit", "reward_kit.rewards"),
    needs=("openai==1.78.1", "distro==1.9.0"),
    functions=functions("reward_kit"),
)
