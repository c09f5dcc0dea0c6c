"""slime's remote reward model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from workbench.deploy.reward.trainer_rows import RewardRow, row_of, with_reference
from workbench.deploy.serve.http import an_object, field
from workbench.deploy.serve.wire_forms import Outcomes, WireForm, wire_form


@wire_form
class Slime(WireForm):
    """One sample; the response is a bare number."""

    path = "/slime"
    title = "slime remote_rm"
    about = (
        "One sample per request. The label is the reference, and is in the metadata under every usual name; slime sends no "
        "other column."
    )
    recipe = "--rm-type remote_rm --rm-url HOST/slime"
    no_score = (
        "Status 422 with the reason. slime retries every error, ten times in about three minutes, and then ends the rollout: "
        "if rows may fail, set a fixed score with `--on-error`."
    )
    source = "slime 624b824, slime/rollout/rm_hub/__init__.py, remote_rm"
    request: ClassVar[Any] = {
        "type": "object",
        "required": ["prompt", "response"],
        "properties": {
            "prompt": {"description": "text, or a list of messages"},
            "response": {"type": "string"},
            "label": {"description": "the reference"},
        },
    }
    response: ClassVar[Any] = {"type": "number"}
    example: ClassVar[Any] = {"prompt": "What is 2+2?", "response": "4", "label": "4"}
    answer: ClassVar[Any] = 1.0

    def read(self, body: Any) -> list[RewardRow]:
        """The rows of a request."""
        sample = an_object(body)
        metadata = with_reference(None, sample.get("label"))
        return [row_of("the sample", field(sample, "prompt"), field(sample, "response"), metadata)]

    def write(self, body: Any, rows: Sequence[RewardRow], outcomes: Outcomes) -> float:  # noqa: ARG002 (see `WireForm`)
        """The response as JSON values."""
        return outcomes.number(0)
