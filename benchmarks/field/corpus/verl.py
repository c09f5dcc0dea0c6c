"""verl: `utils/reward_score`, the default rewards of its trainers."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import FACTS, LATEX, SUMS, TOOLS

_SCORE = "verl.utils.reward_score"
_ISSUE = "checked by a call"

_GSM8K = (
    Hole(
        text="#### 72.",
        accepted=False,
        names=r"full.stop",
        claim="The right result with a full stop after it gets 0.",
        fix='strip a final "." from the captured number: `.rstrip(".")`',
        source=_ISSUE,
    ),
    Hole(
        text="#### 72.0",
        accepted=False,
        names=r"decimal|\.0|trailing zero|equal number",
        claim="The right result as 72.0 gets 0.",
        fix="compare numbers, such as `Decimal(a) == Decimal(b)`, not their texts",
        source=_ISSUE,
    ),
    Hole(
        text="#### 72" + "\nThe class has that many chairs, because no chair was added to the rows." * 5,
        accepted=False,
        names=r"300|length|\blong|clip|far from|much text",
        claim="The right result gets 0 if 300 characters follow it.",
        fix="search the whole completion, or clip it at 300 tokens, as the comment states",
        source=_ISSUE,
    ),
    Hole(
        text="#### 7,2",
        accepted=True,
        names=r"comma|separator|digits",
        claim='"7,2" gets the reward of 72: commas are removed wherever they are.',
        fix=r"remove only thousands separators: `re.sub(r'(?<=\d),(?=\d{3}(\D|$))', '', number)`",
        source=_ISSUE,
    ),
    Hole(
        text="#### 12\n#### 72",
        accepted=True,
        names=r"last|several|two results|both|and the reference after|another.*before",
        claim="A completion that states two results is rewarded for the last.",
        fix="reward a completion only if all its `####` results agree",
        source=_ISSUE,
    ),
)

_DAPO_FIX = "remove units and blanks only next to a number, and compare the numbers"

_DAPO = (
    Hole(
        text="Step by step, that comes to \\boxed{72}.",
        accepted=False,
        names=r"box",
        claim="The right result in a box, without `Answer:`, gets -1.",
        fix="read the last box if there is no such line",
        source="repaired between 0.7.0 and 0.9.1",
    ),
    Hole(
        text="Answer: 7 2",
        accepted=True,
        names=r"space|blank|digits|apart|split",
        claim='"7 2" gets the reward of 72: all blanks are removed.',
        fix=_DAPO_FIX,
        source=_ISSUE,
    ),
    Hole(
        text="Answer: 7 students 2",
        accepted=True,
        names=r"word|unit|students|removed|inside",
        claim='"7 students 2" gets the reward of 72: words such as "students" are removed wherever they are.',
        fix=_DAPO_FIX,
        source=_ISSUE,
    ),
    Hole(
        text="Answer: 5 = 72",
        accepted=True,
        names=r"equa|=|contradict|last",
        claim='"5 = 72" gets the reward of 72: only the text after the last "=" counts.',
        fix='use the text after "=" only if the left side is a single letter, as in "x = 72"',
        source=_ISSUE,
    ),
    Hole(
        text="Answer: 72.",
        accepted=False,
        names=r"full.stop",
        claim="The right result with a full stop after it gets -1.",
        fix='strip a final "." from the extracted result',
        source=_ISSUE,
    ),
)


def _parameters(call: str) -> str:
    """A tool call with the key that this package reads."""
    return call.replace('"arguments"', '"parameters"')


_CALLS = tuple(
    {
        "prompt": row["prompt"],
        "reference": _parameters(row["reference"]),
        **{name: [_parameters(one) for one in row[name]] for name in ("right", "wrong")},
    }
    for row in TOOLS
)

PACKAGE = Package(
    name="verl",
    versions=("0.9.1", "0.4.0"),
    bare=("verl", "verl.utils", "verl.utils.reward_score"),
    stands_in=("torch", "tensordict"),
    needs=(
        "mathruler==0.1.0",
        "math-verify==0.9.0",
        "latex2sympy2_extended==1.11.0",
        "antlr4-python3-runtime==4.13.2",
        "sympy==1.14.0",
        "mpmath==1.3.0",
        "pylatexenc==2.10",
    ),
    functions=(
        Function(
            name="gsm8k",
            target=f"{_SCORE}.gsm8k:compute_score",
            call="fn(text, reference)",
            direct=True,
            rows=SUMS,
            shape="Step by step, that comes to RESULT.\n#### RESULT",
            description="the number after ####",
            history=True,
            holes=_GSM8K,
        ),
        Function(
            name="gsm8k-flexible",
            target=f"{_SCORE}.gsm8k:compute_score",
            call="fn(text, reference, method='flexible')",
            rows=SUMS,
            shape="Step by step, that comes to RESULT",
            description="the last number",
        ),
        Function(
            name="math_dapo",
            target=f"{_SCORE}.math_dapo:compute_score",
            call="fn(text, reference)",
            direct=True,
            rows=SUMS,
            shape="Step by step, that comes to RESULT.\nAnswer: RESULT",
            description="the line after `Answer:`",
            history=True,
            holes=_DAPO,
        ),
        Function(
            name="math_dapo-latex",
            target=f"{_SCORE}.math_dapo:compute_score",
            call="fn(text, reference)",
            direct=True,
            rows=LATEX,
            shape="We compute.\nAnswer: $RESULT$",
            description="the line after `Answer:`, in LaTeX",
        ),
        Function(
            name="math_dapo-box",
            target=f"{_SCORE}.math_dapo:compute_score",
            call="fn(text, reference, strict_box_verify=True)",
            rows=LATEX,
            shape="We compute.\nThe result is $\\boxed{RESULT}$.",
            description="the last box, compared as text",
        ),
        Function(
            name="math_reward",
            target=f"{_SCORE}.math_reward:compute_score",
            call="fn(text, reference)",
            direct=True,
            rows=LATEX,
            shape="We compute.\nThe result is $\\boxed{RESULT}$.",
            description="the last box, normalised",
        ),
        Function(
            name="geo3k",
            target=f"{_SCORE}.geo3k:compute_score",
            call="fn(text, reference)",
            direct=True,
            rows=LATEX,
            shape="<think>We compute.</think> The result is \\boxed{RESULT}.",
            description="the last box by mathruler, 10 % for the form",
        ),
        Function(
            name="search_r1-em",
            target=f"{_SCORE}.search_r1_like_qa_em:compute_score",
            call="fn(text, {'target': row['targets']})",
            rows=FACTS,
            shape="<think>I remember this.</think>\n<answer>RESULT</answer>",
            description="the last `<answer>`, exact match after normalisation",
            holes=(
                Hole(
                    text="<answer></answer>",
                    row=3,
                    accepted=True,
                    names=r"empty|nothing|without content|any text|normalis",
                    claim='The gold "A" is normalised to nothing (an article), so an empty result is right.',
                    fix="compare the unnormalised texts if the normalised gold is empty",
                    source=_ISSUE,
                ),
            ),
        ),
        Function(
            name="search_r1-subem",
            target=f"{_SCORE}.search_r1_like_qa_em:compute_score_subem",
            call="fn(text, {'target': row['targets']})",
            rows=FACTS,
            shape="<think>I remember this.</think>\n<answer>RESULT</answer>",
            description="the last `<answer>` contains a gold",
            holes=(
                Hole(
                    text="<answer>Elbe, Vltava, Rhine or Danube</answer>",
                    accepted=True,
                    names=r"occurs|mention|list|all|several|anywhere|hedg",
                    claim="A list of guesses is right if it contains the gold.",
                    fix="use `compute_score` (exact match), or bound the length of the result",
                ),
            ),
        ),
        Function(
            name="rlla",
            target=f"{_SCORE}.rlla:compute_score",
            call="fn('', '<|im_start|>assistant\\n' + text, '<think>Yes.</think>\\n<tool_call>\\n' + reference + '\\n</tool_call>',"
            " {'experiment_name': 'qwen'})",
            rows=_CALLS,
            shape="<think>This needs a tool.</think>\n<tool_call>\nRESULT\n</tool_call>",
            description="tool calls: names, keys, values, and the form",
        ),
        Function(
            name="prime_math",
            target=f"{_SCORE}.prime_math:compute_score",
            call="fn(text, reference)[0]",
            rows=LATEX,
            shape="We compute.\nThe result is $\\boxed{RESULT}$.",
            description="the last box, by text and by sympy",
            slow=True,
        ),
    ),
)
