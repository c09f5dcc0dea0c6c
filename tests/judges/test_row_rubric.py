"""The rubric of a row: every form of its column, every criterion answered, points of either sign."""

import json
import re

import numpy as np
import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from tests.judges.test_injection import ATTACKS
from workbench.core.errors import FormatError
from workbench.graders.base import from_spec
from workbench.judges import OpenAIClient
from workbench.judges.row_criteria import RubricError, read_criteria

HEALTH = [
    {"criterion": "Advises to call a doctor", "points": 7, "tags": ["level:example", "axis:accuracy"]},
    {"criterion": "Names a dose", "points": 3, "tags": ["axis:completeness"]},
    {"criterion": "Claims to be a doctor", "points": -5, "tags": ["axis:accuracy"]},
]
TREE = {
    "id": "root",
    "requirements": "The paper is reproduced",
    "weight": 1,
    "sub_tasks": [
        {"id": "a", "requirements": "Data", "weight": 3, "sub_tasks": [
            {"id": "a1", "requirements": "Data are loaded", "weight": 1, "sub_tasks": []},
            {"id": "a2", "requirements": "Data are split", "weight": 2, "sub_tasks": None},
        ]},
        {"id": "b", "requirements": "The table is printed", "weight": 1, "sub_tasks": []},
    ],
}  # fmt: skip


def row(rubric=HEALTH, **metadata):
    thread = wb.StringThread(
        [("user", "My head hurts"), ("assistant", "Call a doctor.")], {"rubrics": rubric, **metadata}
    )
    return wb.Sample("1", thread, None, "1")


def verdicts(*met, start=1):
    return json.dumps(
        {"criteria": [{"number": at, "reason": f"r{at}", "met": one} for at, one in enumerate(met, start)]}
    )


def graded(*met, rubric=HEALTH, **settings):
    return wb.RowRubric(client=wb.ScriptedClient(verdicts(*met)), **settings)(row(rubric))


@pytest.mark.parametrize(
    ("met", "score"),
    [
        ((True, True, False), 1.0),
        ((True, False, True), 0.2),
        ((False, False, True), 0.0),
        ((False, True, False), 0.3),
    ],
)
def test_score_is_earned_over_possible(met, score):
    """Faults are subtracted, and possible points are those above 0; below 0 the score is clipped."""
    grade = graded(*met)
    assert grade.score == pytest.approx(score)
    assert grade.metadata["possible"] == 10
    assert [record["met"] for record in grade.metadata["criteria"]] == list(met)
    assert grade.metadata["criteria"][0]["tags"] == ["level:example", "axis:accuracy"]
    assert "+7 met: Advises to call a doctor: r1" in grade.reasoning or not met[0]


@pytest.mark.parametrize(
    ("clip", "score"), [(None, -0.5), ((0, 1), 0.0), ((-0.25, None), -0.25), ((None, 1), -0.5)]
)
def test_clipping_is_declared(clip, score):
    """Without it a score may be below 0; it survives the spec."""
    assert graded(False, False, True, clip=clip).score == pytest.approx(score)
    judge = wb.RowRubric(clip=clip)
    assert from_spec(json.loads(json.dumps(judge.spec()))) == judge


@pytest.mark.parametrize("clip", [(1, 0), 3, ("a", 1), (0,), (float("nan"), 1)])
def test_a_clip_that_is_none_is_refused(clip):
    """Two numbers in order, either may be missing."""
    with pytest.raises(FormatError, match="clip"):
        wb.RowRubric(clip=clip)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (HEALTH, [7, 3, -5]),
        (json.dumps(HEALTH), [7, 3, -5]),
        ({"rubrics": HEALTH}, [7, 3, -5]),
        (np.array(HEALTH, dtype=object), [7, 3, -5]),
        (["is short", "is polite"], [1, 1]),
        ("- is short\n* is polite\n3. rhymes\n", [1, 1, 1]),
        ("is short", [1]),
        ({"is short": 2, "is rude": -1.5}, [2, -1.5]),
        ([{"title": "T", "description": "is short", "weight": "4"}], [4]),
        ({"criterion": "is short", "points": 2}, [2]),
        ([{"criterion": "is short", "points": None, "weight": 2}], [2]),
        (TREE, [0.25, 0.5, 0.25]),
        ([{"requirements": "x", "weight": 1, "sub_tasks": TREE["sub_tasks"]}], [0.25, 0.5, 0.25]),
    ],
)  # fmt: skip
def test_every_form_of_a_rubric_is_read(cell, expected):
    """Lists, objects, trees, JSON text and lines."""
    assert [criterion.points for criterion in read_criteria(cell)] == pytest.approx(expected)


