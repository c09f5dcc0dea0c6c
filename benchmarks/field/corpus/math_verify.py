"""math-verify: parsing and comparison of mathematical results, used by many trainers."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import LATEX, LETTERS, LISTS, SUMS

_PARSE = "load('math_verify:parse')"
_QUIET = "parsing_timeout=None"


def _verify(gold: str, configs: str = "") -> str:
    extract = f", extraction_config={configs}" if configs else ""
    return (
        "lambda text, reference: target("
        f"{_PARSE}({gold}, {_QUIET}), {_PARSE}(text{extract}, {_QUIET}), timeout_seconds=None)"
    )


_EXPRESSION = Hole(
    text="\\boxed{3^5}",
    row=3,
    accepted=True,
    names=r"evaluat|expression|prompt|repeat|restat|sum instead",
    claim="The problem itself, $3^5$ for 243, is a right result: expressions are evaluated.",
    fix="callers: require a number if the reference is one",
)

PACKAGE = Package(
    name="math-verify",
    versions=("0.9.0",),
    needs=(
        "latex2sympy2_extended==1.11.0",
        "antlr4-python3-runtime==4.13.2",
        "sympy==1.14.0",
        "mpmath==1.3.0",
    ),
    functions=(
        Function(
            name="verify-latex",
            target="math_verify:verify",
            setup=_verify("'$' + reference + '$'"),
            call="fn(text, reference)",
            rows=LATEX,
            shape="The result is $\\boxed{RESULT}$.",
            description="LaTeX and plain expressions (default settings)",
            holes=(
                _EXPRESSION,
                Hole(
                    text="$5 = 243$",
                    row=3,
                    accepted=True,
                    names=r"equation|equal sign|contradict|before it",
                    claim="`5 = 243` is right for 243: the last side of an equation counts.",
                    fix="take the last side only if the first is a variable",
                ),
                Hole(
                    text="$243\\sqrt(2)$",
                    row=3,
                    accepted=True,
                    names=r"malformed|longer word",
                    claim="What follows a malformed command is dropped: `243\\sqrt(2)` is right for 243.",
                    fix="callers: reject malformed operators",
                    source="issue 41",
                ),
            ),
        ),
        Function(
            name="verify-sums",
            target="math_verify:verify",
            setup=_verify("reference"),
            call="fn(text, reference)",
            rows=SUMS,
            shape="The answer is RESULT",
            description="whole numbers (default settings)",
            holes=(
                Hole(
                    text="It is not 72.",
                    accepted=True,
                    names=r"negat",
                    claim="A completion that denies the result is right.",
                    fix="callers: require a box or a marker",
                ),
                Hole(
                    text="73 or 72",
                    accepted=True,
                    names=r"candidates|several|hedg",
                    claim="Of several results, the last counts.",
                    fix="callers: reject a completion with several results",
                ),
                Hole(
                    text="7200%",
                    accepted=True,
                    names=r"percent|unit",
                    claim="A percentage is read as its value or as its number, whichever matches.",
                    fix="callers: reject a percent sign that the reference does not have",
                ),
            ),
        ),
        Function(
            name="verify-letters",
            target="math_verify:verify",
            setup="lambda text, reference: target(" + ", ".join(
                f"{_PARSE}({one}, extraction_config=[load('math_verify:StringExtractionConfig')()], {_QUIET})"
                for one in ("reference", "text")
            ) + ", timeout_seconds=None)",
            call="fn(text, reference)",
            rows=LETTERS,
            shape="The answer is RESULT.",
            description="letters of options",
        ),
        Function(
            name="verify-lists",
            target="math_verify:verify",
            setup=_verify("'$\\\\{' + reference + '\\\\}$'"),
            call="fn(text, reference)",
            rows=LISTS,
            shape="The result is $\\boxed{RESULT}$.",
            description="lists of numbers as sets",
        ),
    ),
)  # fmt: skip
