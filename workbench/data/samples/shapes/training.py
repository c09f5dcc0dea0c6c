"""Rollouts of trainers and rows of training sets: verifiers, verl, TRL, rLLM, NeMo Gym, Cohere, FastChat, templated texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.errors import SamplesError
from workbench.data.row_columns import REFERENCE_NAMES
from workbench.data.samples.chat_templates import turns_of_template
from workbench.data.samples.columns import recognise
from workbench.data.samples.shapes import (
    Row,
    Score,
    ShapedRow,
    at,
    first_of,
    from_json,
    has,
    items,
    objects,
    scores_in,
    shape,
    without,
)


@shape(
    "verifiers traces", "task.data|task", "nodes", "rewards|metrics",
    example={"task": {"data": {"prompt": "2+2?", "answer": "4"}}, "nodes": [{"message": {"role": "user", "content": "2+2?"}}, {"parent": 0, "sampled": True, "message": {"role": "assistant", "content": "4"}}], "rewards": {"near": {"score": 1.0}}},
    takes="the turns of the last sampled branch, reference from `task.data.answer`, rewards and metrics as old graders",
)  # fmt: skip
def verifiers_trace(row: Row) -> ShapedRow:
    """A trace: the branch from the root to the last node."""
    nodes = objects(row.get("nodes"))
    place: Any = max(
        (number for number, node in enumerate(nodes) if node.get("sampled")), default=len(nodes) - 1
    )
    chat: list[Any] = []
    while isinstance(place, int) and 0 <= place < len(nodes) and len(chat) <= len(nodes):
        chat.append(nodes[place].get("message"))
        place = nodes[place].get("parent")
    data = dict(items(first_of(row, "task.data", "task")))
    return ShapedRow(
        messages=chat[::-1] or None, reference=first_of(data, "answer", "expected", "ground_truth"), id=first_of(row, "id", "trace_id"),
        columns=without(data, "prompt", "answer"), scores={**scores_in(row.get("rewards")), **scores_in(row.get("metrics"))},
        error=f"a trace without a turn: {row.get('error', '')}"[:500],
    )  # fmt: skip


_ROLLOUT = frozenset({
    "example_id", "prompt", "completion", "answer", "task", "info", "id", "group", "step", "global_step", "num_turns", "is_truncated", "is_completed",
    "error", "stop_condition", "generation_ms", "scoring_ms", "total_ms", "advantage", "trajectory_id", "token_usage",
})  # fmt: skip
"""Columns of a rollout other than rewards."""


def _numbers(row: Row, known: frozenset[str]) -> dict[str, Score]:
    return {
        name: Score(cell) for name, cell in row.items()
        if name not in known and isinstance(cell, bool | int | float) and not name.endswith(("_ms", "_tokens", "_id"))
    }  # fmt: skip


@shape(
    "verifiers results", "prompt", "completion", "reward", "example_id|generation_ms|task",
    example={"example_id": 0, "prompt": [{"role": "user", "content": "2+2?"}], "completion": [{"role": "assistant", "content": "4"}], "answer": "4", "reward": 1.0},
    takes="prompt, completion and `answer` by their names, reward and the rubric's functions as old graders",
)  # fmt: skip
def verifiers_result(row: Row) -> ShapedRow:
    """A rollout of vf-eval."""
    return ShapedRow(
        prompt=from_json(row.get("prompt")), completion=from_json(row.get("completion")), reference=row.get("answer"),
        group=row.get("example_id"), columns={name: row[name] for name in ("task", "info") if name in row},
        scores={**_numbers(row, _ROLLOUT), **scores_in(row.get("metrics"))}, error="a rollout without a completion",
    )  # fmt: skip


def _are_single(_: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether a row is one completion, rather than a batch with a list of texts for each column."""
    cells = [from_json(row.get(name)) for row in rows for name in ("prompt", "completion")]
    return not all(isinstance(cell, list) and all(isinstance(one, str) for one in cell) for cell in cells)


@shape(
    "TRL logged completions", "prompt", "completion", "advantage", "step", fits=_are_single,
    example={"step": 1, "prompt": "2+2?", "completion": "4", "near": 1.0, "advantage": 0.1},
    takes="prompt and completion by their names, one old grader per reward function",
)  # fmt: skip
def trl_completion(row: Row) -> ShapedRow:
    """A completion of a training step, with its rewards."""
    return ShapedRow(
        prompt=from_json(row.get("prompt")), completion=from_json(row.get("completion")), scores=_numbers(row, _ROLLOUT),
        columns={"step": row.get("step"), "advantage": row.get("advantage")},
    )  # fmt: skip


