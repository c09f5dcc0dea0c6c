"""promptfoo: scores and verdicts as its package returned them, and what a config becomes.

`promptfoo_cases.jsonl` has a case per line: output, assertions, whether promptfoo 0.121.20 passed it and its score (null is
not a number), then threshold and variables if there are any. `assertions.runAssertions` of its npm package made them.
"""

import json
import math
from pathlib import Path

import pytest

import workbench as wb
from workbench.core.errors import FormatError, SamplesError
from workbench.core.grade import ErrorKind
from workbench.formats.files import load_with_notes
from workbench.formats.platforms.promptfoo.assertions import _REFUSED
from workbench.formats.platforms.promptfoo.cases import from_text
from workbench.graders.combine import Assertions, ForRows
from workbench.graders.text.promptfoo import ASSERTIONS, PromptfooAssertion
from workbench.judges import BinaryJudge

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("promptfoo_cases.jsonl").read_text("utf-8").rstrip("\n").split("\n")
]
REFUSED = {"is-sql", "contains-sql"}


def thread(text, **columns):
    return wb.StringThread([("user", "q"), ("assistant", text)], columns)


def config(asserts, **rest):
    return {"prompts": ["x"], "defaultTest": {"assert": asserts, **rest}}


def grade(asserts, text, columns=None, **rest):
    return wb.loads(config(asserts, **rest))(thread(text, **(columns or {})))


@pytest.mark.parametrize("part", range(8))
def test_scores_and_verdicts_are_those_of_the_package(part):
    """Every case has the package's verdict and score, in a test and as defaults; what is refused is refused by name."""
    wrong = []
    for case in CASES[part::8]:
        output, asserts, passed, score, threshold, columns = [*case, *[None] * (6 - len(case))]
        setting = {} if threshold is None else {"threshold": threshold}
        as_test = {"prompts": ["x"], "tests": [{"vars": columns or {}, "assert": asserts, **setting}]}
        try:
            suite = wb.loads(as_test)
        except FormatError as error:
            known = any(name in str(error) for name in REFUSED) or "no assertions" in str(error)
            if not (known or "Invalid regex" in str(error) or "cannot be read" in str(error)):
                wrong.append((case, str(error)))
            continue
        outcome = suite(thread(output, **(columns or {})))
        is_same = bool(outcome.passed) == passed and (outcome.score is None) == (score is None)
        if not (
            is_same and (score is None or math.isclose(outcome.score, score, rel_tol=1e-9, abs_tol=1e-12))
        ):
            wrong.append((case, outcome))
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("kind", sorted(_REFUSED))
def test_what_cannot_be_graded_is_refused_by_name(kind):
    """The refusal has the type, its place and a next step."""
    with pytest.raises(FormatError) as caught:
        wb.loads(
            {
                "tests": [
                    {
                        "vars": {"a": 1},
                        "assert": [{"type": "contains", "value": "x"}, {"type": f"not-{kind}"}],
                    }
                ]
            }
        )
    assert f"'not-{kind}'" in str(caught.value)
    assert "tests[0].assert[1]" in caught.value.where
    assert caught.value.hint


def test_all_assertions_that_cannot_be_graded_are_named_at_once():
    """With their places, once each, and the step of each kind."""
    tests = [
        {
            "vars": {"a": "x"},
            "assert": [{"type": "contains", "value": "x"}, {"type": "similar", "value": "y"}],
        },
        {"vars": {"a": ["u", "v"]}, "assert": [{"type": "cost", "threshold": 0.1}]},
    ]
    with pytest.raises(FormatError, match="3 assertions of promptfoo") as caught:
        wb.loads({"defaultTest": {"assert": [{"type": "latency", "threshold": 9}]}, "tests": tests})
    text = str(caught.value)
    for name, place in (
        ("latency", "defaultTest.assert[0]"),
        ("similar", "tests[0].assert[1]"),
        ("cost", "tests[1].assert[0]"),
    ):
        assert f"{name} ({place})" in text
    assert "remove them" in caught.value.hint
    assert "context.vars.cost" in caught.value.hint