def test_a_tree_gives_leaves_with_their_parents():
    """The judge reads where a leaf belongs; ids are its names."""
    criteria = read_criteria(TREE)
    assert [criterion.name for criterion in criteria] == ["a1", "a2", "b"]
    assert criteria[1].shown == "Data are split (part of: The paper is reproduced > Data)"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ([], "empty"),
        ([{"points": 3}], "criterion 1 has no text"),
        ([{"criterion": "x", "points": "many"}], "points of criterion 1"),
        ([{"criterion": "x", "points": float("nan")}], "points of criterion 1"),
        ([{"criterion": "x", "points": True}], "points of criterion 1"),
        ([{"criterion": "is rude", "points": -1}], "above 0"),
        (["x", ""], "criterion 2 has no text"),
        (["x", 3], "criterion 2 must be a text"),
        ("[1, 2", "JSON"),
        ("first line\n- second", "first line"),
        (3, "must be a list"),
        ({"requirements": "r", "sub_tasks": [{"requirements": "x", "weight": 0}]}, "no part of 'r'"),
        ({"requirements": "r", "sub_tasks": [
            {"requirements": "x", "weight": 1},
            {"requirements": "y", "weight": -1, "sub_tasks": [{"requirements": "z", "weight": 1}]},
        ]}, "weight below 0 and parts"),
        ([{"criterion": "x", "label": "yes"}], "label of criterion 1"),
        (["x"] * 1001, "1,001 criteria"),
    ],
)  # fmt: skip
def test_what_is_not_a_rubric_is_refused_by_its_place(cell, words):
    """The row fails as sample, and the message has the criterion and what was found."""
    with pytest.raises(RubricError, match=words):
        read_criteria(cell)
    grade = graded(True, rubric=cell)
    assert grade.error.kind == "sample"
    assert "rubric" in grade.error.message


def test_a_row_without_a_rubric_fails():
    """The columns that exist are listed."""
    grade = wb.RowRubric("criteria", client=wb.ScriptedClient("x"))(row(topic="t"))
    assert grade.error.kind == "sample"
    assert "'criteria'" in grade.error.message
    assert "rubrics, topic" in grade.error.message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (verdicts(True, True), r"no verdict on criterion 3 of 3 \('Claims to be a doctor'\)"),
        (verdicts(True), r"no verdict on criterion 2 of 3 \('Names a dose'\), and on 1 more"),
        (verdicts(True, True, True, True), "no criterion 4, but criteria 1 to 3"),
        (
            json.dumps({"criteria": [{"number": 1, "reason": "", "met": True}] * 3}),
            "criterion 1 has two verdicts",
        ),
        (
            json.dumps({"criteria": [{"number": 2, "reason": "", "met": "maybe"}]}),
            "criterion 2 must be true or false",
        ),
        (json.dumps({"criteria": [{"met": True}]}), "needs the number"),
        ('{"criteria": []}', "must be a list of verdicts"),
        ("I would not know", "no JSON object with 'criteria'"),
    ],
)
def test_a_criterion_without_a_verdict_fails_the_row_by_name(answer, words):
    """After one repair request, which repeats the reason."""
    client = wb.ScriptedClient(answer)
    grade = wb.RowRubric(client=client)(row())
    assert (grade.score, grade.error.kind) == (None, "judge_parse")
    assert re.search(words, grade.error.message), grade.error.message
    assert len(client.calls) == 2
    assert "could not be read" in client.calls[1][0][-1]["content"]


