"""What a row holds reaches a trainer's reward as the type that its trainer passes."""

import json

import pandas as pd
import pytest

import workbench as wb

# As verl's own scores of its data sets take their label: a dict with the right answers.
SEARCH = """
def compute_score(solution_str, ground_truth, method="strict", format_score=0.0, score=1.0):
    assert isinstance(ground_truth, dict), type(ground_truth)
    return score if any(one in solution_str for one in ground_truth["target"]) else format_score
"""
VERL = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    assert isinstance(ground_truth, list) and isinstance(extra_info["index"], int), (ground_truth, extra_info)
    assert extra_info["split"] == "train" and extra_info["level"] == 2.5
    return float(ground_truth[0] in solution_str)
"""
TRL = """
def reward(completions, truth, count, share, fine, gap, **kwargs):
    assert type(truth[0]) is dict and type(count[0]) is int and type(share[0]) is float, (truth, count, share)
    assert type(fine[0]) is bool and gap[0] is None, (fine, gap)
    return [float(one["target"][0] in text) for one, text in zip(truth, completions)]
"""
OPENAI = """
def grade(sample, item):
    assert type(item["truth"]) is dict and type(item["count"]) is int and type(item["fine"]) is bool, item
    return float(item["truth"]["target"][0] in sample["output_text"])
"""
OPENRLHF = """
def reward_func(queries, prompts, labels):
    return [float(label["target"][0] in query) for query, label in zip(queries, labels)]
"""
ROWS = [
    {"prompt": f"Which river? {at}", "completion": "It is the Vltava." if at % 2 else "The Elbe."}
    for at in range(6)
]
TYPED = {"truth": {"target": ["Vltava"]}, "count": 3, "share": 1.0, "fine": True, "gap": None}
EXTRA = {"data_source": "rivers", "extra_info": {"index": 4, "split": "train"}, "level": 2.5}

CASES = {
    "verl's search score": (SEARCH, {"ground_truth": {"target": ["Vltava", "Moldau"]}}),
    "verl's reward_model": (
        SEARCH,
        {"reward_model": {"style": "rule", "ground_truth": {"target": ["Vltava"]}}},
    ),
    "verl": (VERL, {"ground_truth": ["Vltava"], **EXTRA}),
    "TRL": (TRL, TYPED),
    "OpenAI": (OPENAI, TYPED),
    "OpenRLHF": (OPENRLHF, {"label": {"target": ["Vltava"]}}),
}


@pytest.fixture(params=["list", "frame", "parquet", "jsonl"])
def read(request, tmp_path):
    """Samples of rows, by the way that they are held."""

    def samples(rows):
        if request.param == "parquet":
            pd.DataFrame(rows).to_parquet(tmp_path / "x.parquet")
            return wb.Samples(pd.read_parquet(tmp_path / "x.parquet"))
        if request.param == "jsonl":
            (tmp_path / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            return wb.Samples(pd.read_json(tmp_path / "x.jsonl", lines=True, dtype=False))
        return wb.Samples(pd.DataFrame(rows) if request.param == "frame" else rows)

    return samples


@pytest.mark.parametrize(("text", "columns"), CASES.values(), ids=CASES)
def test_values_keep_their_type(text, columns, read):
    """Dicts, lists, whole numbers, floats, truth values and nothing: in every row of a run."""
    grader = wb.FunctionGrader.from_source(text)
    samples = read([{**row, **columns} for row in ROWS])
    assert grader.validate(samples).ok, grader.validation
    report = grader.run(samples, progress=False)
    assert report.scores[grader.name].tolist() == [0.0, 1.0] * 3, report.errors["error"].tolist()


def test_a_function_under_osmosis_decorator_is_given_text():
    """As upstream; without it the function is a trainer's."""
    body = (
        "def f(solution_str, ground_truth, extra_info=None):\n    return float(type(ground_truth) is str)\n"
    )
    decorated = wb.FunctionGrader.from_source(
        f"from osmosis_ai.utils import osmosis_reward\n@osmosis_reward\n{body}"
    )
    assert (decorated.signature, wb.FunctionGrader.from_source(body).signature) == ("osmosis", "verl")