def test_a_config_is_a_suite(tmp_path):
    """Defaults are for all rows, a test's assertions for the rows with its variables; metrics are names."""
    (tmp_path / "check.py").write_text(
        "def get_assert(output, context):\n"
        "    return {'pass': context['vars']['river'] in output, 'score': 0.7, 'reason': 'r'}\n"
    )
    (tmp_path / "more.csv").write_text(
        "q,river,__expected,__expected2\nParis?,Seine,contains: Seine,not-icontains:elbe\n"
    )
    (tmp_path / "c.yaml").write_text("""
description: Rivers
prompts: [file://p.txt]
providers: [openai:gpt-x]
defaultTest:
  assert:
    - {type: javascript, value: output.length < 80}
    - {type: icontains, value: '{{river}}'}
tests:
  - vars: {q: Prague?, river: Vltava}
    assert: [{type: contains, value: Vltava, metric: fact}, {type: equals, value: yes}]
  - vars: {q: Dresden?, river: Elbe}
    threshold: 0.5
    assert: [{type: contains, value: Elbe, metric: fact}, {type: python, value: file://check.py}]
  - file://more.csv
""")
    suite = wb.load(tmp_path / "c.yaml")
    names = ["javascript", "icontains", "fact", "equals", "fact 2", "python", "contains", "not-icontains"]
    assert [entry.name for entry in suite.entries] == names
    assert suite.combine.thresholds == {"fact 2": 0.5, "python": 0.5}
    rows = [
        {"q": "Prague?", "river": "Vltava", "prompt": "Which?", "completion": "yes"},
        {"q": "Dresden?", "river": "Elbe", "prompt": "Which?", "completion": "The Elbe."},
        {"q": "Paris?", "river": "Seine", "prompt": "Which?", "completion": "Seine, not Elbe"},
        {"q": "Rome?", "river": "Tiber", "prompt": "Which?", "completion": "Tiber"},
    ]
    report = suite.run(rows, progress=False)
    assert [(grade.score, grade.passed) for grade in report.grades["combined"]] == [
        (0.5, False), (pytest.approx(3.7 / 4), True), (0.75, False), (1.0, True),
    ]  # fmt: skip
    assert [grade.score for grade in report.grades["fact"]] == [0.0, None, None, None]
    assert report.grades["python"].isolation
    again = wb.loads(wb.dumps(suite, allow_unvalidated=True))
    assert again.entries == suite.entries
    assert again.combine == suite.combine


def test_yaml_is_read_as_its_tool_reads_it():
    """`yes` and `1:30` are texts, as YAML 1.2 has them."""
    text = "defaultTest:\n  assert:\n  - {type: contains-any, value: [yes, 1:30]}\n"
    suite = wb.loads(text)
    assert [suite(thread(said)).score for said in ("yes", "at 1:30", "true", "90")] == [1.0, 1.0, 0.0, 0.0]


def test_lists_in_variables_are_combinations():
    """A list of texts is one value after the other; several tests need their columns in the row."""
    asserts = [{"type": "equals", "value": "{{a}}{{b}}"}]
    suite = wb.loads({"tests": [{"vars": {"a": ["x", "y"], "b": "z"}, "assert": asserts}]})
    assert suite(thread("yz", a="y", b="z")).score == 1.0
    assert suite(thread("qz", a="q", b="z")).score is None


def test_one_test_lends_its_values():
    """The only test of a config applies to rows without its columns, and gives them its values; not to rows with others."""
    suite = wb.loads(
        {"tests": [{"vars": {"river": "Elbe"}, "assert": [{"type": "contains", "value": "{{river}}"}]}]}
    )
    assert suite(thread("the Elbe")).score == 1.0
    assert suite(thread("the Elbe", river="Seine")).score is None
    report = suite.run(
        [{"prompt": "q", "completion": "Elbe"}, {"prompt": "q", "completion": "x", "river": "Y"}],
        progress=False,
    )
    assert [grade.score for grade in report.grades["contains"]] == [1.0, None]


