"""The rows of a probe: one of each prompt drawn from the data, with all completions that the data has for it, or made rows.

A probe without rows gets those in the graders' file, or arithmetic tasks of the demo. The result of a made task is in each
column that a grader names.
"""

from __future__ import annotations

import inspect
import json
import os
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.analysis.labels import read_labels
from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError, WorkbenchError
from workbench.data.demo import demo_samples
from workbench.data.samples import Samples, read_samples
from workbench.graders import CustomGrader, FunctionGrader
from workbench.graders.capture.analysis import columns_read
from workbench.graders.combine import ForRows
from workbench.graders.serialization import parts
from workbench.graders.text.promptfoo import PromptfooAssertion
from workbench.probes.shapes import Mined
from workbench.report.settings import label_column
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
    """Columns in OpenAI's templates, such as `{{ item.sum }}`, and in promptfoo's, `{{ sum }}`; none of a grader without a spec."""
    try:
        text = json.dumps(grader.spec())
    except (WorkbenchError, TypeError, ValueError):
        return
    yield from _ITEM.findall(text)
    if isinstance(grader, PromptfooAssertion):
        yield from (name for name in _VARIABLE.findall(text) if name != "env")


_ITEM = re.compile(r"\{\{\s*item\.([A-Za-z_]\w*)")
_VARIABLE = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)(?=[^\w.(])")


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


LOOKED_AT = 25
"""Rows of the data that are read for each row drawn, so that prompts do not repeat. Workbench default."""


@dataclass(frozen=True)
class DrawnRows:
    """The rows of a probe.

    Attributes:
        samples: One row per prompt, as far as the prompt's rows differ in nothing but the completion.
        own: All completions that the data has for each of these rows.
        labels: Whether each row is known good or bad; None without labels.
    """

    samples: Samples
    own: tuple[tuple[str, ...], ...]
    labels: list[bool | None] | None


def drawn_rows(samples: Samples, count: int, seed: int, mined: Mined, labels: Any) -> DrawnRows:
    """Rows that can be read: those of different prompts first, a known-good one of each."""
    samples.require_answers()
    # Of a large dataset only some rows are read.
    some = samples.needing("completion").draw(LOOKED_AT * count, seed=seed)
    problems, groups = some.problems, some.groups
    known = _labels_of(some, samples, labels)
    readable = [row for row in range(len(some)) if row not in problems]
    order = np.random.default_rng(seed).permutation(readable).tolist()
    order = order if known is None else sorted(order, key=lambda row: known[row] is not True)
    alike = _alike(some, order, mined)
    first: dict[Any, int] = {}
    for row in order:
        first.setdefault(groups[row], row)
    each = {alike[row]: row for row in reversed([*first.values(), *order])}
    chosen = sorted([*dict.fromkeys([*first.values(), *each.values()])][:count])
    texts: dict[Any, list[str]] = {}
    for row in order:
        texts.setdefault(alike[row], []).append(some.threads[row].completion() or "")
    return DrawnRows(
        some.take(chosen),
        tuple(tuple(dict.fromkeys(filter(None, texts[alike[row]]))) for row in chosen),
        None if known is None else [known[row] for row in chosen],
    )


def _alike(samples: Samples, rows: Sequence[int], mined: Mined) -> dict[int, Any]:
    """What a grader reads of each row in addition to its completion: rows of one prompt with equal values are one."""
    roles = samples.columns
    left = {roles.get("completion"), roles.get("id"), roles.get("messages")}
    names = [
        name
        for name in samples.frame.columns
        if name not in left and (not mined.readable or str(name) in mined.text)
    ]
    cells = samples.frame[names].astype(str)
    references, groups = samples.references, samples.groups
    return {row: (groups[row], str(references[row]), *cells.iloc[row]) for row in rows}


def _labels_of(data: Samples, whole: Samples, labels: Any) -> list[bool | None] | None:
    """The labels of some rows, from those of all rows."""
    if labels is None:
        return None
    codes = read_labels(label_column(whole, labels), len(whole))
    meaning = dict(zip(whole.row_numbers.tolist(), codes.tolist(), strict=True))
    return [{1: True, 0: False}.get(meaning[row]) for row in data.row_numbers.tolist()]
