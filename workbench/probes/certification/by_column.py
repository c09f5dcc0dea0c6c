"""Whether a judge is as good on every part of the rows: writers, models, topics, long completions, refusals, its own family."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from workbench.analysis.case import Claim
from workbench.analysis.coded_column import CodedColumn
from workbench.analysis.diagnostics.bias import order_decides, position_bias
from workbench.analysis.finding import percent
from workbench.analysis.statistics import Codes, Flags
from workbench.analysis.statistics.certification import ShareGap
from workbench.analysis.statistics.means import Share
from workbench.core.display_text import counted, one_line
from workbench.core.errors import ReportError
from workbench.data.samples import Samples
from workbench.probes.certification.judged_rows import JudgedRows
from workbench.probes.certification.settings import (
    MARGIN,
    JudgeCheck,
    counts,
    gaps_check,
    rows_to_pass,
    share_check,
    untested,
)

_MIN_ROWS = 8
"""Minimum rows of one label in a part, and elsewhere; this project's choice."""
_MIN_PROMPTS = 20
"""Minimum prompts of a part for PASS, as in the transport audit of CJE 0.9.3: with fewer nothing is shown."""
_MAX_PARTS = 50
_WRONG = {1: ("rejects", "good"), 0: ("accepts", "bad")}

_FAMILIES = {
    "gpt": "gpt chatgpt o1 o3 o4", "claude": "claude", "gemini": "gemini gemma palm", "llama": "llama", "qwen": "qwen qwq",
    "mistral": "mistral mixtral ministral magistral", "deepseek": "deepseek", "grok": "grok", "command": "command-r command",
    "phi": "phi", "nova": "nova", "kimi": "kimi", "glm": "glm chatglm",
}  # fmt: skip
"""Models of one maker, by the first part of their names."""
_REFUSAL = re.compile(
    r"\W*(?:i(?:['\u2019]m| am) (?:sorry|unable|not able)|sorry[,.]|i (?:can(?:not|['\u2019]t)|won['\u2019]t|refuse|must decline)|as an ai)",
    re.IGNORECASE,
)
"""The start of a completion that refuses; promptfoo's phrases (`is_refusal`) are also found inside of completions that do not."""


def family_of(model: str) -> str:
    """The family of a model by its name, such as "gpt"; "" if it is unknown.

    Example:
        >>> family_of("openai/gpt-4o-mini"), family_of("my-model")
        ('gpt', '')
    """
    words = re.split(r"[^a-z0-9]+", model.lower().rpartition("/")[2])
    for family, names in _FAMILIES.items():
        if any(re.fullmatch(rf"{name}\d*", word) for name in names.split() for word in words[:2]):
            return family
    return ""


def by_column(trial: JudgedRows, name: str, column: CodedColumn, title: str) -> JudgeCheck:
    """Whether the judge makes as few mistakes on each value of a column as on the others, per label.

    Args:
        trial: The verdicts.
        name: Of the check.
        column: The value of each row, n cells, missing for none.
        title: What a value is, such as "writer".
    """
    parts = [code for code, _ in column.by_frequency()[:_MAX_PARTS]]
    if len(parts) < 2:
        return untested(name, f"all rows have one {title}")
    gaps = [
        gap
        for code in parts
        for gap in _gaps(trial, column.codes == code, f"{title} {one_line(column.categories[code], 40)!r}")
    ]
    prompts = [
        len(np.unique(trial.groups[trial.judged[column.codes[trial.judged] == code]])) for code in parts
    ]
    advice = f"read the wrong verdicts of this {title}, and add an example of it to the prompt; do not compare pass rates between {title}s until then"
    n = int((column.codes[trial.judged] >= 0).sum())
    if not gaps:
        smallest = min(prompts)
        return JudgeCheck(
            name, f"too few labelled rows of one {title}: at least {_MIN_ROWS} good or bad ones of it are needed", n=n,
            advice=advice, needed=max(1, _MIN_PROMPTS - smallest),
        )  # fmt: skip
    return gaps_check(name, gaps, advice, n=n, enough=min(prompts) >= _MIN_PROMPTS)