def test_a_misspelled_variable_fails_the_row():
    """It is not an empty text: the row fails with the column's name."""
    outcome = grade([{"type": "equals", "value": "{{rivr}}"}], "")
    assert outcome.score is None
    assert "'rivr'" in str(outcome.parts["equals"].grade.error)


def test_a_failure_of_code_counts_as_zero():
    """As in promptfoo; the grade itself stays failed."""
    outcome = grade([{"type": "javascript", "value": "null.x"}, {"type": "contains", "value": "a"}], "a")
    assert (outcome.score, outcome.passed) == (0.5, False)
    assert outcome.parts["javascript"].grade.error is not None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "def get_assert(output, context):\n    return context['vars']['river'] in output\n"),
        ("a.py", "def grade(x):\n    return 'Elbe' in x\n\ndef get_assert(output, context):\n    return grade(output)\n"),
        ("a.js", "module.exports = (output, { vars }) => ({ pass: output.includes(vars.river), score: 1 - !output.includes(vars.river), reason: 'r' });\n"),
        ("a.mjs", "const near = (a, b) => a.includes(b);\nexport default function (output, context) { return near(output, context.vars.river); }\n"),
    ],
)  # fmt: skip
def test_files_of_code_are_graders(name, text, tmp_path):
    """A file with an assertion is one grader, alone and named by a config."""
    (tmp_path / name).write_text(text)
    kind = "python" if name.endswith(".py") else "javascript"
    (tmp_path / "c.json").write_text(json.dumps(config([{"type": kind, "value": f"file://{name}"}])))
    for suite in (wb.load(tmp_path / name), wb.load(tmp_path / "c.json")):
        outcomes = [suite(thread(said, river="Elbe")) for said in ("the Elbe", "no")]
        assert [outcome.score for outcome in outcomes] == [1.0, 0.0]


@pytest.mark.parametrize("name", ["../x.txt", "/etc/passwd", "a/../../x.txt"])
def test_files_outside_of_the_folder_are_refused(name, tmp_path):
    """A config names files of its folder only."""
    (tmp_path / "c.json").write_text(json.dumps(config([{"type": "contains", "value": f"file://{name}"}])))
    with pytest.raises(FormatError, match="outside"):
        wb.load(tmp_path / "c.json")


def test_model_graded_assertions_are_judges():
    """A rubric is one criterion of a binary judge, filled with the values of its test."""
    tests = [
        {
            "vars": {"who": "Ann"},
            "assert": [{"type": "llm-rubric", "value": "Names {{who}}", "provider": "openai:chat:m"}],
        }
    ]
    (entry,) = wb.loads({"tests": tests}).entries
    (judge,) = entry.grader.inner_graders
    assert isinstance(judge, BinaryJudge)
    assert (judge.criteria, judge.model) == ("Names Ann", "m")
    with pytest.raises(FormatError, match="variables"):
        wb.loads(config([{"type": "llm-rubric", "value": "Names {{who}}"}]))


