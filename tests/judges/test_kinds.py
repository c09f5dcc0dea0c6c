"""The judges: what they ask, and how they read it."""

import asyncio
import json
import pickle
from dataclasses import replace

import pytest

import workbench as wb
from tests.judges.examples import AGENT, EXAMPLES, MESSAGES, SCHEMA
from workbench.core.errors import FormatError
from workbench.data.samples import Sample
from workbench.data.templates.values import TemplateError, TemplateRunError
from workbench.graders.base import from_spec
from workbench.judges import (
    AgentJudge,
    BinaryJudge,
    CriteriaJudge,
    FaithfulnessJudge,
    GuardrailJudge,
    Judge,
    LabelJudge,
    Reply,
    RubricJudge,
    SchemaJudge,
    ScoreJudge,
    ScriptedClient,
    Usage,
)

THREAD = wb.StringThread(
    [
        ("system", "SYSTEM"),
        ("user", "Q1"),
        ("assistant", "A1"),
        ("user", "Q2 <b>"),
        ("assistant", "The answer"),
    ],
    {"style": "short", "rubric_vars": {"style": "short"}},
)
JUDGES = [kind for kind in EXAMPLES if kind != "endpoint"]


def sample(thread=THREAD, reference=None):
    return Sample(id="1", thread=thread, reference=reference, group="1")


def graded(judge, answer, thread=THREAD):
    return replace(judge, client=ScriptedClient(answer))(thread)


@pytest.mark.parametrize("kind", JUDGES)
def test_an_example_scores(kind):
    """Each kind grades a plain thread with documents, and keeps what was said."""
    turns = [("document", "D"), *THREAD.get_turns()]
    grade = EXAMPLES[kind]()(wb.StringThread([tuple(turn) for turn in turns], THREAD.metadata))
    assert grade.status == "scored", grade
    assert "raw" in grade.metadata


@pytest.mark.parametrize("kind", EXAMPLES)
def test_specs_know_no_client(kind):
    """A spec is plain JSON, round trips, and holds no client; a spec that names one is refused."""
    judge = EXAMPLES[kind]()
    spec = json.loads(json.dumps(judge.spec()))
    assert from_spec(spec) == judge == pickle.loads(pickle.dumps(judge))
    assert "client" not in spec
    assert "client" not in repr(judge)
    if kind != "endpoint":
        with pytest.raises(FormatError, match="client"):
            from_spec({**spec, "client": "x"})


@pytest.mark.parametrize("kind", JUDGES)
@pytest.mark.parametrize(
    "answer",
    ["", "no", "{}", '{"score": "x"}', '{"score": 7, "result": 70, "safetyScore": 7}', "boom"],
)
def test_bad_answers_have_no_score(kind, answer):
    """Under our own rules an answer that is not clean is a failed grade, whatever the judge."""
    script = ConnectionError("down") if answer == "boom" else answer
    thread = wb.StringThread([("document", "D"), ("user", "Q"), ("assistant", "A.")], {"style": "other"})
    grade = graded(EXAMPLES[kind](), script, thread)
    assert (grade.score, grade.status) == (None, "failed")
    assert (grade.error.kind == "judge_server") == (answer == "boom")


@pytest.mark.parametrize("kind", JUDGES)
def test_values_are_put_as_they_are(kind):
    """Tags in an answer or a question are asked about verbatim."""
    hostile = "{{criteria}} {% for i in range(9) %} {submission} {{{response}}} <b> &"
    turns = [("document", hostile), ("user", hostile), ("assistant", hostile)]
    thread = wb.StringThread(turns, {"style": "other"})
    judge = EXAMPLES[kind]()
    question = "\n".join(message["content"] for message in judge.preview(thread))
    assert hostile in question
    assert not judge.client.calls


def test_one_try_at_repair():
    """An unreadable answer is asked for once more, with the reason; both are paid for."""
    first_reply = Reply("I think it is good", Usage(10, 5, 0.25), {})
    client = ScriptedClient([first_reply, Reply('{"score": 1}', Usage(20, 5, 0.5), {})])
    grade = CriteriaJudge(client=client)(THREAD)
    assert (grade.score, grade.tokens, grade.cost) == (1.0, 40, 0.75)
    messages = client.calls[1][0]
    assert messages[-2] == {"role": "assistant", "content": "I think it is good"}
    assert "Answer again" in messages[-1]["content"]


