"""Columns that graders read and trainers do not pass: named, refused, or said after the first rows."""

import asyncio
import runpy
import warnings
from types import SimpleNamespace

import pytest

import workbench as wb
from tests.deploy.reward.graders import proven
from workbench.deploy.reward.stats import FIRST_ROWS
from workbench.sandbox.host.worker_pool import worker_pool

SKIPS = """
import workbench as wb


async def grade(thread):
    solution = (thread.metadata or {}).get("solution", "")
    if not solution:
        raise wb.Skip("no solution")
    return float(thread.completion() == solution)
"""
READS = "async def grade(thread):\n    return float(thread.completion() == (thread.metadata or {}).get('solution'))\n"


@pytest.fixture(scope="module")
def reads():
    return proven(READS, "reads")


@pytest.fixture(scope="module")
def skips():
    return proven(SKIPS, "skips")


@pytest.fixture(autouse=True, scope="module")
def _closed():
    yield
    worker_pool().close()


def test_the_label_has_the_name_that_was_given(reads):
    """What trainers pass as the label is the column that `reference=` names, for functions and rules alike."""
    for grader in (reads, wb.ExactMatch()):
        with wb.reward(grader, reference="solution") as reward:
            assert [reward.verl("d", said, "4") for said in ("4", "5")] == [1.0, 0.0]
            assert reward.verl("d", "5", None, {"solution": "5"}) == 1.0
            found = reward.openrlhf(["q4", "q5"], ["q", "q"], ["4", "4"])
            assert [float(one) for one in found["rewards"]] == [1.0, 0.0]
            assert reward(["q", "q"], ["4", "5"], solution=["4", "4"]) == [1.0, 0.0]


def test_columns_of_its_own_are_not_doubled():
    """Where rows have columns, graders are given these, as in a run: the reference is no column of another name."""
    text = "async def grade(thread):\n    return float((thread.metadata or {}).get('answer') == '4')\n"
    grader, rows = proven(text, "usual"), [{"prompt": "q", "completion": "4", "gold": "4"}]
    report = grader.run(wb.Samples(rows, columns={"reference": "gold"}), progress=False)
    with wb.reward(grader, reference="gold") as reward:
        found = reward(["q"], ["4"], gold=["4"])
    assert found == report.scores["usual"].tolist() == [0.0]


def test_slime_and_verifiers(reads):
    async def scores():
        sample = SimpleNamespace(prompt="q", response="4", label="4", metadata={"level": 1})
        task = SimpleNamespace(solution="4", idx=0, prompt_text="q")
        trace = SimpleNamespace(branches=[], last_reply="4", root_reply=None)
        return await reward.slime(None, sample), await reward.verifiers(task, trace)

    with wb.reward(reads, reference="solution") as reward:
        assert asyncio.run(scores()) == (1.0, 1.0)


def test_a_trainer_that_never_passes_the_column_is_warned_of(reads):
    """The label alone is there: the grader, its column and the way out are named."""
    with wb.reward([reads, wb.ExactMatch()], combine=wb.combine.Mean()) as reward:
        with pytest.warns(RuntimeWarning, match=r"'reads' reads the column 'solution'.*reference='solution'"):
            assert callable(reward.openrlhf)
        assert callable(reward.verl)
    with wb.reward(reads, reference="solution") as reward:
        assert callable(reward.openrlhf)


