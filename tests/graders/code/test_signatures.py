"""Grade functions of other platforms: called as there, checked as there, with nothing lost."""

import asyncio
import json

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.graders.base import from_spec
from workbench.graders.concurrent_rows import Control

LETTA = "from letta_evals.decorators import extractor, grader\nfrom letta_evals.models import GradeResult, Sample\n\n\n"
OSMOSIS = "from osmosis_ai.utils import osmosis_reward, osmosis_rubric\n\n\n"


def letta(body, head="def judged(sample, submission):", **settings):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return wb.FunctionGrader.from_source(f"{LETTA}@grader\n{head}\n{lines}", **settings)


def openai(body, head="def grade(sample, item):"):
    return wb.FunctionGrader.from_source(f"{head}\n    {body}\n")


def row(completion="4", label="4", **more):
    return wb.Samples([{"prompt": "2+2?", "completion": completion, "ground_truth": label, **more}])[0]


@pytest.mark.parametrize(
    ("text", "signature", "name"),
    [
        ("async def grade(thread):\n    return 1.0\n", "thread", "grade"),
        (
            LETTA + "@grader\ndef mine(sample, submission):\n    return GradeResult(score=1)\n",
            "letta",
            "mine",
        ),
        ("def grade(sample, item):\n    return 1\n", "openai", "grade"),
        ("async def score(sample, item):\n    return 1\n", "openai", "score"),
        (
            OSMOSIS
            + "@osmosis_reward\ndef f(solution_str: str, ground_truth: str, extra_info: dict = None):\n    return 1.0\n",
            "osmosis",
            "f",
        ),
        (OSMOSIS + "@osmosis_rubric\nasync def g(a, b):\n    return 1.0\n", "osmosis", "g"),
        (
            "def helper(a):\n    return a\n\n\ndef grade(sample, item):\n    return helper(1.0)\n",
            "openai",
            "grade",
        ),
    ],
)
def test_signatures_are_seen(text, signature, name):
    """By the parameters, or by Osmosis' decorators; the author's name is kept."""
    grader = wb.FunctionGrader.from_source(text)
    assert (grader.signature, grader.name) == (signature, name)
    assert from_spec(json.loads(json.dumps(grader.spec()))) == grader
    assert ("signature" in grader.spec()) is (signature != "thread")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "def helper(sample, item):\n    return 1.0\n\n\nasync def mine(thread):\n    return helper(1, 2)\n",
            "mine",
        ),
        (
            LETTA + "@extractor\nasync def x(trajectory, config):\n    return ''\n\n\n"
            "@grader\ndef mine(sample, submission):\n    return GradeResult(score=1.0)\n",
            "mine",
        ),
    ],
)
def test_helpers_and_extractors_are_not_the_grader(text, name):
    """A decorator says what is meant; without one an async function goes before a helper's parameters."""
    grader = wb.FunctionGrader.from_source(text)
    assert grader.name == name
    assert grader.validate().ok


def test_one_of_several_functions_is_named():
    """Where a module holds several graders, the name says which."""
    text = LETTA + "".join(
        f"@grader\ndef {name}(sample, submission):\n    return GradeResult(score={score})\n\n\n"
        for name, score in (("low", 0.25), ("high", 0.75))
    )
    for name, score in (("low", 0.25), ("high", 0.75)):
        grader = wb.FunctionGrader.from_source(text, function=name)
        assert (grader.name, grader.signature, grader(row()).score) == (name, "letta", score)
    with pytest.raises(wb.errors.CaptureError, match="no function called none"):
        wb.FunctionGrader.from_source(text, function="none")
    assert wb.FunctionGrader.from_source(text).validate().failure.name == "structure"


def test_graders_are_values():
    """Equal texts and settings are one grader, and can be looked up by it."""
    one, two = letta("return None"), letta("return None")
    assert {one: 1}[two] == 1
    assert one != letta("return None", extractor_config={"a": 1})


def test_a_signature_may_be_given():
    """What is given is not guessed; what is no signature is refused."""
    text = "def grade(a, b):\n    return 1.0\n"
    assert wb.FunctionGrader.from_source(text, signature="openai").validate().ok
    with pytest.raises(ValueError, match="signature must be one of"):
        wb.FunctionGrader.from_source(text, signature="other")
    with pytest.raises(ValueError, match="an extractor goes with"):
        wb.FunctionGrader.from_source(text, signature="openai", extractor="x")


