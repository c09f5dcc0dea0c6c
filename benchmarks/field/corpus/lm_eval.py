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
                Hole(
                    text="#### 72\nNo, that is wrong.\n#### 95",
                    accepted=True,
                    names=r"retract|first|think block",
                    claim="The first of two results counts, also one that is taken back.",
                    fix="`group_select: -1`",
                    source="issue 3438",
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
            holes=(
                Hole(
                    text="In all it costs $72.00",
                    accepted=False,
                    names=r"zeros|currency|dollar|\\.0",
                    claim="`$72.00` is not 72: texts are compared, not numbers.",
                    fix="compare numbers",
                    source="issue 3214",
                ),
            ),
        ),
        Function(
            name="hendrycks_math",
            target="lm_eval.tasks.hendrycks_math.utils:process_results",
            call="fn({'solution': '$\\\\boxed{' + reference + '}$'}, [text])['exact_match']",
            rows=LATEX,
            shape="The result is $RESULT$.",
            description="the text between dollar signs, normalised",
            holes=(
                Hole(
                    text="The result is $\\boxed{243}$.",
                    row=3,
                    accepted=False,
                    names=r"box",
                    claim="A right result in a box gets 0: boxes are removed from the reference only.",
                    fix="remove the box of the completion too",
                ),
                Hole(
                    text="$5 = 243$",
                    row=3,
                    accepted=True,
                    names=r"equation|equal sign|contradict|before it",
                    claim="`5 = 243` is right for 243: a left side of one or two characters is dropped.",
                    fix="drop the left side only if it is a letter",
                ),
            ),
        ),
        Function(
            name="aime",
            target="lm_eval.tasks.aime.utils:process_results",
            call="fn({'answer': reference}, [text])['exact_match']",
            rows=SUMS,
            shape="The result is $\\boxed{RESULT}$.",
            description="the last box, normalised",
            holes=(
                Hole(
                    text="The result is $\\boxed{072}$.",
                    accepted=False,
                    names=r"leading zero|zeros before",
                    claim="`072` is not 72, although results of this contest have three digits.",
                    fix="compare whole numbers with `int`",
                ),
            ),
        ),
        Function(
            name="agieval-math",
            target="lm_eval.tasks.agieval.utils:process_results",
            call="fn({'answer': reference}, [text])['acc']",
            rows=LATEX,
            shape="The result is $\\boxed{RESULT}$",
            description="a parsed result, normalised",
            holes=(
                Hole(
                    text="9 divided by 4",
                    accepted=True,
                    names=r"other|another|digit|any text|last number",
                    claim="A text that ends with 4 is right for \\frac{3}{4}: the gold is reduced to its last number.",
                    fix="read the gold in a box: `parse_math_answer(f'\\\\boxed{{{gold}}}')`",
                ),
            ),
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
