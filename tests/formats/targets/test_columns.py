"""Columns that graders read and targets pass or do not, and `reference=`, which names the one of the references."""

import runpy

import pytest

import workbench as wb
from tests.formats.targets.test_targets import TARGETS, called, exported
from workbench.core.errors import FormatError

SOLUTION = wb.FunctionGrader.from_source(
    "import workbench as wb\n\n\nasync def grade(thread):\n    if 'solution' not in thread.metadata:\n        raise wb.Skip('no solution')\n"
    "    return float(thread.completion() == thread.metadata['solution'])\n",
    name="right",
)
NEEDS = wb.FunctionGrader.from_source(
    "async def grade(thread):\n    return float(thread.completion() == thread.metadata['solution'])\n",
    name="needs",
)
VERL = wb.FunctionGrader.from_source(
    "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return float(solution_str == ground_truth)\n",
    name="verl",
)
ROWS = [
    {
        "asked": [{"role": "user", "content": "2+2?"}], "said": [{"role": "assistant", "content": said}],
        "name": "solution", "reference": "4", "columns": {"solution": "4", "level": 1},
    }
    for said in ("4", "5")
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_the_reference_may_have_a_name_of_its_own(target, tmp_path):
    """Rules, functions that read the column, and those that are given a label: all find it, wherever rows have it."""
    graders = [SOLUTION, NEEDS, VERL, wb.ExactMatch()]
    jobs = [
        exported(wb.Suite([grader]), target, tmp_path / f"{at}.py", reference="solution")
        for at, grader in enumerate(graders)
    ]
    for grader, found in zip(graders, called(jobs, ROWS), strict=True):
        assert found["scores"] == [1.0, 0.0], grader.name
    assert "solution" in (tmp_path / "3.py").read_text("utf-8").splitlines()[-1]
    again = wb.load(tmp_path / "0.py")
    assert again[0].source.text == SOLUTION.source.text


@pytest.mark.parametrize("target", TARGETS)
def test_columns_are_told(target, tmp_path):
    """Where a row has the columns that a grader reads; a target that passes none refuses one that it needs."""
    if not TARGETS[target].columns:
        with pytest.raises(FormatError, match="has only its label") as refusal:
            exported(wb.Suite([NEEDS]), target, tmp_path / "r.py")
        assert "'needs'" in str(refusal.value)
        assert "reference='solution'" in str(refusal.value)
        done = wb.export([NEEDS], tmp_path / "r.py", target, on_loss="report", allow_unvalidated=True)
        assert [(loss.grader, loss.field) for loss in done.losses] == [("needs", "column 'solution'")]
        return
    done = wb.export(
        [NEEDS, wb.ExactMatch()], tmp_path / "r.py", target, on_loss="report", allow_unvalidated=True
    )
    told = [note for note in done.notes if note.field == "column 'solution'"]
    assert [note.grader for note in told] == ["needs"]
    assert TARGETS[target].columns in str(told[0])
    done = wb.export([NEEDS], tmp_path / "r.py", target, reference="solution", allow_unvalidated=True)
    assert not [note for note in done.notes if "column" in note.field]


def test_reference_is_for_files_of_code(tmp_path):
    with pytest.raises(ValueError, match="does not apply to letta"):
        wb.export([wb.ExactMatch()], tmp_path / "g.yaml", "letta", reference="solution")
    with pytest.raises(TypeError, match="name of a column"):
        wb.export([wb.ExactMatch()], tmp_path / "g.py", "trl", reference=3)


def test_code_is_not_written_under_another_ending(tmp_path):
    with pytest.raises(FormatError, match=r"trl is not written to \.txt files"):
        wb.export([wb.ExactMatch()], tmp_path / "reward.txt", "trl")


def test_a_named_column_that_is_missing_is_an_error_in_trl(tmp_path):
    """In the file as in `wb.reward`."""
    wb.export([wb.Length(maximum=9)], tmp_path / "r.py", "trl", reference="gold")
    functions = runpy.run_path(str(tmp_path / "r.py"))["reward_funcs"]
    with pytest.raises(ValueError, match="missing column gold; there are answer"):
        functions[0](["q"], ["4"], answer=["4"])
    with (
        wb.reward(wb.Length(maximum=9), reference="gold") as reward,
        pytest.raises(ValueError, match="no column 'gold'"),
    ):
        reward.trl(["q"], ["4"], answer=["4"])
    assert functions[0](["q"], ["4"], gold=["4"]) == [1.0]


def test_the_named_column_goes_along(tmp_path):
    """From a file of one target to that of another."""
    wb.export([NEEDS], tmp_path / "o.py", "openrlhf", reference="solution", allow_unvalidated=True)
    wb.convert(tmp_path / "o.py", tmp_path / "t.py", "together", allow_unvalidated=True)
    assert runpy.run_path(str(tmp_path / "t.py"))["reward"]("4", "4") == 1.0
    wb.convert(tmp_path / "o.py", tmp_path / "g.json", "native", allow_unvalidated=True)


def test_who_is_left_out_of_a_mean_is_said(tmp_path):
    """Evaluators show the reason: a grader that skipped is named in it."""
    suite = wb.Suite([SOLUTION, wb.Length(maximum=9)], combine=wb.combine.Mean())
    wb.export(suite, tmp_path / "p.py", "promptfoo", allow_unvalidated=True)
    found = runpy.run_path(str(tmp_path / "p.py"))["get_assert"]("4", {"prompt": "q", "vars": {}})
    assert (found["score"], found["reason"]) == (1.0, "without right skipped (no solution)")


@pytest.mark.parametrize("graders", [None, 5, lambda: None])
def test_what_is_no_grader_is_said_so(graders, tmp_path):
    with pytest.raises(TypeError, match="expected a grader, an entry"):
        wb.export(graders, tmp_path / "r.py", "trl")
