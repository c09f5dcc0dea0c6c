"""Files of other tools: scripts and notebooks are read for their rewards, and what is not read is refused by its tool."""

import json

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.formats.shared.known_tools import tool_error
from workbench.formats.shared.training_code import essential, foreign_imports, notebook_text

SCRIPT = """import torch
from trl import GRPOTrainer
import re

SCALE = 0.5


def _clean(text):
    return re.sub(" ", "", text)


def near(completions, river, **kw):
    return [SCALE * (r in _clean(c[0]["content"])) for c, r in zip(completions, river)]


model = torch.nn.Linear(2, 2)
GRPOTrainer(model=model, reward_funcs=[near]).train()
"""
NOTEBOOK = {
    "nbformat": 4,
    "cells": [
        {"cell_type": "code", "source": ["%%capture\n", "!pip install trl\n", "import torch"]},
        {"cell_type": "markdown", "source": ["# Title"]},
        {"cell_type": "code", "source": "%%bash\necho x"},
        {"cell_type": "code", "source": ["def near(completions, river, **kw):\n", "    return [float(r in c[0]['content']) for c, r in zip(completions, river)]"]},
    ],
}  # fmt: skip


def score(grader, text="the Elbe"):
    return grader(wb.StringThread([("user", "q"), ("assistant", text)], {"river": "Elbe"})).score


def test_a_training_script_gives_its_rewards(tmp_path):
    """The function with what it reads: neither the training nor its packages."""
    (tmp_path / "train.py").write_text(SCRIPT)
    grader = wb.load(tmp_path / "train.py").grader
    assert score(grader) == 0.5
    assert foreign_imports(grader.source.text) == []


def test_a_notebook_gives_its_rewards(tmp_path):
    """Code cells without magics and shell commands."""
    (tmp_path / "grpo.ipynb").write_text(json.dumps(NOTEBOOK))
    assert [entry.name for entry in wb.load(tmp_path / "grpo.ipynb").entries] == ["near"]
    assert score(wb.load(tmp_path / "grpo.ipynb").grader) == 1.0
    assert notebook_text('{"nbformat": 4}') is None
    assert notebook_text("x = 1") is None


def test_packages_that_the_sandbox_lacks_are_reported(capsys):
    """At load, with a way; a module that needs none is unchanged."""
    wb.loads(
        "import numpy as np\n\n\ndef r(completions, **kw):\n    return [float(np.tanh(len(c))) for c in completions]\n"
    )
    printed = capsys.readouterr().out
    assert "numpy" in printed
    assert "wb.read_graders" in printed
    plain = "import re\n\n\nx = 1\n\n\ndef r(completions, **kw):\n    return [1.0]\n"
    assert essential(plain, "r") == plain


