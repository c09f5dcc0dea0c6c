"""Calls an exported file's scorers as `inspect score LOG --scorer FILE@NAME` does, on a log made from the rows.

Each scorer of the file is loaded by its name, as the command line loads it, and all of them score the log together.
The one named `combined`, or the only one, gives the score; all give parts.
"""

from __future__ import annotations

import ast
import logging
import sys
from pathlib import Path

from inspect_ai import score
from inspect_ai._eval.loader import scorer_from_spec
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalSample, EvalSpec
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ModelOutput,
)
from inspect_ai.scorer._scorer import ScorerSpec

sys.path.insert(0, str(Path(__file__).parent))
from common import Scores, arguments, completion_messages, messages_of, number, reference_of

TURNS = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
    "tool": ChatMessageTool,
}


def scorer_names(exported: str) -> list[str]:
    """Names of the functions that the file decorates with `scorer`."""
    names = []
    for node in ast.parse(Path(exported).read_text(encoding="utf-8")).body:
        for decorator in getattr(node, "decorator_list", []):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(called).split(".")[-1] == "scorer":
                names.append(node.name)
    return names


def sample_of(row: dict, index: int) -> EvalSample:
    """One sample of a log: the prompt, the completion, the target and the metadata."""
    asked = [TURNS[turn["role"]].model_validate(turn) for turn in messages_of(row["prompt"])]
    answered = [TURNS[turn["role"]].model_validate(turn) for turn in completion_messages(row["completion"])]
    reference = reference_of(row)
    return EvalSample(
        id=index + 1,
        epoch=1,
        input=row["prompt"] if isinstance(row["prompt"], str) else asked,
        target="" if reference is None else reference if isinstance(reference, list) else str(reference),
        messages=[*asked, *answered],
        output=ModelOutput(
            model="mockllm/model", choices=[ChatCompletionChoice(message=answered[-1], stop_reason="stop")]
        ),
        metadata=row["columns"],
    )


def log_of(samples: list[EvalSample]) -> EvalLog:
    """A finished log of a run without a score."""
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="rows",
        dataset=EvalDataset(name="rows", samples=len(samples)),
        model="mockllm/model",
        config=EvalConfig(),
    )
    return EvalLog(status="success", eval=spec, plan=EvalPlan(), samples=samples)


def note(log: EvalLog, at: int, names: list[str], scores: Scores) -> None:
    """Writes the scores of a scored log whose first sample is row `at`."""
    for index, sample in enumerate(log.samples, start=at):
        for name in names:
            found = (sample.scores or {}).get(name)
            scores.part(name, index, None if found is None else found.value)
            if found is not None and number(found.value) is None:
                scores.error(index, f"{found.reason}: {found.explanation}")
        combined = "combined" if "combined" in names else names[0] if len(names) == 1 else None
        if combined:
            scores.scores[index] = scores.parts[combined][index]


def main() -> None:
    exported, rows, target = arguments()
    logging.disable(logging.WARNING)
    scores = Scores(len(rows))
    names = scorer_names(exported)
    scorers = [scorer_from_spec(ScorerSpec(scorer=f"{exported}@{name}"), None) for name in names]
    samples = [sample_of(row, index) for index, row in enumerate(rows)]
    try:
        log = score(log_of(samples), scorers, action="overwrite", display="none")
        note(log, 0, names, scores)
        scores.facts["metrics"] = {
            one.name: {name: number(metric.value) for name, metric in one.metrics.items()}
            | {"unscored": one.unscored_samples}
            for one in log.results.scores
        }
    except (
        Exception
    ) as error:  # What one scorer raises ends the scoring of the log: the rows one by one, then.
        scores.facts["raised"] = repr(error)
        for index, sample in enumerate(samples):
            try:
                log = score(log_of([sample]), scorers, action="overwrite", display="none")
                note(log, index, names, scores)
            except Exception as one:
                scores.error(index, one)
    scores.write(target)


main()