@pytest.mark.parametrize(
    ("cell", "made"),
    [
        ("Vltava", {"type": "equals", "value": "Vltava"}),
        ("contains: Vltava ", {"type": "contains", "value": "Vltava"}),
        ("not-icontains:x", {"type": "not-icontains", "value": "x"}),
        ('contains-any:a, "b, c"', {"type": "contains-any", "value": ["a", "b, c"]}),
        ("rouge-n(0.6):near", {"type": "rouge-n", "value": "near", "threshold": 0.6}),
        ("levenshtein:near", {"type": "levenshtein", "value": "near", "threshold": 0.75}),
        ("is-json", {"type": "is-json"}),
        ("fn:output.length", {"type": "javascript", "value": "output.length"}),
        ("python:len(output)", {"type": "python", "value": "len(output)"}),
        ("grade:polite", {"type": "llm-rubric", "value": "polite"}),
        ("note: a text", {"type": "equals", "value": "note: a text"}),
    ],
)
def test_cells_of_csv_are_assertions(cell, made):
    """`__expected` has the short form of an assertion, or the expected text."""
    assert from_text(cell) == made


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"redteam": {"plugins": []}, "prompts": ["x"]}, "red-team"),
        ({"prompts": ["x"], "providers": ["y"], "tests": []}, "no assertions"),
        (config([{"type": "javascript", "value": "require('fs').x"}]), "'fs'"),
        (config([{"type": "regex", "value": "(?i)a"}]), "flags"),
        (config([{"type": "contians", "value": "a"}]), "unknown type"),
        (config([{"type": "contains", "value": "{{ env.HOME }}"}]), "env"),
        (config([{"type": "contains", "value": "{{ x() }}"}]), "call"),
        (config([{"type": "contains", "value": ""}]), "text or a number"),
        (config([{"type": "is-json", "value": {"type": "string", "format": "email"}}]), "format"),
        ({"tests": "https://x.example/t.csv", "defaultTest": {}}, "network"),
        ({"tests": "file://t.js", "defaultTest": {}}, "code"),
    ],
)
def test_what_is_refused(document, what):
    """Each refusal names what it is about and a place."""
    with pytest.raises(FormatError, match=what) as caught:
        wb.loads(document)
    assert caught.value.where


def test_other_forms_of_a_config():
    """Tests alone, assertions alone, templates of assertions, a file of results, scenarios, CSV."""
    tests = [{"vars": {"a": "x"}, "assert": [{"type": "contains", "value": "x"}]}]
    reference = {
        "assertionTemplates": {"t": {"type": "contains", "value": "x"}},
        "defaultTest": {"assert": [{"$ref": "#/assertionTemplates/t"}]},
    }
    scenarios = {
        "scenarios": [
            {
                "config": [{"vars": {"a": "x"}}],
                "tests": [{"assert": [{"type": "contains", "value": "{{a}}"}]}],
            }
        ]
    }
    documents = [tests, [{"type": "contains", "value": "x"}], reference, {"results": {}, "config": {"tests": tests}}, scenarios,
                 "a,__expected\nx,contains:x\n"]  # fmt: skip
    for document in documents:
        suite = wb.loads(document)
        assert [suite(thread(said, a="x")).score for said in ("axb", "b")] == [1.0, 0.0], document


def test_the_rule():
    """Entries that skip a row do not apply; weights of 0 give 0.0; a threshold overrides verdicts."""
    entries = [
        wb.Entry(wb.Contains("a"), "a", weight=2),
        wb.Entry(wb.Contains("b"), "b"),
        wb.Entry(wb.Contains("z"), "z", weight=0, severity="info"),
    ]
    suite = wb.Suite(entries, combine=Assertions())
    assert [(suite(thread(said)).score, suite(thread(said)).passed) for said in ("ab", "a")] == [
        (1.0, True),
        (pytest.approx(2 / 3), False),
    ]
    assert wb.Suite(entries, combine=Assertions(0.5))(thread("a")).passed
    assert wb.Suite(entries[2:], combine=Assertions())(thread("a")).score == 0.0
    with pytest.raises(ValueError, match="'x'"):
        wb.Suite(entries, combine=Assertions(zero=("x",)))


def test_rows_are_chosen_by_their_columns():
    """Numbers and their texts are equal; a row without a case is skipped; another order of keys does not matter."""
    grader = ForRows(({"when": {"n": 1, "o": {"a": 1, "b": 2}}, "grader": wb.Contains("x")},))
    assert grader(thread("x", n="1", o={"b": 2, "a": 1})).score == 1.0
    assert "does not apply" in grader(thread("x", n=2, o={"b": 2, "a": 1})).reasoning
    with pytest.raises(FormatError):
        ForRows(())
    with pytest.raises((FormatError, SamplesError, TypeError)):
        ForRows(({"when": {}, "grader": "x"},))


