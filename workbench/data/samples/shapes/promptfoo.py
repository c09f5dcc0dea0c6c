"""promptfoo: results as JSON, JSON Lines and CSV, and its tests, which have no completions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from workbench.data.samples.chats import chat_in_text
from workbench.data.samples.shapes import (
    Row,
    Score,
    ShapedRow,
    at,
    document,
    first_of,
    free_name,
    items,
    objects,
    shape,
)

_WHOLE = "promptfoo"
"""Name of the old grader with the result of all assertions of a row."""

_OUTPUT = re.compile(r"\[(?P<provider>[^\]]+)\] (?P<prompt>.+)", re.DOTALL)
"""Header of a column with outputs in promptfoo's CSV."""

_VARIABLE = re.compile(r"\{\{-?\s*([\w.\-]+)\s*-?\}\}")


@document("promptfoo results")
def results(value: Row) -> list[Any] | None:
    """The results of an evaluation, of any version."""
    found = objects(at(value, "results.results")) or objects(value.get("results"))
    return found if any("gradingResult" in one or "namedScores" in one for one in found) else None


@shape(
    "promptfoo results", "gradingResult|namedScores|success", "response|error|vars", "vars|prompt.raw|testCase|promptIdx",
    example={"prompt": {"raw": "2+2?"}, "vars": {"sum": "4"}, "response": {"output": "4"}, "success": True, "score": 1, "gradingResult": {"componentResults": [{"pass": True, "score": 1, "assertion": {"type": "contains"}}]}},
    takes="prompt from prompt.raw, completion from response.output, vars as columns, one old grader per assertion and `promptfoo` for all",
)  # fmt: skip
def result(row: Row) -> ShapedRow:
    """One result."""
    asked = first_of(row, "prompt.raw", "prompt")
    failed = first_of(row, "error", "response.error", "failureReason")
    return ShapedRow(
        prompt=_chat_or_text(asked), completion=first_of(row, "response.output", "output"), id=row.get("id"),
        columns={**dict(items(first_of(row, "vars", "testCase.vars"))), "provider": first_of(row, "provider.id", "provider.label", "provider")},
        scores=_scores(row), error=f"a result without an output{f': {failed}' if isinstance(failed, str) else ''}"[:500],
    )  # fmt: skip


def _chat_or_text(prompt: Any) -> Any:
    """The messages of a prompt that is JSON or YAML of a chat; else its text."""
    try:
        return (chat_in_text(prompt) if isinstance(prompt, str) else None) or prompt
    except ValueError:
        return prompt


def _scores(row: Row) -> dict[str, Score]:
    found: dict[str, Score] = {}
    for one in objects(at(row, "gradingResult.componentResults")):
        name = first_of(one, "assertion.metric", "assertion.type", "metric", "type") or "assertion"
        found[free_name(str(name), found)] = _score(one)
    for name, number in items(row.get("namedScores")):
        if name not in found:
            found[name] = Score(number)
    whole = at(row, "gradingResult")
    if isinstance(whole, Mapping) or row.get("score") is not None:
        passed = first_of(row, "success", "gradingResult.pass")
        number = first_of(row, "score", "gradingResult.score")
        found[free_name(_WHOLE, found)] = Score(
            passed if number is None else number, passed, str(at(whole, "reason") or "")
        )
    return found


def _score(one: Row) -> Score:
    passed = one.get("pass")
    number = one.get("score")
    return Score(
        passed if number is None else number,
        passed if isinstance(passed, bool) else None,
        str(one.get("reason") or ""),
    )


def _outputs(names: Sequence[str]) -> list[str]:
    return [name for name in names if _OUTPUT.fullmatch(name)]


@shape(
    "promptfoo results in CSV",
    example={"sum": "4", "[openai:m] 2+2?": "4", "Status": "PASS", "Score": "1.00"},
    fits=lambda names, _: bool(_outputs(names)) and any(name.startswith("Status") for name in names) and any(name.startswith("Score") for name in names),
    takes="a row per column `[provider] prompt`: prompt from its header and the variables, Status and Score as old grades",
)  # fmt: skip
def csv_row(row: Row) -> Iterator[ShapedRow]:
    """The outputs of one test, of which each prompt and provider has a column."""
    names = list(row)
    starts = [*(place for place, name in enumerate(names) if _OUTPUT.fullmatch(name)), len(names)]
    variables = {name: row[name] for name in names[: starts[0]] if not name.startswith("__")}
    for start, stop in pairwise(starts):
        header = _OUTPUT.fullmatch(names[start])
        assert header is not None
        about = {name.partition("#")[0]: row[name] for name in names[start + 1 : stop]}
        passed = {"PASS": True, "FAIL": False}.get(str(about.get("Status", "")).upper())
        reason = str(about.get("Grader Reason") or about.get("Comment") or "")
        scores = {_WHOLE: Score(about.get("Score"), passed, reason)}
        scores |= {
            name.removeprefix("Metric: "): Score(cell)
            for name, cell in about.items()
            if name.startswith("Metric: ")
        }
        filled = _VARIABLE.sub(lambda found: str(variables.get(found[1], found[0])), header["prompt"])
        yield ShapedRow(
            prompt=_chat_or_text(filled) if _VARIABLE.search(filled) is None else None, completion=row[names[start]],
            columns={**variables, "provider": header["provider"]}, scores=scores, error=f"a result without an output ({about.get('Status', 'no status')})",
        )  # fmt: skip


@shape(
    "promptfoo tests",
    example={"question": "2+2?", "__expected": "contains:4"},
    fits=lambda names, _: any(name.startswith("__expected") or name in ("__description", "__metric", "__threshold") for name in names) and not _outputs(names),
    no_completions="these are promptfoo's tests: __expected has graders, and there are no outputs; run `promptfoo eval -o results.json`, and read that",
    takes="variables as columns; it has no completions",
)  # fmt: skip
def test(row: Row) -> ShapedRow:
    """A test: variables and assertions."""
    return ShapedRow(columns={name: cell for name, cell in row.items() if not name.startswith("__")})