def test_letta_sample_and_result():
    """Input, ground truth, clean metadata, own keys; rationale and metadata come back."""
    grader = letta(
        "seen = [sample.input, sample.ground_truth, sample.metadata, sample.rubric_vars, sample.agent_args, sample.id, submission]\n"
        "return GradeResult(score=0.5, rationale='because', metadata={'seen': seen})"
    )
    assert grader.validate().ok
    grade = grader(row(topic="maths", rubric_vars={"a": 1}, agent_args={"b": 2}))
    assert (grade.score, grade.reasoning) == (0.5, "because")
    assert grade.metadata["seen"] == ["2+2?", "4", {"topic": "maths"}, {"a": 1}, {"b": 2}, "0", "4"]


@pytest.mark.parametrize(
    "head",
    [
        "def judged(sample: Sample, submission: str) -> GradeResult:",
        "async def judged(sample, submission) -> 'GradeResult':",
        "def judged(sample, submission):",
    ],
)
def test_letta_functions_sync_and_async(head):
    """With and without annotations."""
    assert (
        letta("return GradeResult(score=float(submission == sample.ground_truth))", head)(row()).score == 1.0
    )


def test_letta_named_decorator():
    """`@grader(name=...)` is the same decorator."""
    text = (
        LETTA + "@grader(name='shown')\ndef judged(sample, submission):\n    return GradeResult(score=1.0)\n"
    )
    assert wb.FunctionGrader.from_source(text)(row()).score == 1.0


@pytest.mark.parametrize(
    ("head", "body", "check", "part"),
    [
        ("def grade(sample, answer):", "return GradeResult(score=1)", "signature", "(sample, answer)"),
        ("def grade(sample, submission, more=1):", "return GradeResult(score=1)", "signature", "more"),
        (
            "def grade(sample, submission) -> float:",
            "return GradeResult(score=1)",
            "signature",
            "annotated float",
        ),
        ("def grade(sample, submission):", "return 1.0", "test_run", "GradeResult, not 1.0 (float)"),
        (
            "def grade(sample, submission):",
            "return GradeResult(score=1.5)",
            "test_run",
            "between 0.0 and 1.0",
        ),
        ("def grade(sample, submission):", "return GradeResult(score=float('nan'))", "test_run", "between"),
        ("def grade(sample, submission):", "return GradeResult(score='1')", "test_run", "must be a number"),
    ],
)
def test_letta_checks(head, body, check, part):
    """Parameter names, the return annotation and the score are held to Letta's rules."""
    validation = letta(body, head, signature="letta").validate()
    assert validation.failure.name == check
    assert part in validation.failure.message


@pytest.mark.parametrize("score", ["1.5", "-0.1", "float('inf')", "True", "None"])
def test_letta_scores_outside_0_to_1_are_refused(score):
    """The platform's own range, as a kind of its own and never a number."""
    grade = letta(f"return GradeResult(score={score})")(row())
    assert (grade.score, grade.error.kind) == (None, "out_of_range")
    assert "GradeResult score must be" in grade.error.message


def test_letta_extractor_of_the_module():
    """A named extractor of the module stands in for the last assistant text; turns are lists of messages."""
    text = (
        LETTA + "@extractor\ndef calls(trajectory, config):\n"
        "    found = [m.tool_call.name for turn in trajectory for m in turn if m.message_type == 'tool_call_message']\n"
        "    back = [m.tool_return for turn in trajectory for m in turn if m.message_type == 'tool_return_message']\n"
        "    said = [m.content for turn in trajectory for m in turn if m.message_type == 'assistant_message']\n"
        "    return '|'.join([str(len(trajectory)), *found, *back, *said, config.get('end', '')])\n\n\n"
        "@grader\ndef judged(sample, submission):\n"
        "    return GradeResult(score=1.0, rationale=submission, metadata={'input': sample.input})\n"
    )
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    thread = wb.StringThread.from_messages(
        [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "42", "tool_call_id": "1"},
            {"role": "assistant", "content": "first"},
            {"role": "user", "content": "two"},
            {"role": "assistant", "content": "second"},
        ],
        {},
    )
    grader = wb.FunctionGrader.from_source(text, extractor="calls", extractor_config={"end": "!"})
    grade = grader(thread)
    assert grade.reasoning == "2|look|42|first|second|!"
    assert grade.metadata["input"] == ["one", "two"]
    assert from_spec(json.loads(json.dumps(grader.spec()))) == grader


def test_letta_extractor_with_agent_state():
    """A third parameter is the agent's state, out of the row's metadata."""
    text = (
        LETTA
        + "@extractor\nasync def state(trajectory, config, agent_state) -> str:\n    return agent_state['name']\n\n\n"
        "@grader\ndef judged(sample, submission):\n    return GradeResult(score=float(submission == 'Ada'))\n"
    )
    grader = wb.FunctionGrader.from_source(text, extractor="state")
    assert grader(row(agent_state={"name": "Ada"})).score == 1.0