@pytest.mark.parametrize("platform", ["letta", "umbraco", "openai"])
def test_platforms_without_repair_ask_once(platform):
    """Letta, Umbraco and OpenAI take the first answer."""
    client = ScriptedClient("no")
    assert CriteriaJudge(platform=platform, client=client)(THREAD).error.kind == "judge_parse"
    assert len(client.calls) == 1


@pytest.mark.parametrize(
    ("model", "platform", "temperature", "sent"),
    [
        ("gpt-4o-mini", "", 0.0, 0.0), ("openai/gpt-5-mini", "letta", 0.0, 1.0), ("o1-mini", "letta", 0.0, 1.0), ("o4-mini", "letta", 0.0, 0.0),
        ("openai/o1", "letta", 0.0, 0.0), ("o3", "letta", 0.3, 0.3), ("o4-mini", "adaptive", 0.3, 1.0), ("o3", "", 0.0, 1.0), ("openai/o4-mini", "", 0.0, 1.0),
    ],
)  # fmt: skip
def test_temperatures(model, platform, temperature, sent):
    """Reasoning models take no temperature but 1; whose rule says which those are."""
    client = ScriptedClient('{"score": 1}')
    CriteriaJudge(model=model, platform=platform, temperature=temperature, client=client)(THREAD)
    assert client.calls[0][1]["temperature"] == sent


@pytest.mark.parametrize(
    ("answer", "platform", "outcome"),
    [
        ('{"score": "PASS", "reasoning": "r"}', "", 1.0), ('{"score": "FAIL"}', "adaptive", 0.0), ('{"score": "NA", "reasoning": "n"}', "", "skipped"),
        ('{"score": "pass"}', "", 1.0), ('{"score": "pass"}', "adaptive", "failed"), ('{"score": 1}', "", "failed"), ('{"score": "MAYBE"}', "", "failed"),
    ],
)  # fmt: skip
def test_binary_labels(answer, platform, outcome):
    """PASS is 1, FAIL 0, NA no score and no failure."""
    grade = BinaryJudge(criteria="c", platform=platform, client=ScriptedClient(answer))(THREAD)
    assert (grade.status if grade.score is None else grade.score) == outcome


def test_binary_prompt():
    """A system prompt with the schema, three shots, five blocks; the thread's system turn is not shown."""
    messages = BinaryJudge(criteria="be polite").preview(THREAD)
    assert [message["role"] for message in messages] == ["system", *["user", "assistant"] * 3, "user"]
    assert [json.loads(messages[at]["content"])["score"] for at in (2, 4, 6)] == ["FAIL", "PASS", "NA"]
    question = messages[-1]["content"]
    places = [
        question.index(part)
        for part in ("CONTEXT", "A1", "USER QUESTION", "Q2 <b>", "The answer", "be polite", "OUTPUT")
    ]
    assert places == sorted(places)
    assert "SYSTEM" not in question


def test_binary_examples_and_templates():
    """Own examples replace the shots and reach own templates; a missing reason gets a sentence."""
    example = {"input": [{"role": "user", "content": "EQ"}], "output": 'say "x"', "passes": False}
    shots = BinaryJudge(criteria="c", examples=[example]).preview(THREAD)
    assert len(shots) == 4
    assert json.loads(shots[2]["content"]) == {
        "reasoning": "The completion does not meet the criterion.",
        "score": "FAIL",
    }
    judge = BinaryJudge(
        criteria="c", examples=[example], template_variables={"tone": "kind"}, system_template="S {{tone}} {{output_schema}}",
        user_template="{{#each examples}}{{user_question}}>{{completion}}>{{output_json}}{{/each}} {{{completion}}} {{metadata.style}} {{context_str}}",
    )  # fmt: skip
    system, user = judge.preview(THREAD)
    assert system["content"].startswith('S kind {"type":"object"')
    assert user["content"].startswith('EQ>say "x">{"reasoning"')
    assert "The answer short [system]" in user["content"]
    assert judge.request_settings()["response_format"]["type"] == "json_schema"
    assert replace(judge, platform="adaptive").request_settings()["response_format"] is None