@shape(
    "verl rollouts", "input", "output", "score|reward", "step|gts",
    example={"input": "user\n2+2?\nassistant\n", "output": "4", "gts": "4", "score": 1.0, "step": 7},
    takes="prompt from input, completion from output, reference from gts, score and other results as old graders",
)  # fmt: skip
def verl_rollout(row: Row) -> ShapedRow:
    """A row of `rollout_data_dir`."""
    known = frozenset({"input", "output", "gts", "step", "global_step", "request_id", "uid"})
    return ShapedRow(
        prompt=row.get("input"), completion=row.get("output"), reference=first_of(row, "gts", "ground_truth"), columns={"step": row.get("step")},
        scores=_numbers(row, known),
    )  # fmt: skip


@shape(
    "NeMo Gym rollouts", "responses_create_params", "response", "reward",
    example={"responses_create_params": {"input": [{"role": "user", "content": "2+2?"}]}, "response": {"object": "response", "output": [{"type": "message", "role": "assistant", "content": "4"}]}, "reward": 1.0},
    takes="prompt from responses_create_params, completion from response, reward as an old grader",
)  # fmt: skip
def nemo_rollout(row: Row) -> ShapedRow:
    """A verified rollout."""
    names = ("responses_create_params", "response", "reward")
    said = from_json(row.get("response"))
    return ShapedRow(
        prompt=from_json(row["responses_create_params"]), completion=first_of(said, "output") or said,
        reference=first_of(row, "expected_answer", "ground_truth", "answer"), scores={"reward": Score(row.get("reward"))}, columns=without(row, *names),
    )  # fmt: skip


def _turns_of_step(step: Row) -> list[Any]:
    """The messages of a step, with the model's reply at their end."""
    said = step.get("model_response")
    chat: list[Any] = list(objects(step.get("chat_completions")))
    if not chat and has(step, "observation"):
        chat = [{"role": "user", "content": step["observation"]}]
    is_said = bool(chat) and chat[-1].get("role") == "assistant"
    return chat if is_said or not said else [*chat, {"role": "assistant", "content": said}]


@shape(
    "rLLM episodes", "task", "trajectories.0.steps", "is_correct|termination_reason",
    example={"id": "t:0", "task": {"question": "2+2?", "ground_truth": "4"}, "is_correct": True, "trajectories": [{"name": "solver", "reward": 1.0, "steps": [{"chat_completions": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}], "model_response": "4"}]}]},
    takes="a row per trajectory: the messages of its last step, reference from task, reward and is_correct as old graders",
)  # fmt: skip
def episode(row: Row) -> list[ShapedRow]:
    """The trajectories of a rollout; those of one task are a group."""
    task = dict(items(row.get("task")))
    rows = []
    for trajectory in objects(row["trajectories"]):
        steps = objects(trajectory.get("steps"))
        scores = {"reward": Score(trajectory.get("reward")), "is_correct": Score(row.get("is_correct"))}
        rows.append(
            ShapedRow(
                messages=(_turns_of_step(steps[-1]) if steps else None) or None, scores={**scores, **scores_in(row.get("metrics"))},
                reference=first_of(task, *REFERENCE_NAMES), group=str(row.get("id", "")).rpartition(":")[0] or None,
                columns={**without(task, "question", "prompt"), "trajectory": trajectory.get("name"), "episode": row.get("id")},
                error="a trajectory without a step",
            )
        )  # fmt: skip
    return rows


@shape(
    "Cohere chats", "message", "chat_history|chatHistory", "text|response",
    example={"message": "2+2?", "chat_history": [{"role": "USER", "message": "hi"}, {"role": "CHATBOT", "message": "Hello."}], "text": "4"},
    takes="prompt from chat_history and message, completion from text",
)  # fmt: skip
def cohere_chat(row: Row) -> ShapedRow:
    """A request with its reply."""
    before = [
        {"role": str(one.get("role")), "content": one.get("message")}
        for one in objects(first_of(row, "chat_history", "chatHistory"))
    ]
    return ShapedRow(
        prompt=[*before, {"role": "user", "content": row["message"]}], completion=first_of(row, "text", "response"), system=row.get("preamble"),
        id=first_of(row, "generation_id", "id"),
    )  # fmt: skip


@shape(
    "FastChat completions", "question_id", "choices.0.turns",
    example={"question_id": 9, "model_id": "m", "choices": [{"index": 0, "turns": ["4"]}]},
    takes="completion from the last turn of each choice; the prompts are in another file, which `join` adds",
)  # fmt: skip
def fastchat_answer(row: Row) -> ShapedRow:
    """A model's turns; each may be a text or an object with one."""
    last = [one["turns"][-1] for one in objects(row["choices"]) if one.get("turns")]
    texts = list(map(_text_of_turn, last))
    asked = _before_last(row.get("turns"), objects(row["choices"])) if len(texts) == 1 else None
    return ShapedRow(
        prompt=asked,
        completion=texts[0] if len(texts) == 1 else texts or None, id=first_of(row, "answer_id", "question_id"), group=str(row["question_id"]),
        columns={name: row[name] for name in ("question_id", "model_id", "tstamp") if name in row}, error="a choice without a turn",
    )  # fmt: skip


