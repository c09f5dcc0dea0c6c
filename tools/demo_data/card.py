"""The text of the data card, with every number counted from the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tools.demo_data.annotators import ANNOTATORS, HARD_RATE
from tools.demo_data.helpdesk import DECAYS
from tools.demo_data.writers import PROBES, WRITERS
from workbench.data.demo.defects import DEFECTS, measure

Row = Mapping[str, Any]


def card(rows: Sequence[Row], *, seed: int) -> str:
    """The card as Markdown."""
    parts = (
        _opening(len(rows), seed),
        _tasks(rows),
        _COLUMNS,
        _writers(rows),
        _annotators(rows),
        _defects(rows),
        _closing(rows),
    )
    return "\n\n".join(parts) + "\n"


def _opening(count: int, seed: int) -> str:
    return f"""# Data card: the demo data

{count:,} completions of 280 prompts in four tasks, made by a program: `python -m tools.demo_data.generate`, seed {seed}.
**No person labelled these rows and no language model wrote them.** The completions come from *scripted writers*, the labels
from *scripted annotators*. People, places, firms, machines and shops are invented. Licence: CC0-1.0.

Use it to try graders and diagnostics with a known correct result. Do not use it to compare models, to train one, or
to draw conclusions about human annotators."""


def _tasks(rows: Sequence[Row]) -> str:
    lines = [_table_head("task", "prompts", "completions each", "rows", "good rows", "how truth is known")]
    truth_source = {
        "arithmetic": "computed; 1 for the right number given as the result, else 0",
        "extraction": "the note was made from the record; share of keys with the right value and type",
        "rag": "by construction, claim by claim; share of claims the documents support, 0 without claims",
        "helpdesk": "the decay applied: " + ", ".join(f"{name} {worth}" for name, worth in DECAYS.items()),
    }
    for task, source_text in truth_source.items():
        task_rows = [row for row in rows if row["task"] == task]
        prompts = len({row["group"] for row in task_rows})
        lines.append(
            _table_row(
                task,
                prompts,
                len(task_rows) // prompts,
                len(task_rows),
                _share_text(task_rows, lambda row: row["good"]),
                source_text,
            )
        )
    return (
        "## Tasks\n\n"
        + "\n".join(lines)
        + (
            "\n\n`good` is truth = 1, for helpdesk truth >= 0.75. In rag it means that every claim is supported, which is"
            "\nfaithfulness. A trick counts as making no claim, even if it repeats one."
        )
    )


_COLUMNS = """## Columns

| column | meaning |
| --- | --- |
| `id`, `group`, `task` | the row, its prompt, the task |
| `prompt` | text; for rag a list of chat messages: `document` turns, then the user turn |
| `completion` | what the writer wrote; may be empty |
| `expected` | the number, the record as JSON, or the reference text |
| `writer`, `operator` | who wrote it, and the exact operation that made it |
| `truth`, `good` | 0 to 1, and whether that is good |
| `claims` | rag only: each claim with `supported`; none for tricks and shells |
| `sim_a`, `sim_b`, `sim_c` | scripted labels, 1 good, 0 bad |
| `sim_hard` | whether the annotators tossed coins on this row |"""


def _writers(rows: Sequence[Row]) -> str:
    lines = [_table_head("writer", "rows", "good rows", "what it does")]
    for writer, behaviour in WRITERS.items():
        writer_rows = [row for row in rows if row["writer"] == writer]
        lines.append(
            _table_row(writer, len(writer_rows), _share_text(writer_rows, lambda row: row["good"]), behaviour)
        )
    tricks = ", ".join(f"`{name}`" for name in PROBES)
    return "## Writers\n\n" + "\n".join(lines) + f"\n\nThe gamer's tricks, in turn: {tricks}."


def _annotators(rows: Sequence[Row]) -> str:
    lines = [_table_head("column", "sensitivity", "specificity", "in these rows")]
    for annotator in ANNOTATORS:
        good = [row[annotator.column] for row in rows if row["good"]]
        bad = [row[annotator.column] for row in rows if not row["good"]]
        rates_here = (
            f"{_part_of(good.count(1), len(good))} of good, {_part_of(bad.count(0), len(bad))} of bad"
        )
        lines.append(
            _table_row(f"`{annotator.column}`", annotator.sensitivity, annotator.specificity, rates_here)
        )
    hard = _share_text(rows, lambda row: row["sim_hard"] == 1)
    return (
        "## Annotators\n\n"
        + "\n".join(lines)
        + f"\n\nOn a row that is hard (chance {HARD_RATE:.0%}, here {hard}) each tosses"
        " a coin instead, which is why the last\ncolumn is below the first two."
    )


def _defects(rows: Sequence[Row]) -> str:
    lines = [_table_head("naive grader", "task", "good rows refused", "bad rows passed", "its fault")]
    for defect in DEFECTS:
        rates = measure(defect, rows)
        refused, passed = _part_of(rates.rejected, rates.good), _part_of(rates.accepted, rates.bad)
        lines.append(_table_row(defect.name, defect.task, refused, passed, defect.fault))
    return (
        "## Planted defects\n\nGraders that one might write first (`workbench.data.demo.defects`), and their error rates."
        " A correct diagnosis\nreports these rates.\n\n" + "\n".join(lines)
    )


def _closing(rows: Sequence[Row]) -> str:
    groups: dict[str, set[bool]] = {}
    for row in rows:
        groups.setdefault(row["group"], set()).add(row["good"])
    dead = _part_of(sum(len(kinds) == 1 for kinds in groups.values()), len(groups))
    empty = sum(not row["completion"].strip() for row in rows)
    return (
        "## Limits\n\n"
        "- English only; short texts; errors are of the listed kinds only, more regular than a model's.\n"
        f"- Prompts whose completions are all good or all bad: {dead}. Blank completions: {empty}.\n"
        "- Truth is in the threads' metadata: a grader that reads it grades nothing."
    )


def _share_text(rows: Sequence[Row], test: Callable[[Row], bool]) -> str:
    return _part_of(sum(map(test, rows)), len(rows))


def _part_of(part: int, total: int) -> str:
    return f"{part} of {total} ({part / total:.1%})"


def _table_head(*names: str) -> str:
    return f"{_table_row(*names)}\n{_table_row(*['---'] * len(names))}"


def _table_row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
