"""inspect-evals: scorers of single evaluations."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Package
from benchmarks.field.corpus.inspect_ai import NEEDS
from benchmarks.field.corpus.rows import FACTS, LATEX, SUMS

_CALL = "fn(text, reference, prompt)"

PACKAGE = Package(
    name="inspect-evals",
    versions=("0.28.0",),
    bare=("inspect_evals", *(f"inspect_evals.{name}" for name in (
        "assistant_bench", "math", "zerobench",
    ))),
    stands_in=("inspect_evals_utils", "datasets", "huggingface_hub", "inspect_evals.utils"),
    needs=("inspect-ai==0.3.285", *NEEDS),
    functions=(
        Function(
            name="assistant_bench-numbers",
            target="inspect_evals.assistant_bench.scoring:score_answer",
            call="fn(text, reference)",
            rows=SUMS,
            description="numbers, with partial credit by order of magnitude",
        ),
        Function(
            name="assistant_bench-text",
            target="inspect_evals.assistant_bench.scoring:score_answer",
            call="fn(text, reference)",
            rows=FACTS,
            description="overlap of words",
        ),
        Function(
            name="math-is_equiv",
            target="inspect_evals.math.utils:is_equiv",
            call="wait(fn(text, reference))",
            rows=LATEX,
            description="LaTeX, equal after normalisation",
        ),
        Function(
            name="zerobench_scorer",
            target="inspect_evals.zerobench.scorer:zerobench_scorer",
            setup="inspected(target())",
            call=_CALL,
            rows=SUMS,
            shape="The final answer is {RESULT}",
            description="the last text in braces",
        ),
        Function(
            name="math-expression_exact_match",
            target="inspect_evals.math.math:expression_exact_match",
            setup="inspected(target())",
            call=_CALL,
            rows=LATEX,
            shape="We compute.\nANSWER: RESULT",
            description="the line after `ANSWER:`, normalised",
        ),
    ),
)  # fmt: skip