def test_code_gets_the_object_that_a_provider_parses():
    """Providers with a schema of JSON return objects; without one, or with another provider, code gets the text."""
    schema = {
        "id": "openai:chat:m",
        "config": {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
    }
    asserts = [
        {"type": "javascript", "value": "output.kind === 'a'"},
        {"type": "python", "value": "output['kind'] == 'a'"},
        {"type": "contains", "value": "kind"},
    ]
    said = json.dumps({"kind": "a"})
    suite = wb.loads({**config(asserts), "providers": [schema]})
    assert [part.score for part in suite(thread(said)).parts.values()] == [1.0, 1.0, 1.0]
    as_text = {
        **config([{"type": "javascript", "value": "output.length > 9 && output.startsWith('{')"}]),
        "providers": [schema, "openai:n"],
    }
    assert wb.loads(as_text)(thread(said)).score == 1.0
    inner = [
        {"type": "javascript", "value": "output === 'a'"},
        {"type": "equals", "value": "A", "transform": "output.toUpperCase()"},
    ]
    of_test = {"tests": [{"options": {"transform": "output.kind"}, "assert": inner}], "providers": [schema]}
    of_all = {
        "defaultTest": {"options": {"transform": "output.kind"}},
        "tests": [{"assert": inner}],
        "providers": [schema],
    }
    own = {
        "tests": [{"assert": [{"type": "equals", "value": "a", "transform": "output.kind"}]}],
        "providers": [schema],
    }
    for document in (of_test, of_all, own):
        assert wb.loads(document)(thread(said)).score == 1.0
    plain = wb.loads({**config([{"type": "javascript", "value": "output.length"}]), "providers": [schema]})
    assert plain(thread("four")).score == 4.0


def test_the_transform_of_a_test_is_before_those_of_its_assertions():
    """Of a test, and of `defaultTest` for tests without one; next to default assertions a test's own is refused."""
    said = json.dumps({"kind": "a", "lands": ["Peru", "Chad"]})
    asserts = [
        {"type": "javascript", "value": "output.kind === 'a'"},
        {"type": "contains-any", "value": ["Chad"], "transform": "output.lands"},
        {"type": "assert-set", "assert": [{"type": "python", "value": "output['kind'] == 'a'"}]},
    ]
    of_test = {"tests": [{"options": {"transform": "JSON.parse(output)"}, "assert": asserts}]}
    of_all = {"defaultTest": {"options": {"transform": "JSON.parse(output)"}}, "tests": [{"assert": asserts}]}
    for document in (of_test, of_all):
        assert [part.score for part in wb.loads(document)(thread(said)).parts.values()] == [1.0, 1.0, 1.0]
    both = {**of_test, "defaultTest": {"assert": [{"type": "contains", "value": "x"}]}}
    for document, word in (
        (both, "assertions of defaultTest"),
        ({"tests": [{"options": {"transform": "file://t.js"}, "assert": asserts}]}, "in a file"),
        (
            {"defaultTest": {"options": {"rubricPrompt": "Rate"}}, "tests": [{"assert": asserts}]},
            "rubricPrompt",
        ),
    ):
        with pytest.raises(FormatError, match=word) as caught:
            wb.loads(document)
        assert caught.value.hint


def test_outputs_of_results_are_transformed_already(tmp_path):
    """Their config is read without the transforms of tests; with a config alone, a note says what rows must have."""
    tests = [
        {
            "vars": {},
            "options": {"transform": "output.slice(1)"},
            "assert": [{"type": "equals", "value": "ab"}],
        }
    ]
    results = {"results": {"version": 3, "results": []}, "config": {"prompts": ["x"], "tests": tests}}
    assert wb.loads(results)(thread("ab")).score == 1.0
    (tmp_path / "c.json").write_text(json.dumps({"prompts": ["x"], "tests": tests}), "utf-8")
    suite, notes = load_with_notes(tmp_path / "c.json")
    assert suite(thread("xab")).score == 1.0
    assert [note for note in notes if "load the graders from the results" in note]


def test_a_variable_that_became_the_prompt_of_the_rows_chooses_them(tmp_path):
    """A table's column `input` is the prompt, which the variable `input` of a test means, also in a template."""
    tests = [
        {"vars": {"language": name, "input": said}, "assert": [{"type": "not-contains", "value": "{{input}}"}, {"type": "contains", "value": word}]}
        for name, said, word in (("French", "Hello", "Bonjour"), ("German", "Good day", "Tag"))
    ]  # fmt: skip
    (tmp_path / "c.json").write_text(json.dumps({"prompts": ["{{input}}"], "tests": tests}), "utf-8")
    rows = [
        {"language": "French", "input": "Hello", "output": "Bonjour"},
        {"language": "German", "input": "Good day", "output": "Guten Tag"},
        {"language": "German", "input": "Hello", "output": "Hello"},
    ]
    report = wb.load(tmp_path / "c.json").run(rows, progress=False)
    counts = [(grades.n_scored, grades.n_skipped) for grades in report.grades.values()]
    assert counts[:2] == [(2, 1), (2, 1)]
    assert all(report.grades[name].n_failed == 0 for name in report.grades)


def test_why_no_row_of_a_test_was_graded_is_said():
    """The finding names the reason, which all skipped rows share."""
    tests = [
        {"vars": {"a": 1}, "assert": [{"type": "contains", "value": "x"}]},
        {"vars": {"a": 2}, "assert": [{"type": "contains", "value": "x"}]},
    ]
    report = wb.loads({"tests": tests}).run([{"a": 3, "prompt": "p", "completion": "x"}] * 2, progress=False)
    assert any("does not apply: no case" in finding.message for finding in report.findings)


def test_every_type_is_graded_or_refused():
    """The types of promptfoo's schema are known."""
    assert len(ASSERTIONS) + len(_REFUSED) > 55
    assert PromptfooAssertion("not-regex", value="^a")(thread("b")).passed


def test_a_config_is_converted(tmp_path):
    """A rule over one assertion has no effect, so other platforms take it; code brings no reserved name."""
    (tmp_path / "c.yaml").write_text("defaultTest: {assert: [{type: contains, value: Vltava}]}\n")
    for name, target in (("openai", "o.json"), ("letta", "l.yaml"), ("trl", "t.py"), ("promptfoo", "p.py")):
        wb.convert(tmp_path / "c.yaml", tmp_path / target, name)
        (grader,) = wb.load(tmp_path / target).graders
        assert [grader(thread(said, reference="x")).score for said in ("the Vltava", "no")] == [1.0, 0.0]
    (tmp_path / "d.yaml").write_text("defaultTest: {assert: [{type: python, value: len(output) < 9}]}\n")
    written = wb.convert(tmp_path / "d.yaml", tmp_path / "d.py", "promptfoo", on_loss="report")
    assert written.paths[0].name == "d.py"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("is-html", "<a " * 50_000), ("is-html", "<a b='" * 20_000), ("is-html", "<a>" * 50_000), ("contains-json", "{" * 20_000),
        ("contains-json", "{a: " * 20_000),
    ],
)  # fmt: skip
def test_a_text_that_would_be_read_without_end_has_no_score(kind, text):
    """A failed row, not a run that does not end."""
    grade_of_row = PromptfooAssertion(kind)(thread(text))
    assert grade_of_row.score is None
    assert grade_of_row.error.kind is ErrorKind.TIMEOUT


def test_tags_without_an_end_are_no_signs_of_html():
    """Read once for all starts: this is as fast as any other text."""
    assert PromptfooAssertion("contains-html")(thread("<q " * 300_000)).score == 0.0
    assert PromptfooAssertion("contains-html")(thread("<q " * 300_000 + "<x-y z/> </b>")).score == 1.0


def test_a_broken_file_of_lines_names_its_line(tmp_path):
    """Data of a config in JSON Lines."""
    (tmp_path / "tests.jsonl").write_text('{"vars": {"a": 1}, "assert": []}\n{broken\n')
    (tmp_path / "config.yaml").write_text("prompts: [x]\ndescription: y\ntests: file://tests.jsonl\n")
    with pytest.raises(FormatError, match=r"tests\.jsonl, line 2"):
        wb.load(tmp_path / "config.yaml")