def test_binary_needs_a_question_and_an_answer():
    """A thread without a user turn or a final answer is no sample for it."""
    for turns in ([], [("user", "q")], [("assistant", "a")], [("assistant", "a"), ("user", "q")]):
        assert graded(BinaryJudge(criteria="c"), "x", wb.StringThread(turns)).error.kind == "sample"


def test_rubric_sections():
    """The seed release fills listed variables only and appends the values; no ground truth, no section."""
    judge = RubricJudge(
        prompt="Score {style} answers to {input} {{x}}", rubric_vars=["style"], platform="letta"
    )
    text = judge.preview(sample())[1]["content"]
    assert "Score short answers to {input} {{x}}" in text
    parts = (
        "## Rubric",
        "## Original question",
        "['Q1', 'Q2 <b>']",
        "## Submission",
        "The answer",
        "## Instructions",
    )
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "Expected" not in text
    assert (
        "## Expected answer\n<reference>\nGT\n</reference>"
        in judge.preview(sample(reference="GT"))[1]["content"]
    )


def test_rubric_of_the_later_release():
    """The prompt is the message, its three names filled; a name without a value and a reserved one are errors."""
    judge = RubricJudge(prompt="{input}|{submission}|{ground_truth}|{style}|{{x}}", release="0.17")
    thread = wb.StringThread([("user", "Q {style}"), ("assistant", "A")], {"rubric_vars": {"style": "s"}})
    assert judge.preview(sample(thread, "T"))[1]["content"] == "Q {style}|A|T|s|{x}"
    assert judge.preview(sample(thread))[1]["content"] == "Q {style}|A||s|{x}"
    with pytest.raises(KeyError, match="style"):
        judge.preview(wb.StringThread([("assistant", "A")]))
    taken = wb.StringThread([("user", "Q"), ("assistant", "A")], {"rubric_vars": {"input": "x"}})
    with pytest.raises(ValueError, match="cannot be named 'input'"):
        judge.preview(taken)
    assert graded(judge, "x", taken).error.kind == "template"


def test_rubric_variables_must_be_there():
    """A row without a listed variable is a template failure that says where to add it."""
    with pytest.raises(TemplateRunError, match="rubric_vars, or as a column"):
        RubricJudge(prompt="{a}", rubric_vars=["a"]).preview(THREAD)
    column = wb.StringThread([("assistant", "A")], {"a": 5})
    assert "## Rubric\n5" in RubricJudge(prompt="{a}", rubric_vars=["a"]).preview(column)[1]["content"]


def test_rubric_under_lettas_rules():
    """Clamped and coerced; failures in Letta's words; an empty submission since 0.8 is its own zero."""
    letta = RubricJudge(prompt="p", platform="letta")
    assert graded(letta, '{"score": "0.5"}').score == 0.5
    assert graded(letta, '{"score": 2.5, "rationale": "x"}').score == 1.0
    failed = graded(letta, "not json")
    assert failed.error.message.startswith("Error during grading: ")
    assert "error" in failed.metadata
    later = RubricJudge(prompt="p", platform="letta", release="0.17", client=ScriptedClient([]))
    assert (later(wb.StringThread([("user", "q")])).score, later.client.calls) == (0.0, [])


def test_ranges():
    """A rubric may score in a range of its own; outside is a failure of its own kind."""
    judge = RubricJudge(prompt="p", scale=(1, 5), pass_threshold=4)
    assert (graded(judge, '{"score": 4}').score, graded(judge, '{"score": 4}').passed) == (4.0, True)
    assert graded(judge, '{"score": 0.5}').error.kind == "out_of_range"
    model = ScoreJudge(input=MESSAGES, scale=(0, 10), platform="openai")
    assert graded(model, '{"result": 70, "steps": [{"description": "d", "conclusion": "c"}]}').score == 10.0
    assert graded(model, '{"result": "high", "steps": []}').error.kind == "judge_parse"


def test_criteria_under_umbracos_rules():
    """Missing is 0, not clamped, and the messages are Umbraco's."""
    umbraco = CriteriaJudge(platform="umbraco", pass_threshold=0.8)
    low = graded(
        umbraco, 'Sure {"score": 0.75, "reasoning": "meh", "strengths": ["s"], "weaknesses": "w"} bye'
    )
    assert (low.score, low.passed, low.reasoning) == (0.75, False, "meh")
    assert low.metadata["failureMessage"] == "Score 0.75 below threshold 0.80"
    assert (low.metadata["strengths"], "weaknesses" in low.metadata) == (["s"], False)
    assert (graded(umbraco, "{}").score, graded(umbraco, '{"score": 7}').score) == (0.0, 7.0)
    failed = graded(umbraco, "I refuse")
    assert failed.error.message == "Failed to parse judgment response from LLM"
    assert failed.metadata["rawResponse"] == "I refuse"


