"""`workbench lab`: JupyterLab on the quickstart notebook."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from workbench.cli.options import Commands, make_folder, say


def add(commands: Commands) -> None:
    """Add the command to the parser."""
    lab = commands.add_parser("lab", help="open JupyterLab on the quickstart notebook")
    lab.add_argument("--folder", type=Path, default=None, help="copy the notebooks here first")
    lab.add_argument("rest", nargs="*", help="passed to jupyter lab (after --)")
    lab.set_defaults(command=_lab)


def _lab(options: argparse.Namespace) -> int:  # noqa: RET503 (execv does not return)
    if importlib.util.find_spec("jupyterlab") is None:
        say("workbench: JupyterLab is not installed; run: pip install '.[lab]' in the clone", error=True)
        return 1
    notebook = _notebooks(options.folder) / "01_quickstart.ipynb"
    say(f"opening {notebook}")
    command = [sys.executable, "-m", "jupyter", "lab", str(notebook), *options.rest]
    if sys.platform == "win32":
        return subprocess.call(command)
    # Replaces this process, so that a signal to it reaches the server.
    os.execv(command[0], command)  # noqa: S606 (a fixed argument list)


def _notebooks(folder: Path | None) -> Path:
    """The folder to open: the repository's, or a copy that the user may change."""
    package = Path(__file__).resolve().parents[1]
    checkout, packaged = package.parent / "notebooks", package / "notebooks"
    if folder is None and (checkout / "01_quickstart.ipynb").exists():
        return checkout
    target = folder or Path("workbench-notebooks")
    make_folder(target)
    for source in sorted((packaged if packaged.is_dir() else checkout).glob("*.ipynb")):
        if not (target / source.name).exists():
            shutil.copy(source, target / source.name)
    return target
