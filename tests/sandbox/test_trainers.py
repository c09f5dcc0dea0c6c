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
