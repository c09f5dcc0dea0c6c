"""Checks an exported reward configuration with google-genai: its models, which refuse what they do not know, and its requests.

The facts are the configuration as the models write it again, and as `client.tunings` sends it with a job and to
`validate_reward`. Nothing is sent.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from google.genai import tunings, types

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, plain


def sent_with_a_job(reward: types.CompositeReinforcementTuningRewardConfig) -> dict:
    """The part of the request for a tuning job that contains the reward."""
    config = types.CreateTuningJobConfig(method="REINFORCEMENT_TUNING", composite_reward_config=reward)
    request: dict = {}
    tunings._CreateTuningJobConfig_to_vertex(config, request, {"config": config})
    return plain(request)["reinforcementTuningSpec"]["compositeRewardConfig"]


def sent_to_be_tried(reward: types.CompositeReinforcementTuningRewardConfig) -> dict:
    """The part of the request of `validate_reward` that contains the reward."""
    parameters = types._ValidateRewardParameters(
        parent="projects/none/locations/none",
        sample_response=types.Content(role="model", parts=[types.Part(text="4")]),
        example=types.ReinforcementTuningExample(
            contents=[types.Content(role="user", parts=[types.Part(text="2+2?")])]
        ),
        composite_reward_config=reward,
    )
    return plain(tunings._ValidateRewardParameters_to_vertex(parameters, None, parameters))[
        "compositeRewardConfig"
    ]


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    text = Path(exported).with_suffix(".reward_config.json").read_text(encoding="utf-8")
    spec = types.ReinforcementTuningSpec.model_validate(json.loads(text))
    reward = spec.composite_reward_config
    scores.facts["read"] = plain(spec)
    scores.facts["job"] = sent_with_a_job(reward)
    scores.facts["tried"] = sent_to_be_tried(reward)
    scores.write(target)


main()
