"""Text graders: compare, search, measure."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.graders.code_examples import CODE_EXAMPLES, said, sample
from workbench.core.errors import FormatError
from workbench.data.extractors import EXTRACTORS, Extractor, extractor
from workbench.graders import Control, from_spec
from workbench.graders.rule_grader import Unscored
from workbench.graders.rules.text import utf16
from workbench.graders.text import AsciiPrintable, Contains, ExactMatch, LabelSet, Length
from workbench.graders.text.openai_text import StringCheck
from workbench.graders.text.text_grader import TextGrader


@pytest.mark.parametrize(
    ("settings", "text", "expected", "score"),
    [
        ({}, "  hello world\n", "hello world", 1.0),
        ({}, "Hello", "hello", 0.0),
        ({"ignore_case": True}, "HELLO", "hello", 1.0),
        ({"trim": False}, "hello ", "hello", 0.0),
        ({}, "a b", "a  b", 0.0),
        ({}, "4", 4, 1.0),
        ({}, "true", True, 1.0),
        ({}, '{"a": [1]}', {"a": [1]}, 1.0),
        ({}, "", "", 1.0),
    ],
)
def test_exact_match(settings, text, expected, score):
    """Both sides are trimmed and compared; a reference that is no text is compared as its JSON."""
    grade = ExactMatch(**settings)(sample(text, expected))
    assert (grade.score, grade.passed) == (score, score == 1.0)
    assert grade.reasoning == ("Exact match" if score else "Expected exact match but got different value")


@pytest.mark.parametrize(
    ("settings", "text", "expected", "score"),
    [
        ({"ignore_case": True}, "It is PARIS.", "paris", 1.0),
        ({}, "It is PARIS.", "paris", 0.0),
        ({}, "Main STRASSE 1", "straße", 0.0),
        ({}, "anything", "", 1.0),
        ({}, "ab", " ab ", 0.0),
    ],
)
def test_contains(settings, text, expected, score):
    """A substring, lower-cased and not folded, nothing trimmed; an empty one always occurs."""
    assert Contains(**settings)(sample(text, expected)).score == score
    assert Contains(expected=expected, **settings)(said(text)).score == score


@pytest.mark.parametrize("make", [ExactMatch, Contains, StringCheck])
def test_a_missing_reference_is_a_failure_not_a_zero(make):
    """Where a reference is needed and none is there the grade fails and says which columns count."""
    grade = make()(sample("x"))
    assert (grade.score, grade.error.kind) == (None, "sample")
    assert "ground_truth" in grade.error.message


@pytest.mark.parametrize("reference", [None, ""])
def test_letta_counts_a_missing_reference_as_zero(reference):
    """With on_no_reference="zero" a sample without a reference, or with an empty one, scores 0.0."""
    grade = ExactMatch(on_no_reference="zero")(sample("", reference))
    assert (grade.score, grade.reasoning) == (0.0, "No ground_truth answer provided")


def test_empty_texts_are_graded_or_zero():
    """An empty text is graded like any other, or scores 0.0 as Letta does from 0.8 on."""
    assert AsciiPrintable()(said("")).score == 1.0
    grade = AsciiPrintable(on_empty="zero")(said(""))
    assert grade.score == 0.0
    assert grade.reasoning.startswith("Empty submission")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("/\\_/\\\n( o.o )\r\n > ^ <", None),
        ("a\tb", r"'\t'"),
        ("áéíóúñx", "'á', 'é', 'í', 'ñ', 'ó' (+1 more)"),
        ("caféé", "'é'"),
        ("\x7f", r"'\x7f'"),
    ],
)
def test_ascii_printable(text, reason):
    """Code points 32 to 126 and line ends pass; up to five others are listed once each."""
    grade = AsciiPrintable()(said(text))
    assert grade.passed is (reason is None)
    assert reason is None or grade.reasoning == f"Found non-printable ASCII characters: {reason}"


@pytest.mark.parametrize(
    ("settings", "text", "score"),
    [
        ({"minimum": 2}, "ab", 1.0),
        ({"minimum": 3}, "ab", 0.0),
        ({"maximum": 2}, "ab", 1.0),
        ({"maximum": 1}, "ab", 0.0),
        ({"maximum": 1}, "😀", 1.0),
        ({"maximum": 1, "unit": "utf16"}, "😀", 0.0),
        ({"minimum": 2, "maximum": 2, "unit": "words"}, " two\n words ", 1.0),
        ({"maximum": 0}, "", 1.0),
    ],
)
def test_length(settings, text, score):
    """Bounds are included; units are code points, words or UTF-16 units."""
    assert Length(**settings)(said(text)).score == score


def test_length_says_how_long():
    """The reason and the details hold the length found."""
    grade = Length(minimum=5)(said("abc"))
    assert grade.reasoning == "3 characters, expected 5 to any number of"
    assert grade.metadata == {"length": 3, "unit": "characters"}


@given(st.text())
def test_utf16_counts_units(text):
    """The length in UTF-16 units is that of the encoded text, lone surrogates included."""
    assert utf16(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@pytest.mark.parametrize(
    ("settings", "text", "score", "label"),
    [
        ({}, " good ", 1.0, "good"),
        ({}, "bad", 0.0, "bad"),
        ({}, "GOOD", 0.0, None),
        ({"ignore_case": True}, "GOOD", 1.0, "good"),
        ({"trim": False}, " good", 0.0, None),
        ({}, "something else", 0.0, None),
    ],
)
def test_label_set(settings, text, score, label):
    """Passing labels pass; other labels and other texts do not, and the details tell them apart."""
    grade = LabelSet(labels=["good", "bad"], passing_labels=["good"], **settings)(said(text))
    assert (grade.score, grade.metadata["label"]) == (score, label)


@pytest.mark.parametrize(
    ("operation", "text", "reference", "score"),
    [
        ("eq", "Paris", "Paris", 1.0),
        ("eq", "Paris ", "Paris", 0.0),
        ("ne", "paris", "Paris", 1.0),
        ("like", "It is Paris.", "Paris", 1.0),
        ("like", "Paris", "It is Paris.", 0.0),
        ("like", "PARIS", "Paris", 0.0),
        ("ilike", "PARIS", "Paris", 1.0),
    ],
)
def test_string_check(operation, text, reference, score):
    """OpenAI's four operations; nothing is trimmed, like looks for the reference in the input."""
    grader = StringCheck(operation=operation, reference="{{item.ref}}")
    assert grader(said(text, {"ref": reference})).score == score


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("yes", "yes"),
        ("{{ sample.output_json.a[1] }}", "20"),
        ("{{sample.choices[0].message.content}}", '{"a": [10, 20]}'),
        ("{{sample.output_tools[0].function.name}}", "f"),
        ("{{item.reference}}-{{item.n}}", "r-3"),
        ("{{item.deep.er}}", "{{item.n}}"),
    ],
)
def test_templates_see_item_and_sample(template, value):
    """Templates reach metadata, reference, text, JSON, tool calls; what is put in is never rendered again."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    thread = wb.StringThread.from_messages(
        [{"role": "assistant", "content": '{"a": [10, 20]}', "tool_calls": [call]}],
        {"n": 3, "deep": {"er": "{{item.n}}"}, "want": value},
    )
    grader = StringCheck(input=template, reference="{{item.want}}")
    assert grader(wb.Sample(id="0", thread=thread, reference="r", group="0")).score == 1.0


def test_a_template_that_leads_nowhere_fails_the_row():
    """A path the sample does not have is a failed grade of kind template."""
    grade = StringCheck(input="{{sample.output_json.a}}", reference="x")(said("no json"))
    assert (grade.score, grade.error.kind) == (None, "template")


@pytest.mark.parametrize("metadata", [None, {"reference": None}])
def test_a_reference_that_is_none_is_no_reference(metadata):
    """An empty reference cell is not compared as the word null."""
    assert StringCheck(operation="ne")(said("x", metadata)).error.kind == "sample"


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: ExactMatch(expected=4), "expected must be text"),
        (lambda: ExactMatch(on_empty="drop"), "'grade', 'fail', 'skip', 'zero'"),
        (lambda: ExactMatch(on_no_reference=""), "'fail', 'skip', 'zero'"),
        (lambda: ExactMatch(extractor="last"), "last_assistant"),
        (Length, "at least one"),
        (lambda: Length(minimum=3, maximum=2), "in order"),
        (lambda: Length(minimum=-1), "minimum=-1"),
        (lambda: Length(minimum=True), "minimum=True"),
        (lambda: Length(minimum=1, unit="tokens"), "'utf16'"),
        (lambda: LabelSet(labels="good", passing_labels=["good"]), "list of texts"),
        (lambda: LabelSet(labels=["a"], passing_labels=["b"]), "'b'"),
        (lambda: LabelSet(labels=["a"], passing_labels=[]), "at least 1"),
        (lambda: LabelSet(labels=["a", 1], passing_labels=["a"]), "1"),
        (lambda: StringCheck(operation="neq"), "'ilike'"),
        (lambda: StringCheck(input="{{other.x}}"), "other"),
        (lambda: StringCheck(reference=4), "template"),
    ],
)
def test_bad_settings_are_refused_when_the_grader_is_made(make, part):
    """A setting that fits nothing is an error that says what does."""
    with pytest.raises(FormatError, match=part):
        make()


def test_extractors_choose_the_text():
    """Any text grader looks at what its extractor finds, given by name, dict or object."""
    thread = wb.StringThread([("assistant", "first"), ("user", "?"), ("assistant", "ANSWER: 4")])
    for chosen in ("first_assistant", {"name": "first_assistant"}, Extractor("first_assistant")):
        assert ExactMatch(expected="first", extractor=chosen)(thread).score == 1.0
    rule = {"name": "after_marker", "marker": "ANSWER:"}
    grader = ExactMatch(expected="4", extractor=rule)
    assert grader(thread).score == 1.0
    assert grader.spec()["extractor"] == rule


def test_the_last_thing_said_is_found_behind_other_turns():
    """The default text is the last assistant message, wherever it stands; silence reads ""."""
    assert Contains(expected="hi")(wb.StringThread([("assistant", "hi"), ("user", "?")])).score == 1.0
    assert ExactMatch(expected="")(wb.StringThread([("user", "?")])).score == 1.0


def test_an_extractor_that_fails_fails_the_row():
    """What an extractor raises is a failed grade, alone and in a batch."""
    grader = Contains(expected="x", extractor={"name": "memory_block", "block_label": "human"})
    assert grader(said("x")).error.kind == "runtime"
    report = asyncio.run(grader.grade_all(wb.Samples([{"completion": "x"}]), Control()))
    assert "agent state" in report[0].error.message


@pytest.mark.parametrize("kind", CODE_EXAMPLES)
def test_specs_round_trip_and_name_what_changed(kind):
    """A spec is plain JSON of the fields that are not at their default, and builds the same grader."""
    grader = CODE_EXAMPLES[kind]()
    spec = json.loads(json.dumps(grader.spec()))
    assert from_spec(spec) == grader
    assert set(spec) >= {"kind"}
    assert "on_empty" not in spec or spec["on_empty"] == "zero"


def test_batches_agree_with_single_rows_and_keep_failures_apart():
    """A batch has the scores, verdicts, reasons, details and errors of the rows one by one."""
    rows = [{"completion": str(n), "expected": None if n % 7 == 0 else str(n % 3)} for n in range(50)]
    samples = wb.Samples(rows)
    grader = Contains()
    news = []
    grades = asyncio.run(grader.grade_all(samples, Control(lambda *told: news.append(told))))
    for row, one in enumerate(samples):
        alone = grader(one)
        assert (grades[row].score, grades[row].passed, grades[row].reasoning, grades[row].error) == (
            alone.score,
            alone.passed,
            alone.reasoning,
            alone.error,
        )
    assert grades.n_failed == 8
    assert news[-1] == (50, 8)
    assert grades.isolation == ""


def test_unreadable_rows_fail_in_a_batch():
    """A row that cannot be read is a failed grade, and its neighbours are graded."""
    samples = wb.Samples([{"messages": [{"role": "assistant", "content": "a"}]}, {"messages": 5}])
    grades = asyncio.run(Contains(expected="a").grade_all(samples, Control()))
    assert [grade.score for grade in grades] == [1.0, None]
    assert grades[1].error.kind == "sample"


def test_a_batch_stops_when_told():
    """After a cancel the rows not reached are failed as cancelled, what was graded stays."""
    control = Control()

    class Counting(TextGrader):
        def grade_text(self, text, thread, reference):
            if text == "2":
                control.cancel.set()
            if text == "1":
                raise Unscored(wb.graders.base.ErrorKind.OUT_OF_RANGE, "one")
            return 0.5, "half", {"text": text}

    samples = wb.Samples([{"completion": str(n)} for n in range(6)])
    grades = asyncio.run(Counting(name="c").grade_all(samples, control))
    kinds = [grade.error.kind if grade.error else grade.score for grade in grades]
    assert kinds == [0.5, "out_of_range", 0.5, "cancelled", "cancelled", "cancelled"]
    assert grades[0].metadata == {"text": "0"}


@pytest.mark.parametrize(
    ("choice", "status"), [("grade", "scored"), ("fail", "failed"), ("skip", "skipped"), ("zero", "scored")]
)
def test_an_empty_text_is_what_the_grader_says(choice, status):
    """`on_empty` decides, alone and in a batch; a failure is of kind sample."""
    grader = Contains("a", on_empty=choice)
    grade = grader(said(""))
    assert grade.status == status
    assert grade.error is None or grade.error.kind == "sample"
    (batched,) = asyncio.run(grader.grade_all(wb.Samples([{"completion": ""}]), Control()))
    assert (batched.status, batched.score, batched.reasoning) == (status, grade.score, grade.reasoning)


@pytest.mark.parametrize(
    ("choice", "statuses"),
    [("fail", ["failed", "scored"]), ("skip", ["skipped", "skipped"]), ("zero", ["scored", "scored"])],
)
def test_a_missing_reference_is_what_the_grader_says(choice, statuses):
    """`on_no_reference` decides; for "skip" and "zero" an empty reference is none."""
    samples = wb.Samples([{"completion": "a", "expected": None}, {"completion": "a", "expected": ""}])
    grades = asyncio.run(ExactMatch(on_no_reference=choice).grade_all(samples, Control()))
    assert [grade.status for grade in grades] == statuses


def test_an_extractor_may_skip_a_row():
    """An extractor of one's own that raises `wb.Skip` says that the row is none of the grader's."""

    @extractor("_only_math")
    def only_math(thread):
        raise wb.Skip("no math row")

    try:
        grader = Contains("a", extractor="_only_math")
        grades = list(asyncio.run(grader.grade_all(wb.Samples([{"completion": "a"}]), Control())))
        for grade in (grader(said("a")), *grades):
            assert (grade.status, grade.reasoning) == ("skipped", "no math row")
    finally:
        del EXTRACTORS["_only_math"]


def test_letta_tells_an_empty_trajectory_from_an_empty_submission():
    """From 0.8 both score 0.0, with a reason of their own."""
    grader = AsciiPrintable(on_empty="zero")
    assert "Empty submission" in grader(said("")).reasoning
    assert "Empty trajectory" in grader(wb.StringThread([("user", "q")], {})).reasoning


def test_what_a_grader_is_about_needs_no_name():
    """The one thing a grader compares with may be given by place."""
    assert ExactMatch("4") == ExactMatch(expected="4")
    assert Contains("4") == Contains(expected="4")
    assert wb.Regex(r"\d") == wb.Regex(pattern=r"\d")
    assert wb.JsonSchema({}) == wb.JsonSchema(schema={})
    assert wb.ToolCallMatch(["f"]) == wb.ToolCallMatch(expected=("f",))


def test_labels_that_differ_in_case_alone():
    """A text that is a passing label passes, whatever other label it is too."""
    grader = LabelSet(labels=("A", "a"), passing_labels=("a",), ignore_case=True)
    assert [grader(said(text)).score for text in ("a", "A", "b")] == [1.0, 1.0, 0.0]
