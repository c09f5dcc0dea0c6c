"""The README's generated tables: `python -m tests.readme_tables` writes them, a test compares them."""

from __future__ import annotations

import re
from pathlib import Path

import workbench.judges  # noqa: F401 (its kinds register themselves)
from tests.formats.matrix import conversion_table
from workbench.graders import KINDS

README = Path(__file__).parents[1] / "README.md"
FAMILIES = {
    "text": "exact-match contains regex string-check ascii-printable length label-set",
    "structure": "json-keys json-schema tool-call guardrail",
    "similarity": "text-similarity",
    "code": "function script rollout custom",
    "judges": "binary-judge rubric-judge schema-judge criteria-judge guardrail-judge score-model label-model "
    "pairwise-judge faithfulness context-relevancy answer-relevancy agent-judge",
    "remote": "endpoint",
    "several": "combined per-turn",
}


def kinds_table() -> str:
    """One line a kind: family, class, and the first sentence of its docstring."""
    lines = ["| family | kind | class | what it gives |", "| --- | --- | --- | --- |"]
    for family, kinds in FAMILIES.items():
        for name in kinds.split():
            told = (KINDS[name].__doc__ or "").strip().splitlines()[0].replace("|", "\\|")
            lines.append(f"| {family} | {name} | `{KINDS[name].__name__}` | {told} |")
    return "\n".join(lines)


TABLES = {"kinds": kinds_table, "conversion matrix": conversion_table}


def between(text: str, name: str) -> str:
    """What stands in the README between a table's two marks."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", text, re.DOTALL)
    assert found, f"the README has no marks for {name}"
    return found[1]


def main() -> None:
    """Write both tables into the README."""
    text = README.read_text("utf-8")
    for name, make in TABLES.items():
        old = f"<!-- {name} -->\n{between(text, name)}\n<!-- /{name} -->"
        text = text.replace(old, f"<!-- {name} -->\n{make()}\n<!-- /{name} -->")
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
