"""The grader of mathematical results."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.probes.tasks import samples
from workbench.core.errors import FormatError
from workbench.graders.rules.math import math_equal


def equal(found, expected, **settings):
    """Whether two results are equal."""
    return math_equal(found, expected, whole=True, **settings)[0] == 1.0


SAME = [
    (r"0.\overline{3}", "1/3"), (r"0.1\overline{6}", r"\frac{1}{6}"), ("f(x) = x^2", "x^2"), (r"\text{yes}", "Yes"), (r"(1,\infty)", "x>1"), ("3-2i", "-2i+3"),
    ("1/2", "0.5"), (r"\frac12", r"\frac{1}{2}"), (r"\dfrac{7}{14}", "1/2"), ("-1/2", "1/-2"), (r"3\frac{1}{2}", "3.5"), ("50\\%", "0.5"), ("1{,}000", "1000"),
    ("1,000", "1000"), ("2^{10}", "1024"), ("2**10", "1024"), ("10^3", "1000"), ("3!", "6"), ("100!", "100!"), (r"\binom{5}{2}", "10"), (r"\sqrt[3]{8}", "2"),
    (r"\sqrt{8}", r"2\sqrt{2}"), ("2*sqrt(2)", r"2\sqrt{2}"), (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}"), (r"\log_2 8", "3"), (r"\sin(\pi/2)", "1"), (r"\ln e", "1"),
    (r"e^{i\pi}", "-1"), ("i", r"\sqrt{-1}"), ("|-3|", "3"), ("x^2+2x+1", "(x+1)^2"), ("ab", "ba"), ("2x", "x+x"), (r"\frac{x}{y}", "x/y"), (r"\sin^2 x", r"(\sin x)^2"),
    ("(1,2)", "(1, 2)"), ("[1, 2)", "[1,2)"), (r"\{1, 2, 3\}", r"\{3, 2, 1\}"), ("1, 2, 3", "3, 2, 1"), (r"\pm 2", "-2, 2"), (r"2 \text{ or } -2", "-2, 2"), ("-\\infty", "-\\infty"),
    (r"\emptyset", r"\{\}"), (r"x \in [0,1]", "[0,1]"), ("x > 3", r"(3, \infty)"), ("1 < x < 2", "(1,2)"), (r"2 > x \ge 1", "[1,2)"), (r"(-\infty,1)\cup(2,3)", r"(2,3)\cup(-\infty,1)"),
    ("x = 5", "5"), ("5", "x=5"), ("x=5, y=3", "y=3, x=5"), ("2x = 4", "x = 2"), (r"\begin{pmatrix}1 & 2\\3 & 4\end{pmatrix}", r"\begin{bmatrix}1&2\\3&4\\\end{bmatrix}"),
    (r"5 \text{ cm}", "5"), (r"90^\circ", "90"), ("Monday", r"\text{Monday}"), ("$5$", r"\boxed{5}"), ("5.", "5"), ("\u22125", "-5"), (r"\text{13}", "13"),
    (r"\sqrt{1/n}", r"\frac{1}{\sqrt{n}}"),  # Math-Verify#64
    ("2x+4y-3=0", r"y = -\frac{1}{2}x + \frac{3}{4}"), ("-34x-45y+20z-100=0", "34x+45y-20z+100=0"),  # Math-Verify#26, #2
    (r"\frac{x}{7}+\frac{2}{7}", r"\frac{x+2}{7}"), (r"\sec^2(y)", r"\tan^2(y)+1"), ("(1,4.5)", r"(1,\frac{9}{2})"),  # Math-Verify#2
]  # fmt: skip
DIFFERENT = [
    (r"0.\overline{3}", "0.3"), ("ab = 5", "5"), ("X", "x"), ("2,3,4", "(2,3,4)"), ("1, 234", "1234"), ("x<5", "x<6"),
    ("5 or 6", "5"), ("not 5", "5"), ("", "5"), ("(1, 2)", "(2, 1)"), ("[1, 2)", "(1,2]"), ("{1, 2}", "(1, 2)"), (r"\{1, 1, 2\}", r"\{1, 2, 2, 3\}"), ("0.333", "1/3"), ("0.333333", "1/3"),
    ("50\\%", "50"), (r"\pi", "3.14159"), ("|x|", "x"), (r"\sqrt{x^2}", "x"), ("x^2", "x^3"), ("2x", "x"), ("x = 5", "y^2 = 25"), ("x = 2", "x = -2"), ("5", r"\{5\}"), ("1/0", "1/0 + 1"),
    (r"\begin{pmatrix}1 & 2\\3 & 4\end{pmatrix}", r"\begin{pmatrix}1 & 3\\2 & 4\end{pmatrix}"), ("x > 3", r"[3, \infty)"), ("Monday", "Tuesday"), ("a", "b"),
    (r"\frac{1}{2004!}", r"\frac{1}{2006!}"), (r"\frac{1}{2^{99}}", r"\frac{1}{2^{98}}"), (r"\frac{1}{1904!}", r"\frac{1}{1906!}"),  # Math-Verify#14
    ("n=1, 2, 3", "n=2, 3, 4"), ("D = (0, 1.5)", "D = (0, 1)"), (r"21, 36, \text{ and } 82", r"19, 46, \text{ and } 82"), ("2021", r"\pm 2021"),  # Math-Verify#14
    (r"1 + \frac{1}{\mathrm{e}}", r"1 - \frac{1}{\mathrm{e}}"), (r"\frac{1}{3 \cdot 2^{2006}}", r"\frac{2^{2005}+1}{3 \cdot 2^{2006}}"), ("1:00", "12:00"),  # Math-Verify#14
    (r"4\sqrt(2)", "4"), ("3x + 4y + 14=0", "3*x-1*y+13=0"), (r"x^2/16 + y^2/12 = 1", r"x^2/4 + y^2/3 = 1"), ("f(x) = 0", "f(x) = 1"),  # Math-Verify#41, #60, #40
]  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), SAME)
def test_equal_results(found, expected):
    """Forms of one result are equal, in both directions."""
    assert equal(found, expected)
    assert equal(expected, found)


@pytest.mark.parametrize(("found", "expected"), DIFFERENT)
def test_different_results(found, expected):
    """Other results are not, in both directions."""
    assert not equal(found, expected)
    if found:
        assert not equal(expected, found)


@pytest.mark.parametrize(
    ("text", "expected", "score"),
    [
        (r"So \boxed{5}.", "5", 1.0),
        (r"\boxed{5} or \boxed{6}", "5", 0.0),
        (r"\boxed{5}, that is \boxed{\frac{10}{2}}", "5", 1.0),
        ("The answer is $x+1$, since $x > 0$.", "1+x", 1.0),
        ("Answer: 3/4", "0.75", 1.0),
        ("First $1$, then $2$.", "2", 1.0),
        ("so it is\n42", "42", 1.0),
        ("<think>$5$</think>$6$", "5", 0.0),
        ("The answer is not 5", "5", 0.0),
        (r"\[ x = 3 \]", "3", 1.0),
        ("", "5", 0.0),
    ],
)
def test_the_result_is_found(text, expected, score):
    """Boxed, labelled, the last formula, the last line."""
    assert wb.MathEqual(expected)(wb.StringThread([("assistant", text)])).score == score


@pytest.mark.parametrize(
    ("found", "expected", "score"),
    [
        ("3 + 4", "7", 0.0),
        ("7", "7", 1.0),
        ("14/2", "7", 1.0),
        (r"2 \cdot 3.5", "7", 0.0),
        (r"\sqrt{2}", r"\sqrt{2}", 1.0),
        (r"\sqrt{4}", "2", 0.0),
        ("-7", "-7", 1.0),
        (r"\int_0^1 x", "0.5", 0.0),
    ],
)
def test_a_copy_of_the_problem_is_not_a_result(found, expected, score):
    """With `evaluated`, operations must be carried out as far as in the reference."""
    assert math_equal(found, expected, whole=True, evaluated=True)[0] == score


def test_tolerance_and_failures():
    """A relative tolerance is declared; failures are named."""
    assert equal("0.333", "1/3", relative=0.01)
    assert (
        wb.MathEqual("5")(wb.StringThread([("assistant", r"\boxed{5} \boxed{6}")])).metadata["failure"]
        == "ambiguous"
    )
    sample = wb.Sample(id="0", thread=wb.StringThread([("assistant", "5")]), reference=" ", group="0")
    assert wb.MathEqual()(sample).error.kind == "sample"


@pytest.mark.parametrize("settings", [{"relative": -1}, {"relative": "x"}, {"expected": " "}])
def test_bad_settings_are_refused(settings):
    """Each is named."""
    with pytest.raises(FormatError, match=next(iter(settings))):
        wb.MathEqual(**settings)


def test_hard_texts_end():
    """Towers of powers, factorials, nesting and long lists have no value, and take no time."""
    start = time.monotonic()
    for text in (
        "9^{9^{9^{9}}}",
        "((((" * 300,
        "9" * 1900 + "!",
        "(10^9)!",
        "x^{999999999}",
        ",".join("x+1" for _ in range(400)),
        r"\frac" * 400,
        "2^" * 500 + "2",
        "-" * 1500 + "1",
        "|" * 1000,
        r"\sqrt{" * 300,
        "1+" * 900 + "1",
        "(x+1)^{5000}",
    ):
        assert not equal(text, "5")
        equal(text, text + " + 1")
    assert time.monotonic() - start < 30


@given(st.fractions(min_value=-99, max_value=99, max_denominator=99), st.integers(-9, 9))
def test_arithmetic_is_exact(number, other):
    """A fraction equals its LaTeX form, a sum equals its value, and no neighbour does."""
    above, below = number.numerator, number.denominator
    assert equal(rf"\frac{{{above}}}{{{below}}}", f"{above}/{below}")
    assert equal(f"{above}/{below} + ({other})", str(number + other))
    assert not equal(str(number + Fraction(1, 10**9)), str(number))


@given(st.text(alphabet="0123456789xyi+-*/^(){}[]|,=<>!%\\fracsqtpe ", max_size=30))
def test_any_text_is_graded(text):
    """No text raises; a text equals itself if it has a result."""
    assert math_equal(text, "5", whole=True)[0] in {0.0, 1.0}
    assert math_equal(text, "5")[0] in {0.0, 1.0}


@pytest.mark.parametrize("task", ["arithmetic", "signed", "decimals", "boxes"])
def test_its_probe_has_no_error(task):
    """No wrong text is accepted, no plain form of the reference rejected."""
    probe = wb.probe(wb.MathEqual(evaluated=True), samples(task), progress=False)
    assert not [one for one in probe.findings if one.severity == "error"]
