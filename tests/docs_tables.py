"""The generated parts of the documentation: `python -m tests.docs_tables` writes them, a test compares them.

Each stands on its page between two marks, `<!-- name -->` and `<!-- /name -->`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import workbench as wb
import workbench.judges  # (its kinds register themselves)
from benchmarks.field.page import generated_part
from tests.formats.matrix import conversion_table
from tests.graders.peers import peers_table
from tools.reference import names_section
from workbench.analysis import diagnostics
from workbench.analysis.suite_case import suite_kinds
from workbench.data.extractors import EXTRACTORS
from workbench.data.samples.shapes import SHAPES
from workbench.formats import FORMATS
from workbench.formats.targets.target import ALL, TEXT, Target
from workbench.graders import KINDS
from workbench.probes.tried import CHANGES
from workbench.probes.variants import VARIANTS

DOCS = Path(__file__).parents[1] / "docs"
FAMILIES = ("text", "values", "structure", "similarity", "measures", "code", "judges", "remote", "several")
"""Headings in the order of the table; others follow."""


def kinds_table() -> str:
    """One line a kind: family, class, and the first sentence of its docstring."""
    lines = ["| family | kind | class | what it gives |", "| --- | --- | --- | --- |"]
    ours = {name: cls for name, cls in KINDS.items() if cls.__module__.startswith("workbench.")}
    families = [*FAMILIES, *sorted({cls.family for cls in ours.values()} - {*FAMILIES})]
    for name in sorted(ours, key=lambda name: (families.index(ours[name].family), name)):
        summary = (KINDS[name].__doc__ or "").strip().splitlines()[0].replace("|", "\\|")
        lines.append(f"| {KINDS[name].family} | `{name}` | `{_called(KINDS[name])}` | {summary} |")
    return "\n".join(lines)


def _called(kind: type) -> str:
    """How `wb.` reaches a class; one without a public name is called by its module."""
    name = kind.__name__
    if name in wb.__all__:
        return name
    place = next((module for module in ("combine", "judges") if hasattr(getattr(wb, module), name)), "")
    return f"{place}.{name}" if place else f"{kind.__module__}.{name}"


def findings_table() -> str:
    """One line a diagnostic of the default preset: its name and the rule it fires by."""
    return _rules(diagnostics.kinds())


def suite_findings_table() -> str:
    """One line a diagnostic over several graders: its name and the rule it fires by."""
    return _rules(suite_kinds())


def _rules(functions: Mapping[str, Callable[..., object]]) -> str:
    lines = ["| finding | fires where |", "| --- | --- |"]
    for name, diagnostic in functions.items():
        rule = " ".join((inspect.getdoc(diagnostic) or "").split("\n\n")[0].split()).replace("|", "\\|")
        lines.append(f"| {name} | {rule} |")
    return "\n".join(lines)


def transformations_table() -> str:
    """One line a transformation of a probe: its name, what has to become of its texts, and what they are."""
    lines = ["| transformation | must be | texts |", "| --- | --- | --- |"]
    for name, variant in VARIANTS.items():
        told = " (a note, never a finding)" if variant.alarm == "never" and not variant.names else ""
        summary = " ".join((inspect.getdoc(variant.make) or "").split("\n\n")[0].split()).replace("|", "\\|")
        lines.append(f"| `{name}` | {variant.expects}ed{told} | {summary} |")
    return "\n".join(lines)


def changes_table() -> str:
    """One line a change of accepted completions that needs all rows: its name, and what a finding reports of the grader."""
    lines = ["| change | a finding: the grader |", "| --- | --- |"]
    for name in sorted(CHANGES):
        verb = "accepts" if CHANGES[name].expects == "reject" else "rejects the reference"
        lines.append(f"| `{name}` | {verb} {CHANGES[name].says} |")
    return "\n".join(lines)


def shapes_table() -> str:
    """One line a tool's shape of rows: its name, and what is taken for what."""
    lines = ["| shape | read as |", "| --- | --- |"]
    return "\n".join(
        [*lines, *(f"| {name} | {SHAPES[name].takes} |" for name in sorted(SHAPES, key=str.casefold))]
    )


def formats_table() -> str:
    """One line a format: its name, the endings of its files, and what it is."""
    lines = ["| format | files | what it is |", "| --- | --- | --- |"]
    platforms = (chosen for chosen in FORMATS.values() if not isinstance(chosen, Target))
    for chosen in platforms:
        lines.append(f"| {chosen.name} | {', '.join([chosen.suffix, *chosen.variants])} | {chosen.title} |")
    return "\n".join(lines)


def targets_table() -> str:
    """One line per trainer or evaluator: what it passes, and its result for an unscored row."""
    lines = ["| target | exported as | passes | unscored row |", "| --- | --- | --- | --- |"]
    for chosen in FORMATS.values():
        if isinstance(chosen, Target):
            passes = {TEXT: "completion", ALL: "conversation, tool calls"}.get(
                frozenset(chosen.reads), "conversation"
            )
            word = chosen.no_score if chosen.words else f"not supported, set `on_error=`: {chosen.no_score}"
            lines.append(f"| {chosen.name} | {chosen.title} | {passes} | {word} |")
    return "\n".join(lines)


def extractors_table() -> str:
    """One line a bundled extractor: its name, its settings with their defaults, and what it returns."""
    lines = ["| extractor | settings | what it is |", "| --- | --- | --- |"]
    for name, function in EXTRACTORS.items():
        if function.__module__.startswith("workbench."):
            settings = list(inspect.signature(function).parameters.values())[1:]
            listed = ", ".join(f"`{_setting(setting)}`" for setting in settings)
            summary = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
            lines.append(f"| `{name}` | {listed} | {summary} |".replace("|  |", "| |"))
    return "\n".join(lines)


def _setting(setting: inspect.Parameter) -> str:
    return setting.name if setting.default is setting.empty else f"{setting.name}={setting.default!r}"


GENERATED: dict[str, tuple[str, Callable[[], str]]] = {
    "kinds": ("kinds.md", kinds_table),
    "extractors": ("kinds.md", extractors_table),
    "findings": ("findings.md", findings_table),
    "suite findings": ("combine.md", suite_findings_table),
    "transformations": ("transformations.md", transformations_table),
    "changes": ("transformations.md", changes_table),
    "formats": ("convert.md", formats_table),
    "shapes": ("read-your-data.md", shapes_table),
    "targets": ("targets.md", targets_table),
    "conversion matrix": ("convert.md", conversion_table),
    "field": ("field.md", generated_part),
    "peers": ("peers.md", peers_table),
    "public names": ("public-names.md", names_section),
}
"""Each part's page, and what writes it."""


def between(text: str, name: str) -> str:
    """What stands on a page between a part's two marks."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n?<!-- /{name} -->", text, re.DOTALL)
    assert found, f"the page has no marks for {name}"
    return found[1]


def committed(name: str) -> str:
    """A part as it stands on its page."""
    return between((DOCS / GENERATED[name][0]).read_text("utf-8"), name).strip()


def main() -> None:
    """Write every part into its page."""
    for name, (page, make) in GENERATED.items():
        path = DOCS / page
        text = path.read_text("utf-8")
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        head, tail = text.partition(begin)[0], text.partition(end)[2]
        path.write_text(f"{head}{begin}{make().strip()}\n{end}{tail}", "utf-8")


if __name__ == "__main__":
    main()