def test_a_grader_without_any_score_is_said_once(skips):
    """After the first rows: how many, why, and which column is missing; others of the suite are not blamed."""
    suite = wb.Suite([wb.Entry(skips), wb.Length(maximum=3)], combine=wb.combine.Mean())
    with wb.reward(suite) as reward:
        rows = [f"{at}" for at in range(FIRST_ROWS)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert reward.verl("d", "4", "4") == 1.0  # nothing is said of a row or two
        message = r"'skips'.*33 rows \(33 skipped\).*no solution"
        with pytest.warns(RuntimeWarning, match=message) as said:
            reward(rows, rows)
        assert len(said) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reward(rows, rows)


def test_the_missing_column_is_named(skips):
    message = r"reads the column 'solution'.*passes data_source, .*reference, .*: reference='solution'"
    with wb.reward(skips, on_error=0.0) as reward:
        rows = [f"{at}" for at in range(FIRST_ROWS - 1)]
        reward(rows, rows, data_source=rows, reference=rows)
        with pytest.warns(RuntimeWarning, match=message):
            reward.verl("d", "4", "4")


def test_the_columns_of_the_data_are_named(reads):
    """Where the trainer passes columns, no label stands for the one that is missing."""
    text = "import workbench as wb\n\n\nasync def grade(thread):\n    if not (thread.metadata or {}).get('label'):\n        raise wb.Skip('x')\n    return 1.0\n"
    rows = ["4"] * FIRST_ROWS
    with (
        wb.reward(proven(text, "label")) as reward,
        pytest.warns(RuntimeWarning, match="passes solution: name the column so"),
    ):
        reward(rows, rows, solution=rows)


def test_a_new_count_warns_anew(skips):
    """What was graded to try the workers out is forgotten with its counts."""
    rows = ["4"] * FIRST_ROWS
    with wb.reward(skips) as reward:
        assert reward(["q"], ["4"], solution=["4"]) == [1.0]
        reward.reset()
        assert reward.stats.calls == 0
        with pytest.warns(RuntimeWarning, match="'skips' has given no score"):
            reward(rows, rows)


def test_what_cannot_be_sent_is_left_out(reads):
    """Pictures and other objects in a column that no grader needs cost nothing; a reference of that kind fails its row."""
    with wb.reward(reads) as reward:
        given = {
            "prompts": ["q"] * 2,
            "completions": ["4"] * 2,
            "solution": ["4"] * 2,
            "image": [object()] * 2,
        }
        with pytest.warns(RuntimeWarning, match="column 'image' contains") as said:
            assert reward.trl(**given) == [1.0, 1.0]
        assert len(said) == 1
        assert reward.trl(**given) == [1.0, 1.0]  # it is said once
        assert reward.trl(prompts=["q"], completions=["4"], solution=["4"], answer=[object()]) == [None]


def test_the_label_is_what_the_named_column_holds(reads, tmp_path):
    """Whatever else stands there under that name, or nothing: in `wb.reward` as in the exported file."""
    wb.export(reads, tmp_path / "f.py", "verl", reference="solution")
    compute_score = runpy.run_path(str(tmp_path / "f.py"))["compute_score"]
    with wb.reward(reads, reference="solution") as reward:
        for function in (reward.verl, compute_score):
            for own in ({"solution": "worked out at length #### 4"}, {"solution": None}, {}):
                assert function("d", "4", "4", own) == 1.0


def test_nothing_in_a_column_hides_no_label():
    """Tables fill what is missing with None; a column of the row's own that holds something stays."""
    text = "async def grade(thread):\n    return float((thread.metadata or {}).get('answer') == '4')\n"
    with wb.reward(proven(text, "usual")) as reward:
        assert reward.verl("d", "x", "4", {"answer": None}) == 1.0
        assert reward.verl("d", "x", "5", {"answer": "4"}) == 1.0


def test_a_column_that_no_row_has_is_said_though_there_are_scores(reads):
    """A grader that gives 0 without its column fails in silence otherwise."""
    with wb.reward(reads) as reward:
        for _ in range(FIRST_ROWS - 1):
            reward.verl("d", "4", "4", {})
        with pytest.warns(RuntimeWarning, match=r"'reads' has had 32 rows; it reads the column 'solution'"):
            reward.verl("d", "4", "4", {})


def test_rows_that_cannot_be_read_accuse_no_column(reads):
    with (
        wb.reward(reads) as reward,
        pytest.warns(RuntimeWarning, match=r"32 failed.*the completion is None") as said,
    ):
        reward.trl(prompts=["q"] * FIRST_ROWS, completions=[None] * FIRST_ROWS, solution=["4"] * FIRST_ROWS)
    assert "reads the column" not in str(said[0].message)


@pytest.mark.parametrize("reference", [5, None, ["solution"]])
def test_the_columns_name_is_text(reads, reference):
    with pytest.raises(TypeError, match="name of a column"):
        wb.reward(reads, reference=reference)
