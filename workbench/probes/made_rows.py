"""Rows for a probe without rows: those in the graders' file, or arithmetic tasks of the demo.

The result of a made task is in each column that a grader names.
"""

from __future__ import annotations

import inspect
import json
import os
import pkgutil
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError, WorkbenchError
from workbench.data.demo import demo_samples
from workbench.data.samples import Samples, read_samples
from workbench.graders import CustomGrader, FunctionGrader
from workbench.graders.capture.analysis import columns_read
from workbench.graders.combine import ForRows
from workbench.graders.serialization import parts
from workbench.run.suite import Suite

MADE_ROWS = "made rows"
"""The source of rows that were made."""

_ROWS = 60
"""Rows that are made: more than a probe draws, so that each has another prompt."""

_OF_THE_CALL = frozenset({
    "prompt", "prompts", "completion", "completions", "completion_ids", "prompt_ids", "trainer_state", "solution_str", "queries",
    "messages", "thread", "sample", "item", "text", "response", "output", "self", "args", "kwargs", "log_extra", "log_metric",
    "environments", "data_sources", "solution_strs", "references", "extra_infos", "ground_truths", "index", "submission",
})  # fmt: skip
"""Parameters that a trainer fills with something other than a column of the row."""

_VALUES: dict[str, Any] = {"data_source": "openai/gsm8k", "extra_info": {}}
"""Cells of columns that are not the reference; any other column gets the reference."""


def rows_for(
    suite: Suite, path: str | os.PathLike[str], columns: Mapping[str, str | None] | None = None
) -> tuple[Samples, str]:
    """Rows for graders without rows of the user, and a sentence on what they are.

    Args:
        suite: The graders.
        path: What they were read from: the rows of a file that has some, such as an export of an eval, are used.
        columns: Role to column of that file.

    Raises:
        SamplesError: As `made_rows`.
    """
    file = Path(path)
    if file.is_file() and file.suffix.lower() != ".py":
        try:
            samples = read_samples(file, columns=columns)
            samples.require_answers()
        except (WorkbenchError, ValueError):
            pass  # a file of graders without rows
        else:
            return samples, f"rows of the file itself: {samples.reading}"
    return made_rows(suite)


def made_rows(suite: Suite) -> tuple[Samples, str]:
    """Rows for graders of which only the code is known, and a sentence on what they are.

    Args:
        suite: The graders; the columns are those that their signatures, texts and templates name.

    Raises:
        SamplesError: Graders that choose rows by the values of their columns, such as tests of promptfoo.
    """
    _refuse_choosers(suite)
    frame = demo_samples("arithmetic").frame
    # One completion per prompt: the known-good one, so that the usual form of a completion is there.
    good = frame[frame["good"].astype(bool)].drop_duplicates("prompt").head(_ROWS)
    columns = sorted(
        {name for entry in suite.entries for name in named_columns(entry.grader)} - {"reference"}
    )
    rows = [
        {
            "prompt": row["prompt"], "completion": row["completion"], "reference": row["expected"],
            **{name: _VALUES.get(name, row["expected"]) for name in columns},
        }
        for row in good.to_dict("records")
    ]  # fmt: skip
    named = [name for name in columns if name not in _VALUES]
    also = (
        f", also as {', '.join(repr(one_line(name, 40)) for name in named)}, which the grader reads"
        if named
        else ""
    )
    text = (
        f"no rows were given: {len(rows)} arithmetic tasks were made, with the result as the reference{also}; "
        "for findings on your data pass your rows"
    )
    roles = {"prompt": "prompt", "completion": "completion", "reference": "reference"}
    return Samples(rows, columns=roles, source=MADE_ROWS), text


def is_for_certain_rows(suite: Suite) -> bool:
    """Whether a grader applies only to rows with certain values, such as a test of promptfoo to those of its variables."""
    return next(_choosers(suite), None) is not None


def _choosers(suite: Suite) -> Iterator[tuple[str, Any]]:
    for entry in suite.entries:
        yield from ((entry.name, part) for part in parts(entry.grader) if isinstance(part, ForRows))


def _refuse_choosers(suite: Suite) -> None:
    for entry_name, part in _choosers(suite):
        names = dict.fromkeys(name for case in part.cases for name in case["when"])
        raise SamplesError(
            "rows for these graders cannot be made, because they are for rows with certain values",
            where=f"grader {one_line(entry_name, 60)}",
            found=f"columns {', '.join(map(one_line, names))}",
            hint="pass rows with these columns",
        )


def named_columns(grader: Any) -> set[str]:
    """The columns that a grader's text or signature names."""
    return {name for name in _named(grader) if name not in _OF_THE_CALL}


def _named(grader: Any) -> Iterator[str]:
    for part in parts(grader):
        if isinstance(part, FunctionGrader):
            yield from columns_read(part.source.text, part.signature).both
        elif isinstance(part, CustomGrader):
            yield from _parameters(part)
        else:
            yield from _in_templates(part)


def _in_templates(grader: Any) -> Iterator[str]:
    """Columns in OpenAI's templates, such as `{{ item.sum }}`; none of a grader without a spec."""
    try:
        text = json.dumps(grader.spec())
    except (WorkbenchError, TypeError, ValueError):
        return
    yield from _ITEM.findall(text)


_ITEM = re.compile(r"\{\{\s*item\.([A-Za-z_]\w*)")


def _parameters(grader: Any) -> Iterator[str]:
    """The names of a live function's parameters without a default; none if it cannot be inspected."""
    try:
        parameters = list(inspect.signature(pkgutil.resolve_name(grader.target)).parameters.values())
    except (TypeError, ValueError, ImportError, AttributeError):
        return
    yield from (
        one.name
        for one in parameters
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.default is one.empty
    )
