"""lm-eval: scoring of tasks, used for evaluation and for rewards derived from it."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import FACTS, LATEX, SUMS

_METRIC = "load('lm_eval.api.metrics:exact_match_hf_evaluate')"
_IGNORED = r"regexes_to_ignore=[',', '\\$', '(?s).*#### ', '\\.$'], ignore_case=True"


def _gsm8k(**settings: object) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return (
        f"lambda text, reference: {_METRIC}([next(iter(target({given}).apply([[text]], [])))[0]], [reference],"
        f" {_IGNORED})['exact_match']"
    )


PACKAGE = Package(
    name="lm-eval",
    versions=("0.4.13",),
    bare=("lm_eval", "lm_eval.tasks", "lm_eval.filters", "lm_eval.api"),
    stands_in=("datasets", "evaluate", "sacrebleu", "transformers", "torch"),
    functions=(
        Function(
            name="gsm8k-strict-match",
            target="lm_eval.filters.extraction:RegexFilter",
            setup=_gsm8k(regex_pattern="#### (\\-?[0-9\\.\\,]+)"),
            call="fn(text, reference)",
            rows=SUMS,
            shape="Step by step, that comes to RESULT.\n#### RESULT",
            description="the first number after ####",
            holes=(
                Hole(
                    text="#### 7,2",
                    accepted=True,
                    names=r"comma|separator|digits",
                    claim='"7,2" is right for 72: commas are removed wherever they are.',
                    fix="remove only thousands separators",
                ),
            ),
        ),
        Function(
            name="gsm8k-flexible-extract",
            target="lm_eval.filters.extraction:RegexFilter",
            setup=_gsm8k(regex_pattern="(-?[$0-9.,]{2,})|(-?[0-9]+)", group_select=-1),
            call="fn(text, reference)",
            rows=SUMS,
            shape="Step by step, that comes to RESULT.",
            description="the last number",
        ),
        Function(
            name="hendrycks_math",
            target="lm_eval.tasks.hendrycks_math.utils:process_results",
            call="fn({'solution': '$\\\\boxed{' + reference + '}$'}, [text])['exact_match']",
            rows=LATEX,
            shape="The result is $RESULT$.",
            description="the text between dollar signs, normalised",
        ),
        Function(
            name="aime",
            target="lm_eval.tasks.aime.utils:process_results",
            call="fn({'answer': reference}, [text])['exact_match']",
            rows=SUMS,
            shape="The result is $\\boxed{RESULT}$.",
            description="the last box, normalised",
        ),
        Function(
            name="agieval-math",
            target="lm_eval.tasks.agieval.utils:process_results",
            call="fn({'answer': reference}, [text])['acc']",
            rows=LATEX,
            shape="The result is $\\boxed{RESULT}$",
            description="a parsed result, normalised",
        ),
        Function(
            name="drop-em",
            target="lm_eval.tasks.drop.utils:process_results",
            call="fn({'answers': [(one,) for one in row['targets']]}, [text])['em']",
            rows=FACTS,
            description="exact match after normalisation",
            holes=(
                Hole(
                    text="",
                    row=3,
                    accepted=True,
                    names=r"empty|nothing|without content|any text|normalis",
                    claim='The gold "A" is normalised to nothing (an article), so an empty completion is right.',
                    fix="compare the unnormalised texts if the normalised gold is empty",
                ),
            ),
        ),
        Function(
            name="drop-f1",
            target="lm_eval.tasks.drop.utils:process_results",
            call="fn({'answers': [(one,) for one in row['targets']]}, [text])['f1']",
            rows=FACTS,
            description="overlap of words after normalisation",
        ),
    ),
)
