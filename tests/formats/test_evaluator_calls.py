"""Evaluators of other packages in a Python file: known calls are graders, others are refused by name and line."""

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.formats.shared.evaluator_rules import EVALUATORS, way_to_bring
from workbench.judges import ScriptedClient

AUTOEVALS = """
from autoevals import ExactMatch, LLMClassifier, Levenshtein
from braintrust import Eval

kind = LLMClassifier(name="Kind", prompt_template="Is {{output}} kind to {{input}}?", choice_scores={"Y": 1, "M": 0.5, "N": 0})


def shorter(output, expected):
    return float(len(output) <= len(expected))


Eval("rivers", data=list, task=str, scores=[Levenshtein, kind, ExactMatch, shorter])
"""
OPENEVALS = """
from openevals.llm import create_llm_as_judge

PROMPT = "Is {outputs} a good reply to {inputs}? Expected: {reference_outputs}"
good = create_llm_as_judge(prompt=PROMPT, model="openai:gpt-x", feedback_key="good", continuous=CONTINUOUS)
"""
DEEPEVAL = """
from deepeval.metrics import ExactMatchMetric, FaithfulnessMetric, GEval, PatternMatchMetric
from deepeval.test_case import LLMTestCase, LLMTestCaseParams


def test_kind():
    kind = GEval(name="Kind", criteria="Is it kind?", evaluation_params=[LLMTestCaseParams.ACTUAL_OUTPUT], threshold=0.6, model="gpt-x")
    faithful = FaithfulnessMetric(threshold=0.7)
    assert_test(LLMTestCase(input="a"), [kind, faithful, ExactMatchMetric(), PatternMatchMetric(r"\\d+")])
"""
MLFLOW = """
from typing import Literal
import mlflow
from mlflow.genai.scorers import Guidelines

kind = mlflow.genai.judges.make_judge(name="kind", instructions="Is {{ outputs }} kind?", model="openai:/gpt-x", feedback_value_type=TYPE)
english = Guidelines(name="english", guidelines=["Write English.", "Be brief."])
"""


def read(tmp_path, text, name="evals.py"):
    (tmp_path / name).write_text(text)
    return wb.read_graders(tmp_path / name)


def score(suite, name, completion, reference=None):
    thread = wb.StringThread([("user", "q"), ("assistant", completion)], {"expected": reference})
    grader = next(entry.grader for entry in suite.entries if entry.name == name)
    return grader(wb.Sample("0", thread, reference, "0")).score


@pytest.mark.parametrize(
    ("completion", "reference", "distance", "exact"),
    [
        # As autoevals 0.4 and openevals 0.2 return them.
        ("hello wrld", "hello world", 0.9090909090909091, 0.0),
        ("kitten", "sitting", 0.5714285714285714, 0.0),
        ("Vltava", "The Vltava.", 0.5454545454545454, 0.0),
        (" a", "a", 0.5, 0.0),
        ("a", "a", 1.0, 1.0),
    ],
)
def test_rules_of_text_have_the_scores_of_their_package(tmp_path, completion, reference, distance, exact):
    """Levenshtein is named in a list, ExactMatch too."""
    suite = read(tmp_path, AUTOEVALS)
    assert score(suite, "Levenshtein", completion, reference) == pytest.approx(distance)
    assert score(suite, "ExactMatch", completion, reference) == exact


def test_a_file_has_its_evaluators_and_its_own_functions(tmp_path):
    """Each by its name; a classifier becomes a judge with the author's prompt and the scores of its choices."""
    suite = read(tmp_path, AUTOEVALS)
    assert {entry.name for entry in suite.entries} == {"Kind", "Levenshtein", "ExactMatch", "shorter"}
    kind = next(entry.grader for entry in suite.entries if entry.name == "Kind")
    sent = kind.preview(wb.StringThread([("user", "Hi"), ("assistant", "Go away")]))[-1]["content"]
    assert "Is Go away kind to Hi?" in sent
    assert "1 for Y, 0.5 for M, 0 for N" in sent


@pytest.mark.parametrize(("continuous", "ending"), [("False", "1 for true"), ("True", "from 0 to 1")])
def test_a_prompt_of_openevals_is_a_judge(tmp_path, continuous, ending):
    """Its variables are the prompt, the completion and the reference of the row."""
    suite = read(tmp_path, OPENEVALS.replace("CONTINUOUS", continuous))
    (entry,) = suite.entries
    assert (entry.name, entry.grader.model) == ("good", "gpt-x")
    row = wb.Sample("0", wb.StringThread([("user", "Hi"), ("assistant", "Hello")]), "Hey", "0")
    sent = entry.grader.preview(row)[-1]["content"]
    assert "Is Hello a good reply to Hi? Expected: Hey" in sent
    assert ending in sent


