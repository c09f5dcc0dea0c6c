"""The grader of multiple choice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.probes.tasks import samples
from workbench.core.errors import FormatError
from workbench.graders.rules.choices import chosen, options_in

CITIES = ("Lyon", "Paris", "New York", "New York City")


def read(text, options=CITIES, several=False):
    """The letters that a text chooses; "?" if they are alternatives."""
    found = chosen(text, options, several)
    ambiguous = found.alternatives or (len(found.letters) > 1 and not several)
    return "?" if ambiguous else "".join(found.letters)


READ = [
    ("B", "B"), ("b", "B"), ("(B)", "B"), ("**B**", "B"), ("B.", "B"), ("B) Paris", "B"), ("B. It is not Lyon.", "B"), ("$B$", "B"),
    (r"\boxed{B}", "B"), (r"\boxed{\text{(B)}}", "B"), (r"\boxed{B} or \boxed{C}", "?"), (r"\boxed{Paris}", "B"), ("ANSWER: b", "B"),
    ("Answer: A\nAnswer: B", "B"), ("Answer: B or C", "?"), ("Answer: B/C", "?"), ("A or B", "?"), ("A, B", "?"), ("A B C D", "?"), ("ANSWER: (B)", "B"),
    ("Paris", "B"), ("Paris.", "B"), ("It is Paris, not Lyon.", "B"), ("New York City", "D"), ("It is New York.", "C"), ("Lyon and Paris are both fine", "?"),
    ("The answer is not B but C", "C"), ("It is not B.", ""), ("(A) is wrong. (B) is right.", "B"), ("Option A is incorrect. I pick option C.", "C"),
    ("Not Paris.", ""), ("All of these may be defended.", ""), ("A solution is hard to find", ""), ("I think so", ""), ("A perfect answer cannot be found.", ""),
    ("The answer is a car", ""), ("", ""), ("B) Lyon", "?"), ("<think>B</think>C", "C"), ("<think>B", ""), ("E", ""), ("Dog", ""),
    ("C is correct.", "C"), ("A is not correct.", ""), ("C is the right one, A is wrong", "C"), ("C because A is wrong", "C"), ("<answer>C</answer>", "C"), ("\u7b54\u6848\u662fC", "C"),
    ("Neither A nor B, so C", "C"), ("Let me see. A: no. B: yes.", "?"), ("```\nB\n```", "B"), ("A\nB\nC", "?"), ("B\n\nNo, that is wrong.\n\nC", "C"), ("B\n\nC is a trap.", "B"),
    ("\u0412", "B"), ("\uff22", "B"), ("\u0410nswer: \u0421", "C"), ("\u24b7", "B"),
    ("Antwort:\n\nAntwort: C", "C"), ("Antwort: Antwort: C", "C"),  # openai/simple-evals#33: the A of Antwort
    ("The answer is B because a car moves.", "B"), ("I would pick B \u2014 a safe choice.", "B"),  # lm-evaluation-harness#4188
    ("The answer is B. Note that A is a common distractor.", "B"), ("ANSWER IS D. A is incorrect.", "D"), ("The answer is C because I computed the integral.", "C"),  # omlx#3668
    ("Answer: **D**", "D"), ("I considered (A), but it is incorrect. Final answer: D.", "D"), ("The correct answer is d.", "D"),  # OPD-V#2
    ("Answer seems to be A", "A"), ("The calculated answer is 11.\n\nAnswer seems to be A.\n\nAnswer: A", "A"),  # openbench#348
    (r"So \boxed{\langle H\rangle \ll \Delta E}. **Answer: D**", "D"),  # NeMo-Skills#1526
    ("The answer might be C. Answer could be (D) Dog is not an answer for sure.", "?"),  # MMLU-Pro#7: two are named
]  # fmt: skip


@pytest.mark.parametrize(("text", "letters"), READ)
def test_the_choice_is_read(text, letters):
    """A letter or an option's text, and nothing inside words."""
    assert read(text) == letters


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("A and C", "AC"),
        ("A, C", "AC"),
        ("AC", "AC"),
        ("Answer: A and C", "AC"),
        ("A or C", "?"),
        ("(A), (C)", "AC"),
        ("not A, but C", "C"),
        (r"\boxed{A, C}", "AC"),
    ],
)
def test_several_choices(text, letters):
    """A list is a set; alternatives are not."""
    assert read(text, several=True) == letters


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        ("Which?\nA) Lyon\nB) Paris", ("Lyon", "Paris")),
        ("Which?\n(A) Lyon\n(B) Paris\n(C) Rome\n", ("Lyon", "Paris", "Rome")),
        ("Which? A. Lyon B. Paris C. Rome", ("Lyon", "Paris", "Rome")),
        ("Which? (A) Lyon, (B) Paris", ("Lyon", "Paris")),
        ("A: 1\nB: 2\n\nWhich?\nA: Lyon\nB: Paris", ("Lyon", "Paris")),
        ("Which vitamin? A", ()),
        ("B) Lyon\nC) Paris", ()),
    ],
)
def test_options_of_a_prompt(prompt, options):
    """The last list that starts with A counts."""
    assert options_in([prompt]) == options


