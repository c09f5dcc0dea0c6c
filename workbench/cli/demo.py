"""`workbench demo` and `workbench lab`: the main workflow on bundled data, in the terminal and in JupyterLab."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import workbench as wb
from workbench.cli.options import COULD_NOT_RUN, Commands, add_json, make_folder, messages_to_stderr, say
from workbench.cli.output import print_json, report_json


def add(commands: Commands) -> None:
    """Add `demo` to the parser."""
    demo = commands.add_parser("demo", help="the main workflow on bundled data: no key, no server")
    demo.add_argument(
        "--out", type=Path, default=Path("workbench-demo"), help="folder for graders.json and report.html"
    )
    add_json(demo)
    demo.set_defaults(command=_demo)


def add_lab(commands: Commands) -> None:
    """Add `lab` to the parser."""
    lab = commands.add_parser("lab", help="open JupyterLab on the quickstart notebook")
    lab.add_argument("--folder", type=Path, default=None, help="copy the notebooks here first")
    lab.add_argument("rest", nargs="*", help="passed to jupyter lab (after --)")
    lab.set_defaults(command=_lab)


def _demo(options: argparse.Namespace) -> int:
    from workbench.data.demo import GRADERS, demo_samples

    make_folder(options.out)
    tell = partial(say, error=options.json)
    graders = [wb.grader(function) for function in GRADERS]
    for item in graders:
        validation = item.validate()
        tell(f"\n{item.name}: {item.description}\n{validation}")
        validation.raise_for_failure()
    samples = demo_samples()
    tell(f"\nGrading {len(samples):,} bundled samples with {len(graders)} graders ...")
    with messages_to_stderr() if options.json else nullcontext():
        report = wb.Suite(graders).run(samples, labels="good")
        written = [
            wb.save(graders, options.out / "graders.json"),
            report.to_html(options.out / "report.html"),
        ]
    tell(f"\n{report}\n")
    for path in written:
        tell(f"wrote {path}")
    if options.json:
        print_json({**report_json(report), "files": list(map(str, written))})
    else:
        say("next:  workbench lab   (opens the quickstart notebook; needs: pip install '.[lab]')")
    return 0


def _lab(options: argparse.Namespace) -> int:  # noqa: RET503 (execv does not return)
    if importlib.util.find_spec("jupyterlab") is None:
        say("workbench: JupyterLab is not installed; run: pip install '.[lab]' in the clone", error=True)
        return COULD_NOT_RUN
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
