"""Calls an exported file as Gemini's reinforcement tuning documents it, after its package has checked the request.

The file's text is the `pythonCodeSnippet` of a reward whose request `google-genai` builds for `validate_reward`; the service runs
the text by itself and calls `evaluate(example, response)` with what that request holds, then clips to [-1, 1].
"""

from __future__ import annotations

import sys
import types as python_types
from pathlib import Path

from google.genai import tunings, types

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, messages_of, number, plain, text_of

PARENT = "projects/none/locations/none"


def example_of(row: dict) -> types.ReinforcementTuningExample:
    """One line of the training data; references are texts by name, so columns of other types are omitted."""
    messages = messages_of(row["prompt"])
    system = [turn["content"] for turn in messages if turn["role"] == "system"]
    roles = {"user": "user", "assistant": "model"}
    return types.ReinforcementTuningExample(
        contents=[
            types.Content(role=roles[turn["role"]], parts=[types.Part(text=turn["content"])])
            for turn in messages
            if turn["role"] != "system"
        ],
        system_instruction=types.Content(parts=[types.Part(text=text) for text in system])
        if system
        else None,
        references={name: value for name, value in row["columns"].items() if isinstance(value, str)},
    )


def request_of(source: str, row: dict) -> dict:
    """The request that `client.tunings.validate_reward` sends for the row, as the package makes it."""
    scorer = types.ReinforcementTuningCodeExecutionRewardScorer(python_code_snippet=source)
    response = types.Content(role="model", parts=[types.Part(text=text_of(row["completion"]))])
    parameters = types._ValidateRewardParameters(
        parent=PARENT,
        sample_response=response,
        example=example_of(row),
        single_reward_config=types.SingleReinforcementTuningRewardConfig(
            reward_name="exported", code_execution_reward_scorer=scorer
        ),
    )
    return tunings._ValidateRewardParameters_to_vertex(parameters, None, parameters)


def main() -> None:
    exported, rows, target = arguments()
    scores = Scores(len(rows))
    source = Path(exported).read_text(encoding="utf-8")
    # How the service runs it is not documented: here under a name that is no module, which is the harder way.
    snippet = python_types.ModuleType("snippet").__dict__
    exec(compile(source, "snippet", "exec", dont_inherit=True), snippet)
    clipped = 0
    for index, row in enumerate(rows):
        request = plain(request_of(source, row))
        sent = request["singleRewardConfig"]["codeExecutionRewardScorer"]["pythonCodeSnippet"]
        if sent != source:
            scores.error(index, "the package changed the snippet")
            continue
        try:
            reward = float(snippet["evaluate"](request["example"], request["sampleResponse"]))
        except Exception as error:
            scores.error(index, error)
            continue
        clipped += not -1.0 <= reward <= 1.0
        scores.scores[index] = number(max(min(reward, 1.0), -1.0))
    scores.facts["clipped"] = clipped
    scores.write(target)


main()
