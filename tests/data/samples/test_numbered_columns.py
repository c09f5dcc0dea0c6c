"""Completions in several columns, rejected ones alone, and prompts in a chat template."""

import pytest

import workbench as wb
from workbench.core.errors import SamplesError

Q = "Which bird sings at night?"


def completions(row, **settings):
    return wb.Samples([row], **settings).completions()


@pytest.mark.parametrize(
    "names",
    [("response_1", "response_2", "response_3"), ("Answer A", "Answer B", "Answer C"), ("output0", "output1", "output2"), ("candidate_1", "candidate_2")],
)  # fmt: skip
def test_columns_of_one_stem_are_completions_of_one_prompt(names):
    """By number or letter, in one group."""
    samples = wb.Samples([{"prompt": Q, **{name: f"text of {name}" for name in names}}])
    assert samples.completions() == [f"text of {name}" for name in names]
    assert len(set(samples.groups)) == 1
    assert any(repr(names[0]) in note for note in samples.notes)


def test_numbers_beside_them_go_along():
    """A missing completion takes its number with it."""
    row = {
        "prompt": Q,
        "response_1": "a b",
        "response_2": None,
        "response_3": "c d",
        "score_1": 1.0,
        "score_2": 0.5,
        "score_3": 0.0,
    }
    samples = wb.Samples([row, {**row, "response_2": "x y"}])
    assert samples.completions() == ["a b", "c d", "a b", "x y", "c d"]
    assert samples.old_grades["score"].scores.tolist() == [1.0, 0.0, 1.0, 0.5, 0.0]


@pytest.mark.parametrize("right", ["a", "B", "answer_c", "option a"])
@pytest.mark.parametrize("name", ["correct", "answer", "label", "correct_answer"])
def test_options_of_a_question_are_not_completions(name, right):
    """If a column names the right one."""
    row = {"question": Q, "answer_a": "x y", "answer_b": "y z", "answer_c": "z x", name: right}
    with pytest.raises(SamplesError, match="completion"):
        wb.Contains(expected="x").run([row], progress=False)


def test_a_gap_or_another_column_of_completions_leaves_them_columns():
    """Nothing is guessed."""
    assert completions(
        {"prompt": Q, "response_1": "a", "response_2": "b", "response_3": "c", "output": "o"}
    ) == ["o"]
    with pytest.raises(SamplesError, match="completion"):
        wb.Contains(expected="x").run(
            [{"prompt": Q, "response_1": "a b", "response_3": "c d", "response_4": "e f"}], progress=False
        )


@pytest.mark.parametrize("name", ["rejected", "rejected_response", "rejected_message"])
def test_a_rejected_completion_is_not_dropped(name):
    """Next to a completion, or to a conversation that ends with the chosen one."""
    turns = [{"role": "user", "content": Q}, {"role": "assistant", "content": "The nightingale."}]
    for row in ({"prompt": Q, "completion": "The nightingale."}, {"messages": turns}):
        samples = wb.Samples([{**row, name: "The stork."}])
        assert samples.completions() == ["The nightingale.", "The stork."]
        assert [sample.thread.metadata["chosen"] for sample in samples] == [True, False]
        assert len(set(samples.groups)) == 1


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        (f"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n{Q}<|im_end|>\n<|im_start|>assistant\n", ["system", "user"]),
        (f"<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n{Q}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", ["user"]),
        (f"<bos><start_of_turn>user\n{Q}<end_of_turn>\n<start_of_turn>model\n", ["user"]),
    ],
)  # fmt: skip
def test_a_prompt_in_a_chat_template_is_its_turns(text, roles):
    """Without the marks, and without the empty turn at its end."""
    turns = wb.Samples([{"prompt": text, "completion": "x"}])[0].thread.get_turns()
    assert [turn.role for turn in turns] == [*roles, "assistant"]
    assert turns[-2].content == Q


def test_a_prompt_about_a_template_stays_a_text():
    """A mark inside a text is not a template."""
    text = "What does <|im_start|>user mean in ChatML?"
    assert wb.Samples([{"prompt": text, "completion": "x"}])[0].thread.get_turns()[0].content == text
