"""lighteval: metrics over a gold and a prediction."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import FACTS, LATEX, LETTERS, SUMS

_SAMPLE = "lighteval.metrics.metrics_sample"
_BEST = "max(fn.compute_one_item(gold=one, pred=text) for one in row['targets'])"
_ONE = "fn.compute_one_item(gold=reference, pred=text)"


def _normalised(normalizer: str, more: str = "") -> str:
    given = f"load('lighteval.metrics.normalizations:{normalizer}')"
    return f"target(normalize_gold={given}, normalize_pred={given}{more})"


_NOTHING = Hole(
    text="the",
    row=3,
    accepted=True,
    names=r"empty|nothing|without content|any text|normalis|article",
    claim='The gold "A" is normalised to nothing (an article), so a completion of articles is right.',
    fix="compare the unnormalised texts if the normalised gold is empty",
)

PACKAGE = Package(
    name="lighteval",
    versions=("0.13.0",),
    bare=(
        "lighteval",
        "lighteval.metrics",
        "lighteval.metrics.imports",
        "lighteval.metrics.utils",
        "lighteval.metrics.harness_compatibility",
        "lighteval.models",
        "lighteval.tasks",
        "lighteval.utils",
    ),
    stands_in=(
        "huggingface_hub", "pytablewriter", "transformers", "torch", "datasets", "lighteval.metrics.imports", "lighteval.metrics.utils.llm_as_judge",
        "lighteval.metrics.utils.judge_utils", "lighteval.metrics.utils.linguistic_tokenizers",
    ),
    functions=(
        Function(
            name="exact_match",
            target=f"{_SAMPLE}:ExactMatches",
            setup="target(strip_strings=True)",
            call=_ONE,
            rows=LETTERS,
            description="equal texts",
        ),
        Function(
            name="prefix_exact_match",
            target=f"{_SAMPLE}:ExactMatches",
            setup="target(strip_strings=True, type_exact_match='prefix')",
            call=_ONE,
            rows=LETTERS,
            description="the completion starts with the gold",
            holes=(
                Hole(
                    text="Bad question",
                    accepted=True,
                    names=r"start|prefix|longer word|begins|letter",
                    claim="`Bad question` is right for the option B.",
                    fix="require that no letter or digit follows the gold",
                ),
            ),
        ),
        Function(
            name="prefix_exact_match-sums",
            target=f"{_SAMPLE}:ExactMatches",
            setup="target(strip_strings=True, type_exact_match='prefix')",
            call=_ONE,
            rows=SUMS,
            description="the completion starts with the gold number",
        ),
        Function(
            name="suffix_exact_match",
            target=f"{_SAMPLE}:ExactMatches",
            setup="target(strip_strings=True, type_exact_match='suffix')",
            call=_ONE,
            rows=SUMS,
            shape="That comes to RESULT",
            description="the completion ends with the gold",
        ),
        Function(
            name="quasi_exact_match",
            target=f"{_SAMPLE}:ExactMatches",
            setup=_normalised("helm_normalizer"),
            call=_BEST,
            rows=FACTS,
            description="equal after normalisation (HELM)",
            holes=(
                _NOTHING,
                Hole(
                    text="191.2",
                    row=4,
                    accepted=True,
                    names=r"decimal point|magnitude|digits",
                    claim="`191.2` is right for 1912: punctuation is removed before numbers are read.",
                    fix="read numbers before punctuation is removed",
                    source="pull request 1273, open",
                ),
            ),
        ),
        Function(
            name="quasi_exact_match-triviaqa",
            target=f"{_SAMPLE}:ExactMatches",
            setup=_normalised("harness_triviaqa_normalizer"),
            call=_BEST,
            rows=FACTS,
            description="equal after normalisation (TriviaQA)",
        ),
        Function(
            name="f1_score_quasi",
            target=f"{_SAMPLE}:F1_score",
            setup=_normalised("helm_normalizer"),
            call=_BEST,
            rows=FACTS,
            description="overlap of words after normalisation",
        ),
        Function(
            name="quasi_exact_match_gsm8k",
            target=f"{_SAMPLE}:ExactMatches",
            setup="target(normalize_pred=load('lighteval.metrics.normalizations:gsm8k_normalizer'))",
            call=_ONE,
            rows=SUMS,
            shape="Step by step, that comes to RESULT.\n#### RESULT",
            description="the first number after ####",
        ),
        Function(
            name="quasi_exact_match_math",
            target=f"{_SAMPLE}:ExactMatches",
            setup=_normalised("math_normalizer"),
            call="fn.compute_one_item(gold='$\\\\boxed{' + reference + '}$', pred=text)",
            rows=LATEX,
            shape="The result is $\\boxed{RESULT}$.",
            description="a box, normalised",
        ),
        Function(
            name="drop_em",
            target="lighteval.metrics.harness_compatibility.drop:DropMetrics",
            setup="target()",
            call="max(fn._get_metrics([text], [one])[0] for one in row['targets'])",
            rows=FACTS,
            description="equal after normalisation (DROP)",
        ),
    ),
)  # fmt: skip