OWN_EXTRACTOR = (
    LETTA + "@extractor\ndef own(trajectory, config):\n    return 'own'\n\n\n"
    "@grader\ndef judged(sample, submission):\n    return GradeResult(score=1.0, rationale=submission)\n"
)


def test_letta_extractor_that_nobody_names_is_not_used():
    """A suite's extractor counts, the last assistant text by default; the checks say what lies unused."""
    grader = wb.FunctionGrader.from_source(OWN_EXTRACTOR)
    thread = wb.StringThread([("user", "q"), ("assistant", "first"), ("user", "q"), ("assistant", "last")])
    assert grader(thread).reasoning == "last"
    entry = wb.Entry(grader, extractor="first_assistant")
    rows = wb.Samples([{"messages": [{"role": r, "content": c} for r, c in thread.get_turns()]}])
    assert asyncio.run(entry.grade(rows[0])).reasoning == "first"
    assert asyncio.run(entry.grade_all(rows, Control())).reasoning == {0: "first"}
    (warning,) = grader.validate().warnings
    assert "extractor='own'" in warning
    named = wb.FunctionGrader.from_source(OWN_EXTRACTOR, extractor="own")
    assert named(thread).reasoning == "own"
    assert not named.validate().warnings


@pytest.mark.parametrize(
    ("value", "kind"),
    [("None", "return_type"), ("'1'", "return_type"), ("True", "return_type"), ("7", "out_of_range")],
)
def test_letta_score_that_was_changed_afterwards(value, kind):
    """A score set on a finished result is held to the same rule; None is a failure and no skip."""
    grade = letta(f"made = GradeResult(score=0.5)\nmade.score = {value}\nreturn made")(row())
    assert (grade.score, grade.error and grade.error.kind) == (None, kind)


@pytest.mark.parametrize(
    ("extractors", "settings", "check", "part"),
    [
        (
            "@extractor\ndef a(trajectory, config):\n    return ''\n@extractor\ndef b(trajectory, config):\n    return ''\n",
            {"extractor": "c"},
            "execution",
            "c is not a function",
        ),
        (
            "@extractor\ndef a(trajectory):\n    return ''\n",
            {},
            "execution",
            "must take (trajectory, config)",
        ),
        (
            "@extractor\ndef a(trajectory, config) -> int:\n    return ''\n",
            {},
            "execution",
            "must return str",
        ),
        (
            "@extractor\ndef a(trajectory, config):\n    return 3\n",
            {"extractor": "a"},
            "test_run",
            "must return text, not int",
        ),
        ("", {"extractor": "gone"}, "execution", "gone is not a function"),
    ],
)
def test_letta_extractor_checks(extractors, settings, check, part):
    """One extractor, of the right form, returning text."""
    text = f"{LETTA}{extractors}\n\n@grader\ndef judged(sample, submission):\n    return GradeResult(score=1.0)\n"
    validation = wb.FunctionGrader.from_source(text, **settings).validate()
    assert validation.failure.name == check
    assert part in validation.failure.message


def test_openai_sample_and_item():
    """Text, JSON where it is valid, tools, choices; the row's columns with the prompt and the reference."""
    seen = openai("raise ValueError(__import__('json').dumps([sample, item]))")
    text = seen(row('{"a": 1}', topic="maths")).error.message
    sample, item = json.loads(text[len("ValueError: ") : text.rindex(" (line")])
    assert sample["output_text"] == '{"a": 1}'
    assert sample["output_json"] == {"a": 1}
    assert sample["output_tools"] == []
    assert sample["choices"][0]["message"] == {"role": "assistant", "content": '{"a": 1}'}
    assert item == {"prompt": "2+2?", "ground_truth": "4", "topic": "maths", "reference": "4"}


@pytest.mark.parametrize("text", ["NaN", "not json", "", "[1,"])
def test_openai_output_json_only_where_valid(text):
    """Python's NaN is no JSON."""
    assert openai("return float('output_json' not in sample)")(row(text)).score == 1.0


@pytest.mark.parametrize(
    "head",
    [
        "def grade(sample, item):",
        "async def grade(sample, item):",
        "def grade(sample: dict, item: dict) -> float:",
    ],
)
def test_openai_functions_run(head):
    """A number is the score; a missing key, text or a bool is a failure with its kind."""
    assert openai("return 1 if sample['output_text'] == item['reference'] else 0", head)(row()).score == 1.0
    assert openai("return item['gone']", head)(row()).error.kind == "runtime"
    assert openai("return 'x'", head)(row()).error.kind == "return_type"
    assert openai("return True", head)(row()).error.kind == "return_type"


