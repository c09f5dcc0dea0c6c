"""verifiers: the scoring that its environments share."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import LATEX, OUTPUTS, VERDICTS

_AT = "verifiers.v1.utils.score"

PACKAGE = Package(
    name="verifiers",
    versions=("0.4.0",),
    bare=("verifiers", "verifiers.v1", "verifiers.v1.utils"),
    stands_in=("verifiers.v1.errors",),
    needs=(
        "math-verify==0.9.0",
        "latex2sympy2_extended==1.11.0",
        "antlr4-python3-runtime==4.13.2",
        "sympy==1.14.0",
        "mpmath==1.3.0",
    ),
    functions=(
        Function(
            name="verify_boxed_math_answer",
            target=f"{_AT}:verify_boxed_math_answer",
            call="fn(text, reference, timeout_seconds=0)",
            rows=LATEX,
            shape="<think>We compute.</think>The result is $\\boxed{RESULT}$.",
            description="the last box, by math-verify",
        ),
        Function(
            name="parse_judge_choice",
            target=f"{_AT}:parse_judge_choice",
            call="fn(text) == reference",
            rows=VERDICTS,
            shape="I compared both replies.\nFinal judgment: RESULT",
            description="the letter of a judge's reply",
        ),
        Function(
            name="compare_stdout_results",
            target=f"{_AT}:compare_stdout_results",
            call="fn(text, reference)",
            rows=OUTPUTS,
            description="printed output, with a tolerance of 0.001",
            holes=(
                Hole(
                    text="0",
                    row=10,
                    accepted=True,
                    names=r"off|near|toleran|digits|zero|number that",
                    claim='"0" is right for 0.0004: the tolerance of 0.001 is absolute.',
                    fix="use a relative and an absolute tolerance, as `math.isclose` does",
                ),
            ),
        ),
    ),
)
