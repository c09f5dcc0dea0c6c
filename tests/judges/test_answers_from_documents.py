"""Judges of answers from documents."""

import json

import pytest

import workbench as wb
from workbench.judges import AnswerRelevancyJudge, ContextRelevancyJudge, FaithfulnessJudge, ScriptedClient
from workbench.judges.claims import Evidence, claims_schema, documents, read_claims, sentences

THREAD = wb.StringThread(
    [("document", "D1"), ("user", "Who?"), ("assistant", "It was Tim. It was in 1990.")],
    {"documents": ["D2", {"content": "D3"}]},
)
# The seed's worked example.
SEED = wb.StringThread(
    [
        ("document", "Tim Berners-Lee created the first website."),
        ("document", "Tim Berners-Lee invented the world wide web."),
        ("user", "Who published the first website?"),
        ("assistant", "Tim Berners-Lee published the first website in August 1990."),
    ],
    {},
)


def statements(*scores):
    return json.dumps(
        {
            "all_statements_scoring": [
                {"statement_idx": at, "reasoning": f"r{at}", "score": score}
                for at, score in enumerate(scores)
            ]
        }
    )


def results(*scores):
    return json.dumps({"results": [{"reason": "r", "score": score} for score in scores]})


def claims(*parts, label="supported"):
    parts_with_claims = []
    for at, part in enumerate(parts):
        claim = part if isinstance(part, dict) else {label: part}
        parts_with_claims.append(
            {"claim": f"c{at}", "reason": f"r{at}", "document": None, "quote": "", **claim}
        )
    return json.dumps({"claims": parts_with_claims})


def faithfulness_grade(answer, thread=THREAD, **fields):
    return FaithfulnessJudge(client=ScriptedClient(answer), **fields)(thread)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two. Three.", 3), ("Dr. Smith met J. R. Lee, e.g. in 3.5 hours.", 1), ('He said "No." Then left!', 2), ("- a\n- b\n", 2),
        ("", 0), ("  ", 0), ("no end", 1), ("Really?! Yes...", 2), ("Version 2.0 is out. Get it.", 2),
    ],
)  # fmt: skip
def test_sentences(text, count):
    """Ends of sentences and lines; not abbreviations, initials or decimals."""
    assert len(sentences(text)) == count
    assert "".join(text.split()) == "".join("".join(sentences(text)).split())


def test_the_seeds_worked_example():
    """Two atomic claims of one sentence, one of them supported, give 0.5, with the evidence of each."""
    quote = "created the first website"
    answer = claims({"supported": True, "document": 0, "quote": quote}, {"supported": False})
    judge = FaithfulnessJudge(client=ScriptedClient(answer))
    grade = judge(SEED)
    assert grade.score == 0.5
    assert grade.metadata["claims"] == [
        {"claim": "c0", "supported": True, "reason": "r0", "evidence": {"document": 0, "quote": quote}, "evidence_found": True},
        {"claim": "c1", "supported": False, "reason": "r1", "evidence": None, "evidence_found": False},
    ]  # fmt: skip
    assert "atomic claims" in judge.client.calls[0][0][0]["content"]


def test_faithfulness_shows_documents_and_conversation():
    """Documents of turns and metadata are numbered from 0; the whole completion is there to be broken up."""
    judge = FaithfulnessJudge(client=ScriptedClient(claims(True)))
    assert judge(THREAD).score == 1.0
    prompt_text = judge.client.calls[0][0][1]["content"]
    for at, text in enumerate(("D1", "D2", "D3")):
        assert f'<document number="{at}">\n{text}\n</document>' in prompt_text
    assert "[user]\nWho?" in prompt_text
    assert "<completion>\nIt was Tim. It was in 1990.\n</completion>" in prompt_text


