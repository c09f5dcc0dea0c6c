"""TRL: `trl.rewards`, the rewards that its trainers ship."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import LATEX, SUMS

_SAID = "fn([[{'role': 'assistant', 'content': text}]], solution=[row['solution']])"
_FORM = "fn([[{'role': 'assistant', 'content': text}]])"
_MATH = tuple({**row, "solution": f"${row['reference']}$"} for row in LATEX)
_BOX = "We compute. The result is $\\boxed{RESULT}$."

_THOUGHTS = tuple(
    {"prompt": row["prompt"], "reference": None, "right": [f"<think>We compute.</think>\nIt is {row['reference']}."],
     "wrong": [f"It is {row['reference']}."]}
    for row in SUMS
)  # fmt: skip

PACKAGE = Package(
    name="trl",
    versions=("1.16.0",),
    bare=("trl", "trl.rewards"),
    needs=(
        "math-verify==0.9.0",
        "latex2sympy2_extended==1.11.0",
        "antlr4-python3-runtime==4.13.2",
        "sympy==1.14.0",
        "mpmath==1.3.0",
    ),
    functions=(
        Function(
            name="accuracy_reward",
            target="trl.rewards.accuracy_rewards:accuracy_reward",
            call=_SAID,
            direct=True,
            rows=_MATH,
            shape=_BOX,
            description="LaTeX results compared by math-verify",
            holes=(
                Hole(
                    text="$\\boxed{3^5}$",
                    row=3,
                    accepted=True,
                    names=r"evaluat|expression|prompt|repeat|restat",
                    claim="The problem itself, $3^5$ for 243, is a right result: expressions are evaluated.",
                    fix="require a number if the solution is one: reject a completion whose box contains an operator",
                ),
                Hole(
                    text="The result is 243.",
                    row=3,
                    accepted=False,
                    names=r"box|latex|plain|anchor|bare",
                    claim="A right number outside LaTeX gets 0: the extraction needs an anchor.",
                    fix="state the required form in the prompt, or add ExprExtractionConfig()",
                ),
            ),
        ),
        Function(
            name="reasoning_accuracy_reward",
            target="trl.rewards.accuracy_rewards:reasoning_accuracy_reward",
            call=_SAID,
            direct=True,
            rows=_MATH,
            shape="<think>We compute.</think>\nThe result is $\\boxed{RESULT}$.",
            description="LaTeX results after </think>, by math-verify",
        ),
        Function(
            name="cosine_scaled_reward",
            target="trl.rewards.accuracy_rewards:get_cosine_scaled_reward",
            setup="target(max_len=200)",
            call="fn([[{'role': 'assistant', 'content': text}]], [row['solution']], [list(text.split())])",
            rows=_MATH,
            shape=_BOX,
            description="LaTeX results by math-verify, scaled by length",
        ),
        Function(
            name="think_format_reward",
            target="trl.rewards.format_rewards:think_format_reward",
            call=_FORM,
            direct=True,
            rows=_THOUGHTS,
            description="the form <think>...</think>",
            holes=(
                Hole(
                    text="<think></think>",
                    accepted=True,
                    names=r"without content|empty|form",
                    claim="Empty thoughts and no completion get the full reward.",
                    fix="require text in both parts: `<think>\\s*\\S.*</think>\\s*\\S`",
                ),
                Hole(
                    text="We compute.\n</think>\nIt is 72.",
                    accepted=False,
                    names=r"opening tag|prefill|without <think>",
                    claim="Chat templates that end with <think> leave it out of the completion: every completion gets 0.",
                    fix="make the opening tag optional",
                    source="issue 6966",
                ),
            ),
        ),
    ),
)
