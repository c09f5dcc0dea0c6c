"""Per-turn grading."""

import numpy as np
import pytest

import workbench as wb
from tests.graders.code_examples import said
from workbench.core.errors import FormatError
from workbench.graders.combine.combined import PerTurn, turns_of
from workbench.graders.structure import ToolCallMatch
from workbench.graders.text import Contains, ExactMatch
from workbench.graders.text.openai_text import StringCheck
from workbench.judges import ScriptedClient
from workbench.judges.protocol import NoServerError

CALL = {"id": "c1", "function": {"name": "search", "arguments": "{}"}}


def talk(references, *answers, **metadata):
    """A sample in which the user asks once for each answer."""
    turns = [turn for answer in answers for turn in (("user", "q"), ("assistant", answer))]
    thread = wb.StringThread([("system", "s"), *turns], {"expected": references, **metadata})
    return wb.Sample(id="0", thread=thread, reference=references, group="0")


def test_one_reference_a_turn():
    """The score is the mean over turns; the reason counts those at 1.0, the details hold each."""
    grade = PerTurn(grader=Contains())(talk(["a", "b"], "a", "x"))
    assert (grade.score, grade.passed) == (0.5, False)
    assert grade.reasoning.startswith("1/2 passed: ")
    assert [one["score"] for one in grade.metadata["per_turn_grades"]] == [1.0, 0.0]
    assert PerTurn(grader=Contains())(talk(["a", "b"], "a", "b")).reasoning.startswith("2/2 passed")


@pytest.mark.parametrize("references", [["a"], ["a", "b", "c"], []])
def test_references_must_fit_the_turns(references):
    """A list of another length is a failed grade of kind sample."""
    grade = PerTurn(grader=Contains())(talk(references, "a", "b"))
    assert grade.error.kind == "sample"
    assert "2 turns" in grade.error.message


def test_one_reference_is_graded_whole():
    """Letta grades by turn only where the ground truth is a list; any other is the plain grader's."""
    grade = PerTurn(grader=Contains())(talk("b", "a", "b"))
    assert (grade.score, "per_turn_grades" in grade.metadata) == (1.0, False)
    assert PerTurn(grader=Contains())(talk(None, "a", "b")).error.kind == "sample"


def test_a_turn_without_a_score_leaves_the_whole_unscored():
    """A failure in one turn fails the whole and says which; a skip skips it."""
    grade = PerTurn(grader=ExactMatch())(talk(["a", None], "a", "b"))
    assert (grade.score, grade.error.kind) == (None, "sample")
    assert grade.error.message.startswith("turn 2 of 2: ")

    class Skips(wb.Grader):
        async def grade(self, sample):
            return wb.Grade.skipped("not mine")

    assert PerTurn(grader=Skips())(talk(["a"], "a")).reasoning == "turn 1 of 1 was skipped: not mine"


def test_each_turn_sees_its_own_reference_in_the_metadata():
    """A template asks for the turn's reference under the column's name; other metadata stays."""
    grader = StringCheck(input="{{item.expected}}{{item.k}}", reference="{{item.reference}}v")
    assert PerTurn(grader=grader)(talk(["a", "b"], "x", "y", k="v")).score == 1.0


@pytest.mark.parametrize("column", ["expected_output", "Expected Output", "referenceResponse"])
def test_the_reference_in_the_metadata_is_the_turns_however_its_column_is_written(column):
    """Under each name by which rows are read."""
    references = ["a", "b"]
    thread = talk(references, "a", "b").thread
    thread.metadata = {column: references, "k": references}
    seen = []

    class Looks(wb.Grader):
        async def grade(self, sample):
            seen.append(sample.thread.metadata)
            return wb.Grade(1.0)

    PerTurn(grader=Looks())(wb.Sample(id="0", thread=thread, reference=references, group="0"))
    assert seen == [{column: one, "k": references} for one in references]


def test_turns_keep_their_tool_calls():
    """A call belongs to its turn, and so does its answer."""
    thread = wb.StringThread.from_messages(
        [
            {"role": "user", "content": "1"},
            {"role": "assistant", "content": "a"},
            {"role": "user", "content": "2"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "content": "found", "tool_call_id": "c1"},
        ]
    )
    first, second = turns_of(thread)
    assert (first.tool_calls(), second.tool_calls(), second.turn_answers(2)) == ([], [CALL], "c1")
    sample = wb.Sample(id="0", thread=thread, reference=["", ""], group="0")
    grade = PerTurn(grader=ToolCallMatch(expected=["search"]))(sample)
    assert [one["score"] for one in grade.metadata["per_turn_grades"]] == [0.0, 1.0]
    output = Contains(expected="found", extractor={"name": "tool_output", "tool_name": "search"})
    assert PerTurn(grader=output)(sample).score == 0.5


def test_threads_without_a_user_are_one_turn():
    """Where nobody asks, the whole thread is a turn; an empty thread has none."""
    assert len(turns_of(wb.StringThread([("assistant", "a")]))) == 1
    assert turns_of(wb.StringThread()) == []
    assert PerTurn(grader=Contains())(wb.StringThread()).error.kind == "sample"


def test_only_a_grader_grades_turns():
    """The inner grader is a grader; its name is the default name."""
    assert PerTurn(grader=Contains(name="c")).name == "c"
    with pytest.raises(FormatError, match="must be a grader"):
        PerTurn(grader="contains")
    assert PerTurn(grader=Contains())(said("x")).error is not None


def test_a_dead_server_is_asked_for_three_rows():
    """A judge inside ends the run, and sets how many rows are under way, as it does alone."""
    client = ScriptedClient(NoServerError("nothing answers"))
    client.concurrency = 1
    judge = PerTurn(grader=wb.BinaryJudge(criteria="c", client=client))
    rows = [{"prompt": "q", "completion": str(at), "reference": ["r"]} for at in range(50)]
    errors = judge.run(rows, progress=False).errors
    assert (len(errors), set(errors["error_kind"])) == (50, {"judge_unreachable"})
    assert (judge.at_once, len(client.calls)) == (1, 3)


def test_arrays_in_the_metadata_are_left_alone():
    """A column that has no one truth value beside the references fails nothing."""
    thread = wb.StringThread(
        [("user", "q"), ("assistant", "a")], {"reference": ["a"], "vector": np.array([1.0, 2.0])}
    )
    assert PerTurn(grader=ExactMatch())(thread).score == 1.0
