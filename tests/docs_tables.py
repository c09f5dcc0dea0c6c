"""The generated parts of the documentation: `python -m tests.docs_tables` writes them, a test compares them.

Each stands on its page between two marks, `<!-- name -->` and `<!-- /name -->`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import workbench as wb
import workbench.judges  # (its kinds register themselves)
from tests.docs_names import names_section
from tests.formats.matrix import conversion_table
from workbench import diagnostics
from workbench.graders import KINDS

DOCS = Path(__file__).parents[1] / "docs"
FAMILIES = {
    "text": "exact-match contains regex string-check ascii-printable length label-set",
    "structure": "json-keys json-schema tool-call guardrail",
    "similarity": "text-similarity",
    "code": "function script rollout custom",
    "judges": "binary-judge rubric-judge schema-judge criteria-judge guardrail-judge score-judge label-judge "
    "pairwise-judge faithfulness context-relevancy answer-relevancy agent-judge",
    "remote": "endpoint",
    "several": "combined per-turn",
}


def kinds_table() -> str:
    """One line a kind: family, class, and the first sentence of its docstring."""
    lines = ["| family | kind | class | what it gives |", "| --- | --- | --- | --- |"]
    listed = {name: family for family, names in FAMILIES.items() for name in names.split()}
    ours = [name for name, cls in KINDS.items() if cls.__module__.startswith("workbench.")]
    for name in [*listed, *(name for name in ours if name not in listed)]:
        summary = (KINDS[name].__doc__ or "").strip().splitlines()[0].replace("|", "\\|")
        lines.append(f"| {listed.get(name, 'more')} | {name} | `{_called(KINDS[name])}` | {summary} |")
    return "\n".join(lines)


def _called(kind: type) -> str:
    """How `wb.` reaches a class."""
    name = kind.__name__
    where = next(
        (one for one in ("combine", "judges") if name not in wb.__all__ and hasattr(getattr(wb, one), name)),
        "",
    )
    return f"{where}.{name}".lstrip(".")


def findings_table() -> str:
    """One line a diagnostic of the default preset: its name and the rule it fires by."""
    lines = ["| finding | fires where |", "| --- | --- |"]
    for name, diagnostic in diagnostics.kinds().items():
        rule = " ".join((inspect.getdoc(diagnostic) or "").split("\n\n")[0].split()).replace("|", "\\|")
        lines.append(f"| {name} | {rule} |")
    return "\n".join(lines)


GENERATED: dict[str, tuple[str, Callable[[], str]]] = {
    "kinds": ("kinds.md", kinds_table),
    "findings": ("diagnose.md", findings_table),
    "conversion matrix": ("convert.md", conversion_table),
    "public names": ("public-names.md", names_section),
}
"""Each part's page, and what writes it."""


def between(text: str, name: str) -> str:
    """What stands on a page between a part's two marks."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", text, re.DOTALL)
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
        old = f"<!-- {name} -->\n{between(text, name)}\n<!-- /{name} -->"
        path.write_text(text.replace(old, f"<!-- {name} -->\n{make().strip()}\n<!-- /{name} -->"), "utf-8")


if __name__ == "__main__":
    main()
