"""OpenRLHF's remote reward model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from workbench.deploy.reward.trainer_rows import RewardRow, row_of, with_reference
from workbench.deploy.serve.http import a_list, an_object, field, same_length, texts
from workbench.deploy.serve.wire_forms import Outcomes, WireForm, wire_form
from workbench.graders.rules.threads import completion_of

_TEXTS = {"type": "array", "items": {"type": "string"}}


@wire_form
class OpenRlhf(WireForm):
    """Queries with their prompts and labels; the response has their rewards."""

    path = "/openrlhf"
    title = "OpenRLHF remote reward model"
    about = (
        "A query is the prompt followed by the completion, decoded with special tokens: the text after the prompt is graded, "
        "without the special tokens at its end. The label is the reference, and is in the metadata under every usual name. "
        "OpenRLHF's log shows whether each grader failed or skipped. It requires the same keys in every row, and JSON has no "
        "number for a missing score, so that graders' own scores are in the log of `wb.reward` only."
    )
    recipe = "--reward.remote_url HOST/openrlhf"
    no_score = (
        "Status 422 with the reason. OpenRLHF tries five times, a second apart, and continues without a reward, which ends "
        "the run: if rows may fail, set a fixed score with `--on-error`."
    )
    source = "OpenRLHF 0.11.2, openrlhf/utils/agent.py, SingleTurnAgentExecutor._fetch_rewards_via_http"
    request: ClassVar[Any] = {
        "type": "object",
        "required": ["query", "prompts"],
        "properties": {"query": _TEXTS, "prompts": _TEXTS, "labels": {"type": "array"}},
    }
    response: ClassVar[Any] = {
        "type": "object",
        "description": "numbers for one query, which is what OpenRLHF sends; lists of them for several",
        "properties": {"rewards": {}, "scores": {}, "extra_logs": {"type": "object"}},
    }
    example: ClassVar[Any] = {"query": ["What is 2+2?4</s>"], "prompts": ["What is 2+2?"], "labels": ["4"]}
    answer: ClassVar[Any] = {
        "rewards": 1.0,
        "scores": 1.0,
        "extra_logs": {"expected_failed": 0.0, "expected_skipped": 0.0},
    }

    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request."""
        sent = an_object(body)
        queries, prompts = (texts(field(sent, name), name) for name in ("query", "prompts"))
        labels = a_list(sent.get("labels") or [None] * len(queries), "labels")
        same_length("prompts", prompts, len(queries), "query")
        same_length("labels", labels, len(queries), "query")
        return [
            row_of(f"query {at}", prompt, completion_of(query, prompt), with_reference(None, label))
            for at, (query, prompt, label) in enumerate(zip(queries, prompts, labels, strict=True))
        ]

    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> Any:  # noqa: ARG002 (see `WireForm`)
        """The response as JSON values."""
        numbers = outcomes.numbers()
        # For one query OpenRLHF makes a tensor of the number itself, and would take a list for a row of them.
        logs = [outcomes.without_score(row) for row in range(len(numbers))]
        if len(numbers) == 1:
            return {"rewards": numbers[0], "scores": numbers[0], "extra_logs": logs[0]}
        together = {name: [row[name] for row in logs] for name in (logs[0] if logs else ())}
        return {"rewards": numbers, "scores": numbers, "extra_logs": together}
