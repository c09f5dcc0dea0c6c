"""Code graders as JavaScript functions that stand alone."""

import json
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graders.code_examples import CODE_EXAMPLES
from tests.graders.portable.cases import EVERYWHERE
from tests.graders.portable.test_python import named, scores
from workbench.core.errors import FormatError
from workbench.graders.code.script import ScriptGrader
from workbench.graders.portable import portable_javascript
from workbench.graders.portable_rule import script_pattern
from workbench.graders.structure import Guardrail
from workbench.graders.text import Contains, Regex
from workbench.graders.text.openai_text import StringCheck

quickjs = pytest.importorskip("quickjs")


@pytest.mark.parametrize("grader", EVERYWHERE, ids=named)
def test_the_script_scores_what_the_grader_scores(grader):
    """Every row has the same score, and fails where the grader fails."""
    script = ScriptGrader.from_source(portable_javascript(grader))
    assert scores(script) == scores(grader)


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (CODE_EXAMPLES["json-schema"], "json-schema"),
        (CODE_EXAMPLES["text-similarity"], "text-similarity"),
        (Regex, "regex.pattern"),
        (lambda: Regex(pattern="(?<=a)b"), "regex.pattern"),
        (lambda: Regex(pattern="a", multiline=True), "regex.multiline"),
        (lambda: Guardrail(evaluator="regex", pattern=r"(a)\1"), "guardrail.pattern"),
        (lambda: Contains(expected="", extractor="all_assistant"), "contains.extractor"),
        (lambda: StringCheck(reference="{{item.a}} {{item.b}}"), "string-check.reference"),
        (lambda: StringCheck(input="{{sample.output_json.a}}"), "string-check.input"),
    ],
)
def test_what_cannot_travel_is_refused_by_name(make, where):
    """The refusal names the grader, the field and the way out."""
    grader = make()
    with pytest.raises(FormatError) as caught:
        portable_javascript(grader)
    assert (caught.value.where, repr(grader.name) in caught.value.what) == (where, True)
    assert caught.value.hint


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            r"(?<=a)b",
            r"(?<!a)b",
            r"(a)\1",
            r"(?P<n>a)(?P=n)",
            "(?i)a",
            "(?i:a)",
            "a++",
            r"[\D]",
            r"[\b]",
            r"\a",
        ),
        *("(?=a)*b", "(?#x)a", r"(a)?(?(1)b|c)", r"\0", r"(?!a)+b", "(?>a)", r"a\Bb"),
    ],
)
def test_patterns_without_a_sure_spelling_are_refused(pattern):
    """What means something else in JavaScript, or nothing, is not guessed at."""
    with pytest.raises(ValueError, match=r"JavaScript|unknown extension"):
        script_pattern(pattern)


def test_case_beyond_ascii_is_refused():
    """Languages fold other letters differently."""
    with pytest.raises(ValueError, match="ASCII"):
        script_pattern("é", ignore_case=True)


PARTS = st.sampled_from(
    r". ^ $ \d \D \w \W \s \S \b \A \Z \. \- \/ \n \x41 a b A _ - / { } ] , 5 = "  # noqa: SIM905
    r"[a-c] [^a-c] []a] [^]a] [\w-] [-\d] [\s.] [a\]] [$&] [\S\s] [+-/] "
    r"{,} * + ? *? +? ?? {2} {1,} {,2} {1,2}? ( (?: (?= (?! (?P<n> ) |".split()
)
SIGNS = st.text(st.sampled_from("abAB_-/{}],5=. \n\r\u2028\x1c\x85é٤ſK😀ǅ²Ⅷ"), max_size=6)


@given(st.lists(PARTS, max_size=7).map("".join), st.lists(SIGNS, min_size=1, max_size=8), st.booleans())
def test_patterns_mean_the_same_in_both_languages(pattern, texts, ignore_case):
    """A pattern that has a spelling finds in JavaScript exactly where Python's finds."""
    try:
        rule = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
        spelled = script_pattern(pattern, ignore_case=ignore_case)
    except (re.error, ValueError):
        return
    context = quickjs.Context()
    flags = "iu" if ignore_case else "u"
    context.eval(
        f"const rule = new RegExp({json.dumps(spelled)}, {flags!r}); globalThis.found = (t) => rule.test(JSON.parse(t));"
    )
    for text in texts:
        assert context.get("found")(json.dumps(text)) == (rule.search(text) is not None), (
            pattern,
            spelled,
            text,
        )


@pytest.mark.parametrize("pattern", [r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"[\w-]"])
def test_sets_hold_the_same_signs(pattern):
    """Digits, words and spaces are the same code points, all that this Python's Unicode knows."""
    known = [
        code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in {"Cn", "Cs"}
    ]
    context = quickjs.Context()
    context.eval(f"const rule = new RegExp({json.dumps('^' + script_pattern(pattern) + '$')}, 'u');")
    context.eval(
        "globalThis.all = (t) => JSON.stringify(JSON.parse(t).filter((c) => rule.test(String.fromCodePoint(c))));"
    )
    theirs = set(json.loads(context.get("all")(json.dumps(known))))
    ours = {code for code in known if re.fullmatch(pattern, chr(code))}
    assert {chr(code) for code in theirs ^ ours} == set()


def test_a_pattern_that_cannot_be_read_is_refused_by_name():
    """A broken pattern that counts as no match here is a refusal, not an error of the parser."""
    with pytest.raises(FormatError, match="cannot be read") as error:
        portable_javascript(Regex(pattern="[", on_bad_pattern="zero", name="r"))
    assert error.value.where == "regex.pattern"
