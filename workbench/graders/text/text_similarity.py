"""The text similarity grader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.graders.base import kind
from workbench.graders.portable.rule import Rule
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.similarity import similarity
from workbench.graders.rules.verdict import Verdict
from workbench.graders.settings import check_choice
from workbench.graders.text.templated import TemplatedGrader

__all__ = ["METRICS", "TextSimilarity"]

_MAX_COMPARISONS = 10**11
"""Maximum product of lengths, about two seconds of comparing, which cannot be interrupted."""

METRICS = (
    "fuzzy_match",
    *(f"rouge_{size}" for size in range(1, 6)),
    "rouge_l",
    "bleu",
    "gleu",
    "meteor_without_synonyms",
)
"""Every measure, by its name."""


@kind("text-similarity", family="similarity")
@dataclass(frozen=True, kw_only=True)
class TextSimilarity(TemplatedGrader):
    """Similarity of two rendered templates, from 0 to 1. Returns no verdict: a suite's threshold does.

    | metric | what it is |
    | --- | --- |
    | fuzzy_match | rapidfuzz's `fuzz.ratio` over characters; case counts |
    | rouge_1 to rouge_5 | F1 of common runs of words, lower-cased, not stemmed (the `rouge-score` package) |
    | rouge_l | F1 of the longest common subsequence of words (the same) |
    | bleu | sentence BLEU, up to 4-grams, effective order and "exp" smoothing as in `sacrebleu` |
    | gleu | Google's BLEU as in `nltk` |
    | meteor_without_synonyms | METEOR as in `nltk`, stems and no WordNet; "meteor" is read as this |

    Tokens of the last three are runs of word characters and runs of other characters.

    Attributes:
        metric: See the table. "cosine" needs embeddings and is refused.

    Error kinds: template, sample (`item.reference` if the sample has none), timeout (texts whose common
    subsequence would take seconds: two different ones of more than 300,000 characters).

    Source: OpenAI (`text_similarity`); which packages it runs is public only for fuzzy_match.
    """

    gives_verdict: ClassVar[bool] = False
    rule: ClassVar[Rule] = Rule("similarity.similarity", settings=("metric",))

    metric: str = "fuzzy_match"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric == "cosine":
            raise FormatError(
                "the metric cosine compares embeddings, which need a model",
                expected=", ".join(METRICS),
                hint="use fuzzy_match or rouge_l, or a custom grader that calls your embedding model",
            )
        if self.metric == "meteor":
            object.__setattr__(self, "metric", "meteor_without_synonyms")
        check_choice("metric", self.metric, METRICS)

    def compare(self, text: str, reference: str) -> Verdict:
        """The similarity of both rendered texts, 0 to 1."""
        score = similarity(text, reference, metric=self.metric, lcs=_fast_lcs)
        return score, f"{self.metric} {score:.4f}", {}

    def score_in_python(self, call: str) -> str:
        """The rule's return value, which is only the score."""
        return call


def _fast_lcs(items: Sequence[Any], reference_items: Sequence[Any]) -> int:
    from rapidfuzz.distance import LCSseq

    if items == reference_items:
        return len(items)
    if len(items) * len(reference_items) > _MAX_COMPARISONS:
        message = f"texts of {len(items):,} and {len(reference_items):,} parts take too long to compare"
        raise Unscored(ErrorKind.TIMEOUT, message)
    if not isinstance(items, str):
        # Words become small numbers, since rapidfuzz compares hashes and two words may share one.
        numbers: dict[Any, int] = {}
        items, reference_items = (
            [numbers.setdefault(word, len(numbers)) for word in words] for words in (items, reference_items)
        )
    return LCSseq.similarity(items, reference_items)