@pytest.mark.parametrize(
    ("document", "quote", "evidence", "expected"),
    [
        (0, "created the FIRST  website", 0, True),
        (1, "created the first website", 0, True),  # named wrongly: the place it stands in counts
        (None, "invented the world wide web.", 1, True),
        ("1", "invented", 1, True),
        (0, "Tim Berners-Lee ... first website", 0, True),
        (0, "first website ... Tim Berners-Lee created", 0, False),
        (None, "Who published the first website?", None, True),  # the conversation
        (0, "published the first website in 1990", 0, False),
        (9, "made up", None, False),
        (True, "made up", None, False),
    ],
)
def test_evidence_is_looked_for(document, quote, evidence, expected):
    """A quote is held against the documents and the conversation, word by word; the judge's word is not taken."""
    grade = faithfulness_grade(claims({"supported": True, "document": document, "quote": quote}), SEED)
    claim = grade.metadata["claims"][0]
    assert (claim["evidence"], claim["evidence_found"]) == ({"document": evidence, "quote": quote}, expected)
    assert (grade.score, claim["supported"]) == (1.0, True)


@pytest.mark.parametrize("quote", ["", "  ", "...", None, 7, "a", "A.", "\u201ca\u201d", "... a ..."])
def test_no_quote_is_no_evidence(quote):
    """Nothing quoted is None, and not found; a single letter stands in every text."""
    assert Evidence(["a text"], "said a").find(0, quote) == (None, False)


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("The weather", "eat", False),
        ("The weather", "the weath", False),
        ("The weather", "her", False),
        ("In 1990 it was", "199", False),
        ("one two", "one ... two", True),
        ("one two three", "one two ... two three", False),
        ("It\u2019s  a\u00a0\u201cfine\u201d\nday.", "it's a 'fine' day", True),
        ("an _important_ word", "important word", True),
        ("caf\u00e9 noir", "cafe\u0301 noir", True),
        ("\u5929\u6c14\u5f88\u597d\u4eca\u5929", "\u5f88\u597d", True),
        ("\u5929\u6c14\u5f88\u597d", "\u597d\u5f88", False),
    ],
)
def test_evidence_is_whole_words(text, quote, expected):
    """Part of a word is no evidence; spaces and quotation marks do not matter; Chinese has no spaces to go by."""
    assert Evidence([text], "").find(0, quote) == ({"document": 0, "quote": quote}, expected)


def test_evidence_can_be_required():
    """With require_evidence a claim whose quote stands nowhere is not supported."""
    answer = claims({"supported": True, "quote": "first website"}, {"supported": True, "quote": "made up"})
    assert faithfulness_grade(answer, SEED).score == 1.0
    strict = faithfulness_grade(answer, SEED, require_evidence=True)
    assert (strict.score, [claim["supported"] for claim in strict.metadata["claims"]]) == (0.5, [True, False])


@pytest.mark.parametrize("kind", [FaithfulnessJudge, AnswerRelevancyJudge])
def test_nothing_claimed_is_skipped(kind):
    """A completion without claims has nothing to check: no 0 and no 1."""
    grade = kind(client=ScriptedClient('{"claims": []}'))(THREAD)
    assert (grade.status, grade.metadata["claims"]) == ("skipped", [])
    assert "no claim" in grade.reasoning


@pytest.mark.parametrize(
    "answer",
    [
        '{"claims": null}', '{"claims": {}}', '{"claims": [1]}', '{"claims": [{"supported": true}]}', '{"claims": [{"claim": " ", "supported": true}]}',
        claims("maybe"), claims(None), claims(2), claims(0.5), claims([]), json.dumps({"claims": [{"claim": "c", "supported": True}] * 1001}),
    ],
)  # fmt: skip
def test_claims_must_be_whole(answer):
    """A claim without text or verdict, or no list, fails the row."""
    assert faithfulness_grade(answer).error.kind == "judge_parse"


@pytest.mark.parametrize("value", [True, 1, "1", "true", "Yes"])
def test_a_verdict_in_other_words(value):
    """What can only mean true is true."""
    assert faithfulness_grade(claims(value, False, True)).score == 2 / 3


