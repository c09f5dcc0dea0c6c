"""Searches that end, and the two spellings of named groups."""

import re
import warnings

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from workbench.core.patterns import Pattern, PatternError, dotnet_spelling, python_spelling


def test_a_catastrophic_pattern_is_stopped():
    """The search raises after its time; others of the same pattern still work."""
    rule = Pattern(r"^(a|a)*b(\1)?c$", timeout=0.2)
    with pytest.raises(TimeoutError, match="longer than 0.2 s"):
        rule.search("a" * 40 + "!b")
    assert rule.search("abc") is not None


@pytest.mark.parametrize("text", ["[a", "(", "a**", "(?P<n>a)(?P<n>b)", "(?<=a+)b"])
def test_what_re_refuses_is_refused(text):
    """A pattern counts only if Python's own `re` reads it."""
    with pytest.raises(PatternError, match="Invalid regex pattern: "):
        Pattern(text).check()


def test_flags():
    """Case and lines, off by default."""
    assert Pattern("B$").search("a\nb\nc") is None
    assert Pattern("^B$", ignore_case=True, multiline=True).search("a\nb\nc").start() == 2
    assert Pattern(r"\d").findall("1 2") == ["1", "2"]


@pytest.mark.parametrize(
    ("dotnet", "python"),
    [
        (r"(?<year>\d+)-\k<year>", r"(?P<year>\d+)-(?P=year)"),
        (r"(?<=a)(?<!b)c", r"(?<=a)(?<!b)c"),
        (r"\(?<x>", r"\(?<x>"),
        (r"\\(?<x>a)", r"\\(?P<x>a)"),
        (r"(?'q'a)\k'q'", r"(?P<q>a)(?P=q)"),
    ],
)
def test_spellings(dotnet, python):
    """Named groups as .NET and as Python write them; look-behinds and escapes are left alone."""
    assert python_spelling(dotnet) == python
    assert python_spelling(dotnet_spelling(python)) == python


@given(
    st.text(alphabet="ab1_ -é\n", max_size=12),
    st.sampled_from([r"\w+", r"\b\w", r"\s", r"[^\W\d]+", r"a|b\B", r"\S$"]),
)
def test_finds_what_re_finds(text, pattern):
    """The engine's matches are those of `re`."""
    mine, theirs = Pattern(pattern).search(text), re.search(pattern, text)
    assert (mine and mine.span()) == (theirs and theirs.span())


PARTS = [
    "a", "b", "cat", "[", "]", "{", "}", "(", ")", "(?:", "|", "*", "+", "?", "{e<=1}", "{s}", "{1,2}", "{,2}", "{,}", "{2}",
    "{i,d<2}", "{e}", "[[:alpha:]]", "[[:^alpha:]a]", "[:", "[^[:x]", "[a[b]", "^", "$", ".", r"\w", r"\b", r"\B", r"\W", r"\s",
    "-", "--", "&&", "||", "~~", "[a-c]", "[^a]", "[]a]", "[^]a]", r"[\w-]", r"[\]a]", "#", " ", "\n", "(?x)", "(?x:", "(?i)",
    "(?i:", "(?-i:", "(?a)", "(?=", "(?!", "(?<=a)", r"\1", "(?P<n>", "(?P=n)", r"\N{DIGIT ONE}", "(?#x[)", "(?>", "+?", "++",
    r"\{", r"\[", "1", ":", "e<=1",
]  # fmt: skip
TEXTS = [
    "",
    "a",
    "cat",
    "cot",
    "ab c",
    "a{e<=1}",
    "[:alph",
    "l]",
    "aa",
    "{",
    "{}",
    "a b\n",
    "1",
    "#b",
    "a{,}",
    "&",
    "CAT",
    "é_",
]


@settings(max_examples=150)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6).map("".join))
@example("(?:cat){e<=1}")
@example("[[:alpha:]]")
@example("(?x) a # [not a set\n\\w")
@example("()+")
@example("(?a)\\B")
def test_reads_what_re_reads(pattern):
    """What only the engine knows, such as searches with errors, are plain characters, as `re` has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        try:
            theirs = re.compile(pattern)
        except (re.error, OverflowError):
            assume(False)
    mine = Pattern(pattern)
    for text in TEXTS:
        one, two = mine.search(text), theirs.search(text)
        assert (one and (one.span(), one.groups())) == (two and (two.span(), two.groups()))
        assert mine.findall(text) == theirs.findall(text)


@pytest.mark.parametrize(
    "text",
    [
        "(((a{1000}){1000}){1000})",
        "a{999999999}",
        "(?:[(]\\({500}){500}",
        "x" * 100_001,
        "((a{9}){9}{9}" + "{9}" * 9 + ")",
    ],
)
def test_patterns_too_large_to_compile_are_refused(text):
    """No time limit stops a compiler, so what would eat the memory is not compiled."""
    with pytest.raises(PatternError, match="Invalid regex pattern"):
        Pattern(text).check()


@pytest.mark.parametrize(
    "text", ["a{0,65535}", "(?:a{300}){300}", r"\{1000}(?:\{900}){900}", "[{9}]{1,9}", "(a{1,1000}){1,1000}"]
)
def test_honest_counts_are_compiled(text):
    """Only what counts demand at least is written out."""
    Pattern(text).check()


@pytest.mark.parametrize(
    ("dotnet", "text", "found"),
    [
        (r"a\z", "a", True),
        (r"a\z", "a\n", False),
        (r"a\Z", "a\n", True),
        (r"a\Z", "a\nb", False),
        (r"a\\z", r"a\z", True),
    ],
)
def test_ends_of_dotnet(dotnet, text, found):
    r"""Its \z is the end, its \Z the end or before a last line feed."""
    assert bool(Pattern(python_spelling(dotnet)).search(text)) is found
    assert dotnet_spelling(r"a\Z") == r"a\z"


def test_ends_and_flags_for_dotnet():
    r"""Python's \Z is .NET's \z; flags it does not know are refused, those it knows stay."""
    assert dotnet_spelling(r"a\Z") == r"a\z"
    assert dotnet_spelling("(?i)a(?s:b)") == "(?i)a(?s:b)"
    assert dotnet_spelling(r"\(?a)") == r"\(?a)"
    with pytest.raises(PatternError, match="flags"):
        dotnet_spelling("(?ai)a")
