"""Examples for a judge from labelled rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.labels import read_labels
from workbench.core.errors import FormatError, ReportError
from workbench.data.samples import Sample, as_samples
from workbench.judges.few_shots import check_examples
from workbench.judges.kinds import Judge
from workbench.report.cases import label_codes
from workbench.report.settings import label_column


def judge_with_examples(judge: Judge, rows: Any, labels: Any, n: int, seed: int) -> Judge:
    """A judge with examples from labelled rows; see `Judge.with_examples`."""
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise ReportError("n must be 1 or more", found=repr(n), hint="n=4")
    if not judge.has_own_examples and judge.label_reply(good=True) is None:
        raise FormatError(
            f"a label does not determine a reply of {judge.kind!r}",
            hint="write examples=[{'input': ..., 'output': ..., 'reply': ...}]",
        )
    samples, codes = _labelled(rows, labels)
    chosen = _chosen(codes, samples.group_codes, n, seed)
    examples = [
        _example(judge, sample, good=bool(codes[row] == 1))
        for row, sample in zip(chosen, samples.take(np.array(chosen, np.intp)), strict=True)
    ]
    made = replace(judge, examples=tuple(examples))
    check_examples(made)
    return made


def _labelled(rows: Any, labels: Any) -> tuple[Any, NDArray[np.int8]]:
    if hasattr(rows, "grades"):
        return rows.samples, label_codes(rows, labels)
    samples = as_samples(rows)
    if labels is None:
        raise ReportError(
            "rows need labels", expected="the name of a column, or a list", hint="labels='good'"
        )
    return samples, read_labels(label_column(samples, labels), len(samples))


def _chosen(codes: NDArray[np.int8], prompts: NDArray[np.intp], n: int, seed: int) -> list[int]:
    """Rows drawn at random, good and bad in turn, each of another prompt."""
    order = np.random.default_rng(seed).permutation(len(codes))
    waiting = {side: [int(row) for row in order if codes[row] == side] for side in (1, 0)}
    used: set[int] = set()
    chosen: list[int] = []
    for at in range(n):
        side = 1 - at % 2
        row = next((row for row in waiting[side] if int(prompts[row]) not in used), None)
        if row is None:
            wanted = n - n // 2 if side else n // 2
            found = sum(codes[row] == side for row in chosen)
            raise ReportError(
                f"{n} examples need {wanted} prompts with a row labelled {'good' if side else 'bad'}",
                found=str(found),
                hint="label more rows, or use a smaller n",
            )
        used.add(int(prompts[row]))
        chosen.append(row)
    return chosen


def _example(judge: Judge, sample: Sample, *, good: bool) -> dict[str, Any]:
    example: dict[str, Any] = {
        "input": [{"role": turn.role, "content": turn.content} for turn in sample.thread.messages()],
        "output": sample.thread.completion() or "",
    }
    if judge.has_own_examples:
        return {**example, "passes": good}
    metadata = sample.thread.metadata if isinstance(sample.thread.metadata, Mapping) else {}
    columns = {name: metadata[name] for name in getattr(judge, "rubric_vars", ()) if name in metadata}
    return {
        **example,
        "reply": judge.label_reply(good=good),
        **({} if sample.reference is None else {"reference": sample.reference}),
        **({"metadata": columns} if columns else {}),
    }
