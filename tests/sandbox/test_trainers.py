"""Trainers' reward functions in the sandbox: what is said where a row has no reference."""

import pytest

import workbench as wb

VERL = "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return float(ground_truth in solution_str)\n"
TOGETHER = "async def reward(prediction, target):\n    return float(target in prediction)\n"
OPENRLHF = "def reward_func(queries, prompts, labels):\n    return [float(labels[0] in queries[0])]\n"


@pytest.mark.parametrize(
    ("text", "signature"), [(VERL, "verl"), (TOGETHER, "together"), (OPENRLHF, "openrlhf")]
)
def test_a_missing_reference_is_blamed(text, signature):
    """The column is named, not only what the function made of None; with a reference, an error is its own."""
    grader = wb.FunctionGrader.from_source(text, signature=signature, name="f")
    grader.validate().raise_for_failure()
    without, wrong, right = wb.Samples(
        [
            {"prompt": "p", "completion": "4", **one}
            for one in ({"solution": "4"}, {"answer": 4}, {"answer": "4"})
        ]
    )
    message = grader(without).error.message
    assert message.startswith("no reference: ")
    assert "TypeError" in message
    assert "line 2" in message
    assert "no reference" not in grader(wrong).error.message
    assert grader(right).score == 1.0


def test_other_failures_are_their_own():
    """Memory, arithmetic, and functions that take no reference: kind and line stay."""
    body = "def compute_score(data_source, solution_str, ground_truth):\n    return {}\n"
    (row,) = wb.Samples([{"prompt": "p", "completion": "4"}])
    for expression, kind in (("1 / 0", "runtime"), ("len(bytearray(10**12))", "memory")):
        grader = wb.FunctionGrader.from_source(body.format(expression), signature="verl", name="f")
        error = grader(row).error
        assert str(error.kind) == kind
        assert "no reference" not in error.message
        assert "line 2" in error.message
    text = "def compute_score(data_source, solution_str):\n    return float('abc')\n"
    error = wb.FunctionGrader.from_source(text, signature="verl", name="f")(row).error
    assert "no reference" not in error.message


MADE_UP = [
    ("def f(completions, ground_truth, **kwargs):\n    return [float(c == g) for c, g in zip(completions, ground_truth)]", ["ground_truth"]),
    ("def f(prompts, completions, answer, *, level):\n    return [float(c == a) for c, a in zip(completions, answer)]", ["answer", "level"]),
    ("def f(completions, **kwargs):\n    return [float(c == a) for c, a in zip(completions, kwargs['solution'])]", ["solution"]),
    ("def f(completions, level=None, **kwargs):\n    return [1.0 for c in completions]", []),
    ("def grade(sample, item):\n    return float(item['river'] == sample['output_text'])", ["river"]),
    ("def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return float(extra_info['split'] == '4')", ["split"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns"), MADE_UP)
def test_the_mock_row_has_the_columns_that_are_required(text, columns):
    """Their value is the mock row's reference, and the check's line says which were made up."""
    validation = wb.FunctionGrader.from_source(text).validate()
    message = validation.checks[-1].message
    assert validation.ok
    assert message.endswith("scores 1.0")
    assert [name for name in ("ground_truth", "answer", "level", "solution", "river", "split") if f"{name}='4'" in message] == sorted(
        columns, key=message.index
    )  # fmt: skip
    assert ("(generated)" in message) == bool(columns)


def test_a_made_up_column_is_named_where_it_does_not_fit():
    """The author sees what the function was given; rows of their own have the columns as they are."""
    text = "def f(completions, sizes):\n    return [float(size + 1) for size in sizes]"
    grader = wb.FunctionGrader.from_source(text)
    failure = grader.validate().failure
    assert failure.name == "test_run"
    assert "sizes='4' (generated)" in failure.message
    samples = wb.read_samples([{"prompt": "p", "completion": "c", "sizes": 3}])
    assert grader.validate(samples).checks[-1].message == "test thread 1 scores 4.0"


@pytest.mark.parametrize("parameters", ["solution_str, ground_truth, strict=False", "solution_str, ground_truth", "data_source, solution_str, ground_truth, extra_info=None"])  # fmt: skip
@pytest.mark.parametrize("score", [1.0, True, 1])
def test_a_dict_is_its_score(parameters, score):
    """Verl's usual result: the score is `score`, the rest is metadata of the grade."""
    text = f"def compute_score({parameters}):\n    return {{'score': {score}, 'acc': True, 'pred': solution_str}}"
    grader = wb.FunctionGrader.from_source(text)
    assert grader.validate().ok
    grade = grader(wb.StringThread([("user", "1+1"), ("assistant", "2")]))
    assert (grade.score, dict(grade.metadata)) == (1.0, {"acc": True, "pred": "2"})


@pytest.mark.parametrize("value", ["{'acc': 1.0}", "{'score': 'x'}", "{'score': float('nan')}", "{}"])
def test_a_dict_without_a_finite_score_is_a_failed_grade(value):
    """It has no score, and is never 0.0."""
    grader = wb.FunctionGrader.from_source(
        f"def compute_score(solution_str, ground_truth, k=1):\n    return {value}"
    )
    grade = grader(wb.StringThread([("user", "1+1"), ("assistant", "2")]))
    assert grade.score is None
    assert grade.error is not None


def test_only_the_decorator_makes_it_osmosis():
    """As in verl's functions of one data set; with its decorator it is Osmosis'."""
    for text, signature in [
        ("def compute_score(solution_str, ground_truth, method='strict', score=1.0): return 1.0", "verl"),
        ("def f(solution_str, ground_truth, extra_info=None): return 1.0", "verl"),
        ("@osmosis_reward\ndef f(solution_str, ground_truth, strict=1): return 1.0", "osmosis"),
    ]:
        assert wb.FunctionGrader.from_source(text).signature == signature