def _sides(trial: JudgedRows, own: Flags, labels: Sequence[int]) -> Iterator[tuple[int, Codes, Codes]]:
    """For each label: its rows inside a part and those outside, if both are enough."""
    for label in labels:
        rows = trial.rows(label)
        inside, outside = rows[own[rows]], rows[~own[rows]]
        if min(len(inside), len(outside)) >= _MIN_ROWS:
            yield label, inside, outside


def _gaps(
    trial: JudgedRows, own: Flags, what: str, labels: Sequence[int] = (1, 0)
) -> Iterator[tuple[ShareGap, str]]:
    """For each label: the share of wrong verdicts inside less that outside, if both have enough rows."""
    for label, inside, outside in _sides(trial, own, labels):
        verb, kind = _WRONG[label]
        wrong = [_wrong(trial, part, label) for part in (inside, outside)]
        text = f"on {what} it {verb} {counts(wrong[0])} {kind} rows, elsewhere {counts(wrong[1])}"
        yield ShareGap(*wrong), text


def _wrong(trial: JudgedRows, rows: Codes, label: int) -> Share:
    return trial.share(trial.verdicts[rows] != label, rows)


def check_compared(samples: Samples, compare: Sequence[str]) -> None:
    """Raise if a column that the user compares does not exist.

    Raises:
        ReportError: There is none of that name.
    """
    for name in compare:
        if name not in samples.column_names:
            raise ReportError(
                f"there is no column {name!r} to compare",
                found=", ".join(map(str, samples.column_names[:30])),
            )


def transport(trial: JudgedRows, compare: Sequence[str]) -> Iterator[JudgeCheck]:
    """The checks over columns: writers, topics, and those the user compares."""
    if trial.columns.writers is not None:
        yield by_column(trial, "transport: writer", trial.columns.writers, "writer")
    if trial.columns.coded_topics is not None:
        yield by_column(trial, "transport: topic", trial.columns.coded_topics, "topic")
    for name in compare:
        column = CodedColumn.of_texts(str(cell) for cell in trial.samples.column(name).tolist())
        yield by_column(trial, f"transport: {one_line(name, 40)}", column, one_line(name, 40))


def length(trial: JudgedRows) -> JudgeCheck:
    """Whether the judge makes as few mistakes on the longer half of the completions as on the shorter half."""
    sizes = np.array([len(text) for text in trial.texts], np.float64)
    rows = trial.judged
    if not len(rows) or np.ptp(sizes[rows]) < 1:
        return untested("length", "all completions have one length")
    gaps: list[tuple[ShareGap, str]] = []
    # Halves of each label: good rows may well be longer than bad ones.
    for label in (1, 0):
        own = trial.rows(label)
        if len(own):
            is_long = sizes > np.median(sizes[own])
            gaps += _gaps(trial, is_long, "long completions", [label])
            gaps += _gaps(trial, ~is_long, "short completions", [label])
    advice = "state in the prompt that length does not count, with a long bad example and a short good one"
    if not gaps:
        return JudgeCheck("length", f"too few labelled rows: {_MIN_ROWS} long and {_MIN_ROWS} short ones of a label are needed", n=len(rows), advice=advice)  # fmt: skip
    return gaps_check("length", gaps, advice, n=len(rows), enough=len(rows) >= 2 * _MIN_PROMPTS)


def refusals(trial: JudgedRows) -> JudgeCheck:
    """Whether the judge rejects bad refusals as often as other bad completions."""
    own = np.array([bool(_REFUSAL.match(text)) for text in trial.texts])
    gaps = list(_gaps(trial, own, "refusals", [0]))
    if not gaps:
        return untested("refusals", f"fewer than {_MIN_ROWS} bad rows are refusals")
    advice = "state in the prompt what a refusal gets, with an example"
    n = int(own[trial.rows(0)].sum())
    return gaps_check("refusals", gaps, advice, n=n, enough=n >= _MIN_PROMPTS)