def sample(text, reference, prompt="Which?", **metadata):
    """A row of multiple choice."""
    thread = wb.StringThread([("user", prompt), ("assistant", text)], metadata)
    return wb.Sample(id="0", thread=thread, reference=reference, group="0")


@pytest.mark.parametrize(
    ("grader", "row", "score"),
    [
        (wb.Choice(), sample("It is Paris", "B", "Which?\nA) Lyon\nB) Paris"), 1.0),
        (wb.Choice(), sample("A", "Paris", "Which?\nA) Lyon\nB) Paris"), 0.0),
        (wb.Choice(), sample("B", "B. Paris", "Which?\nA) Lyon\nB) Paris"), 1.0),
        (wb.Choice(column="choices"), sample("Paris", "B", choices=["Lyon", "Paris"]), 1.0),
        (
            wb.Choice(column="choices"),
            sample("B", "Paris", choices={"text": ["Lyon", "Paris"], "label": ["A", "B"]}),
            1.0,
        ),
        (wb.Choice(column="choices", index=True), sample("B", 1, choices=["Lyon", "Paris"]), 1.0),
        (wb.Choice(index=True, options=CITIES), sample("B", 3), 0.0),
        (wb.Choice(several=True), sample("C, A", ["A", "C"]), 1.0),
        (wb.Choice(several=True), sample("A, B, C", "AC"), 0.0),
        (wb.Choice(options=("yes", "no")), sample("Yes, because it is.", "yes"), 1.0),
        (wb.Choice(options=("yes", "no")), sample("I have no idea; yes or no?", "yes"), 0.0),
        (wb.Choice(), sample("ANSWER: Paris", "Paris", "A) Lyon\nB) Paris"), 1.0),
    ],
)
def test_options_come_from_the_row(grader, row, score):
    """From the prompt, a column or the grader; the reference is a letter, a text, a list or an index."""
    assert grader(row).score == score


@pytest.mark.parametrize(
    ("grader", "row"),
    [
        (wb.Choice(), sample("B", "Paris")),
        (wb.Choice(options=CITIES), sample("B", "F")),
        (wb.Choice(column="choices"), sample("B", "B")),
        (wb.Choice(index=True, options=CITIES), sample("B", "9")),
        (wb.Choice(), sample("B", None)),
    ],
)
def test_a_row_that_cannot_be_graded_fails(grader, row):
    """A reference that is not an option, or no options, is not the completion's fault."""
    assert grader(row).error.kind == "sample"


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"expected": "Q", "options": CITIES}, "one of the options"),
        ({"column": "c", "options": CITIES}, "column must"),
        ({"options": "AB"}, "list of texts"),
    ],
)
def test_bad_settings_are_refused(settings, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        wb.Choice(**settings)


@given(st.text(alphabet="ABCDabc ().,:*\n/ornotswe'{}\\$\u0412", max_size=50), st.booleans())
def test_any_text_is_read(text, several):
    """No text raises, and only options are chosen."""
    assert set(chosen(text, CITIES, several).letters) <= set("ABCD")


@given(
    st.sampled_from("ABCD"),
    st.sampled_from(
        [
            "{}",
            "({})",
            "Answer: {}",
            "The answer is **{}**.",
            r"\boxed{{{}}}",
            "I choose option {}.",
            "{}) because",
            "So it is {}.",
        ]
    ),
)
def test_a_stated_letter_is_read(letter, frame):
    """In every form."""
    assert read(frame.format(letter)) == letter


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("choice", {"texts": False}),
        ("letters", {"texts": False}),
        ("vitamins", {}),
        ("selections", {"several": True}),
    ],
)
def test_its_probe_has_no_error(task, settings):
    """No wrong text is accepted, no plain form of the reference rejected."""
    probe = wb.probe(wb.Choice(**settings), samples(task), progress=False)
    assert not [one for one in probe.findings if one.severity == "error"]


def test_a_probe_composes_only_texts_of_the_right_option():
    """The text of the right option is right, whatever its letter; nothing else is accepted."""
    probe = wb.probe(wb.Choice(), samples("choice"), progress=False)
    assert {one.kind for one in probe.findings if one.severity == "error"} <= {"found-by-search"}


def test_only_letters():
    """Without `texts` an option's text is not a choice."""
    assert wb.Choice("B", options=CITIES, texts=False)(wb.StringThread([("assistant", "Paris")])).score == 0.0
