"""inspect_ai: the scorers that evaluations of the UK AI Security Institute are written with."""

from __future__ import annotations

from benchmarks.field.corpus import Function, Hole, Package
from benchmarks.field.corpus.rows import FACTS, LETTERS, SUMS

NEEDS = (
    "botocore==1.44.8",
    "docstring_parser==0.18.0",
    "ijson==3.6.0",
    "jsonlines==4.0.0",
    "jsonpatch==1.48",
    "mmh3==5.3.1",
    "python-dotenv==1.2.4",
    "semver==3.1.2",
    "shortuuid==1.0.13",
    "tenacity==9.2.1",
    "textual==8.2.8",
    "zipfile-zstd==0.0.4",
    "zstandard==0.25.0",
)
"""What `import inspect_ai.scorer` needs."""

_CALL, _ALIASES = "fn(text, reference, prompt)", "fn(text, row['targets'], prompt)"

PACKAGE = Package(
    name="inspect-ai",
    versions=("0.3.285", "0.3.200"),
    stands_in=("s3fs", "aiobotocore", "boto3"),
    needs=NEEDS,
    functions=(
        Function(
            name="match",
            target="inspect_ai.scorer:match",
            setup="inspected(target())",
            call=_CALL,
            rows=SUMS,
            shape="That comes to RESULT",
            description="the completion ends with the target",
            holes=(
                Hole(
                    text="172",
                    accepted=True,
                    names=r"longer word or number|inside|ends",
                    claim='"172" is right for 72: only the end of the completion is compared.',
                    fix="`match(numeric=True)`, or require that no letter or digit precedes the target",
                ),
            ),
        ),
        Function(
            name="match-numeric",
            target="inspect_ai.scorer:match",
            setup="inspected(target(numeric=True))",
            call=_CALL,
            rows=SUMS,
            shape="That comes to RESULT",
            description="the last number",
            history=True,
            holes=(
                Hole(
                    text="172",
                    accepted=True,
                    names=r"longer word or number|inside|ends",
                    claim="`172` is right for 72: the end of the last number was compared.",
                    fix="compare numbers, not their ends",
                    source="repaired after 0.3.200 (pull request 3916)",
                ),
                Hole(
                    text="That comes to 72!",
                    accepted=False,
                    names=r"exclamation|punctuation|full.stop|mark",
                    claim="A right number with an exclamation mark after it was not read as a number.",
                    fix="strip punctuation around a number",
                    source="repaired after 0.3.200 (pull request 4744)",
                ),
            ),
        ),
        Function(
            name="match-begin",
            target="inspect_ai.scorer:match",
            setup="inspected(target(location='begin'))",
            call=_CALL,
            rows=LETTERS,
            description="the completion begins with the target",
        ),
        Function(
            name="includes",
            target="inspect_ai.scorer:includes",
            setup="inspected(target())",
            call=_ALIASES,
            rows=FACTS,
            shape="I think it is RESULT.",
            description="the target is part of the completion",
            holes=(
                Hole(
                    text="It is not the Vltava but the Elbe.",
                    accepted=True,
                    names=r"occurs|mention|negat|anywhere",
                    claim="A completion that denies the target is right.",
                    fix="use `match()` or `answer()`, as its documentation advises for short results",
                ),
            ),
        ),
        Function(
            name="answer-letter",
            target="inspect_ai.scorer:answer",
            setup="inspected(target('letter'))",
            call=_CALL,
            rows=LETTERS,
            shape="ANSWER: RESULT",
            description="the letter after `ANSWER:`",
        ),
        Function(
            name="answer-line",
            target="inspect_ai.scorer:answer",
            setup="inspected(target('line'))",
            call=_ALIASES,
            rows=FACTS,
            shape="I remember it.\nANSWER: RESULT",
            description="the line after `ANSWER:`",
        ),
        Function(
            name="exact",
            target="inspect_ai.scorer:exact",
            setup="inspected(target())",
            call=_ALIASES,
            rows=FACTS,
            description="equal after normalisation",
        ),
        Function(
            name="f1",
            target="inspect_ai.scorer:f1",
            setup="inspected(target())",
            call=_ALIASES,
            rows=FACTS,
            description="overlap of words after normalisation",
        ),
    ),
)
