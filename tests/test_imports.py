"""Imports of our own: at the top of a file except where a heavy package would load too early, and in no circle."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import workbench

ROOT = Path(workbench.__file__).parent
LATE = {
    # `import workbench` loads no IPython.
    "__init__.py": {"workbench.app.widgets.notebook", "workbench.core.discovery"},
    # `workbench --help` answers before pandas is loaded.
    "cli/convert.py": {"workbench.formats.shared"},
    "cli/demo.py": {"workbench.data.demo"},
    "cli/__init__.py": {"workbench.formats"},
    "cli/output.py": {"workbench.deploy.telemetry"},
    "cli/check.py": {"workbench.deploy.guard", "workbench.deploy.guard.result"},
    "cli/file_facts.py": {
        "workbench.deploy.guard.baseline",
        "workbench.formats",
        "workbench.probes.probe_rows",
    },
    "cli/probe.py": {"workbench.probes.probe_rows"},
    "cli/serve.py": {
        "workbench.graders.serialization",
        "workbench.deploy.serve",
        "workbench.deploy.serve.middleware",
        "workbench.deploy.reward.stats",
    },
    "cli/run.py": {
        "workbench.deploy.guard.decisions",
        "workbench.formats.files",
        "workbench.formats.shared",
        "workbench.formats.shared.writing",
        "workbench.graders.code.custom",
        "workbench.graders.serialization",
        "workbench.probes.probe_rows",
        "workbench.report.cases",
        "workbench.report.validation_set",
    },
    "cli/validate.py": {
        "workbench.formats.files",
        "workbench.formats.shared",
        "workbench.formats.shared.writing",
        "workbench.graders.serialization",
    },
    # pytest loads its plugins at every start.
    "deploy/pytest_plugin.py": {"workbench.deploy.guard"},
    # The demo's rows are built from their rules without any installed package.
    "data/demo/__init__.py": {"workbench.data.samples", "workbench.data.samples.file_types"},
    # The app's first picture needs no probe.
    "app/view/grader_probe.py": {"workbench.probes"},
    # Only who grades batches of another engine needs it.
    "run/suite.py": {"workbench.run.batch_grader", "workbench.run.overview_run"},
    "run/whole_run.py": {"workbench.run.batch_run", "workbench.run.cluster"},
    # SQLAlchemy takes a fifth of a second, and most runs have no store.
    "run/part_run.py": {"workbench.run.run_file", "workbench.store"},
    "probes/certification/identity.py": {"workbench.store.looks"},
    # pandas takes a third of a second, and these tables are rarely asked for.
    "deploy/reward/stats.py": {"workbench.core.safe_frame"},
    "store/label_table.py": {"workbench.core.safe_frame"},
    "store/runs.py": {"workbench.core.safe_frame"},
    # jinja2 is loaded by the first template in that language.
    "data/templates/native.py": {"workbench.data.templates.native_sandbox"},
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


def module_name(path: Path) -> str:
    """Such as "workbench.store.graders"."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, modules: set[str]) -> set[str]:
    """Modules of ours that a file imports anywhere: at the top, under `TYPE_CHECKING`, in a function."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):  # an imported name is a module itself, or stands in one
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= submodules | ({node.module or ""} if submodules - modules else set())
    return names & modules


def test_no_modules_import_each_other_in_a_circle():
    """Each module can be read after those it imports, and those it names only in annotations are among them."""
    files = {module_name(path): path for path in ROOT.rglob("*.py")}
    imports = {name: imported_modules(path, set(files)) - {name} for name, path in files.items()}
    TopologicalSorter(imports).prepare()  # its CycleError names the modules of a circle
