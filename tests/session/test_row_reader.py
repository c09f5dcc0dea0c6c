"""What the reader is told of a row: every text visible, cut, and fetched whole."""

import json

import pytest

from workbench.grade import Grade
from workbench.samples import Sample
from workbench.session.row_reader import LIMIT, MOST, read_row, whole_text
from workbench.thread import StringThread

CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


def sample(turns=(("user", "hi"), ("assistant", "ho")), metadata=None, reference=None, name="r-1"):
    return Sample(name, StringThread(list(turns), metadata or {}), reference, "")


def test_turns_carry_role_text_and_calls():
    """Each turn has its role, its text and the tool calls made in it."""
    thread = StringThread.from_messages(
        [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": None, "tool_calls": [CALL]}],
        {},
    )
    turns = read_row(Sample("a", thread, None, ""), {})["turns"]
    assert [(turn["role"], turn["text"]) for turn in turns] == [("user", "1+1?"), ("assistant", "")]
    assert turns[1]["calls"] == [{"name": "add", "arguments": '{"a": 1}', "more": 0, "part": "call-1-0"}]


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        ({"function": {"name": "f", "arguments": {"a": 1}}}, "f", '{\n  "a": 1\n}'),
        ({"function": {"name": "f", "arguments": "not json {"}}, "f", "not json {"),
        ({"function": {"name": "f", "arguments": "[" * 100_000}}, "f", "[" * LIMIT),
        ({"function": None}, "?", '{\n  "function": null\n}'),
        ("odd", "?", "odd"),
        ({"function": {"name": "f", "arguments": json.dumps({"k": "v" * 80})}}, "f", None),
    ],
)
def test_calls_of_any_shape_are_shown(call, name, arguments):
    """A call that is not as OpenAI writes it is shown as it is; long arguments are laid out."""
    thread = StringThread.from_messages([{"role": "assistant", "content": "", "tool_calls": [call]}], {})
    shown = read_row(Sample("a", thread, None, ""), {})["turns"][0]["calls"][0]
    assert shown["name"] == name
    assert shown["arguments"] == (arguments or '{\n  "k": "' + "v" * 80 + '"\n}')


def test_documents_of_turns_and_of_metadata_are_numbered_on():
    """Documents in the thread stay where they were said, those of the metadata follow, numbers go on."""
    row = read_row(
        sample(
            [("user", "q"), ("document", "first"), ("assistant", "a")],
            {"documents": ["second", {"text": "third"}], "k": 1},
        ),
        {},
    )
    assert [turn.get("title") for turn in row["turns"]] == [None, "Document 1", None]
    assert [(one["title"], one["text"]) for one in row["documents"]] == [
        ("Document 2", "second"),
        ("Document 3", "third"),
    ]
    assert json.loads(row["metadata"]) == {"k": 1, "documents": "(2 shown above)"}


def test_grades_are_told_in_their_three_states():
    """Scored, failed and skipped stay apart: no failure becomes a number."""
    grades = {
        "a": Grade(0.5, passed=True, reasoning="why", seconds=1.5, metadata={"raw": "answer"}),
        "b": Grade.failed("timeout", "late"),
        "c": Grade.skipped("no tools"),
    }
    scored, failed, skipped = read_row(sample(), grades, label=False)["grades"]
    assert (scored["status"], scored["score"], scored["passed"], scored["raw"]) == (
        "scored",
        0.5,
        True,
        "answer",
    )
    assert (failed["status"], failed["score"], failed["error"]) == ("failed", None, "timeout: late")
    assert (skipped["status"], skipped["score"], skipped["reasoning"]) == ("skipped", None, "no tools")


def test_long_texts_are_cut_and_fetched_whole():
    """A text above the limit says what is left out, under the name that fetches it."""
    long = "x" * (LIMIT + 5)
    grades = {"g": Grade(1.0, reasoning=long, metadata={"raw": long})}
    one = sample([("user", long), ("assistant", "a")], {"documents": [long], "m": long}, long)
    row = read_row(one, grades)
    assert (len(row["turns"][0]["text"]), row["turns"][0]["more"]) == (LIMIT, 5)
    assert row["documents"][0]["more"] == 5
    assert row["cut"].keys() == {"reference", "metadata", "reasoning-0", "raw-0"}
    for part in (*row["cut"], row["turns"][0]["part"], row["documents"][0]["part"]):
        assert len(whole_text(one, grades, part)) >= LIMIT + 5
    assert whole_text(one, grades, "turn-9") == ""


def test_whole_texts_end_at_a_million():
    """More than a million characters are not sent; their number is."""
    text = whole_text(sample([("user", "x" * (MOST + 1_234))]), {}, "turn-0")
    assert text.endswith("x\n… (1,234 more characters)")
    assert len(text) < MOST + 100


def test_hidden_characters_are_made_visible_in_every_text():
    """No text of a row keeps a character that hides or reorders."""
    bad = "a\u202eb\x00"
    one = sample(
        [("ro\u202ele", bad), ("document", bad)], {"documents": [bad], "\u202ekey": bad}, bad, name=bad
    )
    thread = one.thread
    thread._calls = {0: [{"function": {"name": bad, "arguments": bad}}]}
    grades = {bad: Grade(0.5, reasoning=bad, metadata={"raw": bad}), "f": Grade.failed("crash", bad)}
    told = json.dumps(read_row(one, grades), ensure_ascii=False)
    assert "\u202e" not in told
    assert "U+202E⟩b⟨U+0000" in told
    assert "\u202e" not in whole_text(one, grades, "turn-0")
    assert "⟨U+202E⟩" in told


def test_payload_is_plain_json_whatever_the_metadata_hold():
    """Metadata that JSON does not know is shown as text."""
    one = sample(metadata={"a": {1, 2}, "b": float("nan")}, reference={"x": [1]})
    row = read_row(one, {})
    assert json.loads(row["reference"]) == {"x": [1]}
    assert "{1, 2}" in row["metadata"]
    json.dumps(row)
