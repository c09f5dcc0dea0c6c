"""The generated part of `docs/field.md`: from the signed findings and the manifest, so that it needs no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.field.corpus import Function, Hole, packages
from benchmarks.field.signatures import Signature, read_signatures

_MAX_TEXTS, _MAX_LETTERS = 3, 60
"""Texts shown for one cause, and characters of each."""


def generated_part() -> str:
    """Figures, the table of true findings for each package, and the known holes."""
    signed = read_signatures()
    return "\n".join([*_figures(signed), *_tables(signed), *_known()])


def _figures(signed: list[Signature]) -> Iterator[str]:
    every = list(packages())
    n_functions = sum(len(package.functions) for package in every)
    n_true = sum(bool(one.verdict) for one in signed)
    yield "| packages | functions | errors read | true | false |\n| --- | --- | --- | --- | --- |"
    yield f"| {len(every)} | {n_functions} | {len(signed)} | {n_true} | {len(signed) - n_true} |\n"


def _tables(signed: list[Signature]) -> Iterator[str]:
    """A table for each version; versions with the same table, such as those of a renamed package, share one."""
    names = {
        (package.name, function.name): function for package in packages() for function in package.functions
    }
    tables: dict[tuple[str, ...], list[str]] = {}
    for package in packages():
        for version in package.versions:
            some = [
                one for one in signed if one.verdict and (one.package, one.version) == (package.name, version)
            ]
            lines = tuple(
                _line(causes, names[package.name, causes[0].function]) for causes in _by_cause(some)
            )
            if lines:
                tables.setdefault(lines, []).append(f"{package.name} {version}")
    for lines, titles in tables.items():
        yield f"## {', '.join(titles)}\n"
        yield "| function | what is wrong | gets the reward, for the reference | fix |"
        yield "| --- | --- | --- | --- |"
        yield from lines
        yield ""


def _by_cause(signed: Iterable[Signature]) -> list[list[Signature]]:
    """Findings of one function with one reason and one fix, the shortest text first."""
    causes: dict[tuple[str, str, str], list[Signature]] = {}
    for one in signed:
        causes.setdefault((one.function, one.reason, one.fix), []).append(one)
    return [sorted(some, key=lambda one: (len(one.text or ""), one.text or "")) for some in causes.values()]


def _line(causes: list[Signature], function: Function) -> str:
    shown = [f"{_code(one.text)} for {_code(one.reference)}{_score(one)}" for one in causes[:_MAX_TEXTS]]
    name = f"`{_name(function)}`, {function.description}"
    return f"| {_cell(name)} | {_cell(causes[0].reason)} | {'<br>'.join(shown)} | {_cell(causes[0].fix)} |"


def _score(one: Signature) -> str:
    return "" if one.score is None or abs(one.score - 1) < 1e-6 else f" ({one.score:.2f})"


def _known() -> Iterator[str]:
    yield "## Holes known before\n"
    yield "Each was checked by a call of the named version. They measure what a probe does not find.\n"
    yield "| package | function | what is wrong | completion | fix |"
    yield "| --- | --- | --- | --- | --- |"
    lines: dict[str, list[str]] = {}
    for package in packages():
        for function in package.functions:
            for hole in function.holes:
                lines.setdefault(_hole(hole, function), []).append(f"{package.name} {package.versions[0]}")
    yield from (f"| {', '.join(names)} | {line} |" for line, names in lines.items())


def _hole(hole: Hole, function: Function) -> str:
    state = "rewarded" if hole.accepted else "refused"
    repaired = f" ({hole.source})" if hole.source.startswith("repaired") else ""
    claim = f"{_cell(hole.claim)}{repaired}"
    return f"`{_name(function)}` | {claim} | {_code(hole.text)} {state} | {_cell(hole.fix)}"


def _name(function: Function) -> str:
    return function.target.partition(":")[2]


def _code(text: str | None) -> str:
    """A text as one line of code in a table."""
    if text is None:
        return "no completion"
    line = text.replace("\n", "\\n")
    if len(line) > _MAX_LETTERS:
        line = f"{line[: _MAX_LETTERS // 2]} ... {line[-_MAX_LETTERS // 2 :]}"
    if not line.strip():
        return "a blank" if line else "an empty text"
    return f"`` {_cell(line)} ``" if "`" in line else f"`{_cell(line)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