def self_preference(trial: JudgedRows, models: Sequence[str]) -> JudgeCheck:
    """Whether completions of the judge's own model family are accepted more often than others with the same label."""
    writers, families = trial.columns.writers, {family_of(model) for model in models} - {""}
    if writers is None:
        return untested("self-preference", "no column names the writers: writer, model or policy")
    if not families:
        if not models:
            return untested("self-preference", "the judge names no model")
        model = repr(one_line(models[0], 40))
        return untested("self-preference", f"the family of the model {model} is unknown")
    family = min(families)
    own_codes = [code for code, name in enumerate(writers.categories) if family_of(str(name)) in families]
    own = np.isin(writers.codes, own_codes)
    gaps = []
    for label, *sides in _sides(trial, own, (1, 0)):
        accepted = [trial.share(trial.verdicts[part] == 1, part) for part in sides]
        text = f"of {_WRONG[label][1]} rows written by its own family ({family}) it accepts {counts(accepted[0])}, of others {counts(accepted[1])}"
        gaps.append((ShareGap(*accepted), text))
    if not gaps:
        return untested(
            "self-preference",
            f"fewer than {_MIN_ROWS} labelled rows of the judge's family ({family}), or of others",
        )
    advice = "judge with a model of another family than the compared writers"
    n = int(own[trial.judged].sum())
    return gaps_check("self-preference", gaps, advice, n=n, enough=n >= _MIN_PROMPTS)


def position(trial: JudgedRows) -> JudgeCheck:
    """For a judge of pairs that were shown in both orders: whether the order decides, and which position wins."""
    case = trial.case
    changed = next((claim for claim in order_decides(case) if isinstance(claim, Claim)), None)
    if changed is None:
        return untested("position", "the judge does not compare two completions in both orders")
    first = next((claim for claim in position_bias(case) if isinstance(claim, Claim)), None)
    n = changed.finding.n
    k = round(changed.finding.value * n)
    # Rows are pairs; half of the level for each of the two ways to depend on the position.
    p = min(1.0, 2 * min(changed.p, 1.0 if first is None else first.p))
    wins = (
        ""
        if first is None
        else f"; the {_place(first.finding.message)} wins {percent(first.finding.value)} of choices"
    )
    sentence = (
        f"swapping the two completions changes the winner in {counts(Share(k, n, float(n)))} pairs{wins}"
    )
    advice = "count only wins in both orders, require reasons before the verdict, or use another model"
    interval = changed.interval(0.95)
    passes = changed.interval(0.9).hi <= MARGIN
    needed = None if passes or k else rows_to_pass(n, MARGIN)
    return JudgeCheck(
        "position", sentence, "", changed.finding.value, interval, n, MARGIN, advice, p, passes, needed=needed,
        rows=tuple(map(int, list(changed.finding.rows)[:1_000])),
    )  # fmt: skip


def _place(message: str) -> str:
    return "first" if "first of two" in message else "second"


_FOLLOWED = 0.8
"""Share of the disputed rows in which a judge may side with one annotator: one who errs four times as often as another explains as
much."""
_MIN_DISPUTED = 15
"""Minimum disputed rows; this project's choice."""


def annotators(trial: JudgedRows) -> JudgeCheck:
    """Whether the judge follows one annotator where two differ: a warning, since that one may be right."""
    votes = trial.votes
    if votes is None or len(votes.names) < 2:
        return untested(
            "annotators", "one annotator labelled the rows; name several columns: labels=['ann', 'ben']"
        )
    tests = []
    for at, name in enumerate(votes.names):
        own, others = votes.codes[:, at], np.delete(votes.codes, at, axis=1)
        against = (others == 1 - own[:, None]).sum(1) > (others == own[:, None]).sum(1)
        disputed = np.flatnonzero((own >= 0) & against & (trial.verdicts >= 0))
        if len(disputed) >= _MIN_DISPUTED:
            tests.append((trial.share(trial.verdicts[disputed] == own[disputed], disputed), name, disputed))
    if not tests:
        return untested(
            "annotators", f"the annotators differ on fewer than {_MIN_DISPUTED} rows with a verdict"
        )
    sides, name, disputed = max(tests, key=lambda test: test[0].value)
    sentence = f"where annotator {one_line(name, 40)!r} differs from the others, the judge sides with this one on {counts(sides)} rows"
    advice = f"let another person label these {counted(sides.n, 'row')}: either the others' labels are careless, or the judge has the view of one"
    check = share_check(
        "annotators", sides, sentence, advice, limit=_FOLLOWED, rows=disputed.tolist(), blocks=False
    )
    return replace(check, p=min(1.0, check.p * len(tests)), needed=None)