@pytest.mark.parametrize(("text", "columns"), [CASES["verl's search score"], CASES["verl"], CASES["TRL"]])
def test_exported_files_keep_types(text, columns, tmp_path):
    """A file for verl, called as verl calls it, gives the same scores."""
    grader = wb.FunctionGrader.from_source(text)
    samples = wb.Samples([{**row, **columns} for row in ROWS])
    assert grader.validate(samples).ok
    path = tmp_path / "reward.py"
    wb.export(wb.Suite([grader]), path, "trl")
    names = {"__name__": "exported"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    passed = {name: [value] * len(ROWS) for name, value in columns.items()}
    completions = [[{"role": "assistant", "content": row["completion"]}] for row in ROWS]
    prompts = [[{"role": "user", "content": row["prompt"]}] for row in ROWS]
    assert names["reward_funcs"][0](prompts=prompts, completions=completions, **passed) == [0.0, 1.0] * 3


class TestBatchRelative:
    RANK = """
def rank(completions, **kw):
    n = [len(c[0]['content']) for c in completions]
    return [(max(n) - k) / max(n) for k in n]
"""
    CENTRED = """
def centred(prompts, completions, **kw):
    mean = {p: sum(len(c) for q, c in zip(prompts, completions) if q == p) / prompts.count(p) for p in prompts}
    return [len(c) - mean[p] for p, c in zip(prompts, completions)]
"""
    LABELS = """
def reward_func(queries, prompts, labels):
    return {"rewards": [len(set(queries)) / len(q) for q in queries]}
"""
    ROWS = [{"prompt": f"q{at // 2}", "completion": "a" * (at + 1), "answer": "a"} for at in range(8)]

    @pytest.mark.parametrize("text", [RANK, CENTRED, LABELS])
    def test_it_fails_its_checks_and_is_not_run(self, text):
        """By name, with a way out; no row has the score of a batch of one."""
        grader = wb.FunctionGrader.from_source(text)
        validation = grader.validate()
        assert not validation.ok
        assert (validation.failure.name, "other rows of its batch" in validation.failure.message) == (
            "test_run",
            True,
        )
        report = wb.Suite([grader, wb.Length(minimum=1)]).run(self.ROWS, progress=False)
        grades = report.grades[grader.name]
        assert grades.n_failed == len(self.ROWS)
        assert "other rows of its batch" in grades.errors[0].message
        assert any("other rows of its batch" in note for note in report.notes)
        assert report.grades["length"].n_scored == len(self.ROWS)
        with pytest.raises(wb.errors.NotValidatedError, match="other rows of its batch"):
            wb.export(wb.Suite([grader]), "reward.py", "trl")

    def test_it_is_found_on_real_rows_where_the_mock_rows_lack_a_column(self):
        """A run looks again, at rows of several answers to a prompt."""
        text = "def near(completions, tag, **kw):\n    n = [len(c) for c in completions]\n    return [k / max(n) for k in n]\n"
        grader = wb.FunctionGrader.from_source(text)
        rows = [{**row, "tag": "t"} for row in self.ROWS]
        report = wb.Suite([grader]).run(rows, progress=False)
        assert report.grades[grader.name].n_failed == len(rows)
        assert not grader.validate(wb.Samples(rows)).ok

    @pytest.mark.parametrize(
        "text",
        [
            "import random\ndef f(completions, **kw):\n    return [random.random() for c in completions]\n",
            "seen = []\ndef f(completions, **kw):\n    seen.extend(completions)\n    return [float(len(seen)) for c in completions]\n",
            "def f(completions, answer=None, **kw):\n    return [len(c) / 3 for c in completions]\n",
            "def f(completions, **kw):\n    return [None if len(c) > 3 else 1.0 for c in completions]\n",
            "def f(completions, **kw):\n    assert len(completions) == 1\n    return [1.0]\n",
        ],
        ids=["chance", "state", "plain", "none", "one at a time"],
    )  # fmt: skip
    def test_others_are_not_taken_for_it(self, text):
        """Chance and state differ from call to call; what fails on a batch shows nothing."""
        grader = wb.FunctionGrader.from_source(text)
        assert grader.validate().ok
        report = wb.Suite([grader]).run(self.ROWS, progress=False)
        assert report.grades["f"].n_failed == 0
