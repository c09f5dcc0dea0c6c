"""The grader of a number."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.probes.tasks import samples
from workbench.core.errors import FormatError
from workbench.graders.rules.amounts import number
from workbench.graders.rules.numbers import LOCALES, numbers_in, plain_numbers


def grade(text, expected, **settings):
    """The grade of a completion."""
    return wb.Number(expected, **settings)(wb.StringThread([("assistant", text)]))


RIGHT = [
    ("The answer is 42.", "42"), ("42.0", "42"), ("042", "42"), ("+42", "42"), ("4.20", "4.2"), ("42,000", "42000"), ("**42**", "42"),
    ("- 42", "42"), ("$42", "42"), ("-$42", "-42"), ("$-42$", "-42"), ("x = - 42", "-42"), ("\u221242", "-42"), ("minus 5", "-5"),
    ("1/2", "0.5"), ("0.5", "1/2"), ("3 1/2", "3.5"), ("3½", "3.5"), (r"\frac{1}{2}", "0.5"), (r"3\frac{1}{2}", "3.5"), (r"$\frac{3}{4}$", "0.75"),
    ("5e-1", "0.5"), ("4.2 \u00d7 10^1", "42"), (r"4.2 \times 10^{1}", "42"), ("4.2·10³", "4200"), ("1\u202f234.5", "1234.5"),
    (r"\boxed{42}", "42"), (r"\boxed{x = 42}", "42"), (r"First \boxed{42}. Checked in 3 steps.", "42"), ("Answer: 20 + 22 = 42", "42"),
    ("she has 3. #### 42", "2 and 40 make #### 42"), ("42, not 43", "42"), ("3 pears and 42 apples", "42"), ("42\n\nThat is all.", "42"),
    ("the answer is 42 in the 2nd case", "42"), ("~42", "42"), ("42 or 42.0", "42"), ("20%", "0.2"), ("20%", "20 %"), ("20", "20%"), ("0.2", "20%"),
    ("inf", "inf"), (r"\boxed{-\frac{3}{4}}", "-0.75"), (r"-\dfrac12", "-1/2"), ("1.5 million", "1500000"), ("$5 million", "$5000000"), ("2 billion people", "2e9"),
    ("-3 thousand", "-3000"), ("10", "9.5 to 10.5"), ("0", "[0, 1)"), ("10.2", "10 ± 0.5"), ("<think>It may be 41.</think>42", "42"),
    ("The total is 72 clips, altogether.", "72"),  # omlx#3484, helm#4337: the comma was the last number
    ("The answer is 72, in total, so the farmer earns that much.", "72"),
    (r"\boxed{$9{,}500}", "9500"), (r"\boxed{8,000}", "8000"), (r"The answer is $9{,}500.", "9500"),  # opencompass#2647
    ("3a5 and then 5", "5"),  # helm#4289
    ("The answer is 42!", "42"), ("The answer is (42).", "42"), ("[42]", "42"), ("Is it 42?", "42"),  # inspect_ai#4742
    ("the result is -5 exactly", "-5"),  # inspect_ai#3916
]  # fmt: skip
WRONG = [
    ("42 or 43", "42"), ("43 or 42", "42"), ("It is either 41, 42 or 43.", "42"), ("41-42", "42"), ("40 to 42", "42"), ("35+7", "7"), ("50-8", "8"),
    ("2**5", "5"), ("2024-05-12", "12"), ("12:42", "42"), (r"\boxed{42} or \boxed{43}", "42"), ("It is not 42 but 43.", "42"), ("Not 42.", "42"),
    ("It isn't 42", "42"), ("142", "42"), ("-42", "42"), ("42nd", "42"), ("B42", "42"), ("42k", "42"), ("4,2", "42"), ("4 2", "42"),
    ("1.234,5", "1234.5"), ("1,23,456", "123456"), ("42.000", "42000"), ("42%", "42"), ("99.9", "100"), ("", "42"), ("nan", "42"), ("inf", "42"),
    ("1/0", "1"), ("1e999999", "1"), ("<think>42", "42"), ("<think>42</think>I do not know.", "42"), ("1", "[0, 1)"), ("forty-two", "42"),
    ("12345678901234567891", "12345678901234567890"),  # equal as floats
    ("The answer is 25", "5"), ("50 is the answer", "5"), ("got 25 here", "5"), ("5", "-5"), ("it is 33.14", "3.14"),  # inspect_ai#3916
    ("Try 100 and 20%", "100"),  # inspect_ai#1622: the number before was read
    ("\\boxed{500}", "9500"), ("1.5 million", "1.5"), (r"\boxed{-\frac{3}{4}}", "0.75"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), RIGHT)
def test_a_number_is_read(text, expected):
    """Forms of one number are equal."""
    assert grade(text, expected).score == 1.0


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_another_number_is_not_the_result(text, expected):
    """Other numbers, several of them, negated ones and parts of words score 0.0."""
    assert grade(text, expected).score == 0.0


@pytest.mark.parametrize(
    ("text", "failure"),
    [("no idea", "missing"), ("42 or 43", "ambiguous"), ("42k", "unreadable"), ("42 kg", "unit")],
)
def test_the_failure_is_named(text, failure):
    """A wrong number and no number are different in the details."""
    assert grade(text, "42 km").metadata["failure"] == failure


@pytest.mark.parametrize(
    ("text", "expected", "unit", "score"),
    [
        ("1,500 m", "1.5 km", "convert", 1.0),
        ("1500", "1.5 km", "convert", 0.0),
        ("1.5", "1.5 km", "convert", 1.0),
        ("1.5 kg", "1.5 km", "convert", 0.0),
        ("1.5 kilometers", "1.5 km", "required", 1.0),
        ("1500 m", "1.5 km", "required", 0.0),
        ("1.5", "1.5 km", "required", 0.0),
        ("1.5 kg", "1.5 km", "ignored", 1.0),
        ("68 °F", "20 °C", "convert", 1.0),
        ("1 h 30 min", "90 min", "convert", 1.0),
        ("5 m/s", "18 km/h", "convert", 1.0),
        ("1 MW", "1 mW", "convert", 0.0),
        ("34 seconds", "34 days", "convert", 0.0),  # reasoning-gym's time_intervals
        ("€42", "$42", "convert", 0.0),
        ("It weighs 42 in total", "42 kg", "convert", 1.0),
        ("42 pears", "42 apples", "convert", 0.0),
        ("42 apples", "42 apples", "required", 1.0),
        ("42 apples", "42", "convert", 1.0),
        ("2 furlongs", "402.336 m", "convert", 1.0),
    ],
)
def test_units(text, expected, unit, score):
    """A unit is converted, required or ignored."""
    assert grade(text, expected, unit=unit, units={"furlongs": ["m", 201.168]}).score == score


@pytest.mark.parametrize(
    ("text", "expected", "settings", "score"),
    [
        ("0.333", "1/3", {}, 0.0),
        ("0.333", "1/3", {"tolerance": 0.001}, 1.0),
        ("-5.5", "-5.4", {"relative": 0.05}, 1.0),  # mint-bench#6: the tolerance of a negative reference
        ("5.5", "-5.5", {"tolerance": 0.5}, 0.0),  # Submitty#12569
        ("0", "0.004", {"relative": 0.1}, 0.0),
        ("11", "9 to 10", {"tolerance": 1}, 1.0),
        ("42%", "42", {"percent": "number"}, 1.0),
        ("42%", "0.42", {"percent": "number"}, 0.0),
        ("42%", "42", {"percent": "either"}, 1.0),
        ("1.234,5", "1234.5", {"locale": "de"}, 1.0),
        ("1.234", "1234", {"locale": "de"}, 1.0),
        ("1.234", "1.234", {"locale": "de", "reference_locale": "de"}, 1.0),
        ("1 234,5", "1234.5", {"locale": "fr"}, 1.0),
        ("1 234.5", "1234.5", {"locale": "si"}, 1.0),
        ("1'234.5", "1234.5", {"locale": "ch"}, 1.0),
        ("12,34,567", "1234567", {"locale": "in"}, 1.0),
        ("1, 2, then 42", "42", {"which": "last"}, 0.0),
        ("I saw 1. Then 42", "42", {"which": "last"}, 1.0),
        ("I saw 1. Then 42", "42", {"which": "only"}, 0.0),
        ("42, so 42.0", "42", {"which": "only"}, 1.0),
        ("42", "42", {"which": "boxed"}, 0.0),
        ("Sum: 42 (of 3)", "42", {"which": "labelled", "label": "Sum:"}, 1.0),
        ("42", "42", {"which": "labelled"}, 0.0),
        ("answer: 1\nfinal answer: 42\n3 checks", "42", {"which": "labelled"}, 1.0),
    ],
)
def test_settings(text, expected, settings, score):
    """Each setting changes what is accepted."""
    assert grade(text, expected, **settings).score == score


@pytest.mark.parametrize("reference", ["many", "nan", ""])
def test_a_reference_that_is_not_a_number_fails_the_row(reference):
    """The completion is not to blame."""
    sample = wb.Sample(id="0", thread=wb.StringThread([("assistant", "4")]), reference=reference, group="0")
    assert wb.Number()(sample).error.kind == "sample"


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"which": "best"}, "which must be one of"),
        ({"tolerance": -1}, "tolerance must be"),
        ({"relative": float("nan")}, "relative must be"),
        ({"expected": "many"}, "expected must be a number"),
        ({"locale": "xx"}, "locale must be one of"),
        ({"units": {"x": ["zork", 2]}}, "unit of the table"),
        ({"units": {"x": 2}}, "known unit's name"),
        ({"units": []}, "units must be a dict"),
        ({"label": 3}, "label must be text"),
    ],
)
def test_bad_settings_are_refused(settings, part):
    """Each is named."""
    with pytest.raises(FormatError, match=part):
        wb.Number(**settings)


def test_numbers_may_be_given_as_numbers():
    """`wb.Number(42)` is `wb.Number("42")`."""
    assert wb.Number(42) == wb.Number("42")
    assert grade("0.1", 0.1).score == 1.0


_DECIMALS = st.decimals(min_value=-(10**9), max_value=10**9, places=3, allow_nan=False, allow_infinity=False)


@given(
    _DECIMALS,
    st.sampled_from(sorted(LOCALES)),
    st.sampled_from(["{}", "It is {}.", "**{}**", r"\boxed{{{}}}", "${}$", "x={}"]),
)
def test_a_number_survives_its_locale(value, locale, frame):
    """What a locale writes, it reads."""
    decimal, marks = LOCALES[locale]
    text = f"{value:,}".replace(",", "\0").replace(".", decimal).replace("\0", marks[0])
    if locale == "in":
        text = f"{value}"
    assert number(frame.format(text), str(value), locale=locale)[0] == 1.0


@given(st.integers(-999, 999), st.integers(1, 999))
def test_fractions_are_exact(above, below):
    """A fraction equals itself in other forms, and no float near it."""
    assert number(f"{above}/{below}", str(Fraction(above, below)))[0] == 1.0
    assert number(str(float(Fraction(above, below) + Fraction(1, 10**7))), f"{above}/{below}")[0] == 0.0


@given(
    st.text(alphabet="0123456789.,-+/ eE$%\\{}()boxednot\n^*", max_size=60), st.sampled_from(sorted(LOCALES))
)
def test_any_text_is_graded(text, locale):
    """No text raises, and places are inside the text."""
    assert number(text, "42", locale=locale)[0] in {0.0, 1.0}
    plain = plain_numbers(text)
    assert all(0 <= one.start < one.end <= len(plain) for one in numbers_in(plain, locale))


@pytest.mark.parametrize(
    "task", ["arithmetic", "signed", "large", "decimals", "units", "solutions", "bold_sums"]
)
def test_its_probe_has_no_error(task):
    """No wrong text is accepted, no plain form of the reference rejected."""
    assert not [
        one
        for one in wb.probe(wb.Number(), samples(task), progress=False).findings
        if one.severity == "error"
    ]
