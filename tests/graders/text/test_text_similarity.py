"""Text similarity: our numbers are those of the packages people know."""

import random

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.gleu_score import sentence_gleu
from nltk.translate.meteor_score import single_meteor_score
from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq
from rouge_score.rouge_scorer import RougeScorer

import workbench as wb
from tests.graders.code_examples import said, sample
from workbench.core.errors import FormatError
from workbench.graders.rules import similarity
from workbench.graders.rules.similarity import stem
from workbench.graders.text.openai_text import METRICS, TextSimilarity

WORDS = st.lists(
    st.sampled_from(
        ["the", "cat", "cats", "running", "runs", "dog", "A", "b", "c", "Dog's", "é", "x1", "!", ","]
    ),
    max_size=12,
)
TEXTS = WORDS.map(" ".join) | st.text(max_size=20)
ROUGE = RougeScorer([*(f"rouge{size}" for size in range(1, 6)), "rougeL"])
SUFFIXES = (
    "a e i o u y al ance ence er ic able ible ant ement ment ent ion tion sion ou ism ate iti ous ive ize "  # noqa: SIM905
    "ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness "
    "aliti iviti biliti fulli logi icate ative alize iciti ical ful ness ed ing ies ied eed s ss sses ll tt zz "
    "at bl iz b c d f g h k l m n p r s t v w x z".split()
)


class NoSynonyms:
    """A WordNet that knows nothing."""

    def synsets(self, word):
        """None."""
        return []


def words(text):
    """The words of the last three measures."""
    return similarity._TOKENS.findall(text)


@given(TEXTS, TEXTS)
def test_rouge_is_that_of_rouge_score(text, reference):
    """ROUGE-1 to 5 and ROUGE-L equal the `rouge-score` package's F1."""
    theirs = ROUGE.score(reference, text)
    for size in range(1, 6):
        assert similarity.rouge_n(text, reference, size) == pytest.approx(
            theirs[f"rouge{size}"].fmeasure, abs=1e-12
        )
    assert similarity.rouge_l(text, reference) == pytest.approx(theirs["rougeL"].fmeasure, abs=1e-12)


@given(TEXTS, TEXTS)
def test_bleu_is_that_of_sacrebleu(text, reference):
    """Sentence BLEU with effective order, on the same words."""
    theirs = sacrebleu.sentence_bleu(
        " ".join(words(text)), [" ".join(words(reference))], tokenize="none", use_effective_order=True
    )
    assert similarity.bleu(text, reference) == pytest.approx(theirs.score / 100, abs=1e-9)


@given(TEXTS, TEXTS)
def test_gleu_and_meteor_are_those_of_nltk(text, reference):
    """Google's BLEU, and METEOR with a WordNet that knows no synonyms."""
    assert similarity.gleu(text, reference) == pytest.approx(
        sentence_gleu([words(reference)], words(text)), abs=1e-12
    )
    theirs = single_meteor_score(words(reference.lower()), words(text.lower()), wordnet=NoSynonyms())
    assert similarity.meteor(text, reference) == pytest.approx(theirs, abs=1e-12)


@given(st.text(), st.text())
def test_fuzzy_match_is_that_of_rapidfuzz(text, reference):
    """The share is `fuzz.ratio` over 100."""
    assert similarity.fuzzy_match(text, reference) == pytest.approx(
        fuzz.ratio(text, reference) / 100, abs=1e-12
    )


@given(st.text("abc", max_size=200), st.text("abcd", max_size=200))
def test_the_plain_subsequence_is_the_fast_one(one, two):
    """Both ways to count give the same number, so both ways to grade give the same score."""
    assert similarity.lcs_length(one, two) == LCSseq.similarity(one, two)


@given(TEXTS, TEXTS)
def test_the_grader_is_the_rule(text, reference):
    """With rapidfuzz or without it the scores are equal, to the last bit, and between 0 and 1."""
    for metric in METRICS:
        score = TextSimilarity(metric=metric).grade_text(text, said(""), reference)[0]
        assert score == similarity.similarity(text, reference, metric=metric)
        assert 0 <= score <= 1


def test_stems_are_those_of_nltk():
    """Fifty thousand words made of suffixes have the stems of nltk's Porter stemmer."""
    draw, theirs = random.Random(0), PorterStemmer()
    made = {"".join(draw.choices(SUFFIXES, k=draw.randint(1, 5))) for _ in range(50_000)}
    irregular = {"skies", "dying", "news", "innings", "proceed", "flies", "dies", "died", "spied", "sky"}
    assert {word: stem(word) for word in made | irregular} == {
        word: theirs.stem(word) for word in made | irregular
    }


@pytest.mark.parametrize("metric", METRICS)
def test_the_same_text_is_alike_and_another_is_not(metric):
    """Equal texts score 1 (METEOR's penalty for one chunk apart), texts with nothing in common 0."""
    text = "alpha beta gamma delta epsilon"
    grade = TextSimilarity(metric=metric)(sample(text, text))
    assert grade.score == pytest.approx(1.0, abs=0.005)
    assert grade.passed is None
    assert TextSimilarity(metric=metric)(sample("abc", "xyz")).score == 0.0


@pytest.mark.parametrize(
    ("metric", "text", "reference", "score"),
    [
        ("rouge_2", "a b", "a b c d", 0.5),
        ("fuzzy_match", "hello world", "hello there world", 22 / 28),
        ("gleu", "the cat sat", "the cat sat down", 0.6),
        ("fuzzy_match", "", "", 1.0),
        ("rouge_l", "", "", 0.0),
    ],
)
def test_known_values(metric, text, reference, score):
    """Values worked out by hand."""
    assert TextSimilarity(metric=metric)(sample(text, reference)).score == pytest.approx(score, abs=1e-9)


def test_names_of_metrics():
    """OpenAI's meteor is read under its honest name, cosine is refused with a reason, others are listed."""
    assert TextSimilarity(metric="meteor").metric == "meteor_without_synonyms"
    with pytest.raises(FormatError, match="embeddings"):
        TextSimilarity(metric="cosine")
    with pytest.raises(FormatError, match="'rouge_l'"):
        TextSimilarity(metric="levenshtein")


@pytest.mark.parametrize("metric", ["fuzzy_match", "rouge_l"])
def test_texts_too_long_to_compare_fail(metric):
    """A comparison that would take half a minute costs its row; equal texts are alike at any length."""
    one, two = (
        ("ab " * 200_000, "ba " * 200_000)
        if metric == "fuzzy_match"
        else ("a b " * 200_000, "b a " * 200_000)
    )
    grader = wb.TextSimilarity(metric=metric, reference="{{item.x}}")
    grade = grader(wb.StringThread([("assistant", one)], {"x": two}))
    assert grade.error.kind == "timeout"
    assert grader(wb.StringThread([("assistant", one)], {"x": one})).score == 1.0