def test_guardrails_flag():
    """Below the threshold passes, with the safety score; what cannot be read is flagged under Umbraco's rules only."""
    assert (
        graded(GuardrailJudge(), '{"safetyScore": 0.2}').passed,
        graded(GuardrailJudge(), '{"safetyScore": 0.9}').passed,
    ) == (True, False)
    flagged = graded(GuardrailJudge(platform="umbraco"), "sorry")
    assert (flagged.score, flagged.passed) == (0.0, True)
    assert graded(GuardrailJudge(), "sorry").status == "failed"


def test_schema_answers_must_fit():
    """The schema is sent, shown, and held against the answer."""
    judge = SchemaJudge(
        prompt="R={{response}} S={{systemPrompt}}",
        output_schema={**SCHEMA, "required": ["score", "reasoning"]},
    )
    system, user = judge.preview(THREAD)
    assert user["content"] == "R=The answer S=SYSTEM"
    assert '"maximum":1' in system["content"]
    assert judge.request_settings()["response_format"]["json_schema"]["schema"] == judge.output_schema
    assert judge.request_settings()["max_tokens"] == 256
    assert graded(judge, '{"score": 0.4, "reasoning": "ok"}').reasoning == "ok"
    assert graded(judge, '{"score": 0.4}').error.kind == "judge_parse"
    assert graded(judge, '{"score": 4, "reasoning": ""}').error.kind == "out_of_range"
    assert graded(SchemaJudge(prompt="x", output_schema={}), '{"score": 3}').error.kind == "out_of_range"


def test_labels():
    """A label passes or not; a bare one counts, an unknown one fails."""
    judge = LabelJudge(input=MESSAGES, labels=["good", "bad"], passing_labels=["good"])
    assert [
        graded(judge, answer).score for answer in ('{"result": "bad"}', "good", '{"result": "ugly"}')
    ] == [0.0, 1.0, None]


def test_templates_of_a_missing_column():
    """A path that leads nowhere is a template failure that names it."""
    judge = ScoreJudge(input=[{"role": "user", "content": "{{item.nope}}"}])
    grade = graded(judge, "x")
    assert grade.error.kind == "template"
    assert "item.nope" in grade.error.message


