"""Every kind of grader to every platform and back: what is written, what is refused, and the table of docs/convert.md."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workbench as wb
from tests.graders.examples import ALTERNATIVES, EXAMPLES, scripted
from workbench.core import background
from workbench.core.errors import FormatError
from workbench.formats import FORMATS
from workbench.formats.targets.target import Target
from workbench.graders import Control
from workbench.graders.combine.combined import combine

__all__ = ["PLATFORMS", "SAMPLES", "ZERO", "cell", "conversion_table", "outcomes", "same", "there_and_back"]

PLATFORMS = {
    name: (chosen.name, ending)
    for chosen in FORMATS.values()
    if not chosen.handwritten and not isinstance(chosen, Target)
    for name, ending in [
        (chosen.name, chosen.suffix),
        *((f"{chosen.name} {other}", other) for other in chosen.variants),
    ]
}
"""Column to format and ending: every platform there is, with each of its endings; `targets/` has the others."""
ZERO = {chosen.name for chosen in FORMATS.values() if chosen.failed_is_zero}
"""Platforms that count a failed grader as 0.0: what is read back from them does so too."""


def _calling(*names: str) -> list[dict[str, Any]]:
    calls = [
        {"id": str(at), "type": "function", "function": {"name": name, "arguments": '{"q": "4"}'}}
        for at, name in enumerate(names)
    ]
    return [{"role": "user", "content": "q?"}, {"role": "assistant", "content": "", "tool_calls": calls}]


def _said(asked: str, answered: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]


def _row(messages: Any, **rest: Any) -> dict[str, Any]:
    said = _said("q?", messages)
    shared = {"topic": "sums", "documents": ["The answer is 4."]}
    return {"messages": said if isinstance(messages, str) else messages, **shared, **rest}


SAMPLES = wb.Samples(
    [
        _row("4", expected="4"),
        _row(" 4\n", expected="4"),
        _row("it is four", expected="five"),
        _row("", expected="4"),
        _row("Ä ☕ 4 ＦＯＵＲ", expected="Ä ☕"),
        _row('{"a": {"b": 1}, "c": null, "x y": 4}', expected="a"),
        _row("ANSWER: 2024. So it was. Yes!", expected=r"\d{4}"),
        _row("4", expected=4),
        _row("a 4", expected=None),
        _row(_calling("search", "open"), expected="4"),
        _row([*_calling("Search"), {"role": "tool", "content": "44", "tool_call_id": "0"},
              {"role": "assistant", "content": "it is 44"}], expected="44"),
        _row([*_said("1+1?", "2"), *_said("2+2?", "it is 4")], expected=["2", "4"]),
        _row("x" * 300 + "\u2028<b>&amp;{{item.x}}", expected="<b>"),
    ]
)  # fmt: skip
"""What all graders are tried on: text, none, beyond ASCII, JSON, tool calls, references of several kinds and none."""


def outcomes(suite: wb.Suite, samples: wb.Samples = SAMPLES) -> list[tuple[float | None, bool | None]]:
    """Score and verdict of every row: the combined one, else those of each entry in turn."""
    grades = {entry.name: _graded(entry, samples) for entry in suite.entries}
    if suite.combine is not None:
        whole = combine(suite.entries, grades, suite.combine)
        return [(grade.score, grade.passed) for grade in (whole[at] for at in range(len(samples)))]
    found = [
        entry.outcome_of(grades[entry.name][at]) for entry in suite.entries for at in range(len(samples))
    ]
    return [(one.score, one.passed) for one in found]


def _graded(entry: wb.Entry, samples: wb.Samples) -> Any:
    return background.run(entry.grade_all(samples, Control(workers=1)))


def same(before: Any, after: Any, *, zero: bool) -> bool:
    """Whether a score and a verdict came back; a failure may come back as the platform's 0.0."""
    (score, passed), (again, passed_again) = before, after
    if score is None or again is None:
        return again is None if score is None and not zero else score is None and again in {None, 0.0}
    verdicts = passed is None or passed_again is None or passed == passed_again
    return math.isclose(score, again, abs_tol=1e-9) and verdicts


def there_and_back(suite: wb.Suite, platform: str, folder: Path, **how: Any) -> wb.Suite:
    """The suite after a file of the platform.

    Raises:
        FormatError: The platform does not support it.
    """
    name, ending = PLATFORMS[platform]
    target = folder / f"graders{ending}"
    wb.export(suite, target, name, allow_unvalidated=True, **how)
    loaded = wb.load(target, trust=True)
    entries = [_asked(entry) for entry in loaded.entries]
    return wb.Suite(
        entries, combine=loaded.combine, gate=loaded.gate, name=loaded.name, description=loaded.description
    )


def _asked(entry: wb.Entry) -> wb.Entry:
    from dataclasses import replace

    return replace(entry, grader=scripted(entry.grader))


def cell(kind: str, platform: str, folder: Path) -> str:
    """What becomes of a kind: "yes", "as code", "as another kind", "-", with "some:" where settings decide."""
    found = list(_forms(kind, platform, folder))
    good = [form for form in found if form != "-"]
    if not good:
        return "-"
    best = good[0] if "yes" not in good else "yes"
    return f"some: {best}" if "-" in found else best


def _forms(kind: str, platform: str, folder: Path) -> Iterator[str]:
    for make in [EXAMPLES[kind], *ALTERNATIVES.get(kind, [])]:
        try:
            loaded = there_and_back(wb.Suite(make()), platform, folder)
        except FormatError:
            yield "-"
            continue
        became = loaded.graders[0].kind if len(loaded) == 1 else "combined"
        code = became in {"function", "script"}
        yield "yes" if became == kind else "as code" if code else f"as {became}"


def conversion_table() -> str:
    """The table of docs/convert.md: a row a kind, a column a platform."""
    columns = [name for name, (platform, _) in PLATFORMS.items() if name == platform != "native"]
    lines = [f"| Kind | {' | '.join(columns)} |\n", "| --- " * (len(columns) + 1) + "|\n"]
    with tempfile.TemporaryDirectory() as folder:
        for kind in sorted(EXAMPLES):
            places = []
            for platform in columns:
                own = Path(folder, f"{kind} {platform}")
                own.mkdir()
                places.append(cell(kind, platform, own))
            lines.append(f"| {kind} | {' | '.join(places)} |\n")
    return "".join(lines)