PYTHON = {
    "inspect_ai": "from inspect_ai import Task, task\n\n@task\ndef rivers():\n    return Task(scorer=[match()])\n",
    "eval-protocol": "@evaluation_test(input_dataset=['r.jsonl'])\ndef test_near(row):\n    return row\n",
    "verifiers": "import verifiers as vf\n\ndef load_environment(**kw):\n    return vf.SingleTurnEnv(rubric=vf.Rubric(funcs=[]))\n",
    "openevals": "kind = create_llm_as_judge(prompt='Is it kind? {outputs}', model='m')\n",
    "autoevals": "kind = LLMClassifier(name='Kind', prompt_template='{{output}}?', choice_scores={'Y': 1})\n",
    "DeepEval": "kind = GEval(name='Kind', criteria='Is it kind?')\n",
    "MLflow": "import mlflow\nkind = make_judge(name='kind', instructions='Is {{ outputs }} kind?')\n",
    "ragas": "kind = AspectCritic(name='kind', definition='Is it kind?')\n",
    "Weave": "import weave\n\nclass Short(weave.Scorer):\n    @weave.op\n    def score(self, output): return {'short': True}\n",
    "Phoenix": "@create_evaluator(name='near', kind='code')\ndef near(output, expected):\n    return 1.0\n",
    "Nova": "def lambda_handler(event, context):\n    return [{'id': r['id'], 'aggregate_reward_score': 0.4} for r in event]\n",
    "makes a reward": "def get_near(scale=0.5):\n    def near(completions, river, **kw):\n        return [scale]\n    return near\n",
    "LangChain": "from langchain.evaluation import load_evaluator\nev = load_evaluator('criteria')\n",
    "reward manager": "class OwnRewardManager:\n    def __call__(self, data, return_dict=False):\n        return 1\n",
    "reward class": "class Near:\n    def __call__(self, completions, **kw):\n        return [1.0 for _ in completions]\n",
}
DOCUMENTS = {
    "pydantic_evals": {
        "cases": [{"name": "a", "inputs": "q", "expected_output": "x"}],
    },
    "lm-evaluation-harness": {"task": "rivers", "doc_to_target": "{{answer}}", "metric_list": []},
    "log of inspect_ai": {"version": 2, "eval": {}, "results": {}, "samples": []},
    "OTLP": {"resourceSpans": []},
    "registry of openai/evals": {"m.dev.v0": {"class": "evals.elsuite.basic.match:Match", "args": {}}},
    "model-graded eval of openai/evals": {"fact": {"prompt": "{completion}?", "choice_strings": "AB"}},
    "Agent Development Kit": {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}},
    "GitHub Models": {
        "name": "r",
        "messages": [],
        "testData": [],
        "evaluators": [{"name": "has", "string": {"contains": "x"}}],
    },
    "JSON Schema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {}},
    "rubric of criteria": [{"criterion": "Names the river", "points": 5}],
    "custom metric of a Bedrock job": {
        "customMetricDefinition": {"name": "kind", "instructions": "{{prediction}}?"}
    },
    "Langfuse": {"name": "kind", "prompt": "Is {{generation}} kind?", "outputSchema": {}, "vars": []},
}
TEXTS = {
    "Guardrails": ("x.rail", "<rail version='0.1'><output></output></rail>"),
    "TypeScript": (
        "x.eval.ts",
        'import { Eval } from "braintrust";\nEval("r", { scores: [Levenshtein] });\n',
    ),
    "module of TypeScript": (
        "s.ts",
        'import { createScorer } from "@mastra/core/scores";\nexport const s = createScorer({});\n',
    ),
    "Prompty": ("k.prompty", "---\nname: kind\nmodel:\n  api: chat\n---\nsystem:\nIs {{response}} kind?\n"),
    "promptfoo in JavaScript": (
        "promptfooconfig.js",
        "module.exports = { prompts: ['{{q}}'], tests: [{ assert: [] }] };\n",
    ),
}


@pytest.mark.parametrize("tool", [*PYTHON, *DOCUMENTS])
def test_a_file_of_another_tool_is_refused_by_its_name(tool):
    """With a step that leads to a grader here."""
    text = PYTHON.get(tool) or json.dumps(DOCUMENTS[tool])
    with pytest.raises(FormatError, match=tool) as caught:
        wb.loads(text, where="g.py" if tool in PYTHON else "g.json")
    assert "wb." in caught.value.hint or "write" in caught.value.hint
    assert "format=" not in caught.value.hint


@pytest.mark.parametrize("tool", TEXTS)
def test_a_file_of_another_language_is_refused_by_its_tool(tool):
    """Neither as Python nor as a script."""
    where, text = TEXTS[tool]
    with pytest.raises(FormatError, match=tool) as caught:
        wb.loads(text, where=where)
    assert caught.value.hint.startswith("write")


def test_a_script_with_such_words_is_read():
    """An assertion in JavaScript that has no tests."""
    text = "module.exports = (output, context) => ({ pass: output.includes('tests:'), score: 1 });\n"
    assert wb.loads(text, where="a.js").grader.kind == "script"