NO_RATIONALE = {
    **AGENT,
    "tools": [{"name": "submit_grade", "source_code": "def submit_grade(score: float): ..."}],
}


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: AgentJudge(prompt="p", agent={}), "no tool 'submit_grade'"),
        (lambda: AgentJudge(prompt="p", agent=NO_RATIONALE), "parameter 'rationale'"),
        (lambda: AgentJudge(prompt="p", agent={**AGENT, "agents": AGENT["agents"] * 2}), "one agent"),
        (lambda: AgentJudge(prompt="p", agent={**AGENT, "agents": [{"system": "x"}]}), "no model"),
        (lambda: BinaryJudge(criteria=" "), "criteria"),
        (lambda: BinaryJudge(criteria="c", examples=[{"input": []}]), "example"),
        (lambda: BinaryJudge(criteria="c", user_template="{{#if"), "not closed"),
        (lambda: RubricJudge(prompt="p", scale=(1, 0)), "scale"),
        (lambda: RubricJudge(prompt="p", provider="acme"), "openai, anthropic, google"),
        (lambda: RubricJudge(prompt="p", release="1"), "0.4, 0.17"),
        (lambda: RubricJudge(prompt="p", rubric_vars="style"), "list of names"),
        (RubricJudge, "prompt or prompt_path"),
        (lambda: RubricJudge(prompt="p", dialect="erb"), "dialect"),
        (lambda: RubricJudge(prompt="{{#if", dialect="handlebars"), "not closed"),
        (lambda: RubricJudge(prompt_path="/nowhere/rubric.txt"), "cannot be read"),
        (lambda: FaithfulnessJudge(require_evidence=1), "True or False"),
        (lambda: FaithfulnessJudge(require_evidence=True, platform="adaptive"), "no evidence"),
        (lambda: AgentJudge(prompt="p", agent=AGENT, max_steps=True), "max_steps"),
        (lambda: AgentJudge(prompt="p", agent=AGENT, tool_timeout=0), "tool_timeout"),
        (lambda: AgentJudge(prompt="p", agent=AGENT, tool_memory_mb="1"), "tool_memory_mb"),
        (lambda: CriteriaJudge(platform="acme"), "platform"),
        (lambda: CriteriaJudge(temperature=3), "0 to 2"),
        (lambda: CriteriaJudge(temperature=True), "0 to 2"),
        (lambda: CriteriaJudge(max_tokens=0), "max_tokens"),
        (lambda: CriteriaJudge(extractor="nope"), "unknown extractor"),
        (lambda: SchemaJudge(prompt="{{#x}}", output_schema={}), "not closed"),
        (lambda: SchemaJudge(prompt="x", output_schema={"type": 5}), "not a valid JSON Schema"),
        (lambda: SchemaJudge(prompt="x", output_schema={"$ref": "http://127.0.0.1/x"}), "nothing is fetched"),
        (
            lambda: SchemaJudge(prompt="x", output_schema={"$dynamicRef": "http://127.0.0.1/x"}),
            "nothing is fetched",
        ),
        (lambda: CriteriaJudge(pass_threshold="0.7"), "pass_threshold must be a number"),
        (lambda: GuardrailJudge(safety_threshold=None), "safety_threshold must be a number"),
        (lambda: RubricJudge(prompt="p", timeout="5"), "timeout is out of its bounds"),
        (lambda: RubricJudge(prompt="p", max_retries=1.5), "whole number"),
        (lambda: RubricJudge(prompt="p", pass_threshold=float("nan")), "pass_threshold"),
        (lambda: RubricJudge(prompt="p", scale=(0, float("inf"))), "scale"),
        (lambda: ScoreJudge(input=[]), "message"),
        (lambda: ScoreJudge(input=[{"role": "user", "content": "{{x.y}}"}]), "item, sample"),
        (lambda: LabelJudge(input=MESSAGES, labels=["a"], passing_labels=["b"]), "not one of the labels"),
    ],
)
def test_bad_fields_are_refused(make, part):
    """A judge that cannot be made says which field, and what it takes."""
    with pytest.raises(FormatError) as caught:
        make()
    assert part in str(caught.value)


def test_an_extractor_chooses_what_is_judged():
    """Any judge looks at what its extractor finds."""
    judge = CriteriaJudge(extractor={"name": "first_assistant"})
    assert "A1" in judge.preview(THREAD)[1]["content"]
    assert from_spec(judge.spec()).extractor == judge.extractor


def test_own_judges():
    """A judge of one's own is a prompt and a reading."""

    class Shouts(Judge):
        kind = "shouts"

        def preview(self, sample):
            return [{"role": "user", "content": "is it loud?"}]

        def read(self, text):
            return wb.Grade(float(text == "yes"))

    assert Shouts(client=ScriptedClient("yes"))(THREAD).score == 1.0


def test_many_rows_at_once():
    """A run asks for each row and keeps them apart."""
    client = ScriptedClient(lambda messages: json.dumps({"score": float("good" in messages[-1]["content"])}))
    samples = wb.Samples([{"prompt": "q", "completion": text} for text in ("good", "bad", "good one")])
    grades = asyncio.run(CriteriaJudge(client=client).grade_all(samples, wb.graders.base.Control()))
    assert [grade.score for grade in grades] == [1.0, 0.0, 1.0]
    with pytest.raises(TemplateError):
        BinaryJudge(criteria="c", system_template="{{> x}}")


@pytest.mark.parametrize(
    ("schema", "answer", "kind"),
    [
        (
            {"properties": {"reasoning": {"pattern": "^(a|aa)+$"}}},
            {"score": 1, "reasoning": "a" * 60 + "!"},
            "timeout",
        ),
        ({"$ref": "#"}, {"score": 1}, "runtime"),
        ({"properties": {"score": {"maximum": 0.5}}}, {"score": 1}, "out_of_range"),
        ({"properties": {"reasoning": {"type": "string"}}}, {"score": 1, "reasoning": 5}, "judge_parse"),
    ],
)
def test_schemas_of_answers_end(schema, answer, kind):
    """A schema that would search or turn for ever costs the row, and what was said is kept."""
    judge = SchemaJudge(prompt="x", output_schema=schema, client=ScriptedClient(json.dumps(answer)))
    grade = judge(wb.StringThread([("user", "q"), ("assistant", "a")], {}))
    assert grade.error.kind == kind
    assert "score" in grade.metadata["raw"]


