"""The public names in groups: the page of names in `docs/`, and the pages of the documentation site with every docstring.

A group of `GROUPS` is a page. Kinds of graders are found by their class, so that a new kind is on its page without a change here.
"""

from __future__ import annotations

import inspect
import re
import types
from pathlib import Path
from typing import Any

import workbench as wb

GROUPS = {
    "Write a grader": "grader Grade Skip capture validate Grader",
    "Your rows": "read_samples Samples Sample StringThread demo_samples",
    "Several graders and how they combine": "Suite Entry",
    "Read results": "Report read_report agreement compare forecast forecast_cost plot_scores probe certificate",
    "Call a model": "ScriptedClient Budget",
    "Files and other platforms": "save load loads dumps export convert",
    "Keep things": "open_store",
    "Train on it": "reward",
    "In a notebook": "Workbench",
    "This machine": "sandbox_info",
}
"""Headings and their names, in the order in which a person meets them."""
KINDS, MODULES, OTHERS = "Kinds of graders", "Modules", "Other names"


def public_names() -> list[str]:
    """The names of `import workbench`, which loads them late: its stub has no `__all__`."""
    return list(getattr(wb, "__all__", ()))


def grouped_names() -> dict[str, list[str]]:
    """Headings to public names: first those of `GROUPS`, then the kinds of graders, the modules and what is left."""
    groups: dict[str, list[str]] = {title: names.split() for title, names in GROUPS.items()}
    named = {name for names in groups.values() for name in names}
    for name in sorted({*public_names()} - named, key=str.lower):
        value = getattr(wb, name)
        if isinstance(value, types.ModuleType):
            title = MODULES
        else:
            title = KINDS if isinstance(value, type) and issubclass(value, wb.Grader) else OTHERS
        groups.setdefault(title, []).append(name)
    return {title: groups[title] for title in (*GROUPS, KINDS, MODULES, OTHERS) if title in groups}


def names_section() -> str:
    """Every public name with the first sentence of its docstring, as Markdown: a heading and a table for each group."""
    parts = []
    for title, names in grouped_names().items():
        lines = [f"## {title}", "", "| name | what it is |", "| --- | --- |"]
        for name in names:
            value = getattr(wb, name)
            lines.append(f"| `{name}` | {_cell(value)} |")
            if isinstance(value, types.ModuleType):
                lines += [f"| `{name}.{one}` | {_cell(getattr(value, one))} |" for one in _members(value)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def write_pages(folder: Path) -> None:
    """Write a page for each group, and one that lists them, in reStructuredText for Sphinx' `autodoc`.

    Args:
        folder: Where the pages are written; files of an earlier call are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.rst"):
        old.unlink()
    pages = []
    for title, names in grouped_names().items():
        page = _page_name(title)
        pages.append(page)
        parts = [_heading(title, "=")]
        for name in names:
            value = getattr(wb, name)
            parts.append(_heading(name, "-"))
            if isinstance(value, types.ModuleType):
                parts += [_cell(value), *_module(value)]
            else:
                parts.append(_directive(value, f"workbench::{name}"))
        (folder / f"{page}.rst").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    listed = "\n".join(f"   {page}" for page in pages)
    index = f"{_heading('Reference', '=')}\n\nEvery public name, from its docstring.\n\n.. toctree::\n\n{listed}\n"
    (folder / "index.rst").write_text(index, encoding="utf-8")


def reference_markdown() -> dict[str, str]:
    """Pages of the reference as Markdown, from their names to their text: signatures and docstrings as they are written."""
    pages = {}
    for title, names in grouped_names().items():
        parts = [
            f"# {title}",
            "Signatures and docstrings of " + ", ".join(f"`{name}`" for name in names) + ".",
        ]
        for name in names:
            value = getattr(wb, name)
            members = _members(value) if isinstance(value, types.ModuleType) else []
            parts += _entry(name, value)
            for one in members:
                parts += _entry(f"{name}.{one}", getattr(value, one))
        pages[f"reference/{_page_name(title)}"] = "\n\n".join(parts) + "\n"
    return pages


def _entry(name: str, value: Any) -> list[str]:
    """A heading, the signature if there is one, and the docstring in a block, which keeps its lines."""
    try:
        signature = f"{inspect.signature(value)}" if callable(value) else ""
    except (TypeError, ValueError):
        signature = ""
    text = _cell(value) if isinstance(value, dict) else inspect.getdoc(value) or ""
    return [f"## wb.{name}", f"````text\n{name}{signature}\n\n{text}\n````"]


def _page_name(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower())


def _module(module: types.ModuleType) -> list[str]:
    """What a module has in addition to the names of `workbench`, which have their own place."""
    names = {id(getattr(wb, name)) for name in public_names()}
    return [
        _directive(getattr(module, one), f"{module.__name__}::{one}")
        for one in _members(module)
        if id(getattr(module, one)) not in names
    ]


def _members(module: types.ModuleType) -> list[str]:
    return sorted(getattr(module, "__all__", []), key=str.lower)


def _directive(value: Any, place: str) -> str:
    if isinstance(value, type):
        inherits = issubclass(value, wb.Grader) and value is not wb.Grader
        options = "" if inherits or issubclass(value, BaseException) else "\n   :members:"
        return f".. autoclass:: {place}{options}"
    if callable(value):
        return f".. autofunction:: {place}"
    return f".. py:data:: {place.replace('::', '.')}\n\n   {_cell(value)}"


def _heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"


def _cell(value: Any) -> str:
    """The first paragraph of a docstring in one line of a table; that of `dict` says nothing of a table of ours."""
    if isinstance(value, dict):
        return "A dict of names and values that may be changed."
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split()).replace("|", "\\|")