def test_openai_takes_exactly_two_parameters():
    """As OpenAI validates it."""
    validation = wb.FunctionGrader.from_source("def grade(a):\n    return 1\n", signature="openai").validate()
    assert (validation.failure.name, "exactly two" in validation.failure.message) == ("signature", True)


def test_rows_of_ones_own_take_the_mock_rows_place():
    """A column is made up as a text for the mock row; a grader that needs another type is proved on samples."""
    grader = openai("return float(item['about']['topic'] == 'maths')")
    assert grader.validate().failure.name == "test_run"
    assert [check.message for check in grader.validate([row(about={"topic": "maths"})]).checks][
        -1
    ] == "test thread 1 scores 1.0"


def test_osmosis_legacy_functions():
    """The answer, the truth as text, the metadata; a float it must be."""
    head = (
        OSMOSIS
        + "@osmosis_reward\ndef f(solution_str: str, ground_truth: str, extra_info: dict = None) -> float:\n    return "
    )
    match = wb.FunctionGrader.from_source(
        head + "float(solution_str == ground_truth and extra_info == {'k': 1})\n"
    )
    assert [match(row(k=1)).score, match(row("5", k=1)).score, match(row(label=4, k=1)).score] == [
        1.0,
        0.0,
        1.0,
    ]
    assert "must return a float, not int" in wb.FunctionGrader.from_source(head + "1\n")(row()).error.message
    rubric = wb.FunctionGrader.from_source(
        OSMOSIS
        + "@osmosis_rubric\nasync def f(solution_str: str, ground_truth: str | None, extra_info: dict = None) -> float:\n    return 0.0 if ground_truth else 1.0\n"
    )
    assert [rubric(row()).score, rubric(row(label=None)).score] == [0.0, 1.0]
    usual = wb.FunctionGrader.from_source(
        OSMOSIS
        + "@osmosis_rubric\ndef f(solution_str: str, ground_truth: str | None, extra_info: dict) -> float:\n    return float(extra_info == {'k': 1} and ground_truth == '4')\n"
    )
    assert usual.validate().failure is None
    assert [usual(row(k=1)).score, usual(row(label=None, k=1)).score] == [1.0, 0.0]
    bad = wb.FunctionGrader.from_source(
        OSMOSIS + "@osmosis_reward\ndef f(solution_str, ground_truth):\n    return 1.0\n"
    )
    assert bad.validate().failure.name == "execution"


def test_rows_and_batches_agree():
    """A reference reaches the worker in a run of many as it does for one."""
    rows = wb.Samples([{"prompt": "q", "completion": str(i), "answer": str(i % 3)} for i in range(2500)])
    grader = openai("return float(sample['output_text'] == item['reference'])")
    grades = asyncio.run(grader.grade_all(rows, Control(workers=2)))
    assert [grade.score for grade in grades] == [1.0, 1.0, 1.0, *[0.0] * 2497]
    view = rows.take([2, 1, 5])
    assert [grade.score for grade in asyncio.run(grader.grade_all(view, Control()))] == [1.0, 1.0, 0.0]


def test_other_packages_of_that_name_are_not_there():
    """Only the names we stand in for can be imported."""
    validation = wb.FunctionGrader.from_source(
        "from letta_client import Letta\ndef grade(sample, item):\n    return 1\n"
    ).validate()
    assert "letta_client is not available" in validation.failure.message
    validation = wb.FunctionGrader.from_source(
        "from osmosis_ai.rollout import Nothing\ndef grade(sample, item):\n    return 1\n"
    ).validate()
    assert "cannot import name 'Nothing'" in validation.failure.message


def test_validation_and_run_hide_the_same_column():
    """The reference's column is left out of the metadata by its name, in the checks as in a run."""
    text = (
        f"{LETTA}@grader\ndef judged(sample, submission):\n"
        "    if 'gold' in sample.metadata or 'answer' not in sample.metadata:\n        raise KeyError(str(sample.metadata))\n"
        "    return GradeResult(score=1.0)\n"
    )
    rows = wb.Samples([{"completion": "a", "gold": "4", "answer": "4"}], columns={"reference": "gold"})
    grader = wb.FunctionGrader.from_source(text)
    assert grader.validate(rows).ok
    assert asyncio.run(grader.grade_all(rows, Control())).n_scored == 1


@pytest.mark.parametrize("source", [None, 5, "text", [], {}, {"text": 5, "sha256": "x"}, {"text": ["a"]}])
def test_a_source_that_is_none_is_refused(source):
    """A record without a text is told apart when it is read, not when it is saved."""
    with pytest.raises(FormatError, match="the source cannot be read"):
        from_spec({"kind": "function", "source": source})