@pytest.mark.parametrize("kind", [kind for kind in JUDGES if kind != "agent-judge"])
def test_our_own_rules_ask_for_a_schema(kind):
    """A judge of ours sends the JSON schema of the answer it reads; the example's answer fits it."""
    judge = EXAMPLES[kind]()
    response_format = judge.request_settings()["response_format"]
    assert response_format["type"] == "json_schema"
    answer = json.loads(judge.client.script)
    properties = response_format["json_schema"]["schema"]["properties"]
    assert set(response_format["json_schema"]["schema"]["required"]) <= set(properties)
    assert set(properties) & set(answer)


@pytest.mark.parametrize(
    ("kind", "platform"),
    [
        ("binary-judge", "adaptive"), ("faithfulness", "adaptive"), ("answer-relevancy", "adaptive"), ("context-relevancy", "adaptive"),
        ("rubric-judge", "letta"), ("criteria-judge", "umbraco"), ("guardrail-judge", "umbraco"),
    ],
)  # fmt: skip
def test_platforms_ask_as_they_do(kind, platform):
    """Under a platform's rules the server is asked for a JSON object, as there."""
    assert replace(EXAMPLES[kind](), platform=platform).request_settings()["response_format"] == {
        "type": "json_object"
    }


def test_a_preview_is_the_callers_own():
    """Changing what a preview gave changes no later question, though parts of it are made once."""
    judge = BinaryJudge(criteria="c")
    messages = judge.preview(THREAD)
    before = json.dumps(messages)
    for message in messages:
        message["content"] = "changed"
    assert json.dumps(judge.preview(THREAD)) == before


@pytest.mark.parametrize(
    "make",
    [
        lambda: wb.judges.SchemaJudge(
            prompt="Rate {{completion}}",
            output_schema={"type": "object", "properties": {"score": {"type": "number"}}},
        ),
        lambda: wb.BinaryJudge(criteria="c", user_template="{{{completon}}}"),
        lambda: wb.BinaryJudge(criteria="c", system_template="{{#each turn}}x{{/each}}"),
        lambda: wb.RubricJudge(prompt="{{ submision }}", dialect="jinja2"),
    ],
)
def test_a_misspelt_name_asks_nothing(make):
    """A prompt with a hole that nothing fills fails the row before anybody is asked."""
    from dataclasses import replace

    client = wb.ScriptedClient('{"score": 1.0}')
    grade = replace(make(), client=client)(wb.StringThread([("user", "q"), ("assistant", "a")]))
    assert grade.error.kind == "template"
    assert not client.calls


def test_braces_that_stay_are_refused():
    """A rubric with {submission} needs the dialect that fills it in."""
    for prompt in ("Rate {submission}.", "Rate {completion}, please."):
        with pytest.raises(wb.errors.FormatError, match="dialect='braces'"):
            wb.RubricJudge(prompt=prompt)
    with pytest.raises(wb.errors.FormatError, match="dialect='jinja2'"):
        wb.RubricJudge(prompt="Rate {{ submision }}.")
    assert wb.RubricJudge(prompt='Answers look like {"a": 1} or {x}.').prompt
    assert wb.RubricJudge(prompt="Rate {submission}.", platform="letta").prompt
    assert wb.RubricJudge(prompt="Rate {submission}.", dialect="braces").prompt


def test_examples_take_a_justification_and_nothing_unknown():
    """`justification` is the reasoning; a part that nothing reads is refused."""
    example = {"input": [{"role": "user", "content": "q"}], "output": "a", "passes": True}
    judge = wb.BinaryJudge(criteria="c", examples=[{**example, "justification": "Because."}])
    assert "Because." in str(judge.preview(wb.StringThread([("user", "q"), ("assistant", "a")])))
    with pytest.raises(wb.errors.FormatError, match="'reason'"):
        wb.BinaryJudge(criteria="c", examples=[{**example, "reason": "Because."}])