@pytest.mark.parametrize("value", [False, 0, "0", " FALSE ", "No"])
def test_a_refused_claim_in_other_words(value):
    """What can only mean false is false."""
    assert faithfulness_grade(claims(value, True, True)).score == 2 / 3


@pytest.mark.parametrize("reason", [{}, {"reason": None}, {"reason": ""}])
def test_a_claim_may_lack_its_reason(reason):
    """A reason that is missing is an empty text, never the word None."""
    claim = {"claim": "c", "supported": True, **reason}
    assert read_claims(json.dumps({"claims": [claim]}), "supported") == [claim | {"reason": ""}]


def test_long_claims_are_cut_and_a_thousand_are_read():
    """A grade keeps 2,000 characters of a claim and of its reason, of up to 1,000 claims."""
    claim = {"claim": "c" * 2_001, "supported": True, "reason": "r" * 2_001}
    many = read_claims(json.dumps({"claims": [claim] * 1_000}), "supported")
    assert many == [{"claim": "c" * 2_000, "supported": True, "reason": "r" * 2_000}] * 1_000


def test_schema_of_claims():
    """Every claim needs a text, a reason, what the judge adds, and last of all a verdict, and has nothing else."""
    text, place = {"type": "string"}, {"type": "integer"}
    claim = {"claim": text, "reason": text, "document": place, "supported": {"type": "boolean"}}
    assert claims_schema("supported", document=place) == {
        "type": "object",
        "properties": {
            "claims": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": claim,
                    "required": ["claim", "reason", "document", "supported"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["claims"],
        "additionalProperties": False,
    }


def test_faithfulness_needs_something_to_be_faithful_to():
    """No completion, or neither documents nor a turn before the answer, is no sample for it."""
    assert faithfulness_grade("x", wb.StringThread([("user", "q")])).error.kind == "sample"
    assert faithfulness_grade("x", wb.StringThread([("assistant", "It is so.")])).error.kind == "sample"


def test_sentences_under_adaptives_rules():
    """The share of supported sentences, to three decimals; another number of scores is left out."""
    judge = FaithfulnessJudge(platform="adaptive", client=ScriptedClient(statements("1", "0")))
    grade = judge(THREAD)
    assert (grade.score, grade.reasoning, grade.metadata["scores"]) == (0.5, "r0\nr1", [1, 0])
    prompt_text = judge.client.calls[0][0][1]["content"]
    assert all(
        part in prompt_text
        for part in ("[document]\nD1", "D2", "D3", "Who?", "0: It was Tim.", "1: It was in 1990.")
    )
    three = wb.StringThread([("assistant", "One. Two. Three.")])
    assert faithfulness_grade(statements("1", 0, 0), three, platform="adaptive").score == 0.333
    assert faithfulness_grade(statements("1"), platform="adaptive").status == "skipped"


@pytest.mark.parametrize("score", ["2", True, None, "yes", 0.5])
def test_parts_are_one_or_zero(score):
    """Under Adaptive's rules any other score of a sentence fails the row."""
    assert faithfulness_grade(statements(score, "1"), platform="adaptive").error.kind == "judge_parse"


def test_answer_relevancy():
    """The share of claims that answer the question; Adaptive takes sentences and does not count them."""
    grade = AnswerRelevancyJudge(client=ScriptedClient(claims(True, False, label="relevant")))(THREAD)
    assert grade.score == 0.5
    assert grade.metadata["claims"][1] == {"claim": "c1", "relevant": False, "reason": "r1"}
    for scores, expected in (((1,), 1.0), ((), 0.0)):
        assert (
            AnswerRelevancyJudge(platform="adaptive", client=ScriptedClient(results(*scores)))(THREAD).score
            == expected
        )


def test_context_relevancy():
    """One question a document, of turns and metadata; Adaptive looks at the metadata only."""
    answers = {
        "<document>\nD1": '{"score": 1}',
        "<document>\nD2": '{"score": 0}',
        "<document>\nD3": '{"score": 0, "reason": "no"}',
    }
    judge = ContextRelevancyJudge(client=ScriptedClient(answers))
    grade = judge(THREAD)
    assert (grade.score, grade.metadata["scores"], len(judge.client.calls)) == (1 / 3, [1.0, 0.0, 0.0], 3)
    assert grade.metadata["documents"][2] == {"document": 2, "relevant": False, "reason": "no"}
    assert [call[0] for call in judge.client.calls] == judge.questions(THREAD)
    assert judge.preview(THREAD) == judge.questions(THREAD)[0]
    assert ContextRelevancyJudge(platform="adaptive", client=ScriptedClient(answers))(THREAD).score == 0.0


@pytest.mark.parametrize("score", ['"1"', '"0"', "true", "0.5", "2", "null"])
def test_a_documents_score_is_the_number_one_or_zero(score):
    """Text is no number, as in every other judge; only Adaptive's rules take "1" and "0"."""
    client = ScriptedClient(f'{{"reason": "r", "score": {score}}}')
    assert ContextRelevancyJudge(client=client)(THREAD).error.kind == "judge_parse"
    adaptive = ContextRelevancyJudge(platform="adaptive", client=client)(THREAD)
    assert adaptive.score == float(json.loads(score)) if score.startswith('"') else adaptive.score is None


def test_context_relevancy_needs_documents():
    """None, or one that cannot be judged, leaves the row without a score; what was answered is paid for."""
    bare = wb.StringThread([("user", "q"), ("assistant", "a")])
    assert ContextRelevancyJudge(client=ScriptedClient("x"))(bare).error.kind == "sample"
    only_turns = wb.StringThread([("document", "D"), ("user", "q"), ("assistant", "a")])
    assert (
        ContextRelevancyJudge(platform="adaptive", client=ScriptedClient("x"))(only_turns).error.kind
        == "sample"
    )
    message = ContextRelevancyJudge(platform="adaptive", client=ScriptedClient("x"))(SEED).error.message
    assert "metadata['documents'] only" in message
    assert "2 document turns" in message
    assert "no document turns" not in message
    judge = ContextRelevancyJudge(client=ScriptedClient(['{"score": 1}', "no", "no", '{"score": 1}']))
    assert judge(THREAD).status == "failed"
    assert len(judge.client.calls) == 4


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (["a", {"content": "b"}, {"text": "c"}, {"page_content": "d"}], ["a", "b", "c", "d"]),
        ('["a", {"page_content": "d"}]', ["a", "d"]),
        ("One document.", ["One document."]),
        ("[1] a note that is no JSON", ["[1] a note that is no JSON"]),
        ({"content": "b"}, ["b"]),
        ("  ", []),
        (None, []),
        (7, []),
    ],
)
def test_documents_as_files_hold_them(column, expected):
    """Lists, dicts, JSON text out of a CSV file, one text; nothing else is a document."""
    thread = wb.StringThread([("user", "q"), ("assistant", "a")], {"documents": column})
    assert documents(wb.Sample("0", thread, None, "0")) == expected


def test_documents_out_of_a_csv_file_are_judged(tmp_path):
    """The column is read as what it says, so that no row is judged without its documents."""
    path = tmp_path / "rows.csv"
    path.write_text('prompt,completion,documents\nq,a,"[""Paris is in France.""]"\n', "utf-8")
    [sample] = wb.read_samples(path)
    assert "Paris is in France." in wb.FaithfulnessJudge().preview(sample)[1]["content"]


def test_evidence_names_the_document_that_the_judge_named():
    """A quote from the conversation stays there; an invented one keeps the place that was claimed, marked."""
    evidence = Evidence(["Paris is the capital of France."], "Capital?")
    assert evidence.find(None, "Capital?") == ({"document": None, "quote": "Capital?"}, True)
    assert evidence.find(0, "an invented quote") == ({"document": 0, "quote": "an invented quote"}, False)
    assert evidence.find(5, "capital of France")[0]["document"] == 0