def test_an_omitted_criterion_is_asked_for_once_more():
    """The repaired reply counts."""
    client = wb.ScriptedClient([verdicts(True, True), verdicts(True, False, False)])
    assert wb.RowRubric(client=client)(row()).score == pytest.approx(0.7)


def by_text(**broken):
    """A model that meets criteria by their text, and breaks on some."""

    def answer(messages):
        text = messages[-1]["content"] if len(messages) == 2 else messages[1]["content"]
        for words, reply in broken.items():
            if words in text.split("CRITERIA")[1]:
                return reply
        return verdicts("doctor" in text.split("CRITERIA")[1])

    return answer


def test_one_request_per_criterion():
    """Each request has one criterion; the grade is the same sum."""
    client = wb.ScriptedClient(by_text())
    judge = wb.RowRubric(requests="each", client=client)
    assert len(judge.questions(row())) == 3
    grade = judge(row())
    assert grade.score == pytest.approx(0.2)
    assert len(client.calls) == 3
    assert all("\n2. " not in messages[-1]["content"] for messages, _ in client.calls)


@pytest.mark.parametrize("reply", ["no idea", '{"criteria": [{"number": 2, "reason": "", "met": true}]}'])
def test_one_unreadable_request_fails_the_row_by_name(reply):
    """The message begins with the criterion."""
    grade = wb.RowRubric(requests="each", client=wb.ScriptedClient(by_text(dose=reply)))(row())
    assert grade.error.kind == "judge_parse"
    assert grade.error.message.startswith("criterion 2 of 3 ('Names a dose'): ")


def test_points_and_labels_are_not_shown():
    """The judge decides whether a criterion is met, without its points or an annotator's verdict."""
    rubric = [{"criterion": "is short", "points": 8125, "label": True, "tags": ["axis:x"]}]
    text = json.dumps(wb.RowRubric().preview(row(rubric)))
    assert "is short" in text
    assert not any(hidden in text for hidden in ("8125", "axis:x", "label"))


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)
def test_neither_rubric_nor_conversation_leaves_its_place(text):
    """A criterion with a closing tag does not end the completion, and each text is shown once."""
    turns = [("user", "Q1"), ("assistant", text), ("user", text), ("assistant", text)]
    thread = wb.StringThread(turns, {"rubrics": [text, "is short"]})
    content = wb.RowRubric().preview(thread)[-1]["content"]
    for tag in ("context", "question", "completion"):
        inside = re.findall(rf"<{tag}((?:-[0-9a-f]{{8}})?)>\n(.*?)\n</{tag}\1>", content, re.DOTALL)
        assert len(inside) == 1
        assert text in inside[0][1]
    shown = "\n   ".join(text.strip().splitlines())
    assert f"1. {shown}\n2. is short" in content


def test_a_threshold_gives_a_verdict():
    """Without one there is none."""
    assert graded(True, False, False, pass_threshold=0.7).passed is True
    assert graded(False, True, False, pass_threshold=0.7).passed is False
    assert graded(True, True, False).passed is None


def test_a_server_with_faults(monkeypatch):
    """Over HTTP: a 500 and a cut reply fail their rows by kind; the others have scores, tokens and the server's replies."""
    rows = [
        {"prompt": f"q{at}", "completion": f"row {at}.", "rubrics": json.dumps(HEALTH)} for at in range(4)
    ]

    def answer(_path, body, _headers):
        text = body["messages"][1]["content"]
        if "row 1." in text:
            return 400, {}, {"error": {"message": "the prompt is not allowed"}}
        if "row 2." in text:
            return 200, {}, completion(verdicts(True, True))
        return 200, {}, completion(verdicts(True, True, "row 3." in text))

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with server(answer) as (address, _):
        judge = wb.RowRubric(model="m", client=OpenAIClient(address, max_retries=0))
        report = judge.run(rows, progress=False)
    assert list(report.scores["row-rubric"].round(3).fillna(-1)) == [1.0, -1, -1, 0.5]
    kinds = dict(zip(report.errors["row"], report.errors["error_kind"], strict=True))
    assert kinds[2] == "judge_parse"
    assert kinds[1].startswith("judge")
    assert "criterion 3 of 3" in report.errors.set_index("row").loc[2, "error"]
