"""mathruler: the grader of EasyR1 and of verl's geo3k."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Package
from benchmarks.field.corpus.rows import LATEX, SUMS

PACKAGE = Package(
    name="mathruler",
    versions=("0.1.0",),
    needs=("sympy==1.14.0", "mpmath==1.3.0", "pylatexenc==2.10"),
    functions=(
        Function(
            name="grade_answer-boxed",
            target="mathruler.grader:grade_answer",
            setup="lambda text, reference: target(load('mathruler.grader:extract_boxed_content')(text), reference)",
            call="fn(text, reference)",
            rows=LATEX,
            shape="We compute. The result is $\\boxed{RESULT}$.",
            description="the last box, by text and by sympy",
        ),
        Function(
            name="grade_answer",
            target="mathruler.grader:grade_answer",
            call="fn(text, reference)",
            direct=True,
            rows=LATEX,
            description="a bare result, by text and by sympy",
        ),
        Function(
            name="grade_answer-sums",
            target="mathruler.grader:grade_answer",
            call="fn(text, reference)",
            direct=True,
            rows=SUMS,
            description="a bare whole number",
        ),
    ),
)
