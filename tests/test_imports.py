"""Imports of our own that stand inside functions: only where a heavy package would load before it is needed."""

from __future__ import annotations

import ast
from pathlib import Path

import workbench

ROOT = Path(workbench.__file__).parent
LATE = {
    # `import workbench` loads no IPython.
    "__init__.py": {"workbench.widgets.magics"},
    # `workbench --help` answers before pandas is loaded.
    "cli/convert.py": {"workbench.formats.shared.base"},
    "cli/demo.py": {"workbench.demo", "workbench.demo.graders"},
    "cli/formats.py": {"workbench.formats"},
    "cli/validate.py": {
        "workbench.formats.files",
        "workbench.formats.shared.base",
        "workbench.serialization",
    },
    # The demo's rows are built from their rules without any installed package.
    "demo/__init__.py": {"workbench.samples", "workbench.samples.readers"},
    # SQLAlchemy takes a fifth of a second, and most runs have no store.
    "suite_run.py": {"workbench.store"},
    # jinja2 is loaded by the first template in that language.
    "templates/native.py": {"workbench.templates.native_sandbox"},
}


def late_imports(path: Path) -> set[str]:
    """Modules of ours that the functions of a file import."""
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    nodes = [node for function in functions for node in ast.walk(function)]
    named = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name for name in named | plain if name.partition(".")[0] == "workbench"}


def test_only_these_imports_are_late():
    """Every other import stands at the top of its file, where a reader looks for it."""
    found = {path.relative_to(ROOT).as_posix(): late_imports(path) for path in ROOT.rglob("*.py")}
    assert {name: modules for name, modules in found.items() if modules} == LATE