def test_metrics_of_deepeval_are_read_inside_a_test(tmp_path):
    """With their names, thresholds and models; a pattern has to match the whole completion."""
    suite = read(tmp_path, DEEPEVAL, "test_kind.py")
    by_name = {entry.name: entry for entry in suite.entries}
    assert isinstance(by_name["Kind"].grader, wb.RubricJudge)
    assert by_name["Kind"].grader.pass_threshold == 0.6
    assert by_name["faithful"].pass_threshold == 0.7
    assert score(suite, "ExactMatchMetric", " a ", "a") == 1.0
    assert [score(suite, "PatternMatchMetric", text) for text in ("12", " 12\n", "a 12")] == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "told"),
    [("bool", "1 for true, 0 for false"), ('Literal["pass", "fail"]', "1 for pass, 0 for fail")],
)
def test_judges_of_mlflow_are_read(tmp_path, kind, told):
    """By a dotted path, too."""
    suite = read(tmp_path, MLFLOW.replace("TYPE", kind))
    first, second = suite.entries
    assert told in first.grader.prompt
    assert second.grader.criteria == "Write English.\nBe brief."


def test_a_judge_that_was_read_grades(tmp_path):
    """The score of its reply counts."""
    suite = read(tmp_path, MLFLOW.replace("TYPE", "bool"))
    from dataclasses import replace

    judge = replace(suite[0], client=ScriptedClient('{"rationale": "so", "score": 1}'))
    grade = judge(wb.StringThread([("user", "Hi"), ("assistant", "Hello")]))
    assert (grade.score, grade.passed) == (1.0, True)


@pytest.mark.parametrize(
    ("text", "name", "line", "way"),
    [
        (OPENEVALS.replace("PROMPT =", "OTHER =").replace("CONTINUOUS", "False"), "create_llm_as_judge", 5, "prompt"),
        ("from autoevals import Factuality, Levenshtein\nscores = [Levenshtein, Factuality]\n", "Factuality", 2, "BinaryJudge"),
        (MLFLOW.replace("TYPE", "float"), "make_judge", 6, "RubricJudge"),
        (
            "from deepeval.metrics import BaseMetric, GEval\n\n\nclass Short(BaseMetric):\n    pass\n\n\nkind = GEval(name='k', criteria='x')\n", "Short", 4, "async def grade",
        ),
        ("from autoevals import LLMClassifier\nk = LLMClassifier(name='k', prompt_template='{{thread}}', choice_scores={'a': 1})\n", "LLMClassifier", 2, "thread"),
        ("from ragas.metrics import StringPresence, ResponseRelevancy\nmetrics = [StringPresence(), ResponseRelevancy()]\n", "ResponseRelevancy", 2, "BinaryJudge"),
        ("from inspect_ai.scorer import includes, match\nscorers = [includes(), match()]\n", "match", 2, "inspect_ai.scorer:match"),
        ("from deepeval.metrics import GEval\nk = GEval(name='k', criteria=load())\n", "GEval", 2, "criteria"),
    ],
)  # fmt: skip
def test_an_evaluator_without_its_rule_is_refused(tmp_path, text, name, line, way):
    """By its name and line, with the way to bring the rule."""
    with pytest.raises(FormatError, match=name) as caught:
        read(tmp_path, text)
    assert caught.value.where.endswith(f"line {line}")
    assert way in caught.value.hint


def test_an_evaluator_inside_a_reward_is_part_of_it(tmp_path):
    """The reward is the grader, and not what it calls."""
    text = (
        "from autoevals import Levenshtein\n\n\ndef near(completions, answer, **kwargs):\n    scorer = Levenshtein()\n"
        "    return [scorer.eval(output=c, expected=a).score for c, a in zip(completions, answer)]\n"
    )
    assert [entry.name for entry in read(tmp_path, text).entries] == ["near"]


def test_nothing_of_the_file_is_run(tmp_path):
    """Only literals are taken."""
    text = f"import pathlib\nfrom deepeval.metrics import GEval\npathlib.Path({str(tmp_path / 'made')!r}).touch()\nk = GEval(name='k', criteria='Is it kind?')\n"
    assert [entry.name for entry in read(tmp_path, text).entries] == ["k"]
    assert not (tmp_path / "made").exists()


def test_each_package_has_a_way_for_its_other_evaluators():
    """No name is both read and refused."""
    assert way_to_bring("deepeval", "HallucinationMetric")
    assert not way_to_bring("deepeval", "LLMTestCase")
    assert all(
        package in {"autoevals", "openevals", "deepeval", "mlflow", "ragas", "inspect_ai"}
        for package, _ in EVALUATORS
    )
