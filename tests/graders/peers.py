"""What kinds of other libraries returned on fixed pairs, beside what the workbench returns, and which of the two is right where they differ.

`tests/data/peers_kinds.json` has one fact a line: package, kind, completion, reference, value. It was made by running the packages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import workbench as wb

__all__ = ["GRADERS", "REASONS", "Fact", "agreement", "facts", "peers_table"]

_FILE = Path(__file__).parents[1] / "data" / "peers_kinds.json"
_AFTER_LABEL = {"name": "pattern", "pattern": r"(?s).*ANSWER:\s*([^\n]*)", "group": 1}

GRADERS: dict[str, wb.Grader] = {
    "match(location='begin', numeric=True)": wb.Number(),
    "match(location='end', numeric=True)": wb.Number(which="last"),
    "match(location='any', numeric=True)": wb.Number(),
    "includes()": wb.Contains(ignore_case=True),
    "f1()": wb.TokenF1(),
    "exact()": wb.TokenF1(),
    "answer('letter')": wb.Choice(),
    "answer('word')": wb.ExactMatch(ignore_case=True, extractor=_AFTER_LABEL),
    "answer('line')": wb.ExactMatch(ignore_case=True, extractor=_AFTER_LABEL),
    "verify(parse(gold), parse(answer)), each in $...$": wb.MathEqual(whole=True),
    "math()": wb.MathEqual(),
    "NumericDiff": wb.Number(),
    "JSONDiff": wb.JsonMatch(measure="share"),
    "ListContains": wb.SetMatch(),
}
"""The grader of ours that does what a kind of theirs does."""

_FORMS = "workbench: it is the same number"
_SQUAD = 'the other reads numbers, which SQuAD\'s script does not; `normalization="words"` reads them, too'
REASONS: dict[tuple[str, str], str] = {
    ("42 or 43", "42"): "workbench: two results are not one; `location='any'` accepts a list of guesses",
    ("1/2", "0.5"): _FORMS, ("0.5", "1/2"): _FORMS, ("\\boxed{42}", "42"): _FORMS, ("3 1/2", "3.5"): _FORMS,
    ("42kg", "42 kg"): "workbench: the space before a unit does not count",
    ("42 apples and 3 pears", "42"): "both: the workbench reads the last number; the other takes a position, here the beginning or any",
    ("3 pears and 42 apples", "42"): "both: the workbench reads the last number; the other takes a position, here the beginning",
    ("nan", "nan"): "workbench: `nan` is not a number, and a reference that is none fails its row",
    ("42.0", "42"): _SQUAD, ("4.2e1", "42"): _SQUAD,
    ("Jean-Luc Picard", "Picard"): "workbench: SQuAD's script removes the hyphen; the other separates words at it",
    ("ANSWER: B or C", "B"): "workbench: two options are not one",
    ("ANSWER: (B)", "B"): "workbench for a letter: brackets around it do not count; `word` and `line` compare the text in both",
    ("ANSWER: Paris", "Paris"): "both: without options a text is not a letter, and the row fails instead of scoring 0.0",
    ("50\\%", "50"): "workbench: 50 % is 0.5; a reference in percent is written as `50\\%`",
    ("x > 3", "(3, \\infty)"): "workbench: the same set of numbers",
    ("The answer is \\boxed{x > 3}", "(3, \\infty)"): "workbench: the same set of numbers",
    ("1 < x < 2", "(1, 2)"): "workbench: the same set of numbers",
    ("The answer is \\boxed{ab}", "ba"): "workbench: a product does not depend on its order",
    ("i", "\\sqrt{-1}"): "workbench: the same number", ("The answer is \\boxed{e^{i\\pi}}", "-1"): "workbench: the same number",
    ("0.333333", "1/3"): "workbench: rounded numbers are equal only within a declared `relative`",
    ("The answer is \\boxed{\\pm 2}", "-2, 2"): "workbench: both list the two numbers",
    ("The answer is \\boxed{2 \\text{ or } -2}", "-2, 2"): "workbench: both list the two numbers",
    ("142", "42"): "both: the other scores closeness; the workbench equality within a tolerance",
    ("42.000", "42000"): "the other: SQuAD's script removes the full stop, so that both are 42000; `normalization=\"words\"` does not",
    ("[1, 2]", "[2, 1]"): "both: the other gives credit for items in another order; the workbench with `order=False`",
    ('{"a": "kitten"}', '{"a": "sitting"}'): "both: the other compares letters of texts; the workbench texts, or with a grader for the key",
    ('{"a": true}', '{"a": 1}'): "workbench: `true` is not 1",
    ("text", "text"): "workbench: neither is JSON, and a reference that is not JSON fails its row",
}  # fmt: skip
"""By completion and reference: which of the two values is right, and why."""


@dataclass(frozen=True)
class Fact:
    """What a kind of another library returned.

    Attributes:
        package: The package with its version.
        kind: Its kind.
        completion: The completion.
        reference: The reference.
        value: Its value.
        ours: Our score, None for a failed row.
    """

    package: str
    kind: str
    completion: str
    reference: str
    value: float
    ours: float | None

    @property
    def agrees(self) -> bool:
        """Whether the two values are equal to two digits."""
        return self.ours is not None and abs(self.ours - self.value) < 0.01


def facts() -> Iterator[Fact]:
    """Every fact, with our score."""
    for package, kind, completion, reference, value in json.loads(_FILE.read_text("utf-8")):
        said = completion if isinstance(completion, str) else json.dumps(completion)
        thread = wb.StringThread([("user", "q"), ("assistant", said)])
        score = GRADERS[kind](wb.Sample(id="0", thread=thread, reference=reference, group="0")).score
        exact = kind == "exact()" and score is not None
        yield Fact(package, kind, said, _text(reference), value, float(score == 1.0) if exact else score)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def agreement() -> dict[str, tuple[int, int]]:
    """By package and kind: how many values agree, of how many."""
    counts: dict[str, tuple[int, int]] = {}
    for fact in facts():
        name = f"{fact.package} {fact.kind}"
        same, total = counts.get(name, (0, 0))
        counts[name] = (same + fact.agrees, total + 1)
    return counts


def peers_table() -> str:
    """The two tables of docs/peers.md: agreement by kind, and the differences."""
    lines = ["| kind of another library | grader | equal values |", "| --- | --- | --- |"]
    for name, (same, total) in agreement().items():
        grader = GRADERS[name.split(" ", 2)[2]]
        lines.append(f"| `{name}` | `{type(grader).__name__}` | {same} of {total} |")
    lines += [
        "",
        "| completion | reference | other | workbench | which is right, and why |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts():
        if not fact.agrees:
            rows.setdefault((fact.completion, fact.reference), []).append(fact)
    for (completion, reference), found in rows.items():
        theirs = ", ".join(
            dict.fromkeys(
                f"`{fact.kind.replace(', numeric=True', '').split('(parse')[0]}` {fact.value:.3g}"
                for fact in found
            )
        )
        here = ", ".join(
            dict.fromkeys("failed row" if fact.ours is None else f"{fact.ours:.3g}" for fact in found)
        )
        cells = [f"`{completion}`", f"`{reference}`", theirs, here, REASONS.get((completion, reference), "")]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
