"""Every shape of the catalogue is read as what it is, or refused by name with a next step."""

from __future__ import annotations

import copy
import math
import warnings

import pytest

import workbench as wb
from tests.data.samples.shapes.catalogue import CATALOGUE, Held
from tests.data.samples.shapes.datasets import DATASETS
from tests.data.samples.shapes.outsiders import OUTSIDERS
from tests.data.samples.shapes.refused_before import REFUSED_BEFORE
from tests.data.samples.shapes.structures import STRUCTURES
from tests.data.samples.shapes.tools import TOOLS
from tests.data.samples.shapes.unseen import UNSEEN
from workbench.core.errors import SamplesError, SamplesWarning
from workbench.data.samples.shapes import first_of, sessions
from workbench.data.samples.shapes.training import turns_of_template

HELD = {**CATALOGUE, **DATASETS, **TOOLS, **UNSEEN, **STRUCTURES, **REFUSED_BEFORE, **OUTSIDERS}


def read(held: Held, folder) -> wb.Samples:
    data = held.data
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[1], bytes):
        path = folder / data[0]
        path.write_bytes(data[1])
        data = path
    else:
        data = copy.deepcopy(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplesWarning)
        return wb.read_samples(data, columns=held.columns, **held.call)


def prompt_of(turns) -> str | None:
    return next((turn.content for turn in reversed(turns) if turn.role == "user"), None)


def found(samples: wb.Samples) -> list[tuple]:
    rows = []
    for at, one in enumerate(samples.read()):
        if at in samples.problems:
            rows.append((None, None, None))
        else:
            turns = one.thread.get_turns()
            rows.append((prompt_of(turns), one.thread.completion(), one.reference))
    return rows


@pytest.mark.parametrize("name", HELD)
def test_a_shape_is_read_right_or_refused(name, tmp_path):
    """Rows, references, groups, chosen sides and old scores are those of the example."""
    held = HELD[name]
    if held.refused:
        with pytest.raises(SamplesError) as caught:
            wb.Contains(expected="x").run(read(held, tmp_path), progress=False)
        text = str(caught.value)
        assert all(word in text for word in held.refused), text
        assert caught.value.hint, text
        return
    samples = read(held, tmp_path)
    rows = found(samples)
    expected = [
        (ours[0] if want[0] is None and "R6" in name else want[0], *want[1:])
        for ours, want in zip(rows, held.rows, strict=True)
    ]
    assert rows == expected
    if held.roles:
        assert [turn.role for turn in samples[0].thread.get_turns()] == held.roles
    if held.groups:
        assert len(set(samples.groups)) == held.groups
    if held.chosen is not None:
        assert [sample.thread.metadata["chosen"] for sample in samples] == held.chosen
    if held.old is not None:
        ours = {
            key: [None if math.isnan(x) else x for x in grades.scores]
            for key, grades in samples.old_grades.items()
        }
        assert ours == held.old
    for word in held.said:
        assert any(word in note for note in samples.notes)


@pytest.mark.parametrize(
    "text", ["[INST]" * 100_000, "### Instruction:\n" * 20_000, "### Instruction: ### Input: " * 20_000]
)
def test_marks_of_a_chat_template_without_a_completion_are_read_once(text):
    """However many there are: none of them begins a turn."""
    assert turns_of_template(text) == []


@pytest.mark.filterwarnings("ignore:read as messages by parent")
def test_ids_of_messages_count_inside_their_conversation():
    """Ids that start anew in every conversation: a row each, with the other fields of its last message."""
    rows = [
        {"conversation_id": chat, "id": at, "parent_id": None if at == 0 else 0, "role": role, "content": f"{chat} {role}", "score": at}
        for chat in "ab"
        for at, role in enumerate(["user", "assistant"])
    ]  # fmt: skip
    samples = wb.read_samples(rows)
    assert [sample.thread.completion() for sample in samples] == ["a assistant", "b assistant"]
    assert list(samples.frame["conversation_id"]) == ["a", "b"]
    assert list(samples.frame["score"]) == [1, 1]


@pytest.mark.parametrize(
    "order", [["better_overall", "better_grammar"], ["better_grammar", "better_overall"]]
)
def test_questions_for_the_better_side_that_disagree_decide_nothing(order):
    answers = {"better_overall": "b", "better_grammar": "a"}
    row = {"prompt": "2+2?", "response_a": "4", "response_b": "5", **{name: answers[name] for name in order}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplesWarning)
        samples = wb.read_samples([row, {**row, "prompt": "3+3?"}])
    assert not samples.frame["chosen"].notna().any()


@pytest.mark.filterwarnings("ignore:names of columns in another language")
@pytest.mark.parametrize("name", ["referencia", "Referenz", "nota", "Note"])
def test_a_name_that_is_often_another_thing_has_no_role_alone(name):
    rows = [{"pregunta": f"{at}?", "respuesta del modelo": f"{at}", name: f"REF-{at}"} for at in range(3)]
    samples = wb.read_samples(rows)
    assert samples.columns.get("reference") is None
    assert list(samples.frame[name]) == ["REF-0", "REF-1", "REF-2"]


def test_a_long_conversation_by_parents_is_read_once(monkeypatch):
    """Each message is looked at a few times, not once for each other one."""
    calls = []
    monkeypatch.setattr(sessions, "first_of", lambda row, *names: calls.append(1) or first_of(row, *names))
    rows = [
        {
            "id": at,
            "parent_id": at - 1 if at else None,
            "role": "assistant" if at % 2 else "user",
            "content": "x",
        }
        for at in range(600)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplesWarning)
        samples = wb.read_samples(rows)
    assert len(samples[0].thread.get_turns()) == 600
    assert len(calls) < 10 * len(rows)
