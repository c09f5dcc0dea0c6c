"""Datasets of pydantic_evals: the verdicts of its package, and what is refused."""

import json

import pytest

import workbench as wb
from workbench.core.errors import FormatError

DATASET = """\
# yaml-language-server: $schema=ds_schema.json
name: d
cases:
- name: a
  inputs: Prague?
  metadata: null
  expected_output: Vltava
  evaluators:
  - Contains: V
  - Contains: a
- name: b
  inputs: Dresden?
  metadata: null
  expected_output: null
  evaluators:
  - Contains: Elb
evaluators:
- EqualsExpected
- Equals: Vltava
- Contains: Vltava
- Contains:
    value: VLT
    case_sensitive: false
    evaluation_name: any case
- Contains:
    value: 4
    as_strings: true
    evaluation_name: four
report_evaluators: []
"""
"""As `Dataset.to_file` of pydantic_evals 2.62 writes it."""

#: The verdicts of `evaluate_sync` of pydantic_evals 2.62 for a task that returns the text. Of case a: contains V, contains a,
#: equals the expected one, equals, contains, any case, four; of case b, which has no expected output: contains Elb, equals,
#: contains, any case, four.
VERDICTS = {
    "Vltava": ("1111110", "01110"),
    "vltava": ("0100010", "00010"),
    "The Vltava.": ("1100110", "00110"),
    " Vltava": ("1100110", "00110"),
    "4": ("0000001", "00001"),
    "true": ("0000000", "00000"),
    "": ("0000000", "00000"),
}


def bits(report, row, names):
    """The scores of a row as 1 and 0, - for none."""
    grades = [report.grades[name][row] for name in names]
    return "".join("-" if grade.score is None else str(int(grade.score)) for grade in grades)


@pytest.mark.parametrize("output", VERDICTS)
def test_verdicts_are_those_of_the_package(output):
    """Evaluators of the dataset for all rows, those of a case for its row, and no verdict without an expected output."""
    suite = wb.loads(DATASET)
    rows = [
        {"prompt": "Prague?", "completion": output, "expected_output": "Vltava"},
        {"prompt": "Dresden?", "completion": output},
    ]
    report = suite.run(wb.Samples(rows), progress=False)
    every = ["Equals", "Contains", "any case", "four"]
    of_a, of_b = VERDICTS[output]
    assert bits(report, 0, ["Contains 2", "Contains 2 2", "EqualsExpected", *every]) == of_a
    assert bits(report, 1, ["Contains 2", *every]) == of_b
    assert bits(report, 1, ["Contains 2 2", "EqualsExpected"]) == "--"


def test_json_is_read_as_yaml():
    """The same document in JSON; a judge gets the rubric and the model of OpenAI."""
    document = {
        "name": "d",
        "cases": [],
        "evaluators": [
            {"LLMJudge": {"rubric": "Is right", "model": "openai:gpt-x"}},
            {"LLMJudge": "Is short"},
        ],
    }
    first, second = wb.loads(json.dumps(document)).graders
    assert (first.criteria, first.model, second.criteria, second.model) == (
        "Is right",
        "gpt-x",
        "Is short",
        "",
    )


def test_a_case_of_named_inputs_is_chosen_by_its_columns():
    """Inputs that are an object are columns of the row."""
    text = "cases:\n- inputs: {city: Prague}\n  evaluators: [{Equals: Vltava}]\n- inputs: {city: Dresden}\n  evaluators: [{Equals: Elbe}]\n"
    suite = wb.loads(text)
    rows = [{"prompt": "?", "completion": "Elbe", "city": city} for city in ("Prague", "Dresden", "Rome")]
    report = suite.run(wb.Samples(rows), progress=False)
    assert bits(report, 0, ["Equals"]) + bits(report, 1, ["Equals"]) + bits(report, 2, ["Equals"]) == "01-"


@pytest.mark.parametrize(
    ("evaluator", "part"),
    [
        ("IsInstance: str", "JsonSchema"),
        ("MaxDuration: 2.0", "durations"),
        ("MyOwn: {a: 1}", "async def grade"),
        ("GEval: {criteria: x}", "ScoreJudge"),
        ("Equals: {a: 1}", "JsonSchema"),
        ("Contains: [a, b]", "as_strings"),
        ("LLMJudge: {rubric: x, score: {include_reason: true}}", "ScoreJudge"),
    ],
)
def test_what_is_not_read_is_refused_by_name(evaluator, part):
    """With the place and the next step."""
    name = evaluator.partition(":")[0]
    with pytest.raises(FormatError) as caught:
        wb.loads(f"cases: []\nevaluators:\n- EqualsExpected\n- {{{evaluator}}}\n")
    assert name in str(caught.value) or "score" in caught.value.found
    assert "evaluators[1]" in caught.value.where
    assert part in caught.value.hint


def test_written_evaluators_are_read_back(tmp_path):
    """Those that pydantic_evals has; others are refused, or reported."""
    suite = wb.Suite([
        wb.ExactMatch("4", trim=False, name="four"), wb.ExactMatch(trim=False, on_no_reference="skip", name="same"),
        wb.Contains("a", ignore_case=True, name="an a"),
    ])  # fmt: skip
    again = wb.load(wb.export(suite, tmp_path / "d.json", "pydantic-evals").paths[0])
    assert [(entry.name, entry.grader) for entry in again.entries] == [
        (entry.name, entry.grader) for entry in suite.entries
    ]
    with pytest.raises(FormatError, match="no equivalent"):
        wb.export(wb.Length(3), tmp_path / "e.json", "pydantic-evals")


def test_other_documents_are_not_taken():
    """A report has cases with outputs, and a dataset without evaluators has nothing to grade with."""
    report = {"cases": [{"inputs": "q", "output": "a", "assertions": {}}], "evaluators": []}
    for document in (report, {"cases": [{"inputs": "q", "expected_output": "a"}]}):
        with pytest.raises(FormatError, match="pydantic_evals without evaluators"):
            wb.loads(json.dumps(document))


def test_open_describes_a_dataset(tmp_path, capsys):
    """Its evaluators are graders, and its cases are no rows with completions."""
    from workbench.cli import main

    (tmp_path / "d.yaml").write_text(DATASET, "utf-8")
    assert main(["open", str(tmp_path / "d.yaml")]) == 0
    assert "pydantic_evals datasets" in capsys.readouterr().out
