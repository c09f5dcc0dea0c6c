"""What the worker loads by path imports the standard library and nothing of ours."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import workbench.sandbox as sandbox

FOLDER = Path(sandbox.__file__).parent
CHILD = sorted((FOLDER / "child").glob("*.py"))
PLATFORMS = sorted((FOLDER / "platforms").glob("*.py"))
SHARED = [FOLDER.parent / "core" / name for name in ("thread.py", "grade.py")]


def imports(path: Path) -> set[str]:
    """Every module that a file imports anywhere in it."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "." for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", [*CHILD, *SHARED], ids=lambda path: path.stem)
def test_child_imports_the_standard_library_only(path):
    """Nothing of ours and no installed package is imported where a stranger's grader runs."""
    assert {name.partition(".")[0] for name in imports(path)} <= sys.stdlib_module_names | {"__future__"}


@pytest.mark.parametrize("path", PLATFORMS, ids=lambda path: path.stem)
def test_platforms_import_each_other_at_most(path):
    """Stand-ins for platforms' classes may be imported by the host too, so they know each other by two names."""
    ours = {name for name in imports(path) if name.startswith("workbench")}
    assert all(name.startswith("workbench.sandbox.platforms") for name in ours)
    assert {name.partition(".")[0] for name in imports(path) - ours} <= sys.stdlib_module_names