def _text_of_turn(turn: Any) -> Any:
    return at(turn, "content", turn) if isinstance(turn, Mapping) else turn


def _before_last(prompts: Any, choices: Sequence[Row]) -> list[dict[str, Any]] | None:
    """The turns before the last one, if the row was joined with its prompts."""
    turns = from_json(prompts)
    said = choices[0].get("turns") if choices else None
    if not isinstance(turns, list) or not isinstance(said, list) or len(turns) < len(said):
        return None
    chat = [
        {"role": role, "content": _text_of_turn(one)}
        for pair in zip(turns, said, strict=False)
        for role, one in zip(("user", "assistant"), pair, strict=True)
    ]
    return chat[:-1]


def _are_ranked(_: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether an entry has a rank, a score or a model, and is not a reference with its place in a text."""
    marks = {"model", "pm_score", "rank", "score", "selected"}
    return any(marks & set(one) for row in rows for one in objects(row.get("answers")))


@shape(
    "ranked completions", "prompt|question", "answers.0.answer|answers.0.text", fits=_are_ranked,
    example={"prompt": "2+2?", "answers": [{"answer": "4", "model": "m", "rank": 1.0}, {"answer": "5", "model": "n", "rank": 2.0}]},
    takes="a completion per entry of `answers`",
)  # fmt: skip
def ranked(row: Row) -> ShapedRow:
    """A prompt with several completions by rank."""
    return ShapedRow(
        prompt=first_of(row, "prompt", "question"),
        completion=[
            {"response": first_of(one, "answer", "text"), **without(one, "answer", "text")}
            for one in objects(row["answers"])
        ],
        columns=without(row, "prompt", "question", "answers"),
    )


@shape(
    "conversations of input and output", "conversation.0.input", "conversation.0.output",
    example={"conversation": [{"input": "2+2?", "output": "4"}], "source": "s"},
    takes="each input a user's turn, each output the assistant's",
)  # fmt: skip
def input_output_turns(row: Row) -> ShapedRow:
    """Turns as pairs of an input and an output."""
    chat = [
        turn
        for one in objects(row["conversation"])
        for turn in (
            {"role": "user", "content": one.get("input")},
            {"role": "assistant", "content": one.get("output")},
        )
    ]
    return ShapedRow(messages=chat, system=row.get("system"), columns=without(row, "conversation", "system"))


def _are_templates(names: Sequence[str], rows: Sequence[Row]) -> bool:
    try:
        recognise(names)
    except SamplesError:
        texts = [row.get("text") for row in rows]
        return all(isinstance(text, str) and turns_of_template(text) for text in texts)
    return False  # another column has a role


@shape(
    "texts in a chat template", "text",
    example={"text": "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n4<|im_end|>"},
    fits=_are_templates,
    takes="turns by the marks of ChatML, Llama, Gemma, Zephyr, Mistral, Alpaca, or Human and Assistant",
)  # fmt: skip
def templated(row: Row) -> ShapedRow:
    """A text with all turns of a conversation."""
    return ShapedRow(messages=turns_of_template(str(row["text"])) or None, columns=without(row, "text"))


def _are_lists_of_turns(_: Sequence[str], rows: Sequence[Row]) -> bool:
    cells = [from_json(row.get(name)) for row in rows for name in ("prompt", "response_a", "response_b")]
    return all(
        isinstance(cell, list) and all(isinstance(turn, str | None) for turn in cell) for cell in cells
    )


@shape(
    "arena battles as lists of turns", "prompt", "response_a", "response_b",
    example={"id": 1, "model_a": "x", "model_b": "y", "prompt": '["2+2?"]', "response_a": '["4"]', "response_b": '["5"]', "winner_model_a": 1, "winner_model_b": 0},
    fits=_are_lists_of_turns,
    takes="two rows in one group: the turns of prompt with those of each response; `chosen` marks the winner",
)  # fmt: skip
def battle(row: Row) -> list[ShapedRow]:
    """Both sides of a conversation with two models."""
    asked = from_json(row["prompt"])
    wins = [str(row.get(f"winner_model_{side}")) in ("1", "1.0", "True") for side in "ab"]
    sides = []
    for at_side, side in enumerate("ab"):
        said = from_json(row[f"response_{side}"])
        chat = [
            turn
            for one, other in zip(asked, said, strict=False)
            for turn in ({"role": "user", "content": one}, {"role": "assistant", "content": other})
        ]
        chosen = wins[at_side] if wins[0] != wins[1] else None
        sides.append(
            ShapedRow(
                messages=chat,
                group=str(row.get("id", asked)),
                columns={"chosen": chosen, "model": row.get(f"model_{side}")},
            )
        )
    return sides