def test_hints_name_what_exists():
    """Every `wb.name` in a hint about another tool is a public name."""
    import re
    from pathlib import Path

    import workbench.formats as formats

    root = Path(formats.__file__).parent
    files = [
        "shared/known_tools.py",
        "shared/training_code.py",
        "shared/evaluator_rules.py",
        "platforms/openai/held.py",
        *(f"platforms/promptfoo/{name}.py" for name in ("__init__", "assertions", "cases", "scripts")),
    ]
    for name in files:
        for word in re.findall(r"\bwb\.(\w+)", (root / name).read_text("utf-8")):
            assert hasattr(wb, word), (name, word)


@pytest.mark.parametrize(
    "text",
    [
        "def same(output, expected):\n    return expected in output\n",
        "async def near(completion, answer, state) -> float:\n    return float(answer in completion[-1]['content'] and state['answer'] == answer)\n",
        "def near(text: str) -> float:\n    return float(len(text) > 4)\n",
        "def evaluate(prompt, response, references):\n    return float(references['river'] in response)\n",
        "def compute_score(data_sources, solution_strs, ground_truths, extra_infos=None):\n    return [float(g in s) for s, g in zip(solution_strs, ground_truths)]\n",
        "async def custom_rm(args, sample, **kwargs):\n    return {'score': float(sample.label in sample.response), 'n': 1}\n",
        "def rivers(completion, river):\n    return 1.0 if river in completion else 0.0\n",
        "def safe(completion):\n    total = 0.0\n    for word in ['Elbe']:\n        total += word in completion\n    return total\n",
        "def n(text):\n    return len(text)\n\n\ndef long(completion):\n    return n(completion) > 4\n",
        "import torch\n\n\ndef same(response, target, strict=False):\n    return target in response\n\n\nmodel = torch.nn.Linear(2, 2)\n",
    ],
)
def test_a_function_is_called_by_the_names_of_its_parameters(text, capsys):
    """The call is reported; the scores are those of the function."""
    grader = wb.loads(text, where="g.py").grader
    assert "parameters" in capsys.readouterr().out
    rows = [
        wb.StringThread([("user", "q"), ("assistant", said)], {"river": "Elbe", "answer": "Elbe"})
        for said in ("the Elbe", "no")
    ]
    assert [grader(row).score for row in rows] == [1.0, 0.0]


@pytest.mark.parametrize(
    "text",
    [
        "def clean(text):\n    return text\n",
        "def same(left, right):\n    return left == right\n",
        "def lower(text, folds):\n    return text.casefold() if folds else text.lower()\n",
        "def size(text):\n    def n():\n        return 1.0\n    return str(n())\n",
        "def f(sample):\n    return 1.0\n",
    ],
)
def test_a_helper_is_not_a_grader(text):
    """A function of a single text that returns no number, and one of other names."""
    with pytest.raises(FormatError, match="no grader"):
        wb.loads(text, where="g.py")


@pytest.mark.parametrize(
    "text",
    ["class A:\n" + "          \n" * 400, "def f(x):\n" + "    \t    x\n" * 400, "def f(" + ")" * 20_000, "class A:\n    x\n" * 5_000, "prompts: tests: module.exports = " * 5_000],
    ids=["blanks", "indented", "parentheses", "classes", "configs"],
)  # fmt: skip
def test_a_text_of_many_blanks_is_searched_at_once(text):
    """Each line can be matched in one way only: with several, the first two of these would not end."""
    assert tool_error(None, text, "x.py") is None


def test_a_reward_class_and_a_function_that_makes_one_are_named():
    """Also where lines without content stand before the signature."""
    for text, tool in (
        (
            "class A(B):\n    x = 1\n\n    async def __call__(self, prompts, x):\n        pass\n",
            "a reward class",
        ),
        ("def made(k) -> object:\n  y = 1\n\n  def inner(completions):\n    pass\n", "a function that makes"),
    ):
        assert tool in str(tool_error(None, text, "x.py"))
